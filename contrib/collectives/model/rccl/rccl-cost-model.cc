/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rccl-cost-model.h"

#include "collectives/model/nccl/nccl-algorithm.h"

namespace AstraSim
{

NcclTraits
RcclCostModel::TraitsOf(const RcclTuning& tuning)
{
    // The 28 channels of MI300X share LL's limit; later GPUs have more, with blocks as fast.
    constexpr double CHANNELS = 28;
    const NcclTuning& newest = NcclTuning::Of(LAST_NCCL_RELEASE);
    return {.mostChannels = 128,
            .ringsPerNic = tuning.ringsPerNic,
            .threads = 256,
            .llBlockGBps =
                newest.llMax[static_cast<std::size_t>(GpuGeneration::Cdna3)][0] / CHANNELS,
            .hasLl128 = tuning.hasLl128,
            .hasSimpleTreesInNode = false,
            .cutsChunksOfTrees = true,
            .mscclBlocks = true,
            .ranksFor256KiB = tuning.ranksFor256KiB,
            .ranksFor512KiB = tuning.ranksFor512KiB};
}

RcclCostModel::RcclCostModel(const MachineModel& machine, const NcclOptions& options)
    : NcclCostModel(machine,
                    options,
                    TraitsOf(RcclTuning::Of(machine.gpu.generation, options.release, 2))),
      m_tuning(RcclTuning::Of(machine.gpu.generation, options.release, 2))
{
}

NcclTuning::Latencies
RcclCostModel::KernelLatencies(const NcclAlgorithm& algorithm) const
{
    NcclTuning::Latencies latencies = NcclCostModel::KernelLatencies(algorithm);
    const bool isTree = algorithm == NcclAlgorithm::Tree;
    if (isTree || algorithm == NcclAlgorithm::Ring || algorithm == RCCL_ALL_PAIRS)
    {
        const auto& own = isTree ? m_tuning.tree : m_tuning.ring;
        latencies.base = own.latencies.base;
        latencies.nvlink = own.latencies.nvlink;
    }
    return latencies;
}

void
RcclCostModel::OverrideEstimate(NcclPlan& plan,
                                CollectiveOp op,
                                const GroupShape& shape,
                                uint64_t bytes) const
{
    const bool isRing = *plan.algorithm == NcclAlgorithm::Ring;
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const auto& rccl = RcclTuning::Of(GetMachine().gpu.generation, GetOptions().release, nodes);
    const RcclTuning::Estimate estimate =
        isRing ? rccl.OfRing(plan.protocol, op, ranks, nodes, bytes, NetOverheadUs())
               : rccl.OfTree(plan.protocol, ranks, nodes, bytes);
    // RCCL src/graph/rome_models.cc, parseGraph: the rate of the links within a node, also between
    // nodes.
    Predict(plan, estimate.latencyUs, estimate.part * GetSearch().NvlinkGBps(shape), bytes);
}

std::optional<NcclProtocol>
RcclCostModel::FixedProtocol(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    return m_tuning.ProtocolOf(op, shape.GetRanks(), shape.GetNodes(), bytes);
}

} // namespace AstraSim
