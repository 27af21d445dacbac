/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-loop.h"

#include "ns3/clock-range.h"

#include <memory>
#include <string>
#include <utility>

namespace AstraSim
{

namespace
{

using Action = std::function<void()>;

void
RunAction(void* arg)
{
    const std::unique_ptr<Action> action(static_cast<Action*>(arg));
    (*action)();
}

} // namespace

EventLoop::~EventLoop()
{
    const auto discard = [](const LoopEvent& event) {
        if (event.handler == &RunAction)
        {
            delete static_cast<Action*>(event.arg);
        }
    };
    m_future.ForEach(discard);
    for (std::size_t i = m_nextPresent; i < m_present.size(); ++i)
    {
        discard(m_present[i]);
    }
}

void
EventLoop::Schedule(TimePs delay, std::function<void()> action)
{
    Schedule(delay, &RunAction, std::make_unique<Action>(std::move(action)).release());
}

void
EventLoop::RefuseDelay(TimePs delay) const
{
    ns3::RefuseBeyondClock("time",
                           "what begins at " + std::to_string(Now() / 1000) + " ns and takes " +
                               std::to_string(delay / 1000) + " ns or more ends");
}

void
EventLoop::RunAside(TimePs from, const std::function<void()>& begin)
{
    const TimePs now = Now();
    m_goesBackTo.store(now, std::memory_order_relaxed);
    m_future.Swap(m_aside);
    std::vector<LoopEvent> present;
    present.swap(m_present);
    const std::size_t nextPresent = std::exchange(m_nextPresent, 0);
    const bool stopped = m_stopped;
    m_now.store(from, std::memory_order_relaxed);
    begin();
    Run(now);
    m_now.store(now, std::memory_order_relaxed);
    m_stopped = stopped;
    present.insert(present.end(), m_present.begin() + m_nextPresent, m_present.end());
    m_present.swap(present);
    m_nextPresent = nextPresent;
    m_future.Swap(m_aside);
    m_aside.MoveTo(m_future);
}

bool
EventLoop::Run(TimePs limit)
{
    m_stopped = false;
    while (true)
    {
        while (m_nextPresent < m_present.size())
        {
            const LoopEvent event = m_present[m_nextPresent++];
            ++m_count;
            event.handler(event.arg);
            if (m_stopped || m_interrupted.load(std::memory_order_relaxed))
            {
                return IsIdle();
            }
        }
        m_present.clear();
        m_nextPresent = 0;
        if (m_hook)
        {
            m_hook(m_hookArg);
            if (!m_present.empty())
            {
                continue;
            }
        }
        if (m_future.IsEmpty())
        {
            return true;
        }
        const TimePs next = m_future.GetFirstTime();
        if (next > limit)
        {
            m_now.store(limit, std::memory_order_relaxed);
            return false;
        }
        m_now.store(next, std::memory_order_relaxed);
        m_future.Take(next, m_present);
    }
}

} // namespace AstraSim
