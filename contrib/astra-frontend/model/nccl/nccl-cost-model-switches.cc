/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NcclCostModel: algorithms between nodes whose sums switches make.
 */
#include "nccl-cost-model.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace AstraSim
{

namespace
{

// Microseconds, Simple only.
constexpr double NVLS_TREE_NVLINK = 25;
constexpr double NVLS_TREE_NET = 20.9;

// By generation: Ampere, Hopper, Blackwell.
constexpr std::array<double, 3> NVLS_EFFICIENCY = {0, 0.85, 0.74};
/// GB/s of a channel on two nodes, and on more.
constexpr std::array<std::array<double, 2>, 3> NVLS_TREE_PER_CHANNEL = {
    {{23.6, 17.8}, {57.7, 45.5}, {96, 80}}};

TimePs
FromMicroseconds(double us)
{
    return std::llround(us * 1e6);
}

uint32_t
Log2(uint32_t value)
{
    return static_cast<uint32_t>(std::bit_width(value)) - 1;
}

} // namespace

NcclPlan
NcclCostModel::EvaluateNvlsTree(const GroupShape& shape, uint64_t bytes) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const bool twoNodes = shape.GetNodes() <= 2;
    NcclPlan plan;
    plan.algorithm = NcclAlgorithm::NvlsTree;
    plan.protocol = NcclProtocol::Simple;
    plan.channels = GetChannels(NcclAlgorithm::NvlsTree, shape);
    const double channels = plan.channels;
    const double ranks = shape.GetRanks();
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps) / channels;
    const double intra =
        nvlink * NVLS_EFFICIENCY[generation] * (channels - 1) / channels * 2; // two at a time
    const double nics = m_machine.nicGBps * shape.GetRanksPerNode() / channels;
    const double inter = nics * (twoNodes ? 2 : 1);
    const double perChannel =
        std::min({intra, inter, NVLS_TREE_PER_CHANNEL[generation][twoNodes ? 0 : 1]});
    const double ratio = ranks / (2 * (ranks - 1));
    const double algGBps = perChannel * channels * ratio;
    plan.channelGBps = intra * ratio;
    plan.baseLatency = FromMicroseconds(NVLS_TREE_NVLINK);
    plan.interLatency = FromMicroseconds(NVLS_TREE_NET);
    const double latency = NVLS_TREE_NVLINK + 2.0 * Log2(shape.GetNodes()) * NVLS_TREE_NET;
    plan.predicted = FromMicroseconds(latency + static_cast<double>(bytes) / (algGBps * 1e3));
    return plan;
}

} // namespace AstraSim
