/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-simulator-impl.h"

#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbSimulatorImpl");

NS_OBJECT_ENSURE_REGISTERED(QbbSimulatorImpl);

namespace
{

/// Events that users schedule have numbers from here on, as with ns-3's own implementation.
constexpr uint32_t FIRST_UID = EventId::UID::VALID;

} // namespace

void
QbbTimedEvent::Notify()
{
    Fire(Simulator::Now().GetTimeStep());
}

void
QbbTimedEvent::ScheduleElsewhere(uint32_t context, int64_t timePs)
{
    if (!m_asked)
    {
        m_asked = true;
        m_simulator = QbbSimulatorImpl::Get();
    }
    if (m_simulator)
    {
        m_simulator->ScheduleTimed(context, timePs, this);
    }
    else
    {
        Simulator::ScheduleWithContext(context, TimeStep(timePs) - Simulator::Now(), this);
    }
}

TypeId
QbbSimulatorImpl::GetTypeId()
{
    static TypeId tid = TypeId("ns3::QbbSimulatorImpl")
                            .SetParent<SimulatorImpl>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<QbbSimulatorImpl>();
    return tid;
}

QbbSimulatorImpl::QbbSimulatorImpl()
    : m_currentUid(EventId::UID::INVALID),
      m_uid(FIRST_UID),
      m_context(Simulator::NO_CONTEXT),
      m_thread(std::this_thread::get_id())
{
    NS_LOG_FUNCTION(this);
}

QbbSimulatorImpl::~QbbSimulatorImpl()
{
    NS_LOG_FUNCTION(this);
}

QbbSimulatorImpl*
QbbSimulatorImpl::Get()
{
    return dynamic_cast<QbbSimulatorImpl*>(PeekPointer(Simulator::GetImplementation()));
}

void
QbbSimulatorImpl::DoDispose()
{
    InsertForeign();
    Scheduler::Event next;
    while (TakeNext(next))
    {
        const auto address = reinterpret_cast<uintptr_t>(next.impl) & ~TIMED;
        reinterpret_cast<EventImpl*>(address)->Unref();
    }
    m_wheel = nullptr;
    m_events = nullptr;
    SimulatorImpl::DoDispose();
}

void
QbbSimulatorImpl::SetScheduler(ObjectFactory schedulerFactory)
{
    NS_LOG_FUNCTION(this << schedulerFactory);
    Ptr<Scheduler> scheduler = schedulerFactory.Create<Scheduler>();
    Scheduler::Event next;
    while (m_events && TakeNext(next))
    {
        scheduler->Insert(next);
    }
    m_events = scheduler;
    m_wheel = dynamic_cast<TimingWheelScheduler*>(PeekPointer(m_events));
}

// --- running

inline bool
QbbSimulatorImpl::TakeNext(Scheduler::Event& next)
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

inline void
QbbSimulatorImpl::Execute(const Scheduler::Event& next)
{
    NS_ASSERT(next.key.m_ts >= m_nowTs);
    ++m_eventCount;
    m_nowTs = next.key.m_ts;
    m_context = next.key.m_context;
    m_currentUid = next.key.m_uid;
    if (m_contextHook) [[unlikely]]
    {
        m_contextHook(m_context);
    }
    const auto address = reinterpret_cast<uintptr_t>(next.impl);
    if (address & TIMED)
    {
        auto* event = reinterpret_cast<QbbTimedEvent*>(address & ~TIMED);
        event->Fire(static_cast<int64_t>(m_nowTs));
        event->Unref();
    }
    else
    {
        PreEventHook(EventId(next.impl, next.key.m_ts, next.key.m_context, next.key.m_uid));
        next.impl->Invoke();
        next.impl->Unref();
    }
}

void
QbbSimulatorImpl::Run()
{
    NS_LOG_FUNCTION(this);
    m_thread = std::this_thread::get_id();
    m_stop = false;
    InsertForeign();
    Scheduler::Event next;
    while (!m_stop && TakeNext(next))
    {
        Execute(next);
        if (m_hasForeign.load(std::memory_order_acquire))
        {
            InsertForeign();
        }
    }
    if (m_contextHook)
    {
        m_contextHook(Simulator::NO_CONTEXT);
    }
}

