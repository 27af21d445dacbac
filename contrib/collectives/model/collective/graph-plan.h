/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "collective-implementation.h"
#include "flow-executor.h"

#include <functional>
#include <map>
#include <memory>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief A plan with a FlowGraph, which the ranks' FlowExecutors carry out.
 */
class GraphPlan : public CollectivePlan
{
  public:
    /// @param choice the graph's flows are added to it @param
    /// startLatency,wireInflation,packetBytes see FlowExecution
    GraphPlan(const CommGroup& group,
              TimedGraph timed,
              const CollectiveChoice& choice,
              TimePs startLatency = 0,
              double wireInflation = 1,
              uint64_t packetBytes = 0);

    TimedGraph GetGraph() const override
    {
        return m_execution;
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override;

  private:
    /// @return the shared state of the ranks of the instance with these tags
    std::shared_ptr<FlowRanks> RanksOf(int tagBase) const;

    /// @throw ns3::InputError if the network lacks switches that carry out the rank's operations
    void CheckSwitches(uint32_t rank, const RankNetwork& network) const;

    CommGroup m_group;
    FlowExecution m_execution;
    mutable std::map<int, std::weak_ptr<FlowRanks>> m_instances; ///< by first tag
};

} // namespace AstraSim

#endif /* GRAPH_PLAN_H */
