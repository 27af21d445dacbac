/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How many channels NCCL opens, how fast each is, and which algorithms a group may use.
 */
#include "nccl-cost-model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace AstraSim
{

namespace
{

constexpr uint32_t MAX_COLLNET_RANKS = 8; ///< of a node (NCCL_MAX_DIRECT_ARITY and the own)
constexpr uint32_t MAX_NVLS_RANKS = 32;   ///< of AllGather and ReduceScatter by NVLS
constexpr double ARM_LINK_GBPS = 6;       ///< of a link between Arm CPUs (topo.h, ARM_BW)

bool
IsSwitched(NcclAlgorithm algorithm)
{
    return algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree;
}

/// @return the highest speed a channel can have, if @p fits tells which it could
template <typename Fits>
double
HighestSpeed(std::span<const double> speeds, Fits fits, double otherwise)
{
    const auto it = std::find_if(speeds.begin(), speeds.end(), fits);
    return it != speeds.end() ? *it : otherwise;
}

} // namespace

NcclCostModel::Search
NcclCostModel::SearchWithinNode() const
{
    // As many channels of the GPU's speed as its NVLinks hold.
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    Search search;
    search.channels =
        std::max(1U, static_cast<uint32_t>(std::lround(nvlink / m_machine.gpu.channelGBps)));
    search.channels = std::min(search.channels, MAX_RING_CHANNELS / 2);
    search.intraGBps = nvlink / search.channels;
    search.interGBps = search.intraGBps;
    return search;
}

bool
NcclCostModel::RingsReturnOverCpus(const GroupShape& shape) const
{
    // NCCL src/graph/search.cc: without NCCL_CROSS_NIC a ring goes back to the NIC it came from,
    // here from a GPU of another CPU. Until 2.27 no GPU behind a Grace CPU may relay (PXN needs
    // PATH_PXB), so each pair of CPUs has a ring as fast as a link between them. Trees get as many
    // channels as rings.
    return !m_options.crossNic && m_machine.gpu.onGrace && m_machine.gpu.meshed &&
           shape.GetRanksPerNode() > 1 && !m_tuning.relaysBehindCpus;
}

double
NcclCostModel::PassingOf(const GroupShape& shape, bool closes) const
{
    // What does not close in a node leaves the NVLinks of one GPU of it free.
    const double perNode = shape.GetRanksPerNode();
    return closes || m_machine.gpu.meshed ? 1 : perNode / std::max(1.0, perNode - 1);
}

NcclCostModel::Search
NcclCostModel::SearchChannels(const GroupShape& shape, bool closes) const
{
    if (shape.GetNodes() == 1)
    {
        return SearchWithinNode();
    }
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    Search search;
    // One channel per NIC, as fast as it and the NVLinks allow; few fast ones are cut in half.
    const uint32_t nicUsers = std::max(1U, shape.GetRanksPerNode() / shape.GetGpusPerNic());
    const bool overCpus = RingsReturnOverCpus(shape);
    const uint32_t wanted =
        overCpus ? nicUsers * (shape.GetRanksPerNode() - 1) : nicUsers * m_machine.nicsPerGpu;
    search.channels = std::clamp(wanted, 1U, MAX_RING_CHANNELS / 2);
    double nic = m_machine.nicGBps * nicUsers / search.channels;
    if (overCpus && closes)
    {
        nic = std::min(nic, ARM_LINK_GBPS);
    }
    const double perNode = shape.GetRanksPerNode();
    const double passing = PassingOf(shape, closes);
    const double limit = perNode == 1 ? nic : std::min(nic, passing * nvlink / search.channels);
    double speed = HighestSpeed(
        m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation),
        [limit](double candidate) { return candidate <= limit; },
        limit);
    constexpr double FAST = 25;
    constexpr double VERY_FAST = 50;
    const bool enough = m_machine.gpu.generation != GpuGeneration::Ampere && speed < VERY_FAST &&
                        search.channels > 4;
    if (speed >= FAST && !enough && 2 * search.channels <= MAX_RING_CHANNELS / 2)
    {
        search.channels *= 2;
        speed /= 2;
    }
    search.interGBps = speed;
    search.intraGBps =
        closes || perNode == 1 ? speed : RaiseForTrees(speed, passing * nvlink / search.channels);
    return search;
}

