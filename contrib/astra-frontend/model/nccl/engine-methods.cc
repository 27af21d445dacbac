/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The AllReduce of inference engines, as algorithms beside NCCL's: every GPU reads from all others
 * of its server, in one step or in two.
 */
#include "astra-frontend/model/graph/all-pairs-graph.h"

#include "ns3/collective-algorithm.h"

#include <cmath>
#include <memory>

namespace AstraSim
{

namespace
{

/// @return time in which a GPU reads the data of all steps
TimePs
ReadingTime(const CollectiveTask& task)
{
    const auto ranks = static_cast<double>(task.servers.size());
    const double steps = task.engine->shots == 1 ? 1 : 2 / ranks; // of all the data from each peer
    return std::llround(steps * (ranks - 1) * static_cast<double>(task.request.bytes) * 1000 /
                        task.engine->GBps);
}

/// A GPU reads from all others at once: each has its part of the rate.
std::shared_ptr<const GpuModel>
TimesOf(const CollectiveTask& task)
{
    LaneTimes times;
    times.slots = 1;
    times.latency = task.sendLatency.value_or(0);
    if (!task.sendLatency)
    {
        const auto peers = static_cast<double>(task.servers.size() - 1);
        times.rateCapBps = static_cast<uint64_t>(task.engine->GBps * 8e9 / peers);
    }
    return std::make_shared<UniformGpu>(times);
}

CollectiveAlgorithm::Rules
RulesOf(uint32_t shots)
{
    return {
        .can =
            [shots](const CollectiveTask& task) {
                return task.engine && task.engine->shots == shots;
            },
        .cost = [](const CollectiveTask& task) { return task.engine->start + ReadingTime(task); },
        .graph = [shots](const CollectiveTask& task) -> std::shared_ptr<const FlowGraph> {
            return std::make_shared<AllPairsGraph>(task.request.bytes,
                                                   static_cast<uint32_t>(task.servers.size()),
                                                   shots);
        },
        .gpu = TimesOf,
        .start = [](const CollectiveTask& task) { return task.engine->start; },
        .choice = CollectiveAlgorithm::Choice::Apart};
}

const CollectiveAlgorithm ONE_SHOT("EngineOneShot", RulesOf(1));
const CollectiveAlgorithm TWO_SHOTS("EngineTwoShots", RulesOf(2));

} // namespace

} // namespace AstraSim
