/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scheduler-unit.h"

#include "stream-baseline.h"
#include "sys.h"

namespace AstraSim
{

SchedulerUnit::SchedulerUnit(Sys& sys, uint32_t queueThreshold)
    : m_sys(sys),
      m_queueThreshold(queueThreshold)
{
}

void
SchedulerUnit::notify_stream_added_into_ready_list()
{
    m_sys.schedule(1);
}

void
SchedulerUnit::notify_stream_added(int id)
{
    StartStreams(id);
}

void
SchedulerUnit::notify_stream_removed(int id)
{
    --m_sys.get_queue(id).running;
    StartStreams(id);
}

void
SchedulerUnit::StartStreams(int id)
{
    // Running streams are at the front, so those that wait begin after them.
    while (true)
    {
        StreamQueue& queue = m_sys.get_queue(id);
        if (queue.running >= m_queueThreshold || queue.running >= queue.streams.size())
        {
            return;
        }
        StreamBaseline* next = nullptr;
        for (StreamBaseline* stream : queue.streams)
        {
            if (!stream->initialized)
            {
                next = stream;
                break;
            }
        }
        if (!next)
        {
            return;
        }
        ++queue.running;
        next->init();
    }
}

} // namespace AstraSim