bool
QbbSimulatorImpl::IsFinished() const
{
    return m_stop || m_events->IsEmpty();
}

void
QbbSimulatorImpl::Stop()
{
    NS_LOG_FUNCTION(this);
    m_stop = true;
}

decltype(std::declval<SimulatorImpl&>().Stop(Time()))
QbbSimulatorImpl::Stop(const Time& delay)
{
    using Result = decltype(std::declval<SimulatorImpl&>().Stop(Time()));
    return static_cast<Result>(Simulator::Schedule(delay, &Simulator::Stop));
}

void
QbbSimulatorImpl::Destroy()
{
    NS_LOG_FUNCTION(this);
    while (!m_destroyEvents.empty())
    {
        const EventId id = m_destroyEvents.front();
        m_destroyEvents.pop_front();
        if (!id.PeekEventImpl()->IsCancelled())
        {
            id.PeekEventImpl()->Invoke();
        }
    }
}

// --- scheduling

EventId
QbbSimulatorImpl::Schedule(const Time& delay, EventImpl* event)
{
    NS_ASSERT_MSG(m_thread == std::this_thread::get_id(),
                  "another thread than the simulator's uses Simulator::ScheduleWithContext()");
    NS_ASSERT_MSG(delay.IsPositive(), "an event cannot be scheduled in the past");
    const uint64_t ts = m_nowTs + static_cast<uint64_t>(delay.GetTimeStep());
    const uint32_t uid = Insert(ts, m_context, event);
    return EventId(event, ts, m_context, uid);
}

void
QbbSimulatorImpl::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    const auto steps = static_cast<uint64_t>(delay.GetTimeStep());
    if (m_thread == std::this_thread::get_id())
    {
        Insert(m_nowTs + steps, context, event);
        return;
    }
    const std::lock_guard lock(m_foreignMutex);
    m_foreign.push_back({context, steps, event});
    m_hasForeign.store(true, std::memory_order_release);
}

void
QbbSimulatorImpl::InsertForeign()
{
    const std::lock_guard lock(m_foreignMutex);
    for (const ForeignEvent& foreign : m_foreign)
    {
        Insert(m_nowTs + foreign.delay, foreign.context, foreign.event);
    }
    m_foreign.clear();
    m_hasForeign.store(false, std::memory_order_release);
}

EventId
QbbSimulatorImpl::ScheduleNow(EventImpl* event)
{
    return Schedule(TimeStep(0), event);
}

EventId
QbbSimulatorImpl::ScheduleDestroy(EventImpl* event)
{
    const EventId id(Ptr<EventImpl>(event, false),
                     m_nowTs,
                     Simulator::NO_CONTEXT,
                     EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    ++m_uid; // as ns-3's own implementation counts
    return id;
}

void
QbbSimulatorImpl::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        m_destroyEvents.remove(id);
        return;
    }
    if (IsExpired(id))
    {
        return;
    }
    EventImpl* event = id.PeekEventImpl();
    m_events->Remove({event, {id.GetTs(), id.GetUid(), id.GetContext()}});
    event->Cancel();
    event->Unref();
}

void
QbbSimulatorImpl::Cancel(const EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
QbbSimulatorImpl::IsExpired(const EventId& id) const
{
    const EventImpl* event = id.PeekEventImpl();
    if (!event || id.PeekEventImpl()->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        return std::find(m_destroyEvents.begin(), m_destroyEvents.end(), id) ==
               m_destroyEvents.end();
    }
    return id.GetTs() < m_nowTs || (id.GetTs() == m_nowTs && id.GetUid() <= m_currentUid);
}

// --- asking

Time
QbbSimulatorImpl::Now() const
{
    return TimeStep(m_nowTs);
}

Time
QbbSimulatorImpl::GetDelayLeft(const EventId& id) const
{
    return TimeStep(IsExpired(id) ? 0 : id.GetTs() - m_nowTs);
}

Time
QbbSimulatorImpl::GetMaximumSimulationTime() const
{
    return TimeStep(INT64_MAX);
}

uint32_t
QbbSimulatorImpl::GetSystemId() const
{
    return 0;
}

uint32_t
QbbSimulatorImpl::GetContext() const
{
    return m_context;
}

uint64_t
QbbSimulatorImpl::GetEventCount() const
{
    return m_eventCount;
}

} // namespace ns3
