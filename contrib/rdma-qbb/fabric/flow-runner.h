/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_RUNNER_H
#define FLOW_RUNNER_H

#include "link-counting.h"
#include "rdma-fabric.h"

#include "ns3/event-id.h"
#include "ns3/flow-file.h"
#include "ns3/message-cut.h"
#include "ns3/qbb-call.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Runs the flows of a file over a fabric, each from its start time.
 *
 * A flow is split evenly over QPS_PER_CONNECTION queue pairs, or as many as it has frames; with
 * QP_MODE persistent the flows between two hosts with the same port and priority share their queue
 * pairs. A flow that finds no path waits for one. Only the next flow and those under way are in
 * memory, and all of a connection matrix. Its triggers need a network without partitions, as a flow
 * then starts at the moment at which another ends elsewhere.
 */
class FlowRunner : public QbbAddressee
{
  public:
    /// @param fabric must outlive the object @param path flow file
    FlowRunner(RdmaFabric& fabric, const std::string& path);
    ~FlowRunner();

    /// Count the flows that start on the links that they take. @param use outlives the object
    void CountIn(LinkUse& use, uint16_t purpose)
    {
        m_counter.emplace(use, m_fabric);
        m_purpose = purpose;
    }

    /// Schedule the flows. @param allDone called when the last one has finished
    void Start(std::function<void()> allDone);

    /// @return flows that are complete at their senders; may be called by any thread
    uint64_t Finished() const
    {
        return m_finished;
    }

    /// @return flows that the file announces
    uint64_t Announced() const
    {
        return m_file.Count();
    }

    /// @return message bytes of the flows that are complete
    uint64_t FinishedBytes() const
    {
        return m_finishedBytes;
    }

    /// @return when the last flow finished, in picoseconds
    int64_t LastFinishPs() const
    {
        return m_lastFinishPs;
    }

    /// @param limit at most so many lines @return a line for each flow that began and has not ended
    std::vector<std::string> DescribeUnfinished(std::size_t limit) const;

    /// Close queue pairs that stay open between flows.
    void CloseConnections();

  private:
    /// A flow under way.
    struct Active
    {
        FlowRecord flow{};
        uint32_t partsLeft{0};        ///< 0: the place is free
        uint32_t partsUndelivered{0}; ///< counted if the flow has a trigger for that
        bool waitsForPath{false};
    };

    /// A part of a flow has been acknowledged.
    struct PartSent
    {
        uint32_t place;

        void operator()(FlowRunner& runner) const
        {
            runner.OnPartSent(place);
        }
    };

    /// A flow waits for a path to its destination, or has found one.
    struct PathSought
    {
        uint32_t place;
        bool waits;

        void operator()(FlowRunner& runner) const
        {
            runner.m_active[place].waitsForPath = waits;
        }
    };

    using Connection = std::tuple<uint32_t, uint32_t, uint8_t, uint16_t>;

    void StartDueFlows();
    void StartFlow(const FlowRecord& flow);
    /// Post a flow's messages. @return whether a path leads to its destination
    bool Launch(uint32_t place);
    void OnRoutesChanged();
    void OnPartSent(uint32_t place);
    void OnPartDelivered(uint32_t place);
    /// Schedule the flows of a trigger for now. @param trigger 0: none
    void Activate(uint32_t trigger);
    void StartTriggered();
    uint32_t TakePlace();
    /// @return the queue pairs to use; empty if no path leads there
    std::vector<RdmaQueuePair*> Connect(const FlowRecord& flow, uint32_t count);

    RdmaFabric& m_fabric;
    MessageCut m_cut; ///< with parts that choose their NICs by the hash
    std::optional<MessageCounter> m_counter;
    uint16_t m_purpose{0};
    FlowFile m_file;
    std::optional<FlowRecord> m_next;
    std::function<void()> m_allDone;
    std::vector<Active> m_active;
    std::vector<uint32_t> m_freePlaces;
    std::vector<uint32_t> m_waiting; ///< places of this process's flows without a path, by start
    std::map<Connection, std::vector<RdmaQueuePair*>> m_connections; ///< QP_MODE persistent
    EventId m_startEvent;
    EventId m_triggeredEvent;
    std::vector<FlowRecord> m_triggered; ///< flows to start at that event
    std::atomic<uint64_t> m_finished{0}; ///< changed by one thread
    uint64_t m_finishedBytes{0};
    int64_t m_lastFinishPs{0};
};

} // namespace ns3

#endif /* FLOW_RUNNER_H */
