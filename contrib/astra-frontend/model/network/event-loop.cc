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
            if (m_stopped)
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
            m_now = limit;
            return false;
        }
        m_now = next;
        m_future.Take(next, m_present);
    }
}

} // namespace AstraSim
