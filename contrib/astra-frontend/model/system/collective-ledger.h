/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_LEDGER_H
#define COLLECTIVE_LEDGER_H

#include "collective-planner.h"
#include "collectives/model/collective/rank-sample.h"
#include "message-ledger.h"
#include "run-observer.h"
#include "stream-order.h"
#include "workload.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/// One collective of one group while it runs, shared by its ranks.
struct CollectiveInstance
{
    uint64_t id{0};     ///< of those that this ledger knows
    uint64_t number{0}; ///< for messages to users: id or, in a part of a job, number in the group
    const CommGroup* group{nullptr};
    CollectiveRequest request;
    WorkloadPosition position;
    CollectiveSchedule schedule;
    CollectiveChoice choice; ///< of all phases together
    TimePs start{0};
    TimePs lastStart{0};
    TimePs lastJoin{0};
    TimePs rootJoin{0};
    uint32_t joined{0};
    uint32_t finished{0};
    uint32_t members{0}; ///< ranks that are simulated
    TimePs joinedAt{0};  ///< when the first rank joined
    int firstRank{0};    ///< the least of those that joined then
    uint64_t key{0};

    /// A phase of a chunk on one of the groups it runs in.
    struct Part
    {
        const CommGroup* group;
        std::shared_ptr<const CollectivePlan> plan;
        int tagBase;
    };

    std::unordered_map<uint64_t, Part> parts;
};

/// @param joined ranks that have begun it, of @p ranks @return a line that says so
std::string DescribeMissingRanks(const CollectiveRecord& collective,
                                 std::size_t joined,
                                 std::size_t ranks);

/// @return "AllReduce of 1024 bytes"
std::string DescribeCollective(CollectiveOp op, uint64_t bytes);

/**
 * @ingroup astra-frontend
 * @brief The collectives and messages of a job that are under way.
 *
 * Ranks take part in the collectives of a group in the same order, as in NCCL: the n-th of one rank
 * is the n-th of all. The ledger gives each its id and message tags, makes the plan once for all
 * ranks, tells the observer of its first start and last end, and refuses ranks that disagree.
 */
class CollectiveLedger
{
  public:
    /// All borrowed.
    CollectiveLedger(CollectivePlanner& planner,
                     const LogicalTopology& topology,
                     const Workload& workload,
                     RunObserver& observer);

    /**
     * Set the simulated ranks, by default all; a collective ends with the last of them.
     * @param reportsMessages whether the observer gets each end of a message, also of messages
     * between two simulated ranks, and puts the ends together
     */
    void SetSample(RankSample sample, bool reportsMessages)
    {
        m_sample = std::move(sample);
        m_reportsMessages = reportsMessages;
    }

    /**
     * @param group the communicator
     * @param sequence how many collectives of the group this rank has begun before
     * @param rank the network's rank, for errors
     * @return the state shared by the ranks
     * @throw ns3::InputError if an earlier rank asked for something else
     */
    CollectiveInstance& Join(const CommGroup& group,
                             uint32_t sequence,
                             const CollectiveRequest& request,
                             const WorkloadPosition& position,
                             int rank,
                             TimePs now);

    /// @return the plan of a collective that is carried out whole, or null
    std::shared_ptr<const CollectivePlan> FindPlan(const CommGroup& group,
                                                   const CollectiveRequest& request);

    /// Ranks have worked in step: tell the observer, and count their collectives.
    void WorkedInStep(const InStepRecord& record);

    /// A rank begins its part of @p instance: it has joined, and its turn has come.
    static void Begin(CollectiveInstance& instance, TimePs now)
    {
        instance.lastStart = now;
    }

    /// @return the plan and tags of a phase; made when the first rank reaches it
    const CollectiveInstance::Part& GetPart(CollectiveInstance& instance,
                                            uint32_t chunk,
                                            uint32_t phase,
                                            uint32_t jobRank,
                                            TimePs now);

    /// A rank has ended its part of @p instance; the last ends the collective.
    void Leave(CollectiveInstance& instance, TimePs now);

    /// @param tag the workload's own tag @return the tag of the message on the network
    static int MessageTag(uint32_t tag)
    {
        return static_cast<int>(FIRST_MESSAGE_TAG | (tag & (FIRST_MESSAGE_TAG - 1)));
    }

    /// A message leaves; messages of one pair and tag arrive in this order.
    void MessageSent(const MessageEndRecord& message);

    /**
     * The oldest message of the pair and tag has arrived.
     * @param sentAt when it was sent, as far as the network knows
     * @return when it was sent
     * @throw ns3::InputError if the sent message has another size
     */
    TimePs MessageArrived(const MessageEndRecord& message, TimePs sentAt);

    /**
     * An algorithm has ended; it lives on until the next one ends, since it may be on the call
     * stack.
     */
    void Retire(std::unique_ptr<RankCollective> algorithm)
    {
        m_retiredAlgorithm = std::move(algorithm);
    }

    /// @return the order in which ranks begin their streams
    StreamOrder& GetStreamOrder()
    {
        return m_streamOrder;
    }

    /// @return ranks that have begun a collective that has not ended. @param key CollectiveRecord's
    uint32_t CountJoined(uint64_t key) const;

    /// @return collectives and messages that have ended
    uint64_t GetCollectivesEnded() const
    {
        return m_ended;
    }

    /// @return a line per collective that some ranks have begun and others not
    std::vector<std::string> DescribeMissingRanks() const;

    /// @return a line for each message that was sent and not received
    std::vector<std::string> DescribeMessages() const
    {
        return m_messages.Describe();
    }

  private:
    /// Collectives use the tags below, 256 each; point-to-point messages those from here on.
    static constexpr uint32_t FIRST_MESSAGE_TAG = 1U << 30;

    CollectiveRecord RecordOf(const CollectiveInstance& instance) const;

    CollectivePlanner& m_planner;
    const LogicalTopology& m_topology;
    const Workload& m_workload;
    RunObserver& m_observer;
    RankSample m_sample;
    bool m_reportsMessages{false};
    StreamOrder m_streamOrder;
    uint64_t m_nextId{1};
    uint32_t m_nextTag{0};
    uint64_t m_ended{0};
    std::unordered_map<uint64_t, std::unique_ptr<CollectiveInstance>> m_running;
    /// The instance that ended last: its executors may still be on the call stack.
    std::unique_ptr<CollectiveInstance> m_retired;
    std::unique_ptr<RankCollective> m_retiredAlgorithm; ///< destroyed before the instances

    MessageLedger m_messages;
};

} // namespace AstraSim

#endif /* COLLECTIVE_LEDGER_H */
