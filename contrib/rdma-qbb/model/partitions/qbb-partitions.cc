/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hot path: RunPartition runs once per simulator event, the rest once per window.
 */
#include "qbb-partitions.h"

#include "qbb-mail.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/make-event.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

// Run() repeats one of two steps. If the next event of no node is the earliest of all,
// RunGlobalEvents() takes in all mail and executes it alone. Otherwise RunWindow() lets every
// partition run until the lookahead after the earliest event, or until the next event of no
// node: RunPartition() takes in the frames and calls that others sent in the window before, and
// executes its events up to the bound. Mail is double-buffered by parity: partitions write one
// half while they read the other, so that a window needs no locks. Calls are sorted by time and
// server before they are inserted, and arrive in the same order for any division. After each
// step, notes for observers of all nodes are told in the order of time. Threads share the
// partitions by number; between windows they spin briefly, then sleep.

namespace
{

/// Checks whether the other threads are ready before a thread sleeps: some ten microseconds.
constexpr uint32_t SPINS = 300;

/// Wait until @p value is another one.
template <typename T>
void
WaitWhile(const std::atomic<T>& value, T old)
{
    for (uint32_t spins = 0; spins < SPINS; ++spins)
    {
        if (value.load(std::memory_order_acquire) != old)
        {
            return;
        }
        std::this_thread::yield();
    }
    value.wait(old, std::memory_order_acquire);
}

} // namespace

/// Carries out a call, and is free again.
class QbbPartitions::CallEvent final : public EventImpl
{
  public:
    void Notify() override
    {
        const QbbCall call = m_call;
        m_next = std::exchange(m_pool->free, this);
        call();
    }

  private:
    friend class QbbPartitions;

    QbbCall m_call;
    CallPool* m_pool{nullptr};
    CallEvent* m_next{nullptr}; ///< in the list of free ones
};

QbbPartitions::QbbPartitions(QbbSimulatorImpl& simulator,
                             QbbPartitionPlan plan,
                             ObjectFactory scheduler)
    : m_simulator(simulator),
      m_plan(std::move(plan)),
      m_global(EventId::UID::VALID),
      m_end(MakeEvent([] {}), false)
{
    const uint32_t partitions = *std::ranges::max_element(m_plan.partitionOf) + 1;
    NS_ABORT_MSG_UNLESS(partitions == 1 || m_plan.lookaheadPs > 0,
                        "partitions of links without delay");
    NS_ABORT_MSG_IF(m_plan.reactionPs < m_plan.lookaheadPs,
                    "a reaction comes before a window has ended");
    for (uint32_t partition = 0; partition < partitions; ++partition)
    {
        m_isHere.push_back(QbbProcesses::IsHere(partition, partitions));
        if (m_isHere.back())
        {
            m_here.push_back(partition);
        }
    }
    NS_ABORT_MSG_UNLESS(m_plan.threads >= 1 &&
                            m_plan.threads <= std::max<std::size_t>(m_here.size(), 1),
                        "a thread without a partition");
    m_global.SetScheduler(scheduler.Create<Scheduler>());
    m_global.partitions = this;
    for (uint32_t partition = 0; partition < partitions; ++partition)
    {
        auto& timeline =
            m_timelines.emplace_back(std::make_unique<QbbTimeline>(0, QbbTimeline::SCHEDULED));
        timeline->SetScheduler(scheduler.Create<Scheduler>());
        timeline->partitions = this;
        for (auto& outgoing : timeline->outgoing)
        {
            outgoing.resize(partitions);
        }
        for (auto& calls : timeline->calls)
        {
            calls.resize(partitions);
        }
    }
    m_callPools.resize(partitions);
    m_earliest.resize(partitions, QbbTimeline::NEVER);
    m_windowTimes.resize(m_plan.threads);
}

QbbPartitions::~QbbPartitions()
{
    for (const auto& timeline : m_timelines)
    {
        QbbSimulatorImpl::ForgetEvents(*timeline, PeekPointer(m_end));
    }
    QbbSimulatorImpl::ForgetEvents(m_global);
}

uint64_t
QbbPartitions::GetEventCount() const
{
    uint64_t count = m_global.eventCount;
    for (const auto& timeline : m_timelines)
    {
        count += timeline->eventCount;
    }
    return count;
}

