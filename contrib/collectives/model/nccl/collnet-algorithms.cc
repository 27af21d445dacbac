/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/collnet-chain-graph.h"
#include "collectives/model/timing/collnet-times.h"
#include "nccl-cost-model.h"
#include "nccl-graphs.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

bool
CanCollNet(const NcclCostModel& model, const NcclCase& which)
{
    constexpr uint32_t MAX_RANKS = 8; // of a node (NCCL_MAX_DIRECT_ARITY and the own)
    return model.GetOptions().collNetEnable && which.protocol == NcclProtocol::Simple &&
           which.op == CollectiveOp::AllReduce && which.shape.GetNodes() > 1 &&
           which.shape.GetRanksPerNode() <= MAX_RANKS;
}

NcclPlan
PlanCollNet(const NcclCostModel& model,
            const NcclAlgorithm& algorithm,
            const GroupShape& shape,
            uint64_t bytes)
{
    constexpr double ARITY_LATENCY = 0.4; // microseconds per peer
    constexpr double DIRECT_EFFICIENCY = 0.85;
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const double perNode = shape.GetRanksPerNode();
    const bool direct = algorithm == NcclAlgorithm::CollNetDirect;
    NcclPlan plan = model.StartPlan(algorithm, NcclProtocol::Simple);
    const uint32_t all = model.GetSearch().GetChannels(algorithm, shape);
    plan.channels =
        direct ? all : model.GetSearch().ChannelsForSize(all, NcclProtocol::Simple, 1, bytes);

    const NcclSearch::Channels search = model.GetSearch().SearchChannels(shape, false);
    double busGBps = search.channels * search.intraGBps;
    if (direct)
    {
        const double perNic = perNode / search.channels;
        busGBps /= perNic - (perNic - 1) / 2;
        busGBps *=
            model.GetMachine().gpu.generation == GpuGeneration::Ampere ? 1 : DIRECT_EFFICIENCY;
    }
    const double algGBps = busGBps / 2;
    plan.speeds.channelGBps = algGBps / all;

    const NcclTuning::Latencies& latencies = algorithm.LatenciesIn(model.GetTuning().release);
    const double within =
        direct
            ? 2 * (std::min(1.0, perNode - 1) * latencies.nvlink[p] + (perNode - 1) * ARITY_LATENCY)
            : 2 * (perNode - 1) * latencies.nvlink[p];
    Predict(plan, latencies.base[p] + within + latencies.net[p], algGBps, bytes);
    return plan;
}

const NcclAlgorithm COLLNET_DIRECT(
    "CollNetDirect",
    {.order = 2,
     .tunerName = "collnet_direct",
     .latencies = {{NcclRelease::V2_20, LAST_NCCL_RELEASE, {{}, {0, 0, 3.7}, {0, 0, 31}}},
                   {FIRST_NCCL_RELEASE, NcclRelease::V2_18, {{}, {0, 0, 8}, {0, 0, 10.7}}}},
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             return CanCollNet(model, which) && model.GetMachine().nvswitchesPerServer > 0;
         },
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return PlanCollNet(model, NcclAlgorithm::CollNetDirect, which.shape, bytes);
         },
     .graph = MakeTimed<CollNetDirectGraph, CollNetDirectTimes>,
     .growth = CollectiveAlgorithm::Growth::Predicted,
     .usesAllChannels = true});

const NcclAlgorithm COLLNET_CHAIN(
    "CollNetChain",
    {.order = 3,
     .tunerName = "collnet_chain",
     .latencies = {{NcclRelease::V2_20, LAST_NCCL_RELEASE, {{}, {0, 0, 2.8}, {0, 0, 30}}},
                   {FIRST_NCCL_RELEASE, NcclRelease::V2_18, {{}, {0, 0, 4.75}, {0, 0, 14}}}},
     .can = CanCollNet,
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return PlanCollNet(model, NcclAlgorithm::CollNetChain, which.shape, bytes);
         },
     .graph = MakeTimed<CollNetChainGraph, CollNetTimes>,
     .growth = CollectiveAlgorithm::Growth::Predicted});

} // namespace

const NcclAlgorithm& NcclAlgorithm::CollNetDirect = COLLNET_DIRECT;
const NcclAlgorithm& NcclAlgorithm::CollNetChain = COLLNET_CHAIN;

} // namespace AstraSim
