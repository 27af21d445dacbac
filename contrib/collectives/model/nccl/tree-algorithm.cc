/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/timing/tree-times.h"
#include "nccl-cost-model.h"
#include "nccl-graphs.h"

#include <algorithm>
#include <memory>

namespace AstraSim
{

namespace
{

bool
CanTree(const NcclCostModel& model, const NcclCase& which)
{
    const NcclTraits& traits = model.GetTraits();
    const bool isInNode = which.shape.GetNodes() == 1;
    return which.op == CollectiveOp::AllReduce && which.shape.GetRanks() > 1 &&
           (which.protocol != NcclProtocol::Ll128 || model.HasLl128(which.shape)) &&
           (which.protocol != NcclProtocol::Simple || !isInNode || traits.hasSimpleTreesInNode);
}

/// @return GB/s that all channels have together
double
TreeBusGBps(const NcclCostModel& model, NcclProtocol protocol, const GroupShape& shape)
{
    const auto generation = static_cast<std::size_t>(model.GetMachine().gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const std::size_t row = RowByNodes(nodes);
    const NcclSearch::Channels search = model.GetSearch().SearchChannels(shape, false);
    double busGBps = std::min(0.92 * search.Bandwidth(nodes),
                              search.channels * model.GetTuning().treeMax[generation][row]);
    if (protocol == NcclProtocol::Ll)
    {
        busGBps = std::min(busGBps / 3.8, model.LlMaxGBps(model.GetTuning(), nodes));
    }
    else if (protocol == NcclProtocol::Ll128)
    {
        busGBps = std::min(busGBps * (nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                           search.channels * model.GetTuning().treeLl128Max[generation][row]);
    }
    if (nodes > 1 && shape.GetRanksPerNode() > 1 &&
        model.GetMachine().gpu.generation != GpuGeneration::Ampere)
    {
        // From Hopper on a node's GPU with the NIC has both children (pattern TREE).
        constexpr double ONE_ENTRY = 0.85;
        busGBps *= ONE_ENTRY;
    }
    return busGBps;
}

NcclPlan
PlanTree(const NcclCostModel& model, const NcclCase& which, uint64_t bytes)
{
    const auto& [protocol, op, shape] = which;
    const auto p = static_cast<std::size_t>(protocol);
    const uint32_t nodes = shape.GetNodes();
    NcclPlan plan = model.StartPlan(NcclAlgorithm::Tree, protocol);
    const uint32_t all = model.GetSearch().GetChannels(NcclAlgorithm::Tree, shape);
    plan.channels = model.GetSearch().ChannelsForSize(all, protocol, 1, bytes);

    // Everything goes up and down, over the same links.
    const double algGBps = TreeBusGBps(model, protocol, shape) / 2;
    // Half of a block's time, or of its threads, goes up and half goes down.
    // LL and LL128 are limited by their blocks, not by the links.
    const double passing =
        protocol == NcclProtocol::Simple ? model.GetSearch().PassingOf(shape, false) : 1;
    plan.speeds.channelGBps = model.CopyGBps(protocol, CollectiveOp::AllReduce, shape, passing) /
                              2 * plan.GetWireInflation();
    if (protocol == NcclProtocol::Ll)
    {
        plan.speeds.intraLatency = FromMicroseconds(model.LlStepUs());
        plan.speeds.passes.hiddenBytes =
            static_cast<uint32_t>(model.GetOptions().figures.llHiddenBytes);
    }
    if (protocol == NcclProtocol::Simple ||
        model.GetMachine().gpu.generation != GpuGeneration::Ampere)
    {
        const NcclTreeThreads threads = NcclTreeThreadsOf(protocol);
        const double thread = model.BlockGBps(protocol, shape) * plan.GetWireInflation() /
                              NcclBlockOf(protocol).threads;
        plan.Of<TreePlan>().threads.upGBps = thread * threads.up;
        plan.Of<TreePlan>().threads.downGBps = thread * threads.down;
    }
    plan.speeds.passes.bytes = NcclBlockOf(protocol).passBytes;
    plan.Of<TreePlan>().cutsChunks =
        model.GetTuning().treeCutsChunks || model.GetTraits().cutsChunksOfTrees;

    const NcclTuning::Latencies latencies =
        model.LatenciesIn(NcclAlgorithm::Tree, model.GetTuning().release);
    const double latency =
        latencies.base[p] +
        2 * ((shape.GetRanksPerNode() - 1.0) * latencies.nvlink[p] +
             FloorLog2(nodes) * model.EstimatedInterUs(protocol, latencies.net[p]));
    Predict(plan, latency, algGBps * NcclTreeCorrection(protocol, bytes), bytes);
    model.OverrideEstimate(plan, CollectiveOp::AllReduce, shape, bytes);
    return plan;
}

TimedGraph
MakeTree(const NcclOptions& options,
         const CollectiveRequest& request,
         const GroupShape& shape,
         const NcclPlan& plan)
{
    const auto& own = plan.Of<TreePlan>();
    auto layout = LayoutOf<TreeLayout>(options, plan);
    layout.cutsChunks = own.cutsChunks;
    auto graph = std::make_shared<const TreeGraph>(request, shape, layout);
    return {
        graph,
        std::make_shared<const TreeTimes>(graph, plan.speeds, own.threads, options.sendLatency)};
}

const NcclAlgorithm TREE(
    "Tree",
    {.order = 0,
     .tunerName = "tree",
     .latencies = {{NcclRelease::V2_23,
                    LAST_NCCL_RELEASE,
                    {{6.8, 14, 8.4}, {0.6, 1.25, 4}, {5, 8.5, 14}, {1, 1.9, 4}}},
                   {NcclRelease::V2_20,
                    NcclRelease::V2_20,
                    {{6.8, 14, 0}, {0.6, 1.25, 28}, {5, 8.5, 28}, {1, 1.9, 28}}},
                   {FIRST_NCCL_RELEASE,
                    NcclRelease::V2_18,
                    {{6.8, 14, 0}, {0.6, 1.25, 4}, {5, 8.5, 14}, {1, 1.9, 6}}}},
     .can = CanTree,
     .cost = PlanTree,
     .graph = MakeTree,
     .growth = CollectiveAlgorithm::Growth::Depths});

} // namespace

const NcclAlgorithm& NcclAlgorithm::Tree = TREE;

} // namespace AstraSim
