/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/pat-graph.h"
#include "nccl-cost-model.h"
#include "nccl-graphs.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

NcclPlan
PlanPat(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)
{
    const GroupShape& shape = which.shape;
    constexpr double LEVELS_AT_ONCE = 3.5;
    constexpr double PER_RANK = 2.8;
    constexpr double EFFICIENCY = 0.75;
    const uint32_t ranks = shape.GetRanks();
    NcclPlan plan = model.StartPlan(NcclAlgorithm::Pat, NcclProtocol::Simple);
    plan.channels =
        std::min(model.GetSearch().GetChannels(NcclAlgorithm::Pat, shape), PatGraph::MAX_CHANNELS);
    const double algGBps =
        EFFICIENCY * model.GetSearch().SearchChannels(shape, true).Bandwidth(shape.GetNodes());
    plan.speeds.channelGBps = algGBps / plan.channels;
    const NcclTuning::Latencies& latencies =
        NcclAlgorithm::Pat.LatenciesIn(model.GetTuning().release);
    const double level = NcclAlgorithm::Tree.LatenciesIn(model.GetTuning().release)
                             .net[static_cast<std::size_t>(plan.protocol)] /
                         LEVELS_AT_ONCE;
    plan.speeds.net.latency = model.InterLatency(level);
    const double latency = latencies.base[static_cast<std::size_t>(plan.protocol)] +
                           FloorLog2(shape.GetNodes()) * level + PER_RANK * ranks;
    Predict(plan, latency, algGBps, bytes);
    return plan;
}

const NcclAlgorithm PAT(
    "PAT",
    {.order = 6,
     .tunerName = "pat",
     .latencies = {{FIRST_NCCL_RELEASE, LAST_NCCL_RELEASE, {{8, 8, 8}, {0, 0, 4}, {0, 0, 14}}}},
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             return model.GetTuning().hasPat && which.protocol == NcclProtocol::Simple &&
                    which.shape.GetNodes() > 1 && which.shape.GetRanksPerNode() == 1 &&
                    (which.op == CollectiveOp::AllGather ||
                     which.op == CollectiveOp::ReduceScatter);
         },
     .cost = PlanPat,
     .graph = MakeTimed<PatGraph, ChannelTimes>});

} // namespace

const NcclAlgorithm& NcclAlgorithm::Pat = PAT;

} // namespace AstraSim