QbbThreadUse
QbbPartitions::GetThreadUse() const
{
    const auto seconds = [](Clock::duration time) {
        return std::chrono::duration<double>(time).count();
    };
    QbbThreadUse use;
    use.threads = m_plan.threads;
    use.windows = m_windowCount;
    use.serialWindows = m_pace.GetSerialWindows();
    use.wallSeconds = seconds(m_wall);
    for (const WindowTime& thread : m_windowTimes)
    {
        use.windowSeconds += seconds(thread.spent);
    }
    use.aloneSeconds = seconds(m_wall - m_inWindows - m_inExchange);
    use.processes = m_plan.processes ? m_plan.processes->GetCount() : 1;
    use.exchangeSeconds = seconds(m_inExchange);
    return use;
}

void
QbbPartitions::AddCall(QbbTimeline& caller, uint32_t context, const QbbCall& call)
{
    if (m_plan.reactionPs == 0)
    {
        call(); // all nodes are in one partition
        return;
    }
    const uint64_t ts = caller.nowTs + static_cast<uint64_t>(m_plan.reactionPs);
    const bool isOfNode = caller.context < m_plan.serverOf.size();
    const uint32_t server = isOfNode ? m_plan.serverOf[caller.context] : caller.context;
    const QbbTimeline::Call entry{ts, context, server, call};
    if (!caller.IsPartition())
    {
        NS_ASSERT_MSG(m_telling.IsEmpty(), "whoever is told something reacts to it");
        if (IsHere(context))
        {
            InsertCall(TimelineOf(context), entry);
        }
        else
        {
            // Any timeline of this process: the others' are not looked at.
            QbbTimeline& own = *m_timelines[m_here.front()];
            own.calls[m_parity][PartitionOf(context)].push_back(entry);
            own.firstOutgoing = std::min(own.firstOutgoing, ts);
        }
        return;
    }
    caller.calls[caller.parity][PartitionOf(context)].push_back(entry);
    caller.firstOutgoing = std::min(caller.firstOutgoing, ts);
}

void
QbbPartitions::InsertCall(QbbTimeline& timeline, const QbbTimeline::Call& call)
{
    CallPool& pool = m_callPools[PartitionOf(call.context)];
    if (!pool.free)
    {
        pool.free = PeekPointer(pool.all.emplace_back(Create<CallEvent>()));
        pool.free->m_pool = &pool;
    }
    CallEvent* event = std::exchange(pool.free, pool.free->m_next);
    event->m_call = call.call;
    event->Ref(); // the simulator drops one reference when it has been executed
    if (call.ts > timeline.lastCalledTs)
    {
        timeline.lastCalledTs = call.ts;
        timeline.calledUid = 0;
    }
    const uint32_t uid = QbbTimeline::CALLED | timeline.calledUid++;
    timeline.InsertAs(uid, call.ts, call.context, event);
}

// --- mail

int64_t
QbbMail::GetDelayPs()
{
    const QbbTimeline* current = QbbTimeline::Current();
    return current ? current->partitions->m_plan.reactionPs : 0;
}

void
QbbMail::PostFrom(QbbTimeline& caller, uint32_t node, const QbbCall& call)
{
    caller.partitions->AddCall(caller, node, call);
}

void
QbbMail::Post(std::function<void()> action)
{
    QbbTimeline* current = QbbTimeline::Current();
    if (!current)
    {
        action();
        return;
    }
    NS_ASSERT_MSG(!current->IsPartition(), "an event of a node posts to a node");
    const uint64_t ts = current->nowTs + static_cast<uint64_t>(GetDelayPs());
    current->partitions->m_global.Insert(ts, Simulator::NO_CONTEXT, MakeEvent(std::move(action)));
}

QbbNotes*
QbbMail::NotesOf(QbbTimeline& timeline, uint32_t node)
{
    if (timeline.IsPartition())
    {
        return &timeline.notes;
    }
    // Every process runs the events of no node and delivers all notes.
    QbbPartitions& partitions = *timeline.partitions;
    const bool isOfNode = node < partitions.m_plan.partitionOf.size();
    NS_ASSERT_MSG(isOfNode || !partitions.m_plan.processes, "only this process is told");
    return partitions.m_plan.processes && isOfNode ? &partitions.TimelineOf(node).notes : nullptr;
}

// --- the run

