/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-graph.h"

namespace AstraSim
{

const char*
ToString(ConnType type)
{
    static constexpr const char* NAMES[] =
        {"RING", "TREE", "NVLS", "COLLNET", "PXN_INIT", "NET", "PXN_FINAL", "P2P"};
    return NAMES[static_cast<uint8_t>(type)];
}

uint64_t
FlowGraph::CountFlows() const
{
    uint64_t flows = 0;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        for (uint32_t i = 0; i < m_lanes; ++i)
        {
            const Lane out = GetOutbound(rank, i);
            const Lane in = GetInbound(rank, i);
            flows += out.kind == LaneKind::Copy ? 0 : out.messages;
            flows += in.kind == LaneKind::Message || in.kind == LaneKind::Copy ? 0 : in.messages;
        }
    }
    return flows;
}

} // namespace AstraSim
