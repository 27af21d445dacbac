/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/graph/all-pairs-graph.h"
#include "astra-frontend/model/graph/collnet-chain-graph.h"
#include "astra-frontend/model/graph/pat-graph.h"
#include "astra-frontend/model/timing/chain-times.h"
#include "astra-frontend/model/timing/collnet-times.h"
#include "astra-frontend/model/timing/nvls-times.h"
#include "astra-frontend/model/timing/ring-times.h"
#include "astra-frontend/model/timing/tree-times.h"
#include "nccl-algorithm.h"
#include "nccl-cost-model.h"
#include "nccl-options.h"

#include <bit>

namespace AstraSim
{

// NCCL's own algorithms. Its releases differ in which they have: src/graph/tuning.cc.

namespace
{

constexpr uint32_t MAX_COLLNET_RANKS = 8; ///< of a node (NCCL_MAX_DIRECT_ARITY and the own)
constexpr uint32_t MAX_NVLS_RANKS = 32;   ///< of AllGather and ReduceScatter by NVLS

bool
GathersOrScatters(const NcclCase& which)
{
    return which.op == CollectiveOp::AllGather || which.op == CollectiveOp::ReduceScatter;
}

/// @return whether RCCL has the protocol, as NCCL has
bool
HasProtocol(const NcclCostModel& model, const NcclCase& which)
{
    return !model.GetRccl() || which.protocol != NcclProtocol::Ll128 || model.GetRccl()->hasLl128;
}

/// @return whether it is an AllReduce with Simple between nodes
bool
ReducesBetweenNodes(const NcclCase& which)
{
    return which.protocol == NcclProtocol::Simple && which.op == CollectiveOp::AllReduce &&
           which.shape.GetNodes() > 1;
}

bool
CanCollNet(const NcclCostModel& model, const NcclCase& which)
{
    return model.GetOptions().collNetEnable && ReducesBetweenNodes(which) &&
           which.shape.GetRanksPerNode() <= MAX_COLLNET_RANKS;
}

bool
CanNvls(const NcclCostModel& model, const NcclCase& which)
{
    const NcclOptions& options = model.GetOptions();
    return which.protocol == NcclProtocol::Simple && which.shape.GetNodes() == 1 &&
           model.HasNvls(which.shape) &&
           (which.op == CollectiveOp::AllReduce
                ? options.nvlsEnable
                : GathersOrScatters(which) && model.GetTuning().gathersByNvls &&
                      (options.nvlsEnable || options.nvlsTreeEnable) &&
                      which.shape.GetRanksPerNode() <= MAX_NVLS_RANKS);
}

/// @return levels of a tree of nodes
uint32_t
NodeLevels(const GroupShape& shape)
{
    return static_cast<uint32_t>(std::bit_width(shape.GetNodes()) - 1);
}

/// @return the layout of a plan's channels, with defaults for what is an algorithm's own. A latency
/// that the user gives stands for the work of blocks.
template <typename Layout = ChannelLayout>
Layout
LayoutOf(const NcclOptions& options, const NcclPlan& plan)
{
    Layout layout;
    static_cast<ChannelLayout&>(
        layout) = {plan.protocol, plan.channels, options.GetSimpleStep(), !options.sendLatency};
    return layout;
}

template <typename Graph, typename Times>
TimedGraph
Make(const NcclOptions& options,
     const CollectiveRequest& request,
     const GroupShape& shape,
     const NcclPlan& plan)
{
    auto graph = std::make_shared<const Graph>(request, shape, LayoutOf(options, plan));
    return {graph, std::make_shared<const Times>(graph, plan.speeds, options.sendLatency)};
}

TimedGraph
MakeRing(const NcclOptions& options,
         const CollectiveRequest& request,
         const GroupShape& shape,
         const NcclPlan& plan)
{
    auto layout = LayoutOf<RingLayout>(options, plan);
    layout.crossNic = options.crossNic;
    layout.chunkGrain = plan.Of<RingPlan>().chunkGrain;
    layout.copiesAcross = plan.speeds.blockGBps > 0;
    auto graph = std::make_shared<const RingGraph>(request, shape, layout);
    return {graph, std::make_shared<const RingTimes>(graph, plan.speeds, options.sendLatency)};
}

TimedGraph
MakeChain(const NcclOptions& options,
          const CollectiveRequest& request,
          const GroupShape& shape,
          const NcclPlan& plan)
{
    auto graph = std::make_shared<const ChainGraph>(request, shape, ChainLayoutOf(options, plan));
    return {graph, std::make_shared<const ChainTimes>(graph, plan.speeds, options.sendLatency)};
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

TimedGraph
MakeNvls(const NcclOptions& options,
         const CollectiveRequest& request,
         const GroupShape& shape,
         const NcclPlan& plan)
{
    const auto& own = plan.Of<NvlsPlan>();
    const NvlsLayout layout{plan.channels, own.chunk, !options.sendLatency, own.bytes};
    auto graph = std::make_shared<const NvlsGraph>(request, shape, layout);
    return {graph,
            std::make_shared<const NvlsTimes>(graph, plan.speeds, own.speeds, options.sendLatency)};
}

const NcclTableRow TREE(NcclAlgorithm::Tree,
                        {.name = "Tree",
                         .can =
                             [](const NcclCostModel& model, const NcclCase& which) {
                                 // RCCL has no trees with Simple in one node.
                                 const bool simple = which.protocol == NcclProtocol::Simple;
                                 return which.op == CollectiveOp::AllReduce &&
                                        which.shape.GetRanks() > 1 && HasProtocol(model, which) &&
                                        !(model.GetRccl() && simple && which.shape.GetNodes() == 1);
                             },
                         .cost =
                             [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
                                 return model.EvaluateTree(which.protocol, which.shape, bytes);
                             },
                         .graph = MakeTree,
                         .messagesInARow =
                             [](CollectiveOp, const GroupShape& shape) {
                                 return 2 * (shape.GetRanksPerNode() - 1 + NodeLevels(shape));
                             }});

const NcclTableRow RING(
    NcclAlgorithm::Ring,
    {.name = "Ring",
     .can = HasProtocol,
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return model.EvaluateRing(which.protocol, which.op, which.shape, bytes);
         },
     .graph =
         [](const NcclOptions& options,
            const CollectiveRequest& request,
            const GroupShape& shape,
            const NcclPlan& plan) {
             return IsChain(request.op) ? MakeChain(options, request, shape, plan)
                                        : MakeRing(options, request, shape, plan);
         },
     .messagesInARow =
         [](CollectiveOp op, const GroupShape& shape) {
             return (op == CollectiveOp::AllReduce ? 2 : 1) * (shape.GetRanks() - 1);
         }});

const NcclTableRow COLLNET_DIRECT(
    NcclAlgorithm::CollNetDirect,
    {.name = "CollNetDirect",
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             return CanCollNet(model, which) && model.GetMachine().nvswitchesPerServer > 0;
         },
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return model.EvaluateCollNet(NcclAlgorithm::CollNetDirect, which.shape, bytes);
         },
     .graph = Make<CollNetDirectGraph, CollNetDirectTimes>,
     .usesAllChannels = true});

