/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What NCCL's cost model says of algorithms whose switches add: NVLS, NVLS-Tree and CollNet.
 */
#include "nccl-cost-model.h"

#include <algorithm>
#include <array>

namespace AstraSim
{

namespace
{

constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_EFFICIENCY = {0, 0.85, 0.74};
constexpr double NVLS_HALVES_220 = 5.0 / 6;

// A head of NVLS announces a chunk once it has stored all of it, and reads no other meanwhile:
// microseconds for each chunk. And reductions and multicasts reach that part of what stores reach.
// From the steps that the sizes of chunks make in published tables of 8 H100.
constexpr double NVLS_SYNC_US = 4;
constexpr double NVLS_LINK_EFFICIENCY = 0.92;

// An iteration of a warp that scatters or gathers (NvlsGraph::HUNK_BYTES are loaded, then stored)
// takes what memory does to answer, loaded by the other stages of all channels and by the NVLinks,
// or idle. Loaded: on Hopper from nccl-tests on 2 servers of 8 H100, where gathers are the limit;
// on Blackwell from chunks of 32, 64 and 128 KiB on 8 B200, where they are the limit in one server,
// too; in trees, where 32 channels work in place of 24, from 2 and 3 racks of GB200. Idle: from 2
// to 16 MiB on 8 H100 and 8 to 64 MiB on 2 servers of 8 B200, which have few chunks.
constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_HUNK_US = {0, 1.17, 1.27};
constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_TREE_HUNK_US = {0, 1.17, 1.45};
constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_ALONE_US = {0, 0.6, 0.75};

// NCCL's latency of NVLS is the same for all generations. 8 B200 need so much more.
constexpr std::array<double, NcclTuning::GENERATIONS> NVLS_MORE_US = {0, 0, 10};

/// @return what reductions and multicasts reach of a GPU's NVLinks
double
UsableNvlinkGBps(const MachineModel& machine)
{
    return std::min(machine.nvlinkGBps, machine.gpu.nvlinkGBps) * NVLS_LINK_EFFICIENCY;
}

} // namespace

double
NcclCostModel::NvlsAlgGBps(const NcclTuning& tuning,
                           NcclAlgorithm algorithm,
                           CollectiveOp op,
                           const GroupShape& shape) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const double ranks = shape.GetRanks();
    const double perNode = shape.GetRanksPerNode();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;
    const bool allReduce = op == CollectiveOp::AllReduce;
    const double ratio = allReduce ? ranks / (2 * (ranks - 1)) : 1;
    const Search search = SearchNvls(shape);
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

double
NcclCostModel::NvlsLinkGBps(const GroupShape& shape) const
{
    // Each GPU's data goes through its links once, and a head's share once more.
    const double heads = std::min(MAX_NVLS_HEADS, shape.GetFewestRanks());
    return UsableNvlinkGBps(m_machine) / (1 + 1 / heads);
}

NcclPlan
NcclCostModel::EvaluateNvls(NcclAlgorithm algorithm,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const uint32_t nodes = shape.GetNodes();
    const bool tree = algorithm == NcclAlgorithm::NvlsTree;

    NcclPlan plan = StartPlan(algorithm, NcclProtocol::Simple);
    plan.channels = GetChannels(algorithm, shape);
    const double algGBps = NvlsAlgGBps(m_tuning, algorithm, op, shape);
    plan.channelGBps = NvlsLinkGBps(shape) / plan.channels;
    plan.nvlsChunk = TuneNvls(shape).chunk;
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    plan.nvlsHunkUs = (tree ? NVLS_TREE_HUNK_US : NVLS_HUNK_US)[generation];
    plan.nvlsAloneUs = NVLS_ALONE_US[generation];

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(algorithm);
    if (tree)
    {
        // Within a node channelGBps is what all heads' lanes may carry together; two trees share it
        // on the links.
        plan.nvlsInflation = m_machine.nvlinkGBps / UsableNvlinkGBps(m_machine);
    }
    // What NCCL calls a step's latency is that of the whole pipeline with few data: one iteration
    // that scatters, a chunk that is announced, and one that gathers, all of which are simulated.
    const double whole = latencies.base[p] + latencies.nvlink[p];
    plan.baseLatency =
        FromMicroseconds(whole + NVLS_MORE_US[generation] - NVLS_SYNC_US - 2 * plan.nvlsAloneUs);
    plan.intraLatency = FromMicroseconds(NVLS_SYNC_US);
    const double interSteps = nodes == 1 ? 0 : tree ? 2 * FloorLog2(nodes) : 1;
    Predict(plan,
            whole + interSteps * EstimatedInterUs(NcclProtocol::Simple, latencies.net[p]),
            // NCCL corrects NVLS-Tree on Blackwell as it corrects trees, on x86 hosts.
            tree && m_tuning.correctsNvlsTree && !m_machine.gpu.onGrace &&
                    m_machine.gpu.generation == GpuGeneration::Blackwell
                ? algGBps * NcclTreeCorrection(NcclProtocol::Simple, bytes)
                : algGBps,
            bytes);
    return plan;
}

NcclPlan
NcclCostModel::EvaluateCollNet(NcclAlgorithm algorithm,
                               const GroupShape& shape,
                               uint64_t bytes) const
{
    constexpr double ARITY_LATENCY = 0.4; // microseconds per peer
    constexpr double DIRECT_EFFICIENCY = 0.85;
    const auto p = static_cast<std::size_t>(NcclProtocol::Simple);
    const double perNode = shape.GetRanksPerNode();
    const bool direct = algorithm == NcclAlgorithm::CollNetDirect;
    NcclPlan plan = StartPlan(algorithm, NcclProtocol::Simple);
    const uint32_t all = GetChannels(algorithm, shape);
    plan.channels = direct ? all : ChannelsForSize(all, NcclProtocol::Simple, 1, bytes);

    const Search search = SearchChannels(shape, false);
    double busGBps = search.channels * search.intraGBps;
    if (direct)
    {
        const double perNic = perNode / search.channels;
        busGBps /= perNic - (perNic - 1) / 2;
        busGBps *= m_machine.gpu.generation == GpuGeneration::Ampere ? 1 : DIRECT_EFFICIENCY;
    }
    const double algGBps = busGBps / 2;
    plan.channelGBps = algGBps / all;

    const NcclTuning::Latencies& latencies = m_tuning.LatenciesOf(algorithm);
    const double within =
        direct
            ? 2 * (std::min(1.0, perNode - 1) * latencies.nvlink[p] + (perNode - 1) * ARITY_LATENCY)
            : 2 * (perNode - 1) * latencies.nvlink[p];
    Predict(plan, latencies.base[p] + within + latencies.net[p], algGBps, bytes);
    return plan;
}

} // namespace AstraSim
