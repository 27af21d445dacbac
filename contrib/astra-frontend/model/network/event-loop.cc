/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "event-loop.h"

#include <algorithm>
#include <memory>

namespace AstraSim
{

void
EventLoop::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_events.push_back({m_now + delay, m_nextOrder++, handler, arg});
    std::push_heap(m_events.begin(), m_events.end(), IsLater);
}

void
EventLoop::Schedule(TimePs delay, std::function<void()> action)
{
    Schedule(
        delay,
        [](void* arg) {
            const std::unique_ptr<std::function<void()>> function(
                static_cast<std::function<void()>*>(arg));
            (*function)();
        },
        new std::function<void()>(std::move(action)));
}

bool
EventLoop::Run(TimePs limit)
{
    while (!m_events.empty())
    {
        if (m_events.front().time > limit)
        {
            m_now = limit;
            return false;
        }
        std::pop_heap(m_events.begin(), m_events.end(), IsLater);
        const Event event = m_events.back();
        m_events.pop_back();
        m_now = event.time;
        ++m_count;
        event.handler(event.arg);
    }
    return true;
}

} // namespace AstraSim
