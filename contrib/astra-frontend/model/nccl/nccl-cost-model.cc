/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-cost-model.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace AstraSim
{

namespace
{

// Tables are indexed by protocol: LL, LL128, Simple; microseconds.
constexpr std::array<double, 3> RING_BASE = {6.6, 14, 8.4};
constexpr std::array<double, 3> RING_NVLINK = {0.6, 1.9, 3.4};
constexpr std::array<double, 3> RING_NET = {2.7, 4.0, 14};
constexpr std::array<double, 3> RING_NET_220 = {2.7, 5.5, 14};
constexpr std::array<double, 3> TREE_BASE = {6.8, 14, 8.4};
constexpr std::array<double, 3> TREE_NVLINK = {0.6, 1.25, 4};
constexpr double TREE_NVLINK_SIMPLE_220 = 28;
constexpr double PAT_BASE = 8;
constexpr double PAT_NET = 14;
constexpr double PAT_PER_RANK = 2.8;
constexpr std::array<double, 3> TREE_NET = {5.0, 8.5, 14};
constexpr double NVLS_NVLINK = 25;
constexpr double NVLS_NVLINK_220 = 23;
constexpr double NET_OVERHEAD = 1.0; // Intel hosts; three times that for Simple

// GB/s by generation: Ampere, Hopper, Blackwell.
constexpr std::array<std::array<double, 3>, 3> LL_MAX = {
    {{87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr std::array<double, 3> LL_MAX_CPU = {39, 39, 20.4};
constexpr std::array<double, 3> RING_LL128_PER_CHANNEL = {20, 36.7, 40};
constexpr std::array<std::array<double, 3>, 3> TREE_LL128_PER_CHANNEL = {
    {{20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr std::array<std::array<double, 3>, 3> TREE_PER_CHANNEL = {
    {{24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
// How much of its bandwidth a tree reaches, by log2(bytes / 64); 1 beyond.
constexpr std::size_t TREE_SIZES = 23;
constexpr std::array<std::array<double, TREE_SIZES>, 3> TREE_REACHED = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};
constexpr std::array<double, 12> NVLS_SPEEDS = {90, 80, 70, 60, 50, 40, 30, 24, 20, 15, 12, 6};
constexpr std::array<double, 3> NVLS_EFFICIENCY = {0, 0.85, 0.74};

constexpr std::array<double, 3> WIRE_INFLATION = {2.0, 128.0 / 120.0, 1.0};

constexpr uint32_t MAX_RING_CHANNELS = 32;

std::size_t
RowByNodes(uint32_t nodes)
{
    return nodes <= 1 ? 0 : nodes == 2 ? 1 : 2;
}

TimePs
FromMicroseconds(double us)
{
    return std::llround(us * 1e6);
}

} // namespace

uint32_t
NcclCostModel::GetChannels(NcclAlgorithm algorithm, const GroupShape& shape) const
{
    uint32_t channels;
    if (algorithm == NcclAlgorithm::Nvls)
    {
        channels = m_machine.gpu.generation == GpuGeneration::Blackwell ? 24 : 16;
    }
    else if (algorithm == NcclAlgorithm::NvlsTree)
    {
        channels = m_machine.gpu.generation == GpuGeneration::Blackwell ? 32 : 16;
    }
    else if (m_options.ringChannels)
    {
        channels = m_options.ringChannels;
    }
    else if (shape.GetNodes() == 1)
    {
        channels = 24; // 12 found by the search, doubled
    }
    else
    {
        channels = std::max(2U, 2 * shape.GetRanksPerNode()); // one per NIC, doubled
    }
    channels = std::clamp(channels, 1U, MAX_RING_CHANNELS);
    if (m_options.maxChannels)
    {
        channels = std::min(channels, m_options.maxChannels);
    }
    return std::max(channels, m_options.minChannels);
}

uint32_t
NcclCostModel::ChannelsForSize(uint32_t channels,
                               NcclProtocol protocol,
                               uint32_t ranks,
                               uint64_t bytes) const
{
    const uint64_t threads = protocol == NcclProtocol::Ll128 ? 640 : 512;
    const uint64_t threshold = protocol == NcclProtocol::Ll      ? 8ULL * ranks
                               : protocol == NcclProtocol::Ll128 ? 8
                                                                 : 64;
    const uint32_t least = std::max(1U, m_options.minChannels);
    while (channels > least && bytes < channels * threads * threshold)
    {
        --channels;
    }
    return channels;
}

double
NcclCostModel::RingGBps(const GroupShape& shape) const
{
    const double intra = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    const double inter = m_machine.nicGBps * shape.GetRanksPerNode();
    if (shape.GetNodes() == 1)
    {
        return intra;
    }
    return shape.GetRanksPerNode() == 1 ? inter : std::min(intra, inter);
}

bool
NcclCostModel::IsPossible(NcclAlgorithm algorithm,
                          NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape) const
{
    if (algorithm == NcclAlgorithm::Ring)
    {
        return true;
    }
    if (algorithm == NcclAlgorithm::Tree)
    {
        return op == CollectiveOp::AllReduce && shape.GetRanks() > 1;
    }
    if (algorithm == NcclAlgorithm::Pat)
    {
        return protocol == NcclProtocol::Simple && shape.GetNodes() > 1 &&
               shape.GetRanksPerNode() == 1 &&
               (op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter);
    }
    if (protocol != NcclProtocol::Simple || !HasNvls(shape))
    {
        return false;
    }
    if (algorithm == NcclAlgorithm::NvlsTree)
    {
        return m_options.nvlsTreeEnable && op == CollectiveOp::AllReduce && shape.GetNodes() > 1;
    }
    return m_options.nvlsEnable && op == CollectiveOp::AllReduce && shape.GetNodes() == 1;
}

bool
NcclCostModel::HasNvls(const GroupShape& shape) const
{
    return m_machine.nvswitchesPerServer > 0 && m_machine.gpu.generation != GpuGeneration::Ampere &&
           std::all_of(shape.nodes.begin(), shape.nodes.end(), [](const auto& node) {
               return node.size() > 1;
           });
}

NcclPlan
NcclCostModel::EvaluateRing(NcclProtocol protocol,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const uint32_t ranks = shape.GetRanks();
    const uint32_t nodes = shape.GetNodes();
    const uint32_t rounds = op == CollectiveOp::AllReduce ? 2 : 1;
    const double steps = rounds * (ranks - 1.0);
    const double interSteps = nodes > 1 ? rounds * (nodes - 1.0) : 0;

    NcclPlan plan;
    plan.algorithm = NcclAlgorithm::Ring;
    plan.protocol = protocol;
    const uint32_t all = GetChannels(NcclAlgorithm::Ring, shape);
    plan.channels = ChannelsForSize(all, protocol, ranks, bytes);

    double busGBps = RingGBps(shape);
    if (protocol == NcclProtocol::Ll)
    {
        const double cap =
            nodes > 1 ? LL_MAX_CPU[RowByNodes(nodes)] : LL_MAX[generation][RowByNodes(nodes)];
        busGBps = std::min(cap, busGBps / 2);
    }
    else if (protocol == NcclProtocol::Ll128)
    {
        busGBps = std::min(0.92 * busGBps, all * RING_LL128_PER_CHANNEL[generation]);
    }
    plan.wireInflation = WIRE_INFLATION[p];
    plan.channelGBps = busGBps / all * plan.wireInflation;

    const double net = protocol == NcclProtocol::Simple ? 3 * NET_OVERHEAD : NET_OVERHEAD;
    const double intra = nodes > 1 ? std::max(RING_NVLINK[p], net) : RING_NVLINK[p];
    const double inter = shape.GetRanksPerNode() == 1 ? TREE_NET[p]
                         : m_options.tuning220        ? RING_NET_220[p]
                                                      : RING_NET[p];
    double latency = RING_BASE[p] + (steps - interSteps) * intra + interSteps * inter;
    if (protocol == NcclProtocol::Simple && op == CollectiveOp::AllReduce && nodes > 1 &&
        bytes / (static_cast<uint64_t>(plan.channels) * ranks) >= 64)
    {
        latency *= 1.4;
    }
    plan.baseLatency = FromMicroseconds(RING_BASE[p]);
    plan.intraLatency = FromMicroseconds(intra);
    plan.interLatency = FromMicroseconds(inter);
    // A collective that uses fewer channels than there are has their bandwidth only.
    const double algGBps = busGBps * plan.channels / all * (steps > 0 ? ranks / steps : 1.0);
    plan.predicted = FromMicroseconds(latency + static_cast<double>(bytes) / (algGBps * 1e3));
    return plan;
}

NcclPlan
NcclCostModel::EvaluateTree(NcclProtocol protocol, const GroupShape& shape, uint64_t bytes) const
{
    const auto p = static_cast<std::size_t>(protocol);
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    const uint32_t nodes = shape.GetNodes();
    const std::size_t row = RowByNodes(nodes);
    NcclPlan plan;
    plan.algorithm = NcclAlgorithm::Tree;
    plan.protocol = protocol;
    const uint32_t all = GetChannels(NcclAlgorithm::Tree, shape);
    plan.channels = ChannelsForSize(all, protocol, 1, bytes);

    double busGBps = std::min(0.92 * RingGBps(shape), all * TREE_PER_CHANNEL[generation][row]);
    if (protocol == NcclProtocol::Ll)
    {
        const double cap = nodes > 1 ? LL_MAX_CPU[row] : LL_MAX[generation][row];
        busGBps = std::min(busGBps / 3.8, cap);
    }
    else if (protocol == NcclProtocol::Ll128)
    {
        busGBps = std::min(busGBps * (nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                           all * TREE_LL128_PER_CHANNEL[generation][row]);
    }
    // Everything goes up and down, over the same links.
    double algGBps = busGBps / 2;
    plan.wireInflation = WIRE_INFLATION[p];
    plan.channelGBps = algGBps / all * plan.wireInflation;

    const double intra = m_options.tuning220 && protocol == NcclProtocol::Simple
                             ? TREE_NVLINK_SIMPLE_220
                             : TREE_NVLINK[p];
    const double inter = TREE_NET[p];
    const double latency = TREE_BASE[p] + 2 * ((shape.GetRanksPerNode() - 1.0) * intra +
                                               std::log2(static_cast<double>(nodes)) * inter);
    plan.baseLatency = FromMicroseconds(TREE_BASE[p]);
    plan.intraLatency = FromMicroseconds(intra);
    plan.interLatency = FromMicroseconds(inter);
    const auto size = static_cast<std::size_t>(std::bit_width(bytes >> 6));
    if (size > 0 && size <= TREE_SIZES)
    {
        algGBps *= TREE_REACHED[p][size - 1];
    }
    algGBps *= static_cast<double>(plan.channels) / all;
    plan.predicted = FromMicroseconds(latency + static_cast<double>(bytes) / (algGBps * 1e3));
    return plan;
}

NcclPlan
NcclCostModel::EvaluatePat(const GroupShape& shape, uint64_t bytes) const
{
    const double ranks = shape.GetRanks();
    NcclPlan plan;
    plan.algorithm = NcclAlgorithm::Pat;
    constexpr uint32_t MAX_PAT_CHANNELS = 8; // lanes of all distances share an instance's tags
    plan.channels = std::min(GetChannels(NcclAlgorithm::Pat, shape), MAX_PAT_CHANNELS);
    const double busGBps = 0.75 * RingGBps(shape);
    plan.channelGBps = busGBps / plan.channels;
    const double levels = std::log2(ranks);
    plan.baseLatency = FromMicroseconds(PAT_BASE);
    plan.interLatency = FromMicroseconds(PAT_NET / 3.5);
    const double latency = PAT_BASE + levels * PAT_NET / 3.5 + PAT_PER_RANK * ranks;
    const double algGBps = busGBps * ranks / (ranks - 1);
    plan.predicted = FromMicroseconds(latency + static_cast<double>(bytes) / (algGBps * 1e3));
    return plan;
}

NcclPlan
NcclCostModel::EvaluateNvls(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    const auto generation = static_cast<std::size_t>(m_machine.gpu.generation);
    NcclPlan plan;
    plan.algorithm = NcclAlgorithm::Nvls;
    plan.protocol = NcclProtocol::Simple;
    plan.channels = GetChannels(NcclAlgorithm::Nvls, shape);
    const double channels = plan.channels;
    const double intra = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    // The search gives every channel the highest speed of its list that they all can have.
    const auto speed = std::find_if(NVLS_SPEEDS.begin(), NVLS_SPEEDS.end(), [&](double candidate) {
        return candidate <= intra / channels;
    });
    const double perChannel = speed != NVLS_SPEEDS.end() ? *speed : intra / channels;
    const double moved = perChannel * channels * NVLS_EFFICIENCY[generation];
    plan.baseLatency = FromMicroseconds(m_options.tuning220 ? NVLS_NVLINK_220 : NVLS_NVLINK);
    const double busGBps = moved * (channels - 1) / channels * 2;
    const double ranks = shape.GetRanks();
    const double algGBps = busGBps * ranks / (2 * (ranks - 1));
    plan.channelGBps = algGBps / channels;
    plan.predicted =
        plan.baseLatency + FromMicroseconds(static_cast<double>(bytes) / (algGBps * 1e3));
    return plan;
}

NcclPlan
NcclCostModel::Evaluate(NcclAlgorithm algorithm,
                        NcclProtocol protocol,
                        CollectiveOp op,
                        const GroupShape& shape,
                        uint64_t bytes) const
{
    switch (algorithm)
    {
    case NcclAlgorithm::Tree:
        return EvaluateTree(protocol, shape, bytes);
    case NcclAlgorithm::Pat:
        return EvaluatePat(shape, bytes);
    case NcclAlgorithm::Nvls:
        return EvaluateNvls(op, shape, bytes);
    case NcclAlgorithm::NvlsTree:
        return EvaluateNvlsTree(shape, bytes);
    default:
        return EvaluateRing(protocol, op, shape, bytes);
    }
}

NcclPlan
NcclCostModel::ChooseByRules(CollectiveOp op,
                             const GroupShape& shape,
                             GroupKind kind,
                             uint64_t bytes) const
{
    // SimAI: Hopper's TP groups of 8 and more use NVLS or NVLS-Tree if it is on, everything else is
    // a ring.
    NcclAlgorithm choice = NcclAlgorithm::Ring;
    for (const NcclAlgorithm nvls : {NcclAlgorithm::Nvls, NcclAlgorithm::NvlsTree})
    {
        if (kind == GroupKind::Tp && shape.GetRanks() >= 8 &&
            IsPossible(nvls, NcclProtocol::Simple, op, shape))
        {
            choice = nvls;
        }
    }
    return Evaluate(choice, NcclProtocol::Simple, op, shape, bytes);
}

NcclPlan
NcclCostModel::Choose(CollectiveOp op,
                      const GroupShape& shape,
                      GroupKind kind,
                      uint64_t bytes) const
{
    if (m_options.selectByRules)
    {
        return ChooseByRules(op, shape, kind, bytes);
    }
    const auto allows = [](const auto& list, auto value) {
        return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
    };
    NcclPlan best;
    bool found = false;
    for (const NcclAlgorithm algorithm : {NcclAlgorithm::Ring,
                                          NcclAlgorithm::Tree,
                                          NcclAlgorithm::Nvls,
                                          NcclAlgorithm::NvlsTree,
                                          NcclAlgorithm::Pat})
    {
        for (const NcclProtocol protocol :
             {NcclProtocol::Ll, NcclProtocol::Ll128, NcclProtocol::Simple})
        {
            if (!allows(m_options.algorithms, algorithm) ||
                !allows(m_options.protocols, protocol) ||
                !IsPossible(algorithm, protocol, op, shape))
            {
                continue;
            }
            const NcclPlan plan = Evaluate(algorithm, protocol, op, shape, bytes);
            if (!found || plan.predicted < best.predicted)
            {
                best = plan;
                found = true;
            }
        }
    }
    if (!found)
    {
        throw ns3::InputError("environment",
                              0,
                              std::string("NCCL_ALGO and NCCL_PROTO leave no way to carry out ") +
                                  ToString(op) + " on " + std::to_string(shape.GetRanks()) +
                                  " ranks",
                              "an algorithm that supports it, such as Ring");
    }
    return best;
}

} // namespace AstraSim
