/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-simulator-impl.h"

#include "qbb-partitions.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/log.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbSimulatorImpl");

NS_OBJECT_ENSURE_REGISTERED(QbbSimulatorImpl);

// Without partitions, m_timeline has all events, and Run() executes them in order of time and
// number, as ns-3's own implementation does. Divide() makes QbbPartitions, whose Run() moves these
// events to one timeline for each partition and one for events of no node. A thread's present
// timeline is QbbTimeline::Current(); time, context and the list for new events come from it
// (Present, FindTimeline). A QbbTimedEvent is in the list with the bit TIMED set in its address, so
// that Execute() calls Fire() without ns-3's dispatch. Threads outside of the run may only call
// ScheduleWithContext(): their events wait in m_foreign until the run takes them between two events
// (InsertForeign).

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
QbbTimedEvent::TakePlace(bool leadsElsewhere)
{
    if (QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get())
    {
        m_place = simulator->m_places++;
        if (leadsElsewhere)
        {
            simulator->m_wires[m_place] = this;
        }
    }
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
        const Time delay = TimeStep(timePs) - Simulator::Now();
        NS_ABORT_MSG_UNLESS(delay.IsPositive(), "an event cannot be scheduled in the past");
        Simulator::ScheduleWithContext(context, delay, this);
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
    : m_timeline(FIRST_UID),
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
    if (const QbbTimeline* current = QbbTimeline::Current())
    {
        // Several threads would count references at once.
        return &current->partitions->GetSimulator();
    }
    return dynamic_cast<QbbSimulatorImpl*>(PeekPointer(Simulator::GetImplementation()));
}

void
QbbSimulatorImpl::DoDispose()
{
    InsertForeign();
    m_partitions.reset();
    ForgetEvents(m_timeline);
    SimulatorImpl::DoDispose();
}

void
QbbSimulatorImpl::ForgetEvents(QbbTimeline& timeline, const EventImpl* unowned)
{
    Scheduler::Event next;
    while (timeline.TakeNext(next))
    {
        if (next.impl != unowned)
        {
            const auto address = reinterpret_cast<uintptr_t>(next.impl) & ~TIMED;
            reinterpret_cast<EventImpl*>(address)->Unref();
        }
    }
}

void
QbbSimulatorImpl::SetScheduler(ObjectFactory schedulerFactory)
{
    NS_LOG_FUNCTION(this << schedulerFactory);
    m_schedulerFactory = schedulerFactory;
    m_timeline.SetScheduler(schedulerFactory.Create<Scheduler>());
}

void
QbbSimulatorImpl::Divide(QbbPartitionPlan plan)
{
    m_partitions = std::make_unique<QbbPartitions>(*this, std::move(plan), m_schedulerFactory);
}

// --- running

void
QbbSimulatorImpl::Run()
{
    NS_LOG_FUNCTION(this);
    m_thread = std::this_thread::get_id();
    m_stop = false;
    InsertForeign();
    if (m_partitions && !m_runsUndivided)
    {
        m_partitions->Run();
    }
    Scheduler::Event next;
    while (!m_stop.load(std::memory_order_relaxed) && m_timeline.TakeNext(next))
    {
        m_reachedPs.store(static_cast<int64_t>(next.key.m_ts), std::memory_order_relaxed);
        Execute(m_timeline, next);
        if (m_hasForeign.load(std::memory_order_acquire))
        {
            InsertForeign();
        }
    }
}

bool
QbbSimulatorImpl::IsFinished() const
{
    return m_stop || m_timeline.IsEmpty();
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

uint32_t
QbbSimulatorImpl::Insert(uint64_t ts, uint32_t context, EventImpl* event)
{
    QbbTimeline* current = QbbTimeline::Current();
    QbbTimeline& timeline = current ? FindTimeline(*current, context) : m_timeline;
    return timeline.Insert(ts, context, event);
}

QbbTimeline&
QbbSimulatorImpl::TimelineOf(uint32_t context)
{
    return m_partitions && m_partitions->HasBegun() ? m_partitions->TimelineOf(context)
                                                    : m_timeline;
}

bool
QbbSimulatorImpl::IsOfRun() const
{
    return QbbTimeline::Current() || m_thread == std::this_thread::get_id();
}

EventId
QbbSimulatorImpl::Schedule(const Time& delay, EventImpl* event)
{
    NS_ASSERT_MSG(IsOfRun(),
                  "another thread than the simulator's uses Simulator::ScheduleWithContext()");
    NS_ASSERT_MSG(delay.IsPositive(), "an event cannot be scheduled in the past");
    const QbbTimeline& present = Present();
    const uint64_t ts = present.nowTs + static_cast<uint64_t>(delay.GetTimeStep());
    const uint32_t context = present.context;
    return EventId(event, ts, context, Insert(ts, context, event));
}

void
QbbSimulatorImpl::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    const auto steps = static_cast<uint64_t>(delay.GetTimeStep());
    if (IsOfRun())
    {
        Insert(Present().nowTs + steps, context, event);
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
        if (QbbProcesses::Get())
        {
            // Called at once, not scheduled: all processes of a run must have the same events.
            foreign.event->Invoke();
            foreign.event->Unref();
            continue;
        }
        Insert(Present().nowTs + foreign.delay, foreign.context, foreign.event);
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
                     Present().nowTs,
                     Simulator::NO_CONTEXT,
                     EventId::UID::DESTROY);
    m_destroyEvents.push_back(id);
    m_timeline.SkipUid(); // as ns-3's own implementation counts
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
    TimelineOf(id.GetContext()).Remove({event, {id.GetTs(), id.GetUid(), id.GetContext()}});
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
        return std::ranges::find(m_destroyEvents, id) == m_destroyEvents.end();
    }
    // After a run with partitions, each timeline has a present time of its own.
    const bool hasRun = !QbbTimeline::Current() && m_partitions && m_partitions->HasBegun();
    const QbbTimeline& timeline = hasRun ? m_partitions->TimelineOf(id.GetContext()) : Present();
    return id.GetTs() < timeline.nowTs ||
           (id.GetTs() == timeline.nowTs && id.GetUid() <= timeline.currentUid);
}

// --- asking

Time
QbbSimulatorImpl::Now() const
{
    return TimeStep(Present().nowTs);
}

Time
QbbSimulatorImpl::GetDelayLeft(const EventId& id) const
{
    return TimeStep(IsExpired(id) ? 0 : id.GetTs() - Present().nowTs);
}

Time
QbbSimulatorImpl::GetMaximumSimulationTime() const
{
    return TimeStep(INT64_MAX);
}

uint32_t
QbbSimulatorImpl::GetSystemId() const
{
    return 0; // of processes
}

uint32_t
QbbSimulatorImpl::GetContext() const
{
    return Present().context;
}

uint64_t
QbbSimulatorImpl::GetEventCount() const
{
    return m_timeline.eventCount + (m_partitions ? m_partitions->GetEventCount() : 0);
}

} // namespace ns3
