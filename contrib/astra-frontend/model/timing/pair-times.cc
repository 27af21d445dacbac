/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pair-times.h"

#include <algorithm>

namespace AstraSim
{

DirectTimes::DirectTimes(std::shared_ptr<const DirectGraph> graph,
                         const NcclPlan& plan,
                         TimePs stepLatency)
    : m_graph(std::move(graph)),
      m_plan(plan),
      m_stepLatency(stepLatency),
      m_peersOut(m_graph->GetRanks()),
      m_peersIn(m_graph->GetRanks())
{
    CountPeers();
}

bool
DirectTimes::AreInOneNode(uint32_t rank, uint32_t peer) const
{
    return m_graph->GetShape().NodeOf(rank) == m_graph->GetShape().NodeOf(peer);
}

void
DirectTimes::CountPeers()
{
    for (const auto& node : m_graph->GetShape().nodes)
    {
        for (const uint32_t from : node)
        {
            for (const uint32_t to : node)
            {
                const bool sends = from != to && m_graph->PairBytesOf(from, to) > 0;
                m_peersOut[from] += sends;
                m_peersIn[to] += sends;
            }
        }
    }
}

LaneTimes
DirectTimes::GetTimes(uint32_t rank, uint32_t, bool outbound, const Lane& lane) const
{
    LaneTimes times;
    const bool hasOwnLatency = m_stepLatency < 0;
    if (!AreInOneNode(rank, lane.peer))
    {
        times.latency = hasOwnLatency ? m_plan.interLatency : m_stepLatency;
        times.slowStarts = m_plan.slowStarts;
        times.connections =
            outbound ? m_graph->ChannelsOf(rank, lane.peer) : m_graph->ChannelsOf(lane.peer, rank);
        return times;
    }
    if (!hasOwnLatency)
    {
        times.latency = m_stepLatency;
        return times;
    }
    // The copy out of a slot follows the arrival at once.
    times.latency = outbound ? m_plan.intraLatency : 0;
    const uint32_t from = outbound ? rank : lane.peer;
    const uint32_t to = outbound ? lane.peer : rank;
    const auto& own = m_plan.Of<PairPlan>();
    const double share = own.rankGBps / std::max(m_peersOut[from], m_peersIn[to]);
    const double blocks = own.channels ? own.blockGBps * m_graph->ChannelsOf(from, to) : share;
    times.rateCapBps = static_cast<uint64_t>(std::min(share, blocks) * 8e9);
    return times;
}

PxnTimes::PxnTimes(const NcclPlan& plan, TimePs stepLatency)
{
    m_inNode.latency = stepLatency >= 0 ? stepLatency : plan.intraLatency;
    m_betweenNodes.latency = stepLatency >= 0 ? stepLatency : plan.interLatency;
}

LaneTimes
PxnTimes::GetTimes(uint32_t, uint32_t, bool, const Lane& lane) const
{
    return lane.type == ConnType::Net ? m_betweenNodes : m_inNode;
}

} // namespace AstraSim
