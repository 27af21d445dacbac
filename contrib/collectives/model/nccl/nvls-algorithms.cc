/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/timing/nvls-times.h"
#include "nccl-cost-model.h"
#include "nccl-graphs.h"

#include <algorithm>
#include <array>
#include <memory>

namespace AstraSim
{

namespace
{

constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_EFFICIENCY = {0, 0.85, 0.74};
constexpr double NVLS_HALVES_220 = 5.0 / 6;
constexpr uint32_t MAX_NVLS_RANKS = 32; ///< of AllGather and ReduceScatter

bool
CanNvls(const NcclCostModel& model, const NcclCase& which)
{
    const NcclOptions& options = model.GetOptions();
    return which.protocol == NcclProtocol::Simple && which.shape.GetNodes() == 1 &&
           model.GetSearch().HasNvls(which.shape) &&
           (which.op == CollectiveOp::AllReduce
                ? options.nvlsEnable
                : (which.op == CollectiveOp::AllGather ||
                   which.op == CollectiveOp::ReduceScatter) &&
                      model.GetTuning().gathersByNvls &&
                      (options.nvlsEnable || options.nvlsTreeEnable) &&
                      which.shape.GetRanksPerNode() <= MAX_NVLS_RANKS);
}

/// @return the part of a GPU's NVLink rate that reductions and multicasts reach
double
UsableNvlinkGBps(const NcclCostModel& model)
{
    return std::min(model.GetMachine().nvlinkGBps, model.GetMachine().gpu.nvlinkGBps) *
           model.GetOptions().figures.nvlsLinkEfficiency;
}

/// @return GB/s at which a GPU's data may go through the NVSwitches that reduce
double
NvlsLinkGBps(const NcclCostModel& model, const GroupShape& shape)
{
    // Each GPU sends all its data over its links, and a head its share of the sums besides.
    const double heads = std::min(NvlsGraph::MAX_HEADS, shape.GetFewestRanks());
    return UsableNvlinkGBps(model) / (1 + 1 / heads);
}

double
NvlsAlgGBps(const NcclCostModel& model,
            const NcclAlgorithm& algorithm,
            CollectiveOp op,
            const GroupShape& shape)
{
    const NcclTuning& tuning = model.GetTuning();
    const auto generation = static_cast<std::size_t>(model.GetMachine().gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const double ranks = shape.GetRanks();
    const double perNode = shape.GetRanksPerNode();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;
    const bool allReduce = op == CollectiveOp::AllReduce;
    const double ratio = allReduce ? ranks / (2 * (ranks - 1)) : 1;
    const NcclSearch::Channels search = model.GetSearch().SearchNvls(shape);
    const double heads = search.channels;
    double algGBps = 0;
    if (tuning.nvlsHalves)
    {
        double perHead = search.intraGBps * NVLS_EFFICIENCY[generation] * (heads - 1) / heads;
        // An AllReduce pipelines two halves; the others leave the own part out.
        perHead *= allReduce ? 2 : (perNode - 1) / perNode;
        if (nodes > 1)
        {
            perHead = std::min(perHead, search.interGBps * (tree && nodes <= 2 ? 2 : 1));
        }
        if (tree)
        {
            perHead = std::min(perHead, tuning.nvlsTreeMax[generation][RowByNodes(nodes)]);
        }
        algGBps = heads * perHead * ratio;
    }
    else
    {
        const double inter = tree && nodes > 2 ? search.interGBps / 2 : search.interGBps;
        algGBps = heads * std::min(search.intraGBps, inter) * NVLS_HALVES_220;
    }
    return algGBps;
}

NcclPlan
PlanNvls(const NcclCostModel& model,
         const NcclAlgorithm& algorithm,
         CollectiveOp op,
         const GroupShape& shape,
         uint64_t bytes)
{
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const uint32_t nodes = shape.GetNodes();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;

    NcclPlan plan = model.StartPlan(algorithm, NcclProtocol::Simple);
    plan.channels = model.GetSearch().GetChannels(algorithm, shape);
    const double algGBps = NvlsAlgGBps(model, algorithm, op, shape);
    plan.speeds.channelGBps = NvlsLinkGBps(model, shape) / plan.channels;
    auto& nvls = plan.Of<NvlsPlan>();
    nvls.chunk = model.GetSearch().TuneNvls(shape).chunk;
    nvls.bytes = bytes; // smaller forms, as estimates make, have the chunks of the whole
    const auto generation = static_cast<std::size_t>(model.GetMachine().gpu.generation);
    const MeasuredFigures& figures = model.GetOptions().figures;
    nvls.speeds.hunkUs = (tree ? figures.nvlsTreeHunkUs : figures.nvlsHunkUs)[generation];
    nvls.speeds.aloneUs = figures.nvlsAloneUs[generation];

    const NcclTuning::Latencies& latencies = algorithm.LatenciesIn(model.GetTuning().release);
    if (tree)
    {
        // Within a node channelGBps is the limit of all heads' lanes together; two trees share it
        // on the links.
        nvls.speeds.inflation = model.GetMachine().nvlinkGBps / UsableNvlinkGBps(model);
    }
    // NCCL states one latency for the whole pipeline with few data. The simulation has its parts:
    // an iteration that scatters, the announcement of a chunk, and an iteration that gathers.
    const double whole = latencies.base[p] + latencies.nvlink[p];
    plan.speeds.baseLatency = FromMicroseconds(whole + figures.nvlsMoreUs[generation] -
                                               figures.nvlsSyncUs - 2 * nvls.speeds.aloneUs);
    plan.speeds.intraLatency = FromMicroseconds(figures.nvlsSyncUs);
    const double interSteps = nodes == 1 ? 0 : tree ? 2 * FloorLog2(nodes) : 1;
    Predict(plan,
            whole + interSteps * model.EstimatedInterUs(NcclProtocol::Simple, latencies.net[p]),
            // NCCL corrects NVLS-Tree on Blackwell as it corrects trees, on x86 hosts.
            tree && model.GetTuning().correctsNvlsTree && !model.GetMachine().gpu.onGrace &&
                    model.GetMachine().gpu.generation == GpuGeneration::Blackwell
                ? algGBps * NcclTreeCorrection(NcclProtocol::Simple, bytes)
                : algGBps,
            bytes);
    return plan;
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

const NcclAlgorithm NVLS(
    "NVLS",
    {.order = 4,
     .tunerName = "nvls",
     .latencies = {{NcclRelease::V2_23, LAST_NCCL_RELEASE, {{}, {0, 0, 25}, {0, 0, 18}}},
                   {FIRST_NCCL_RELEASE, NcclRelease::V2_20, {{}, {0, 0, 23}, {0, 0, 18}}}},
     .can = CanNvls,
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return PlanNvls(model, NcclAlgorithm::Nvls, which.op, which.shape, bytes);
         },
     .graph = MakeNvls,
     .growth = CollectiveAlgorithm::Growth::Levels,
     .usesAllChannels = true,
     .hasSteps = false});

const NcclAlgorithm NVLS_TREE(
    "NVLSTree",
    {.order = 5,
     .tunerName = "nvls_tree",
     .latencies = {{NcclRelease::V2_28, LAST_NCCL_RELEASE, {{}, {0, 0, 25}, {0, 0, 20.9}}},
                   {NcclRelease::V2_23, NcclRelease::V2_23, {{}, {0, 0, 25}, {0, 0, 14}}},
                   {NcclRelease::V2_20, NcclRelease::V2_20, {{}, {0, 0, 23}, {0, 0, 14}}},
                   {FIRST_NCCL_RELEASE, NcclRelease::V2_18, {{}, {0, 0, 23}, {0, 0, 19}}}},
     .can =
         [](const NcclCostModel& model, const NcclCase& which) {
             return model.GetOptions().nvlsTreeEnable && which.protocol == NcclProtocol::Simple &&
                    which.op == CollectiveOp::AllReduce && which.shape.GetNodes() > 1 &&
                    model.GetSearch().HasNvls(which.shape);
         },
     .cost =
         [](const NcclCostModel& model, const NcclCase& which, uint64_t bytes) {
             return PlanNvls(model, NcclAlgorithm::NvlsTree, which.op, which.shape, bytes);
         },
     .graph = MakeNvls,
     .growth = CollectiveAlgorithm::Growth::Levels,
     .usesAllChannels = true});

} // namespace

const NcclAlgorithm& NcclAlgorithm::Nvls = NVLS;
const NcclAlgorithm& NcclAlgorithm::NvlsTree = NVLS_TREE;

} // namespace AstraSim