void
QbbPartitions::Run()
{
    QbbTimeline::SetCurrent(&m_global);
    Distribute();
    StartThreads();
    const Clock::time_point begin = Clock::now();
    std::exception_ptr failure;
    try
    {
        while (!IsStopped())
        {
            m_simulator.InsertForeign();
            const uint64_t earliest = std::ranges::min(m_earliest);
            const uint64_t global = m_global.PeekTs();
            if (earliest == QbbTimeline::NEVER && global == QbbTimeline::NEVER)
            {
                break;
            }
            m_simulator.m_reachedPs.store(static_cast<int64_t>(std::min(earliest, global)),
                                          std::memory_order_relaxed);
            if (global <= earliest)
            {
                RunStep([&] { RunGlobalEvents(global); });
                continue;
            }
            const uint64_t end = earliest + static_cast<uint64_t>(m_plan.lookaheadPs);
            RunStep([&] { RunWindow(m_plan.lookaheadPs ? std::min(end, global) : global); });
        }
    }
    catch (...)
    {
        failure = std::current_exception();
    }
    m_wall += Clock::now() - begin;
    EndThreads();
    TakeAllIncoming();
    QbbTimeline::SetCurrent(nullptr);
    uint64_t nowTs = std::max(m_simulator.m_timeline.nowTs, m_global.nowTs);
    for (const auto& timeline : m_timelines)
    {
        nowTs = std::max(nowTs, timeline->nowTs);
    }
    if (failure)
    {
        m_simulator.m_timeline.nowTs = nowTs;
        std::rethrow_exception(failure);
    }
    m_simulator.m_timeline.nowTs = std::ranges::max(ValueOfAllProcesses(nowTs));
}

template <typename Step>
void
QbbPartitions::RunStep(Step step)
{
    try
    {
        step();
    }
    catch (...)
    {
        m_failure = std::current_exception();
    }
    EndStep();
}

void
QbbPartitions::Distribute()
{
    QbbTimeline& before = m_simulator.m_timeline;
    m_global.nowTs = std::max(m_global.nowTs, before.nowTs);
    Scheduler::Event next;
    while (before.TakeNext(next))
    {
        const uint32_t context = next.key.m_context;
        if (context < m_plan.partitionOf.size())
        {
            TimelineOf(context).Insert(next.key.m_ts, context, next.impl);
        }
        else
        {
            m_global.InsertAs(next.key.m_uid, next.key.m_ts, context, next.impl);
        }
    }
    if (!std::exchange(m_hasBegun, true))
    {
        m_global.ContinueFrom(before);
    }
    std::ranges::fill(m_earliest, 0); // not known
}

void
QbbPartitions::RunGlobalEvents(uint64_t ts)
{
    TakeAllIncoming();
    for (const uint32_t partition : m_here)
    {
        m_timelines[partition]->firstOutgoing = QbbTimeline::NEVER;
    }
    Scheduler::Event next;
    while (m_global.PeekTs() == ts && !m_simulator.m_stop.load(std::memory_order_relaxed) &&
           m_global.TakeNext(next))
    {
        m_simulator.Execute(m_global, next);
    }
    for (const uint32_t partition : m_here)
    {
        QbbTimeline& timeline = *m_timelines[partition];
        m_earliest[partition] = timeline.PeekNext();
    }
}

void
QbbPartitions::TellNotes()
{
    for (const auto& timeline : m_timelines)
    {
        m_telling.Take(timeline->notes);
    }
    if (m_telling.IsEmpty())
    {
        return;
    }
    const uint64_t nowTs = m_global.nowTs;
    m_telling.Tell([this](uint64_t ts) { m_global.nowTs = ts; });
    m_telling.Clear();
    m_global.nowTs = nowTs;
    for (const uint32_t partition : m_here)
    {
        m_earliest[partition] = std::min(m_earliest[partition], m_timelines[partition]->PeekTs());
    }
}

// --- windows

void
QbbPartitions::RunWindow(uint64_t bound)
{
    const Clock::time_point begin = Clock::now();
    ++m_windowCount;
    m_bound = bound;
    m_parity ^= 1;
    if (m_plan.threads == 1 || !m_pace.IsParallel())
    {
        RunWindowOf(0, 1);
    }
    else
    {
        m_left.store(m_plan.threads - 1, std::memory_order_relaxed);
        BeginWindow();
        RunWindowOf(0, m_plan.threads);
        WaitForOthers();
    }
    QbbTimeline::SetCurrent(&m_global);
    for (WindowTime& thread : m_windowTimes)
    {
        if (thread.failure)
        {
            std::rethrow_exception(std::exchange(thread.failure, nullptr));
        }
    }
    const Clock::duration wall = Clock::now() - begin;
    m_inWindows += wall;
    if (m_plan.threads > 1)
    {
        m_pace.NoteWindow(wall, GetEventCount());
    }
}

