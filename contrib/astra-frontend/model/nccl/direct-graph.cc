/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "direct-graph.h"

#include "pair-bytes.h"

#include "ns3/divide-up.h"

#include <algorithm>

namespace AstraSim
{

DirectGraph::DirectGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const NcclPlan& plan,
                         TimePs stepLatency)
    : FlowGraph(shape.GetRanks(), shape.GetRanks() - 1, 8),
      m_request(request),
      m_shape(shape),
      m_plan(plan),
      m_stepLatency(stepLatency)
{
}

uint32_t
DirectGraph::PeerOf(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint32_t ranks = GetRanks();
    return (rank + (outbound ? index + 1 : ranks - 1 - index)) % ranks;
}

Lane
DirectGraph::MakeLane(uint32_t from, uint32_t to, uint32_t other) const
{
    Lane lane;
    lane.peer = other;
    lane.channel = PairChannel(m_shape, from, to);
    lane.nic = lane.channel;
    lane.tag = 0;
    lane.type = ConnType::P2p;
    lane.messages = DivideUp(PairBytes(m_request, GetRanks(), from, to), MESSAGE_BYTES);
    const bool inter = m_shape.NodeOf(from) != m_shape.NodeOf(to);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency
                   : inter            ? m_plan.interLatency
                                      : m_plan.intraLatency;
    if (!inter && m_stepLatency < 0)
    {
        // All of a rank's pairs share what its blocks store over NVLink.
        const auto peers = static_cast<double>(m_shape.nodes[m_shape.NodeOf(from)].size() - 1);
        const double perPair =
            m_plan.pairGBps / (m_request.op == CollectiveOp::SendRecv ? 1 : peers);
        lane.rateCapBps = static_cast<uint64_t>(perPair * 8e9);
    }
    return lane;
}

Lane
DirectGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    const uint32_t peer = PeerOf(rank, index, true);
    return MakeLane(rank, peer, peer);
}

Lane
DirectGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    const uint32_t peer = PeerOf(rank, index, false);
    return MakeLane(peer, rank, peer);
}

uint64_t
DirectGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t bytes = PairBytes(m_request, GetRanks(), rank, PeerOf(rank, outbound, true));
    return std::min(MESSAGE_BYTES, bytes - message * MESSAGE_BYTES);
}

LaneRange
DirectGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return Lanes(0, 0);
}

LaneRange
DirectGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return Lanes(0, 0);
}

uint64_t
DirectGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    return 0;
}

} // namespace AstraSim
