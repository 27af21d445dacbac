/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The AllReduce of inference engines, as algorithms beside NCCL's: every GPU reads from all others
 * of its server, in one step or in two.
 */
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/library/algorithm-library.h"
#include "engine-all-reduce.h"
#include "nccl-options.h"

#include "ns3/collective-algorithm.h"

#include <cmath>
#include <memory>

namespace AstraSim
{

namespace
{

constexpr const char* ENGINE = "engine";

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
        .choice = CollectiveAlgorithm::Choice::Apart,
        .library = ENGINE};
}

const CollectiveAlgorithm ONE_SHOT("EngineOneShot", RulesOf(1));
const CollectiveAlgorithm TWO_SHOTS("EngineTwoShots", RulesOf(2));

/// The kernels of the engine that the user names.
class EngineLibrary : public AlgorithmLibrary
{
  public:
    EngineLibrary(const MachineModel& machine, const NcclOptions& options)
        : AlgorithmLibrary(ENGINE, options),
          m_machine(machine),
          m_engine(*options.engine)
    {
        m_engine.RequireFigures(machine.gpu.generation);
    }

    void Describe(CollectiveTask& task, const GroupShape& shape) const override
    {
        if (task.request.op == CollectiveOp::AllReduce && shape.GetNodes() == 1)
        {
            task.engine =
                m_engine.Choose(m_machine.gpu.generation, shape.GetRanks(), task.request.bytes);
        }
    }

  private:
    const MachineModel& m_machine;
    const EngineAllReduce& m_engine;
};

const CollectiveLibrary::Kind ENGINE_LIBRARY(
    ENGINE,
    [](const CollectiveLibrary::Inputs& inputs) -> std::unique_ptr<CollectiveLibrary> {
        return inputs.nccl.engine ? std::make_unique<EngineLibrary>(inputs.machine, inputs.nccl)
                                  : nullptr;
    });

} // namespace

} // namespace AstraSim
