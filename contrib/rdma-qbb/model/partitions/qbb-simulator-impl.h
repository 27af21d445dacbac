/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_SIMULATOR_IMPL_H
#define QBB_SIMULATOR_IMPL_H

#include "ns3/assert.h"
#include "ns3/event-id.h"
#include "ns3/event-impl.h"
#include "ns3/object-factory.h"
#include "ns3/ptr.h"
#include "ns3/qbb-bytes.h"
#include "ns3/qbb-timeline.h"
#include "ns3/simulator-impl.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ns3
{

// Hot path: ScheduleTimed and Run's loop run once per simulator event.

class QbbPartitions;
class QbbSimulatorImpl;
struct QbbPartitionPlan;

/**
 * @ingroup rdma-qbb
 * @brief An event that its owner schedules again and again without allocating.
 *
 * It is told the time, and it is never cancelled (a cancelled EventImpl cannot be used again): an
 * owner that no longer wants an expiry compares the time with the one that it waits for.
 */
class QbbTimedEvent : public EventImpl
{
  public:
    /// The event is due. @param nowPs current time in units of the time resolution (picoseconds)
    virtual void Fire(int64_t nowPs) = 0;

    /**
     * Schedule one more expiry.
     * @param context node id, for logging and for events inside
     * @param timePs not before now, in picoseconds
     */
    void ScheduleAt(uint32_t context, int64_t timePs);

    /// Its owner has sent something to another partition: take it over there.
    /// @param parity of the window in which it was sent
    virtual void TakeOver(uint32_t parity)
    {
    }

    /// The other partition is another process's: append all that is sent there, and forget it.
    virtual void PutOutgoing(uint32_t parity, QbbBytes& bytes)
    {
    }

    /// Keep a frame that another process has sent as if it had been sent here.
    virtual void TakeOutgoing(uint32_t parity, QbbByteReader& reader)
    {
    }

    /// @return its name in every process, if it has called TakePlace()
    uint32_t GetPlace() const
    {
        return m_place;
    }

  protected:
    /// In a run with partitions, come before events of the same time of owners that have not called
    /// this, and in the order in which owners have.
    /// @param leadsElsewhere whether it may send something to another partition
    void TakePlace(bool leadsElsewhere);

    void Notify() override;

  private:
    friend class QbbPartitions;
    friend class QbbSimulatorImpl;

    static constexpr uint32_t NO_PLACE = UINT32_MAX;

    /// @return the number of the next expiry in a run with partitions @param timeline where it goes
    uint32_t TakeUid(QbbTimeline& timeline)
    {
        // Owners may have scheduled several expiries for the same time: they differ in a few bits.
        constexpr uint32_t BITS = 2;
        return m_place == NO_PLACE ? timeline.TakeUid()
                                   : m_place << BITS | (m_turn++ & ((1U << BITS) - 1));
    }

    /// As ScheduleAt(), the first time or when another simulator implementation runs.
    void ScheduleElsewhere(uint32_t context, int64_t timePs);

    bool m_asked{false}; ///< which implementation runs is known
    uint8_t m_turn{0};
    uint32_t m_place{NO_PLACE};
    QbbSimulatorImpl* m_simulator{nullptr}; ///< null if another implementation runs
};

/**
 * @ingroup rdma-qbb
 * @brief A simulator implementation that spends little per event.
 *
 * Works as ns3::DefaultSimulatorImpl, in the same order of events, for one process. It knows
 * TimingWheelScheduler (any other scheduler works as well) and QbbTimedEvent: ports and NICs put
 * their events into the wheel and get them back without the layers that ns-3 has for events of any
 * kind. Select it with the global value `SimulatorImplementationType`, before the first event.
 *
 * With Divide() it runs the nodes in partitions, on several threads (QbbPartitions).
 */
class QbbSimulatorImpl final : public SimulatorImpl
{
  public:
    static TypeId GetTypeId();

    QbbSimulatorImpl();
    ~QbbSimulatorImpl() override;

    /// @return the simulator implementation if it is of this class, else null
    static QbbSimulatorImpl* Get();

    /**
     * Schedule a port's event. The list gets a reference, which the caller has counted.
     * @param context node id
     * @param timePs not before now
     * @param event to fire
     */
    void ScheduleTimed(uint32_t context, int64_t timePs, QbbTimedEvent* event)
    {
        // Pointers to events are even: Execute() recognises these by their lowest bit.
        auto* marked = reinterpret_cast<EventImpl*>(reinterpret_cast<uintptr_t>(event) | TIMED);
        QbbTimeline* current = QbbTimeline::Current();
        QbbTimeline& timeline = current ? FindTimeline(*current, context) : m_timeline;
        const uint32_t uid = current ? event->TakeUid(timeline) : timeline.TakeUid();
        timeline.InsertAs(uid, static_cast<uint64_t>(timePs), context, marked);
    }

    /// @return the current time in units of the time resolution (picoseconds)
    int64_t GetNowPs() const
    {
        return static_cast<int64_t>(Present().nowTs);
    }

    /// @return the time that Run() has reached; may be called by any thread
    int64_t GetReachedPs() const
    {
        return m_reachedPs.load(std::memory_order_relaxed);
    }

    /**
     * Run the nodes in partitions from now on, which is before Run(). Only nodes that share nothing
     * but wires may be in different partitions; their ports say so when they are joined
     * (Node::GetSystemId()).
     */
    void Divide(QbbPartitionPlan plan);

    /// Run on one list of events after all: nothing may be sent over the wires between partitions.
    void RunUndivided()
    {
        m_runsUndivided = true;
    }

    /// @return the partitions; null without Divide()
    QbbPartitions* GetPartitions() const
    {
        return m_partitions.get();
    }

    // --- SimulatorImpl
    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    // ns-3 3.37 returns nothing here, later versions the event's id.
    decltype(std::declval<SimulatorImpl&>().Stop(Time())) Stop(const Time& delay) override;
    EventId Schedule(const Time& delay, EventImpl* event) override;
    void ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event) override;
    EventId ScheduleNow(EventImpl* event) override;
    EventId ScheduleDestroy(EventImpl* event) override;
    void Remove(const EventId& id) override;
    void Cancel(const EventId& id) override;
    bool IsExpired(const EventId& id) const override;
    void Run() override;
    Time Now() const override;
    Time GetDelayLeft(const EventId& id) const override;
    Time GetMaximumSimulationTime() const override;
    void SetScheduler(ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

  protected:
    void DoDispose() override;

  private:
    static constexpr uintptr_t TIMED = 1;

    /// An event that another thread has scheduled; its delay counts from InsertForeign() on.
    struct ForeignEvent
    {
        uint32_t context;
        uint64_t delay;
        EventImpl* event;
    };

    friend class QbbPartitions;
    friend class QbbTimedEvent;

    /// @return the timeline of the event that is running now
    const QbbTimeline& Present() const
    {
        const QbbTimeline* current = QbbTimeline::Current();
        return current ? *current : m_timeline;
    }

    /// @return the number of an event that is scheduled now
    uint32_t Insert(uint64_t ts, uint32_t context, EventImpl* event);

    /// @return the timeline of an event that is scheduled in a run with partitions. An event of a
    /// partition schedules only events of the same partition, an event of no node any event.
    QbbTimeline& FindTimeline(QbbTimeline& current, uint32_t context)
    {
        NS_ASSERT_MSG(!current.IsPartition() || &current == &TimelineOf(context),
                      "an event of one partition schedules one of another");
        return current.IsPartition() ? current : TimelineOf(context);
    }

    /// @return the timeline with the events of a node
    QbbTimeline& TimelineOf(uint32_t context);
    void Execute(QbbTimeline& timeline, const Scheduler::Event& next);
    /// Drop the events that a timeline has left. @param unowned an event that is not released,
    /// since the timeline holds no reference to it; or null
    static void ForgetEvents(QbbTimeline& timeline, const EventImpl* unowned = nullptr);
    /// @return whether this thread runs events, as opposed to one that only schedules some
    bool IsOfRun() const;
    /// Schedule the events that other threads than those of the run have scheduled.
    void InsertForeign();

    QbbTimeline m_timeline; ///< of everything, or, with partitions, of all before Run()
    ObjectFactory m_schedulerFactory;
    std::unique_ptr<QbbPartitions> m_partitions; ///< null without Divide()
    bool m_runsUndivided{false};
    uint32_t m_places{1}; ///< the next place for TakePlace(); between processes, 0 ends a window
    std::unordered_map<uint32_t, QbbTimedEvent*> m_wires; ///< that lead elsewhere, by place
    std::atomic<bool> m_stop{false};
    std::atomic<int64_t> m_reachedPs{0};
    std::list<EventId> m_destroyEvents;
    std::thread::id m_thread;
    std::atomic<bool> m_hasForeign{false};
    std::mutex m_foreignMutex;
    std::vector<ForeignEvent> m_foreign;
};

inline void
QbbTimedEvent::ScheduleAt(uint32_t context, int64_t timePs)
{
    Ref(); // the simulator drops one reference after each expiry
    if (m_simulator) [[likely]]
    {
        m_simulator->ScheduleTimed(context, timePs, this);
    }
    else
    {
        ScheduleElsewhere(context, timePs);
    }
}

/**
 * @ingroup rdma-qbb
 * @brief A timed event that calls a method of its owner.
 *
 * @tparam T the owner
 * @tparam METHOD called when the event expires, with the time in picoseconds
 */
template <typename T, void (T::*METHOD)(int64_t nowPs)>
class QbbPortEvent final : public QbbTimedEvent
{
  public:
    /// @param owner the object that is called
    explicit QbbPortEvent(T* owner)
        : m_owner(owner)
    {
    }

    /// The owner ends: expiries that are still scheduled do nothing.
    void Detach()
    {
        m_owner = nullptr;
    }

    void Fire(int64_t nowPs) override
    {
        if (m_owner)
        {
            (m_owner->*METHOD)(nowPs);
        }
    }

  private:
    T* m_owner;
};

inline void
QbbSimulatorImpl::Execute(QbbTimeline& timeline, const Scheduler::Event& next)
{
    NS_ASSERT(next.key.m_ts >= timeline.nowTs);
    ++timeline.eventCount;
    timeline.nowTs = next.key.m_ts;
    timeline.context = next.key.m_context;
    timeline.currentUid = next.key.m_uid;
    const auto address = reinterpret_cast<uintptr_t>(next.impl);
    if (address & TIMED)
    {
        auto* event = reinterpret_cast<QbbTimedEvent*>(address & ~TIMED);
        event->Fire(static_cast<int64_t>(next.key.m_ts));
        event->Unref();
    }
    else
    {
        PreEventHook(EventId(next.impl, next.key.m_ts, next.key.m_context, next.key.m_uid));
        const Ptr<EventImpl> event(next.impl, false); // goes also if it throws
        event->Invoke();
    }
}

} // namespace ns3

#endif /* QBB_SIMULATOR_IMPL_H */
