/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chain-graph.h"

#include "astra-frontend/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

ChainGraph::ChainGraph(const CollectiveRequest& request,
                       const GroupShape& shape,
                       const NcclPlan& plan,
                       bool crossNic,
                       TimePs stepLatency)
    : ChannelGraph(request, shape, plan, 1, 8, stepLatency),
      m_root(static_cast<uint32_t>(request.root)),
      m_endsAtRoot(request.op == CollectiveOp::Reduce),
      m_chunksHideLatency(stepLatency < 0 && shape.GetNodes() == 1 &&
                          plan.protocol == NcclProtocol::Simple),
      m_rings(shape, GetSplit().GetChannels(), crossNic)
{
}

uint32_t
ChainGraph::DepthOf(uint32_t rank, uint32_t channel) const
{
    // Broadcast begins at the root, Reduce ends there.
    const uint32_t first = m_rings.PlaceOf(m_root, channel) + (m_endsAtRoot ? 1 : 0);
    return (m_rings.PlaceOf(rank, channel) + GetRanks() - first) % GetRanks();
}

// The last of a chain sends nothing and the first receives nothing; their lanes have no messages.

Lane
ChainGraph::MakeLane(uint32_t rank, uint32_t peer, uint32_t first, uint32_t channel) const
{
    Lane lane = Connect(rank, peer, channel, ConnType::Ring);
    const bool inChain = DepthOf(first, channel) + 1 < GetRanks();
    lane.messages = inChain ? DivideUp(GetSplit().GetBytes(channel), MESSAGE_BYTES) : 0;
    if (m_chunksHideLatency)
    {
        lane.withLatency = 1;
    }
    return lane;
}

Lane
ChainGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, m_rings.NextOf(rank, index), rank, index);
}

Lane
ChainGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    const uint32_t previous = m_rings.PreviousOf(rank, index);
    return MakeLane(rank, previous, previous, index);
}

uint64_t
ChainGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return std::min(MESSAGE_BYTES, GetSplit().GetBytes(outbound) - message * MESSAGE_BYTES);
}

uint64_t
ChainGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    return DepthOf(rank, outbound) == 0 ? 0 : message + 1;
}

} // namespace AstraSim
