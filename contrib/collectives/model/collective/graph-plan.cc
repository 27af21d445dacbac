/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "graph-plan.h"

#include "lost-switches.h"

#include "ns3/input-error.h"

#include <utility>

namespace AstraSim
{

namespace
{

CollectiveChoice
WithFlows(CollectiveChoice choice, const FlowGraph& graph)
{
    choice.flows = graph.CountFlows();
    return choice;
}

} // namespace

GraphPlan::GraphPlan(const CommGroup& group,
                     TimedGraph timed,
                     const CollectiveChoice& choice,
                     TimePs startLatency,
                     double wireInflation,
                     uint64_t packetBytes)
    : CollectivePlan(WithFlows(choice, *timed.graph)),
      m_group(group),
      m_execution(std::move(timed), m_group)
{
    m_execution.startLatency = startLatency;
    m_execution.wireInflation = wireInflation;
    m_execution.packetBytes = packetBytes;
}

std::unique_ptr<RankCollective>
GraphPlan::CreateRank(uint32_t rankIndex,
                      RankNetwork& network,
                      int tagBase,
                      const MessageInfo& info,
                      std::function<void()> done) const
{
    CheckSwitches(rankIndex, network);
    return std::make_unique<FlowExecutor>(m_execution,
                                          RanksOf(tagBase),
                                          rankIndex,
                                          network,
                                          tagBase,
                                          info,
                                          std::move(done));
}

std::shared_ptr<FlowRanks>
GraphPlan::RanksOf(int tagBase) const
{
    if (auto known = m_instances[tagBase].lock())
    {
        return known;
    }
    std::erase_if(m_instances, [](const auto& instance) { return instance.second.expired(); });
    auto ranks = std::make_shared<FlowRanks>(m_group.ranks.size());
    m_instances[tagBase] = ranks;
    return ranks;
}

void
GraphPlan::CheckSwitches(uint32_t rank, const RankNetwork& network) const
{
    const FlowGraph& graph = *m_execution.graph;
    if (m_execution.memberRanks->empty())
    {
        return;
    }
    for (uint32_t i = 0; i < graph.GetLaneCount(); ++i)
    {
        const Lane lane = graph.GetOutbound(rank, i);
        if (lane.kind == LaneKind::Message || lane.kind == LaneKind::Copy ||
            network.Supports((*m_execution.memberRanks)[lane.members]))
        {
            continue;
        }
        if (lane.type == ConnType::CollNet)
        {
            throw ns3::InputError("NCCL_COLLNET_ENABLE",
                                  0,
                                  "the network's switches do not reduce for the ranks of group " +
                                      m_group.name,
                                  "a network of packets or flows, IN_NETWORK_REDUCTION 1 in its "
                                  "configuration, and links that lose nothing");
        }
        throw LostSwitches("AS_NVLS_ENABLE", m_group.name);
    }
}

} // namespace AstraSim