double
NcclCostModel::RaiseForTrees(double interGBps, double nvlinkGBps) const
{
    // What a tree of two nodes carries between them is half of what it carries within: the search
    // then tries the next higher speeds within a node, up to one that is twice that of a NIC.
    const auto speeds = m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation);
    double raised = interGBps;
    for (auto next = speeds.rbegin(); next != speeds.rend() && raised < 2 * interGBps; ++next)
    {
        if (*next > raised && *next <= nvlinkGBps)
        {
            raised = *next;
        }
    }
    return raised;
}

NcclCostModel::Search
NcclCostModel::SearchNvls(const GroupShape& shape) const
{
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    const bool within = shape.GetNodes() == 1;
    Search search;
    search.channels = std::clamp(shape.GetRanksPerNode(), 1U, MAX_NVLS_HEADS);
    // A GPU's links carry each head's traffic, and the own head's twice.
    const double share = nvlink / (search.channels + 1);
    const auto speeds = within ? m_tuning.SpeedsWithinNode(m_machine.gpu.generation)
                               : m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation);
    const double limit = within ? share : std::min(share, m_machine.nicGBps);
    search.intraGBps = HighestSpeed(
        speeds,
        [limit](double candidate) { return candidate <= limit; },
        limit);
    search.interGBps = search.intraGBps;
    if (!within)
    {
        const double inter = std::min(m_machine.nicGBps, 2 * search.intraGBps);
        search.interGBps = HighestSpeed(
            speeds,
            [inter](double candidate) { return candidate <= inter; },
            search.intraGBps);
    }
    return search;
}

NcclCostModel::NvlsTuning
NcclCostModel::TuneNvls(const GroupShape& shape) const
{
    // NCCL src/transport/nvls.cc: ncclNvlsTuning, ncclNvlsTreeSm100Tuning.
    constexpr uint64_t KIB = 1024;
    constexpr double NDR = 48; ///< GB/s of a NIC of 400 Gb/s
    constexpr double XDR = 96;
    const uint32_t nodes = shape.GetNodes();
    const uint32_t perNode = shape.GetFewestRanks();
    const double nic = m_machine.nicGBps;
    const bool nearNic = !m_machine.gpu.onGrace;
    if (m_machine.gpu.generation != GpuGeneration::Blackwell)
    {
        return {16, (nodes >= 4 ? 64 : 128) * KIB};
    }
    NvlsTuning tuning{nodes > 1 ? 32U : 24U, (nodes >= 4 ? 64 : 128) * KIB};
    if (nodes == 1 || !m_tuning.tunesNvlsTree)
    {
        return tuning;
    }
    if (nodes == 2 && nic >= NDR)
    {
        const bool small = perNode >= 16 || (perNode <= 8 && nearNic && nic < XDR);
        tuning.chunk = (perNode <= 4 ? 256 : small ? 64 : 128) * KIB;
    }
    else if (nic >= XDR)
    {
        tuning.channels = perNode <= 8 ? 24 : 32;
        tuning.chunk = (perNode <= 8 ? 256 : perNode < 32 ? 128 : 64) * KIB;
    }
    else if (nic >= NDR)
    {
        tuning.channels = 24;
        tuning.chunk = (nearNic ? 64 : 128) * KIB;
    }
    return tuning;
}

uint32_t
NcclCostModel::CommonChannels(const GroupShape& shape) const
{
    const uint32_t found = 2 * SearchChannels(shape, true).channels;
    // NCCL src/graph/connect.cc from 2.20 to 2.27; NVLS needs three GPUs (ncclNvlsInit).
    const bool asNvls = m_tuning.ringsAsNvls && m_options.nvlsEnable && HasNvls(shape) &&
                        shape.GetFewestRanks() > 2;
    return asNvls ? std::max(found, TuneNvls(shape).channels) : found;
}

uint32_t
NcclCostModel::GetChannels(NcclAlgorithm algorithm, const GroupShape& shape) const
{
    if (IsSwitched(algorithm))
    {
        // NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are of rings, which the others follow
        // (src/graph/connect.cc); NVLS has channels of its own (src/transport/nvls.cc).
        return std::clamp(TuneNvls(shape).channels, 1U, MAX_RING_CHANNELS);
    }
    uint32_t channels = m_options.ringChannels ? m_options.ringChannels : CommonChannels(shape);
    channels = std::clamp(channels, 1U, MAX_RING_CHANNELS);
    if (m_options.maxChannels)
    {
        channels = std::min(channels, m_options.maxChannels);
    }
    return std::max(channels, m_options.minChannels);
}

uint32_t
NcclCostModel::GetPairChannels(const GroupShape& shape) const
{
    // NCCL src/graph/paths.cc, ncclTopoComputeP2pChannels.
    return std::bit_ceil(GetChannels(NcclAlgorithm::Ring, shape));
}