void
QbbPartitions::RunWindowOf(uint32_t thread, uint32_t threads)
{
    const Clock::time_point begin = Clock::now();
    try
    {
        for (std::size_t i = thread; i < m_here.size(); i += threads)
        {
            RunPartition(*m_timelines[m_here[i]], m_here[i]);
        }
    }
    catch (...)
    {
        m_windowTimes[thread].failure = std::current_exception();
    }
    m_windowTimes[thread].spent += Clock::now() - begin;
}

void
QbbPartitions::RunPartition(QbbTimeline& timeline, uint32_t number)
{
    QbbTimeline::SetCurrent(&timeline);
    TakeIncoming(number, m_parity ^ 1);
    timeline.parity = m_parity;
    timeline.firstOutgoing = QbbTimeline::NEVER;
    if (m_bound != QbbTimeline::NEVER)
    {
        timeline.InsertAs(0, m_bound, Simulator::NO_CONTEXT, PeekPointer(m_end));
    }
    Scheduler::Event next;
    while (timeline.TakeNext(next) && next.impl != PeekPointer(m_end))
    {
        m_simulator.Execute(timeline, next);
    }
    if (!timeline.late.empty() && m_bound != QbbTimeline::NEVER)
    {
        CarryOutLate(timeline);
    }
    m_earliest[number] = timeline.PeekNext();
}

void
QbbPartitions::CarryOutLate(QbbTimeline& timeline) const
{
    const uint64_t nowTs = std::exchange(timeline.nowTs, m_bound - 1);
    for (const auto& work : timeline.late)
    {
        timeline.context = work->GetContext();
        work->CarryOut(static_cast<int64_t>(m_bound - 1));
        work->isListed = work->GetDuePs() != INT64_MAX;
    }
    std::erase_if(timeline.late, [](const auto& work) { return !work->isListed; });
    timeline.nowTs = nowTs;
}

void
QbbPartitions::TakeIncoming(uint32_t partition, uint32_t parity)
{
    for (const auto& sender : m_timelines)
    {
        auto& wires = sender->outgoing[parity][partition];
        for (QbbTimedEvent* wire : wires)
        {
            wire->TakeOver(parity);
        }
        wires.clear();
    }
    std::vector<QbbTimeline::Call>& incoming = m_callPools[partition].incoming;
    for (const auto& caller : m_timelines)
    {
        auto& calls = caller->calls[parity][partition];
        incoming.insert(incoming.end(), calls.begin(), calls.end());
        calls.clear();
    }
    std::ranges::stable_sort(incoming, {}, [](const QbbTimeline::Call& call) {
        return std::pair(call.ts, call.server + 1); // an event of no node comes first
    });
    for (const QbbTimeline::Call& call : incoming)
    {
        InsertCall(*m_timelines[partition], call);
    }
    incoming.clear();
}

void
QbbPartitions::TakeAllIncoming()
{
    for (const uint32_t partition : m_here)
    {
        TakeIncoming(partition, m_parity);
    }
}

// --- threads

void
QbbPartitions::StartThreads()
{
    m_quit = false;
    m_left.store(m_plan.threads - 1, std::memory_order_relaxed);
    for (uint32_t thread = 1; thread < m_plan.threads; ++thread)
    {
        m_threads.emplace_back([this, thread] { Work(thread); });
    }
    WaitForOthers();
}

void
QbbPartitions::BeginWindow()
{
    m_window.fetch_add(1, std::memory_order_release);
    m_window.notify_all();
}

void
QbbPartitions::WaitForOthers()
{
    for (uint32_t left = m_left.load(std::memory_order_acquire); left > 0;
         left = m_left.load(std::memory_order_acquire))
    {
        WaitWhile(m_left, left);
    }
}

void
QbbPartitions::EndWork()
{
    if (m_left.fetch_sub(1, std::memory_order_release) == 1)
    {
        m_left.notify_one();
    }
}

void
QbbPartitions::Work(uint32_t thread)
{
    uint64_t window = m_window.load(std::memory_order_acquire);
    EndWork();
    while (true)
    {
        WaitWhile(m_window, window);
        ++window;
        if (m_quit)
        {
            return;
        }
        RunWindowOf(thread, m_plan.threads);
        EndWork();
    }
}

void
QbbPartitions::EndThreads()
{
    m_quit = true;
    BeginWindow();
    for (std::thread& thread : m_threads)
    {
        thread.join();
    }
    m_threads.clear();
}

} // namespace ns3
