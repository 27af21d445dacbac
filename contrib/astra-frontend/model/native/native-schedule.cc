/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "native-schedule.h"

#include <algorithm>

namespace AstraSim
{

uint64_t
NativeSchedule::BytesOf(uint64_t count) const
{
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{m_bytes} * count;
    return std::max<uint64_t>(static_cast<uint64_t>(product / m_ranks), 1);
}

uint64_t
NativeSchedule::MessageCount() const
{
    uint64_t count = 0;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        for (uint32_t lane = 0; lane < LaneCount(); ++lane)
        {
            // A step sends and receives, so it counts for both ends; steps of trees do one of the
            // two.
            const uint32_t steps = StepCount(rank, lane);
            count += LaneCount() == 1 ? 2 * steps : steps;
        }
    }
    return count / 2;
}

} // namespace AstraSim
