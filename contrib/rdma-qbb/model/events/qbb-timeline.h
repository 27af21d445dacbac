/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_TIMELINE_H
#define QBB_TIMELINE_H

#include "qbb-call.h"
#include "qbb-late-work.h"
#include "qbb-notes.h"
#include "timing-wheel-scheduler.h"

#include "ns3/event-impl.h"
#include "ns3/ptr.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

// Hot path: Insert and TakeNext run once per simulator event.

class QbbPartitions;
class QbbTimedEvent;

/**
 * @ingroup rdma-qbb
 * @brief A list of events with its clock.
 *
 * A run has one, or, with partitions (QbbPartitions), one per partition and one for events of
 * no node. Events of the same time come in the order of their numbers.
 */
class QbbTimeline
{
  public:
    static constexpr uint64_t NEVER = UINT64_MAX;

    /// Set in the numbers that a partition gives to events in the order in which they are
    /// scheduled.
    static constexpr uint32_t SCHEDULED = uint32_t{1} << 31;
    /// Set in the numbers of calls by another server's nodes.
    static constexpr uint32_t CALLED = uint32_t{1} << 30;

    /// A call of a node to another, with its time.
    struct Call
    {
        uint64_t ts;
        uint32_t context; ///< the node where it is done
        uint32_t server;  ///< QbbPartitionPlan::serverOf the node that has it done
        QbbCall call;
    };

    /// @param firstUid number of the first event @param bits set in the numbers of all events
    explicit QbbTimeline(uint32_t firstUid, uint32_t bits = 0);

    /// Keep events in @p scheduler from now on, those there are included.
    void SetScheduler(Ptr<Scheduler> scheduler);

    /// Schedule an event. @return its number
    uint32_t Insert(uint64_t ts, uint32_t context, EventImpl* event)
    {
        const uint32_t uid = TakeUid();
        InsertAs(uid, ts, context, event);
        return uid;
    }

    /// @return the number of the next event that has none of its own
    uint32_t TakeUid()
    {
        const uint32_t uid = m_uid;
        m_uid = (m_uid + 1) | m_bits;
        return uid;
    }

    /// Schedule an event that has a number.
    void InsertAs(uint32_t uid, uint64_t ts, uint32_t context, EventImpl* event)
    {
        if (m_wheel)
        {
            m_wheel->Insert(event, ts, uid, context);
        }
        else
        {
            m_events->Insert({event, {ts, uid, context}});
        }
    }

    /// Take the next event out of the list. @return false if there is none
    bool TakeNext(Scheduler::Event& next)
    {
        if (m_wheel)
        {
            return m_wheel->TakeNext(next);
        }
        if (m_events->IsEmpty())
        {
            return false;
        }
        next = m_events->RemoveNext();
        return true;
    }

    /// @return the time of the next event; NEVER if there is none
    uint64_t PeekTs() const;

    /// @return when something happens next that other partitions may notice; NEVER if nothing does
    uint64_t PeekNext() const;

    /// @param work some of it is due; not listed yet
    void List(QbbLateWork& work)
    {
        work.isListed = true;
        late.emplace_back(&work);
    }

    /// Take out an event that is in the list.
    void Remove(const Scheduler::Event& event)
    {
        m_events->Remove(event);
    }

    bool IsEmpty() const
    {
        return m_events->IsEmpty();
    }

    /// Skip a number, as ns-3's own implementation does for events that it keeps out of the list.
    void SkipUid()
    {
        ++m_uid;
    }

    /// Number events from the next number of @p before on.
    void ContinueFrom(const QbbTimeline& before)
    {
        m_uid = before.m_uid;
    }

    /// @return the timeline of this thread's events in a run with partitions; null outside of one
    static QbbTimeline* Current()
    {
        return t_current;
    }

    static void SetCurrent(QbbTimeline* timeline)
    {
        t_current = timeline;
    }

    /// @return whether it is that of a partition
    bool IsPartition() const
    {
        return m_bits != 0;
    }

    uint64_t nowTs{0};
    // Not next to m_uid: the compiler would load both with one instruction from an event just
    // written in two parts, and that load stalls until the writes are in the cache.
    uint32_t currentUid;
    uint32_t context;
    uint64_t eventCount{0};

    // --- with partitions
    QbbPartitions* partitions{nullptr};
    QbbNotes notes; ///< since the last window
    /// Wires with frames for each partition, of even and of odd windows: the frames of one window
    /// are taken while the next one runs.
    std::array<std::vector<std::vector<QbbTimedEvent*>>, 2> outgoing;
    /// Calls to each partition's nodes, likewise.
    std::array<std::vector<std::vector<Call>>, 2> calls;
    uint64_t lastCalledTs{0};           ///< the latest of the calls that have been put in the list
    uint32_t calledUid{0};              ///< counts them since the first of that time
    uint32_t parity{0};                 ///< of the window
    uint64_t firstOutgoing{NEVER};      ///< earliest arrival of all frames and calls sent
    std::vector<Ptr<QbbLateWork>> late; ///< work of which some is due

  private:
    // Known to every place that asks, so that asking costs one instruction.
    static inline thread_local constinit QbbTimeline* t_current{nullptr};

    Ptr<Scheduler> m_events;
    TimingWheelScheduler* m_wheel{nullptr}; ///< m_events if it is a wheel
    uint32_t m_uid;
    uint32_t m_bits;
};

} // namespace ns3

#endif /* QBB_TIMELINE_H */
