/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_EXECUTOR_H
#define FLOW_EXECUTOR_H

#include "flow-graph.h"

#include "ns3/collective-implementation.h"
#include "ns3/collective-types.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace AstraSim
{

/// What every rank's executor of one instance has in common.
struct FlowExecution
{
    /// Ranks of the network in each of a graph's sets of members.
    using MemberRanks = std::vector<std::vector<int>>;

    FlowExecution() = default;
    /// @param group outlives the execution
    FlowExecution(std::shared_ptr<const FlowGraph> graph, const CommGroup& group);

    std::shared_ptr<const FlowGraph> graph;
    const CommGroup* group{nullptr};
    std::shared_ptr<const MemberRanks> memberRanks;
    TimePs startLatency{0};  ///< once, before the first flow
    double wireInflation{1}; ///< protocol overhead on the wire
};

/**
 * @brief Carries out one rank's part of a FlowGraph on an AstraNetworkAPI.
 *
 * Keeps two counters per lane and one posted receive per inbound lane.
 */
class FlowExecutor : public RankCollective
{
  public:
    /// @param execution shared by the ranks @param rank index in the group
    FlowExecutor(FlowExecution execution,
                 uint32_t rank,
                 AstraNetworkAPI& network,
                 int tagBase,
                 const sim_request& info,
                 std::function<void()> done);

    void Start() override;
    std::string DescribeWait() const override;

  private:
    struct Outbound
    {
        FlowExecutor* owner;
        uint32_t index;
        uint64_t sent{0};
        uint64_t completed{0};
        Lane lane;
    };

    struct Inbound
    {
        FlowExecutor* owner;
        uint32_t index;
        uint64_t received{0};
        Lane lane;
    };

    void Begin();
    /// Send what may be sent on a lane.
    void Advance(Outbound& outbound);
    /// Wait for the next message of a lane, if there is one.
    void Expect(Inbound& inbound);
    void OnSent(Outbound& outbound);
    void OnReceived(Inbound& inbound);
    /// Take part in an in-network operation of a lane. @param message of the lane
    void Join(const Lane& lane, uint64_t bytes, MessageHandler handler, void* arg);
    void CheckDone();
    /// Run @p handler with @p arg from the event loop.
    void Defer(MessageHandler handler, void* arg);

    FlowExecution m_execution;
    uint32_t m_rank;
    AstraNetworkAPI& m_network;
    int m_tagBase;
    sim_request m_info;
    std::function<void()> m_done;
    std::vector<Outbound> m_outbound;
    std::vector<Inbound> m_inbound;
    uint64_t m_left{0}; ///< messages to be sent or received
};

} // namespace AstraSim

#endif /* FLOW_EXECUTOR_H */