uint32_t
NcclCostModel::ChannelsForSize(uint32_t channels,
                               NcclProtocol protocol,
                               uint32_t ranks,
                               uint64_t bytes) const
{
    const NcclBlock block = NcclBlockOf(protocol);
    const uint64_t threshold =
        uint64_t{block.threshold} * (protocol == NcclProtocol::Ll ? ranks : 1);
    const uint32_t least = std::max(1U, m_options.minChannels);
    while (channels > least && bytes < channels * block.threads * threshold)
    {
        --channels;
    }
    return channels;
}

bool
NcclCostModel::IsPossible(NcclAlgorithm algorithm,
                          NcclProtocol protocol,
                          CollectiveOp op,
                          const GroupShape& shape) const
{
    const bool simple = protocol == NcclProtocol::Simple;
    const bool allReduce = op == CollectiveOp::AllReduce;
    const bool gathersOrScatters =
        op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
    switch (algorithm)
    {
    case NcclAlgorithm::Ring:
        return true;
    case NcclAlgorithm::Tree:
        return allReduce && shape.GetRanks() > 1;
    case NcclAlgorithm::Pat:
        return m_tuning.hasPat && simple && shape.GetNodes() > 1 && shape.GetRanksPerNode() == 1 &&
               gathersOrScatters;
    case NcclAlgorithm::Nvls:
        return simple && shape.GetNodes() == 1 && HasNvls(shape) &&
               (allReduce ? m_options.nvlsEnable
                          : gathersOrScatters && m_options.release != NcclRelease::V2_18 &&
                                (m_options.nvlsEnable || m_options.nvlsTreeEnable) &&
                                shape.GetRanksPerNode() <= MAX_NVLS_RANKS);
    case NcclAlgorithm::NvlsTree:
        return m_options.nvlsTreeEnable && simple && allReduce && shape.GetNodes() > 1 &&
               HasNvls(shape);
    default:
        return m_options.collNetEnable && simple && allReduce && shape.GetNodes() > 1 &&
               shape.GetRanksPerNode() <= MAX_COLLNET_RANKS &&
               (algorithm == NcclAlgorithm::CollNetChain || m_machine.nvswitchesPerServer > 0);
    }
}

bool
NcclCostModel::SuitsNetwork(NcclProtocol protocol,
                            CollectiveOp op,
                            const GroupShape& shape,
                            uint64_t bytes) const
{
    const NetworkKind& kind = *m_options.networkKind;
    if (m_options.protocols.AreGiven(op))
    {
        return true; // the user's word counts
    }
    if (protocol == NcclProtocol::Ll128)
    {
        // Before 2.27 NCCL took a NIC behind a Grace CPU for one behind any other host bridge, over
        // which it does not use LL128 (src/graph/tuning.cc, paths.cc: PATH_PHB, PATH_P2C).
        const bool divides = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
        const uint64_t ofRank = divides ? bytes / shape.GetRanks() : bytes;
        return kind.allowsLl128 && (kind.simpleFrom == 0 || ofRank < kind.simpleFrom) &&
               (!m_machine.gpu.onGrace || m_tuning.relaysBehindCpus) &&
               !(divides && SimpleFollowsLl(op, shape, bytes));
    }
    return protocol == NcclProtocol::Simple || kind.allowsLl;
}

bool
NcclCostModel::SimpleFollowsLl(CollectiveOp op, const GroupShape& shape, uint64_t bytes) const
{
    // AllGather and ReduceScatter on 2 servers of 8 B200, of two clouds with 16 and 32 channels,
    // take Simple's time from 2 MiB on, where NCCL's estimates would have LL128 up to 32 MiB. On
    // AMD and on Intel hosts, it is near 2 MiB that Simple's estimate falls below LL's. No source
    // of NCCL's says why; tables of Hopper show LL128 up to 64 MiB.
    if (m_machine.gpu.generation != GpuGeneration::Blackwell)
    {
        return false;
    }
    const auto predicted = [&](NcclProtocol protocol) {
        return EvaluateRing(protocol, op, shape, bytes).predicted;
    };
    return predicted(NcclProtocol::Simple) < predicted(NcclProtocol::Ll);
}

bool
NcclCostModel::HasNvls(const GroupShape& shape) const
{
    return HasNvls() && std::all_of(shape.nodes.begin(), shape.nodes.end(), [](const auto& node) {
               return node.size() > 1;
           });
}

} // namespace AstraSim
