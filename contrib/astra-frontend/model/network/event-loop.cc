/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-loop.h"

#include <memory>

namespace AstraSim
{

void
EventLoop::Schedule(TimePs delay, std::function<void()> action)
{
    auto kept = std::make_unique<std::function<void()>>(std::move(action));
    const MessageHandler run = [](void* arg) {
        const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(arg));
        (*mine)();
    };
    Schedule(delay, run, kept.release());
}

void
EventLoop::RunPresent()
{
    while (m_nextPresent < m_present.size() && !m_stopped)
    {
        const Event event = m_present[m_nextPresent++];
        ++m_count;
        event.handler(event.arg);
    }
    if (m_nextPresent == m_present.size())
    {
        m_present.clear();
        m_nextPresent = 0;
    }
}

bool
EventLoop::Run(TimePs limit)
{
    m_stopped = false;
    while (!m_stopped)
    {
        // What was scheduled for this time before it came goes before what is scheduled now.
        if (!m_future.empty() && m_future.top().time == m_now)
        {
            const Event event = m_future.top();
            m_future.pop();
            ++m_count;
            event.handler(event.arg);
            continue;
        }
        RunPresent();
        if (m_stopped)
        {
            break;
        }
        if (m_hook)
        {
            m_hook(m_hookArg);
            if (!m_present.empty())
            {
                continue;
            }
        }
        if (m_future.empty())
        {
            return true;
        }
        if (m_future.top().time > limit)
        {
            m_now = limit;
            return false;
        }
        m_now = m_future.top().time;
    }
    return IsIdle();
}

} // namespace AstraSim
