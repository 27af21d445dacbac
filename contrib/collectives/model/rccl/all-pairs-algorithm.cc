/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/all-pairs-graph.h"
#include "collectives/model/nccl/nccl-algorithm.h"
#include "collectives/model/nccl/nccl-cost-model.h"
#include "rccl-cost-model.h"
#include "rccl-tuning.h"

#include <memory>

namespace AstraSim
{

namespace
{

NcclPlan
PlanAllPairs(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)
{
    const auto& [protocol, op, shape] = which;
    NcclPlan plan = model.StartPlan(RCCL_ALL_PAIRS, protocol);
    plan.channels = 8;
    plan.speeds.channelGBps = plan.channels * model.GetOptions().figures.mscclBlockGBps;
    const double gbps = plan.speeds.channelGBps * shape.GetRanks() / (2 * plan.GetWireInflation());
    const auto p = static_cast<std::size_t>(protocol);
    const auto& tuning =
        RcclTuning::Of(model.GetMachine().gpu.generation, model.GetTuning().release, 2);
    const NcclTuning::Latencies& latencies = tuning.ring.latencies;
    Predict(plan, latencies.base[p] + 2 * latencies.nvlink[p], gbps, bytes);
    return plan;
}

const NcclAlgorithm ALL_PAIRS(
    "AllPairs",
    {.order = 7,
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             // RCCL comes with it for servers of 8 of its first such GPUs.
             constexpr uint32_t RANKS = 8;
             return model.GetMachine().gpu.generation == GpuGeneration::Cdna3 &&
                    which.protocol != NcclProtocol::Ll128 && which.op == CollectiveOp::AllReduce &&
                    which.shape.GetNodes() == 1 && which.shape.GetRanks() == RANKS;
         },
     .cost = PlanAllPairs,
     .graph =
         [](const NcclOptions& options,
            const CollectiveRequest& request,
            const GroupShape& shape,
            const NcclPlan& plan) {
             // The channels of a pair are one lane with the rate of all.
             LaneTimes times;
             times.slots = 1;
             times.latency = options.sendLatency.value_or(plan.speeds.intraLatency);
             times.rateCapBps = static_cast<uint64_t>(plan.speeds.channelGBps * 8e9);
             return TimedGraph{std::make_shared<AllPairsGraph>(request.bytes, shape.GetRanks()),
                               std::make_shared<UniformGpu>(times)};
         },
     .usesAllChannels = true});

} // namespace

const NcclAlgorithm& RCCL_ALL_PAIRS = ALL_PAIRS;

} // namespace AstraSim
