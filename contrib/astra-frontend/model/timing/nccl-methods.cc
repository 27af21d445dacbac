/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/graph/all-pairs-graph.h"
#include "astra-frontend/model/graph/collnet-chain-graph.h"
#include "astra-frontend/model/graph/pat-graph.h"
#include "astra-frontend/model/nccl/nccl-algorithm.h"
#include "astra-frontend/model/nccl/nccl-cost-model.h"
#include "astra-frontend/model/nccl/nccl-options.h"
#include "chain-times.h"
#include "collnet-times.h"
#include "nvls-times.h"
#include "ring-times.h"
#include "tree-times.h"

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

template <typename Graph, typename Times>
TimedGraph
Make(const CollectiveRequest& request,
     const GroupShape& shape,
     const NcclPlan& plan,
     bool /* crossNic */,
     TimePs stepLatency)
{
    auto graph = std::make_shared<const Graph>(request, shape, plan, stepLatency);
    return {graph, std::make_shared<const Times>(graph, plan, stepLatency)};
}

/// The same of graphs along a ring.
template <typename Graph, typename Times>
TimedGraph
MakeRing(const CollectiveRequest& request,
         const GroupShape& shape,
         const NcclPlan& plan,
         bool crossNic,
         TimePs stepLatency)
{
    auto graph = std::make_shared<const Graph>(request, shape, plan, crossNic, stepLatency);
    return {graph, std::make_shared<const Times>(graph, plan, stepLatency)};
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
                         .graph = Make<TreeGraph, TreeTimes>,
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
         [](const CollectiveRequest& request,
            const GroupShape& shape,
            const NcclPlan& plan,
            bool crossNic,
            TimePs latency) {
             const auto make = IsChain(request.op) ? MakeRing<ChainGraph, ChainTimes>
                                                   : MakeRing<RingGraph, RingTimes>;
             return make(request, shape, plan, crossNic, latency);
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
                         .graph = Make<NvlsGraph, NvlsTimes>,
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
     .graph = Make<NvlsGraph, NvlsTimes>,
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
         [](const CollectiveRequest& request,
            const GroupShape& shape,
            const NcclPlan& plan,
            bool,
            TimePs latency) {
             // The channels of a pair are one lane with the rate of all.
             LaneTimes times;
             times.slots = 1;
             times.latency = latency >= 0 ? latency : plan.intraLatency;
             times.rateCapBps = static_cast<uint64_t>(plan.channelGBps * 8e9);
             return TimedGraph{std::make_shared<AllPairsGraph>(request.bytes, shape.GetRanks()),
                               std::make_shared<UniformGpu>(times)};
         },
     .messagesInARow = [](CollectiveOp, const GroupShape&) { return 2U; },
     .usesAllChannels = true});

} // namespace

} // namespace AstraSim
