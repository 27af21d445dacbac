/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-baseline.h"

namespace AstraSim
{

StreamBaseline::StreamBaseline(const LogicalTopology& topology,
                               uint32_t jobRank,
                               DataSet& dataset,
                               uint32_t chunk,
                               int64_t priority)
    : dataset(dataset),
      chunk(chunk),
      priority(priority),
      m_topology(topology),
      m_jobRank(jobRank)
{
}

uint32_t
StreamBaseline::phases_to_go() const
{
    const auto& phases = dataset.instance->schedule.PhasesOf(chunk);
    return static_cast<uint32_t>(phases.size()) - steps_finished;
}

const CollectivePhase&
StreamBaseline::my_current_phase() const
{
    return dataset.instance->schedule.PhasesOf(chunk)[steps_finished - 1];
}

void
StreamBaseline::enter_next_phase(TimePs now)
{
    ++steps_finished;
    // The same queue on every rank, so that the streams of a queue meet in the same order.
    const auto& phase = my_current_phase();
    const uint64_t turn = (dataset.instance->number + chunk) % phase.queues;
    current_queue_id = phase.queue_id + static_cast<int>(turn);
    initialized = false;
    phaseStart = now;
}

const CommGroup&
StreamBaseline::get_phase_group() const
{
    const int dimension = my_current_phase().dimension;
    return dimension < 0 ? *dataset.instance->group
                         : m_topology.GetGroup(static_cast<uint32_t>(dimension), m_jobRank);
}

StreamLane
StreamBaseline::get_lane() const
{
    return {get_phase_group().id, current_queue_id, steps_finished - 1};
}

bool
StreamBaseline::is_enabled() const
{
    const auto& phase = my_current_phase();
    if (phase.dimension < 0)
    {
        return dataset.instance->group->ranks.size() > 1;
    }
    return m_topology.GetSize(static_cast<uint32_t>(phase.dimension)) > 1;
}

std::string
StreamBaseline::describe_wait() const
{
    const auto& instance = *dataset.instance;
    const std::string text = std::string(ToString(instance.request.op)) + " " +
                             std::to_string(instance.number) + " of group " + instance.group->name +
                             ", chunk " + std::to_string(chunk) + ", phase " +
                             std::to_string(steps_finished) + " of " +
                             std::to_string(instance.schedule.PhasesOf(chunk).size()) + ", queue " +
                             std::to_string(current_queue_id);
    return text + (algorithm ? ": " + algorithm->DescribeWait() : ": waits for its turn");
}

} // namespace AstraSim
