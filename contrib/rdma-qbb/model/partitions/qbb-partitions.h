/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PARTITIONS_H
#define QBB_PARTITIONS_H

#include "qbb-processes.h"
#include "qbb-simulator-impl.h"
#include "qbb-thread-pace.h"

#include "ns3/assert.h"
#include "ns3/qbb-timeline.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace ns3
{

/// Assignment of the nodes of a run to partitions.
struct QbbPartitionPlan
{
    QbbProcesses* processes{nullptr};  ///< that share the partitions; null: there is only this one
    std::vector<uint32_t> partitionOf; ///< by id of the ns-3 node; each partition has a node
    /// By id of the ns-3 node: the first node of its server, or itself. A server is in one
    /// partition.
    std::vector<uint32_t> serverOf;
    uint32_t threads{1}; ///< at most as many as partitions of this process
    /// No partition notices another's acts before this time has passed: the least delay of the
    /// links between them.
    int64_t lookaheadPs{0};
    /// Delay of mail (QbbMail): at least the lookahead, and the same however the nodes are shared
    /// out.
    int64_t reactionPs{0};
};

/// Use of the time of a run's threads.
struct QbbThreadUse
{
    uint32_t threads{1};
    uint64_t windows{0};
    uint64_t serialWindows{0}; ///< that one thread ran, as it was faster (QbbThreadPace)
    double wallSeconds{0};
    double windowSeconds{0}; ///< of all threads, at work in windows
    double aloneSeconds{0};  ///< of one thread, between windows, while the others wait
    uint32_t processes{1};
    double exchangeSeconds{0}; ///< waited for other processes

    /// @return the part of the threads' time in which they were at work
    double GetEfficiency() const
    {
        return wallSeconds > 0 ? (windowSeconds + aloneSeconds) / (wallSeconds * threads) : 1;
    }

    /// @return the part of the threads' time in which they waited for the one between windows
    double GetAlonePart() const
    {
        return wallSeconds > 0 ? aloneSeconds * (threads - 1) / (wallSeconds * threads) : 0;
    }
};

/**
 * @ingroup rdma-qbb
 * @brief Runs the events of each partition of the nodes on a timeline of its own, several at once.
 *
 * A conservative parallel simulation (Chandy and Misra 1979; windows as in Nicol 1993): from the
 * earliest event of all on, every partition goes on for the lookahead without the others, since
 * all that they send it meanwhile arrives later. Events of no node (starts of flows, link events,
 * samples) come before all others of their time, with every partition at that time, and may touch
 * everything. Observers of all nodes get their notes between two windows, in the order of time and
 * node (QbbMail::Note()).
 *
 * Events of a node at the same time come in an order that does not depend on how the nodes are
 * shared out: first frames that arrive, in the order of the wires, then calls by nodes of other
 * servers, then the node's own events as they were scheduled. So results are the same for every
 * number of partitions and threads.
 */
class QbbPartitions
{
  public:
    /// @param simulator outlives the object @param scheduler makes the lists of events
    QbbPartitions(QbbSimulatorImpl& simulator, QbbPartitionPlan plan, ObjectFactory scheduler);
    ~QbbPartitions();

    QbbPartitions(const QbbPartitions&) = delete;
    QbbPartitions& operator=(const QbbPartitions&) = delete;

    /// Run until no event is left or the simulator is stopped.
    void Run();

    /// @return the timeline of a node, or the one of no node
    QbbTimeline& TimelineOf(uint32_t context)
    {
        return context < m_plan.partitionOf.size() ? *m_timelines[m_plan.partitionOf[context]]
                                                   : m_global;
    }

    QbbSimulatorImpl& GetSimulator() const
    {
        return m_simulator;
    }

    /// @return whether events are in the timelines of this object: Run() has been called
    bool HasBegun() const
    {
        return m_hasBegun;
    }

    /// @return whether this process runs the events of a node
    bool IsHere(uint32_t context) const
    {
        return m_isHere[PartitionOf(context)];
    }

    /// @return the number of a node's partition
    uint32_t PartitionOf(uint32_t context) const
    {
        return m_plan.partitionOf[context];
    }

    uint64_t GetEventCount() const;

    /// @return how the threads spent their time in Run()
    QbbThreadUse GetThreadUse() const;

    /// Holds frames and calls for another partition until the end of the window.
    struct Outbox
    {
        QbbTimeline* timeline; ///< where it waits for the end of the window; null: nowhere
        bool isLost;           ///< it is not sent, as another process runs the sender
    };

    /// @param sender,receiver nodes of different partitions
    static Outbox OutboxOf(uint32_t sender, uint32_t receiver)
    {
        QbbTimeline* current = QbbTimeline::Current();
        if (!current || current->IsPartition())
        {
            return {current, false};
        }
        QbbPartitions& self = *current->partitions;
        const bool isThere = self.m_plan.processes && !self.IsHere(receiver);
        return {isThere ? &self.TimelineOf(sender) : nullptr,
                self.m_plan.processes && !self.IsHere(sender)};
    }

    /// Something has been sent to another partition, for the first time in this window.
    /// @param timeline of the sender @param context the node that it goes to
    static void AddOutgoing(QbbTimeline& timeline, uint32_t context, QbbTimedEvent* wire)
    {
        const uint32_t partition = timeline.partitions->PartitionOf(context);
        timeline.outgoing[timeline.parity][partition].push_back(wire);
    }

  private:
    friend class QbbMail;

    class CallEvent;

    /// The events of a partition that carry calls out, used again and again.
    struct CallPool
    {
        std::vector<Ptr<CallEvent>> all;
        CallEvent* free{nullptr};
        std::vector<QbbTimeline::Call> incoming; ///< of one window
    };

    void AddCall(QbbTimeline& caller, uint32_t context, const QbbCall& call);
    /// Schedule a call; in the order of time and caller.
    void InsertCall(QbbTimeline& timeline, const QbbTimeline::Call& call);
    void Distribute();
    void StartThreads();
    void EndThreads();
    void BeginWindow();
    void WaitForOthers();
    /// A thread has done its part of the window.
    void EndWork();
    /// Main function of a thread other than the caller's.
    void Work(uint32_t thread);
    /// Run the partitions of a thread up to m_bound. @param threads that run some
    void RunWindowOf(uint32_t thread, uint32_t threads);
    void RunPartition(QbbTimeline& timeline, uint32_t number);
    /// Carry out late work of nodes that others will notice, up to the end of the window.
    void CarryOutLate(QbbTimeline& timeline) const;
    /// Take the frames and calls that others have sent to a partition.
    void TakeIncoming(uint32_t partition, uint32_t parity);
    void TakeAllIncoming();
    /// Run the partitions up to @p bound, all threads together.
    void RunWindow(uint64_t bound);
    void RunGlobalEvents(uint64_t ts);
    void TellNotes();

    /// Run @p step, which is a window or the events of no node. An exception that it throws is
    /// thrown again when all processes know of it.
    template <typename Step>
    void RunStep(Step step);
    /// Tell observers of the step's events, at all nodes.
    void EndStep();

    // --- with other processes
    /// Give other processes their frames and the common notes; take those for this one.
    void Exchange();
    void PutStatus(QbbBytes& bytes) const;
    void TakeStatus(uint32_t process, QbbByteReader& reader);
    void PutOutgoing(QbbBytes& bytes, QbbTimeline& sender, uint32_t partition);
    void TakeOutgoing(QbbByteReader& reader, QbbTimeline& sender, uint32_t partition);
    /// Run f(partition) for each partition of a process.
    template <typename Function>
    void ForEachOf(uint32_t process, Function f) const;
    /// @return whether the simulator has been stopped
    bool IsStopped() const;

    QbbSimulatorImpl& m_simulator;
    QbbPartitionPlan m_plan;
    QbbTimeline m_global;
    std::vector<std::unique_ptr<QbbTimeline>> m_timelines; ///< by partition
    std::vector<bool> m_isHere;       ///< whether this process runs each partition
    std::vector<uint32_t> m_here;     ///< the partitions that it runs
    std::vector<uint64_t> m_earliest; ///< event of each partition
    Ptr<EventImpl> m_end;             ///< of a window: never executed
    QbbNotes m_telling;
    std::vector<CallPool> m_callPools; ///< by partition

    std::vector<std::thread> m_threads;
    uint64_t m_bound{0};
    uint32_t m_parity{0};
    using Clock = std::chrono::steady_clock;

    /// State of a thread in a window, on a cache line that no other thread writes.
    struct alignas(64) WindowTime
    {
        Clock::duration spent{0};
        std::exception_ptr failure;
    };

    std::vector<WindowTime> m_windowTimes; ///< by thread
    Clock::duration m_wall{0};
    Clock::duration m_inWindows{0};  ///< of m_wall
    Clock::duration m_inExchange{0}; ///< of m_wall
    bool m_isStopped{false};         ///< all processes know that one has stopped the simulator
    std::exception_ptr m_failure;    ///< of the step
    std::vector<QbbBytes> m_toProcesses;
    std::vector<QbbBytes> m_fromProcesses;
    uint64_t m_windowCount{0};
    QbbThreadPace m_pace;
    bool m_quit{false};
    bool m_hasBegun{false};
    alignas(64) std::atomic<uint64_t> m_window{0}; ///< counts windows that have begun
    alignas(64) std::atomic<uint32_t> m_left{0};   ///< threads that have not ended the window
};

} // namespace ns3

#endif /* QBB_PARTITIONS_H */
