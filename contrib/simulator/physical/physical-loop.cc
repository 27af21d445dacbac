/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "physical-loop.h"

#include <ctime>
#include <sched.h>

namespace AstraSim
{

namespace
{

constexpr uint32_t ROUNDS_BEFORE_YIELD = 32;

} // namespace

int64_t
PhysicalLoop::MonotonicNs()
{
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void
PhysicalLoop::SetStart(int64_t monotonicNs)
{
    m_startNs = monotonicNs;
    m_timers = {};
    m_present.clear();
}

void
PhysicalLoop::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    if (delay <= 0 || m_compute == ComputeMode::Skip)
    {
        m_present.push_back({0, 0, handler, arg});
        return;
    }
    m_timers.push({Now() + delay, m_count + m_timers.size(), handler, arg});
}

bool
PhysicalLoop::RunPresent()
{
    m_running.swap(m_present);
    for (const Timer& event : m_running)
    {
        ++m_count;
        event.handler(event.arg);
    }
    const bool any = !m_running.empty();
    m_running.clear();
    return any;
}

bool
PhysicalLoop::RunTimers()
{
    if (m_timers.empty() || m_timers.top().time > Now())
    {
        return false;
    }
    const Timer timer = m_timers.top();
    m_timers.pop();
    ++m_count;
    timer.handler(timer.arg);
    return true;
}

void
PhysicalLoop::Idle()
{
    // Others may want the core: ranks that share it, or the kernel's part of the network.
    if (m_compute == ComputeMode::Spin && !m_timers.empty())
    {
        return;
    }
    if (++m_idleRounds >= ROUNDS_BEFORE_YIELD)
    {
        sched_yield();
    }
}

bool
PhysicalLoop::RunUntil(const std::function<bool()>& progress, const std::function<bool()>& done)
{
    while (!done())
    {
        if (IsInterrupted())
        {
            return false;
        }
        const bool ran = RunPresent();
        const bool timed = RunTimers();
        if (progress() || ran || timed)
        {
            m_idleRounds = 0;
        }
        else
        {
            Idle();
        }
    }
    return true;
}

} // namespace AstraSim
