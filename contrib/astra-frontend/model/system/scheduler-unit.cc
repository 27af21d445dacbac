/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scheduler-unit.h"

#include "stream-baseline.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace AstraSim
{

StreamQueue::Lane&
StreamQueue::LaneOf(const StreamLane& lane)
{
    for (auto& known : lanes)
    {
        if (known.lane == lane)
        {
            return known;
        }
    }
    return lanes.emplace_back(Lane{lane, 0, false});
}

bool
StreamQueue::RunsOther(const StreamLane& lane) const
{
    return std::ranges::any_of(streams, [&lane](const StreamBaseline* stream) {
        return stream->initialized && stream->get_lane() != lane;
    });
}

SchedulerUnit::SchedulerUnit(RankNetwork& network,
                             StreamOrder& order,
                             uint32_t queueThreshold,
                             std::function<void(StreamBaseline&)> start)
    : m_network(network),
      m_order(order),
      m_queueThreshold(queueThreshold),
      m_start(std::move(start))
{
}

StreamQueue&
SchedulerUnit::get_queue(int id)
{
    for (auto& queue : m_activeStreams)
    {
        if (queue.id == id)
        {
            return queue;
        }
    }
    return m_activeStreams.emplace_back(StreamQueue{id, {}, 0, {}});
}

void
SchedulerUnit::notify_stream_added(int id)
{
    StartStreams(id);
}

void
SchedulerUnit::notify_stream_removed(int id)
{
    --get_queue(id).running;
    StartStreams(id);
}

void
SchedulerUnit::StartStreams(int id)
{
    while (true)
    {
        StreamQueue& queue = get_queue(id);
        const auto [next, lane] = ChooseNext(queue);
        if (!next)
        {
            WaitForOthers(queue);
            return;
        }
        const auto ranks = static_cast<uint32_t>(next->get_phase_group().ranks.size());
        m_order.Begin(lane->lane, lane->begun++, next->get_name(), ranks);
        ++queue.running;
        m_start(*next);
    }
}

void
SchedulerUnit::WaitForOthers(StreamQueue& queue)
{
    if (queue.lanes.size() == 1 || queue.running >= queue.streams.size())
    {
        return;
    }
    for (auto& lane : queue.lanes)
    {
        if (!std::exchange(lane.waits, true))
        {
            // LookAgain by an event: this call comes from the middle of another rank's step.
            m_order.WhenDecided(lane.lane, [this, id = queue.id, name = lane.lane]() {
                get_queue(id).LaneOf(name).waits = false;
                m_network.Schedule(0, &SchedulerUnit::LookAgain, new Look{this, id});
            });
        }
    }
}

void
SchedulerUnit::LookAgain(void* argument)
{
    const std::unique_ptr<Look> look(static_cast<Look*>(argument));
    look->scheduler->StartStreams(look->queue);
}

std::pair<StreamBaseline*, StreamQueue::Lane*>
SchedulerUnit::ChooseNext(StreamQueue& queue)
{
    const bool isFull = queue.running >= m_queueThreshold;
    if (queue.running >= queue.streams.size() || (isFull && queue.lanes.size() == 1))
    {
        return {};
    }
    for (StreamBaseline* stream : queue.streams)
    {
        if (stream->initialized)
        {
            continue;
        }
        auto& lane = queue.LaneOf(stream->get_lane());
        const auto decided = m_order.GetNext(lane.lane, lane.begun);
        const bool isItsTurn = !decided || *decided == stream->get_name();
        if (isItsTurn && (!isFull || (decided && queue.RunsOther(lane.lane))))
        {
            return {stream, &lane};
        }
    }
    return {};
}

} // namespace AstraSim
