/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "direct-graph.h"

#include "astra-frontend/model/collective/divide-up.h"
#include "pair-bytes.h"

#include <algorithm>

namespace AstraSim
{

uint32_t
ChannelsOfPair(uint64_t bytes, uint32_t channels, uint32_t ranks, uint32_t nodes, uint64_t step)
{
    const uint64_t leastPart = nodes > 1 ? step / 2 : step / 8;
    const uint64_t mostPart = nodes > 1 ? step : step * 32;
    uint32_t few = channels;
    while (few > 1 && few * ranks > channels)
    {
        few /= 2;
    }
    auto used = static_cast<uint32_t>(std::min<uint64_t>(few, DivideUp(bytes, leastPart)));
    while (used <= channels / 2 && DivideUp(bytes, used) > mostPart)
    {
        used *= 2;
    }
    return used;
}

uint64_t
NetworkMessageBytes(const NcclPlan& plan, uint64_t bytes)
{
    const uint64_t step = plan.Of<PairPlan>().chunk;
    return bytes < step ? step / 4 : bytes < 8 * step ? step / 2 : step;
}

DirectGraph::DirectGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const NcclPlan& plan,
                         TimePs stepLatency)
    : FlowGraph(shape.GetRanks(), shape.GetRanks() - 1, 8),
      m_request(request),
      m_shape(shape),
      m_schedule(shape),
      m_plan(plan),
      m_stepLatency(stepLatency),
      m_peersOut(shape.GetRanks()),
      m_peersIn(shape.GetRanks())
{
    CountPeers();
}

void
DirectGraph::CountPeers()
{
    for (const auto& node : m_shape.nodes)
    {
        for (const uint32_t from : node)
        {
            for (const uint32_t to : node)
            {
                const bool sends = from != to && PairBytes(m_request, GetRanks(), from, to) > 0;
                m_peersOut[from] += sends;
                m_peersIn[to] += sends;
            }
        }
    }
}

uint32_t
DirectGraph::PeerOf(uint32_t rank, uint32_t index, bool outbound) const
{
    return outbound ? m_schedule.SendsTo(rank, index) : m_schedule.ReceivesFrom(rank, index);
}

bool
DirectGraph::AreInOneNode(uint32_t from, uint32_t to) const
{
    return m_shape.NodeOf(from) == m_shape.NodeOf(to);
}

uint32_t
DirectGraph::ChannelsOf(uint32_t from, uint32_t to) const
{
    const uint64_t bytes = PairBytes(m_request, GetRanks(), from, to);
    return m_plan.Of<PairPlan>().channels && bytes && AreInOneNode(from, to)
               ? ChannelsOfPair(bytes,
                                m_plan.Of<PairPlan>().channels,
                                GetRanks(),
                                m_shape.GetNodes(),
                                m_plan.protocol == NcclProtocol::Ll ? LL_STEP
                                                                    : m_plan.Of<PairPlan>().chunk)
               : 1;
}

uint64_t
DirectGraph::MessageBytesOf(uint32_t from, uint32_t to) const
{
    if (m_plan.protocol == NcclProtocol::Ll)
    {
        return LL_STEP / 2 * ChannelsOf(from, to);
    }
    return AreInOneNode(from, to)
               ? m_plan.Of<PairPlan>().chunk * ChannelsOf(from, to)
               : NetworkMessageBytes(m_plan, PairBytes(m_request, GetRanks(), from, to));
}

Lane
DirectGraph::MakeLane(uint32_t from, uint32_t to, uint32_t other) const
{
    Lane lane;
    lane.peer = other;
    lane.channel = PairChannel(m_shape, from, to);
    lane.tag = 0;
    lane.type = ConnType::P2p;
    lane.messages = DivideUp(PairBytes(m_request, GetRanks(), from, to), MessageBytesOf(from, to));
    const bool inter = !AreInOneNode(from, to);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency
                   : inter            ? m_plan.interLatency
                                      : m_plan.intraLatency;
    if (inter)
    {
        lane.slowStarts = m_plan.slowStarts;
    }
    if (!inter && m_stepLatency < 0 && lane.messages)
    {
        const double share =
            m_plan.Of<PairPlan>().rankGBps / std::max(m_peersOut[from], m_peersIn[to]);
        const double blocks = m_plan.Of<PairPlan>().channels
                                  ? m_plan.Of<PairPlan>().blockGBps * ChannelsOf(from, to)
                                  : share;
        lane.rateCapBps = static_cast<uint64_t>(std::min(share, blocks) * 8e9);
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
    Lane lane = MakeLane(peer, rank, peer);
    if (m_stepLatency < 0 && AreInOneNode(peer, rank))
    {
        lane.latency = 0; // the copy out of a slot follows the arrival at once
    }
    return lane;
}

uint64_t
DirectGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint32_t peer = PeerOf(rank, outbound, true);
    const uint64_t most = MessageBytesOf(rank, peer);
    return std::min(most, PairBytes(m_request, GetRanks(), rank, peer) - message * most);
}

std::optional<uint64_t>
DirectGraph::GetOwnCopy(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return m_stepLatency < 0 && m_plan.protocol == NcclProtocol::Simple &&
                   AreInOneNode(PeerOf(rank, inbound, false), rank)
               ? std::optional<uint64_t>(0)
               : std::nullopt;
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
