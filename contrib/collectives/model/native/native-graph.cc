/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-graph.h"

#include <algorithm>

namespace AstraSim
{

uint64_t
NativeGraph::BytesOf(uint64_t count) const
{
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{m_bytes} * count;
    return std::max<uint64_t>(static_cast<uint64_t>(product / GetRanks()), 1);
}

} // namespace AstraSim
