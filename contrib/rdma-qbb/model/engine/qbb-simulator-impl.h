/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_SIMULATOR_IMPL_H
#define QBB_SIMULATOR_IMPL_H

#include "timing-wheel-scheduler.h"

#include "ns3/event-impl.h"
#include "ns3/ptr.h"
#include "ns3/simulator-impl.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace ns3
{

// Hot path: ScheduleTimed and Run's loop run once per simulator event.

class QbbSimulatorImpl;

/**
 * @ingroup rdma-qbb
 * @brief An event that its owner schedules again and again without allocating.
 *
 * It is told the time, and it is never cancelled (a cancelled EventImpl cannot be used again): an
 * owner that no longer wants an expiry finds out by comparing the time with what it waits for.
 */
class QbbTimedEvent : public EventImpl
{
  public:
    /// The event is due. @param nowPs current time in units of the time resolution (picoseconds)
    virtual void Fire(int64_t nowPs) = 0;

    /**
     * Schedule one more expiry.
     * @param context node id, for logging and for what runs inside
     * @param timePs not before now, in picoseconds
     */
    void ScheduleAt(uint32_t context, int64_t timePs);

  protected:
    void Notify() override;

  private:
    /// As ScheduleAt(), the first time or when another simulator implementation runs.
    void ScheduleElsewhere(uint32_t context, int64_t timePs);

    bool m_asked{false};                    ///< which implementation runs is known
    QbbSimulatorImpl* m_simulator{nullptr}; ///< null if another implementation runs
};

/**
 * @ingroup rdma-qbb
 * @brief A simulator implementation that spends little per event.
 *
 * Does what ns3::DefaultSimulatorImpl does, in the same order of events, for one process. It knows
 * TimingWheelScheduler (any other scheduler works as well) and QbbTimedEvent: ports and NICs put
 * their events into the wheel and get them back without the layers that ns-3 has for events of any
 * kind. Select it with the global value `SimulatorImplementationType`, before the first event.
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
        // Pointers to events are even: the lowest bit tells them apart where they come out again.
        Insert(static_cast<uint64_t>(timePs),
               context,
               reinterpret_cast<EventImpl*>(reinterpret_cast<uintptr_t>(event) | TIMED));
    }

    /// @return the current time in units of the time resolution (picoseconds)
    int64_t GetNowPs() const
    {
        return static_cast<int64_t>(m_nowTs);
    }

    /// Called before each event with the node it belongs to (or NO_CONTEXT), and after the last.
    using ContextHook = void (*)(uint32_t context);

    void SetContextHook(ContextHook hook)
    {
        m_contextHook = hook;
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

    /// What another thread has scheduled; its delay counts from when it is looked at.
    struct ForeignEvent
    {
        uint32_t context;
        uint64_t delay;
        EventImpl* event;
    };

    uint32_t Insert(uint64_t ts, uint32_t context, EventImpl* event)
    {
        const uint32_t uid = m_uid++;
        if (m_wheel)
        {
            m_wheel->Insert(event, ts, uid, context);
        }
        else
        {
            m_events->Insert({event, {ts, uid, context}});
        }
        return uid;
    }

    /// Take the next event out of the list. @return false if there is none
    bool TakeNext(Scheduler::Event& next);
    void Execute(const Scheduler::Event& next);
    void InsertForeign();

    Ptr<Scheduler> m_events;
    TimingWheelScheduler* m_wheel{nullptr}; ///< m_events if it is a wheel
    uint64_t m_nowTs{0};
    // Apart from each other, or both would be read at once from an event that has just been written
    // in two pieces, which waits until it is in the cache.
    uint32_t m_currentUid;
    uint32_t m_uid;
    uint32_t m_context;
    ContextHook m_contextHook{nullptr};
    bool m_stop{false};
    uint64_t m_eventCount{0};
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

} // namespace ns3

#endif /* QBB_SIMULATOR_IMPL_H */