const NcclTableRow COLLNET_CHAIN(
    NcclAlgorithm::CollNetChain,
    {.name = "CollNetChain",
     .can = CanCollNet,
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return model.EvaluateCollNet(NcclAlgorithm::CollNetChain, which.shape, bytes);
         },
     .graph = Make<CollNetChainGraph, CollNetTimes>,
     .messagesInARow =
         [](CollectiveOp, const GroupShape& shape) {
             return 2 * (shape.GetRanksPerNode() - 1) + 1;
         }});

const NcclTableRow NVLS(NcclAlgorithm::Nvls,
                        {.name = "NVLS",
                         .can = CanNvls,
                         .cost =
                             [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
                                 return model.EvaluateNvls(NcclAlgorithm::Nvls,
                                                           which.op,
                                                           which.shape,
                                                           bytes);
                             },
                         .graph = MakeNvls,
                         .usesAllChannels = true,
                         .hasSteps = false});

const NcclTableRow NVLS_TREE(
    NcclAlgorithm::NvlsTree,
    {.name = "NVLSTree",
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             return model.GetOptions().nvlsTreeEnable && ReducesBetweenNodes(which) &&
                    model.HasNvls(which.shape);
         },
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return model.EvaluateNvls(NcclAlgorithm::NvlsTree, which.op, which.shape, bytes);
         },
     .graph = MakeNvls,
     .messagesInARow = [](CollectiveOp,
                          const GroupShape& shape) { return 1 + 2 * NodeLevels(shape); },
     .usesAllChannels = true});

const NcclTableRow PAT(NcclAlgorithm::Pat,
                       {.name = "PAT",
                        .can =
                            [](const NcclCostModel& model, const NcclCase& which) {
                                return model.GetTuning().hasPat &&
                                       which.protocol == NcclProtocol::Simple &&
                                       which.shape.GetNodes() > 1 &&
                                       which.shape.GetRanksPerNode() == 1 &&
                                       GathersOrScatters(which);
                            },
                        .cost =
                            [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
                                return model.EvaluatePat(which.shape, bytes);
                            },
                        .graph = Make<PatGraph, ChannelTimes>,
                        .messagesInARow =
                            [](CollectiveOp, const GroupShape& shape) {
                                return static_cast<uint32_t>(std::bit_width(shape.GetRanks() - 1));
                            }});

const NcclTableRow ALL_PAIRS(
    NcclAlgorithm::AllPairs,
    {.name = "AllPairs",
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             // RCCL comes with it for servers of 8 of its first such GPUs.
             constexpr uint32_t RANKS = 8;
             return model.GetMachine().gpu.generation == GpuGeneration::Cdna3 &&
                    which.protocol != NcclProtocol::Ll128 && which.op == CollectiveOp::AllReduce &&
                    which.shape.GetNodes() == 1 && which.shape.GetRanks() == RANKS;
         },
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return model.EvaluateAllPairs(which.protocol, which.shape, bytes);
         },
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
     .messagesInARow = [](CollectiveOp, const GroupShape&) { return 2U; },
     .usesAllChannels = true});

} // namespace

ChainLayout
ChainLayoutOf(const NcclOptions& options, const NcclPlan& plan)
{
    auto layout = LayoutOf<ChainLayout>(options, plan);
    layout.crossNic = options.crossNic;
    layout.passBytes = plan.speeds.passes.bytes;
    return layout;
}

} // namespace AstraSim
