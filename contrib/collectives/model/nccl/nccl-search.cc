/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-search.h"

#include "collectives/model/collective/divide-up.h"
#include "nccl-algorithm.h"
#include "nccl-pcie.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

namespace AstraSim
{

// NCCL searches the topology for channels that fill its links. Here all nodes are alike, so
// formulas give the outcome. SearchChannels() finds the number of channels: within a node as many
// as the NVLinks can feed, between nodes one for each NIC, or several if the NIC is much faster
// than a channel. Each has the highest speed of NCCL's list that the links allow
// (SpeedBetweenNodes); a few fast channels become twice as many of half the speed. GetChannels()
// doubles the number and applies the user's bounds. From this follow the channels for sends between
// pairs (GetChannelsPerPair), and for few bytes (ChannelsForSize). SearchNvls() does the same for
// NVLS, with one channel for each GPU of a node.

namespace
{

constexpr uint64_t KIB = 1024;
constexpr double ARM_LINK_GBPS = 6; ///< of a link between Arm CPUs (topo.h, ARM_BW)

bool
IsSwitched(const NcclAlgorithm& algorithm)
{
    return algorithm == NcclAlgorithm::Nvls || algorithm == NcclAlgorithm::NvlsTree;
}

/// @return the first of the falling @p speeds that @p fits; @p otherwise if none does
template <typename Fits>
double
HighestSpeed(std::span<const double> speeds, Fits fits, double otherwise)
{
    const auto it = std::ranges::find_if(speeds, fits);
    return it != speeds.end() ? *it : otherwise;
}

} // namespace

double
NcclSearch::NvlinkGBps(const GroupShape& shape) const
{
    const double all = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    return m_machine.isMesh
               ? all * (std::max(2U, shape.GetRanksPerNode()) - 1) / (m_machine.gpusPerServer - 1)
               : all;
}

bool
NcclSearch::IsOverPcie() const
{
    // Links to the GPUs of a server that are no faster than its PCIe slot are this slot.
    const GpuProfile& gpu = m_machine.gpu;
    return gpu.pcieGBps > 0 && gpu.nvlinkGBps <= gpu.pcieGBps && !IsAmd(gpu.generation);
}

NcclSearch::Channels
NcclSearch::SearchWithinNode(const GroupShape& shape) const
{
    // As many channels of the GPU's speed as its NVLinks hold.
    const double nvlink = NvlinkGBps(shape);
    Channels search;
    search.channels =
        std::max(1U, static_cast<uint32_t>(std::lround(nvlink / m_machine.gpu.channelGBps)));
    search.channels = std::min(search.channels, m_traits.mostChannels / 2);
    search.intraGBps = nvlink / search.channels;
    search.interGBps = search.intraGBps;
    return search;
}

NcclSearch::Channels
NcclSearch::SearchOverPcie(const GroupShape& shape) const
{
    const NcclPcie::Found found = NcclPcie(m_machine, m_options)
                                      .Search(shape,
                                              NvlinkGBps(shape),
                                              m_tuning.SpeedsWithinNode(m_machine.gpu.generation),
                                              m_traits.mostChannels / 2);
    return {found.channels, found.GBps, found.GBps};
}

bool
NcclSearch::RingsReturnOverCpus(const GroupShape& shape) const
{
    // NCCL src/graph/search.cc: without NCCL_CROSS_NIC a ring goes back to the NIC it came from,
    // here from a GPU of another CPU. Until 2.27 no GPU behind a Grace CPU may relay (PXN needs
    // PATH_PXB), so each pair of CPUs has a ring as fast as a link between them. Trees get as many
    // channels as rings.
    return !m_options.crossNic && m_machine.gpu.onGrace && m_machine.gpu.meshed &&
           shape.GetRanksPerNode() > 1 && !m_tuning.relaysBehindCpus;
}

double
NcclSearch::PassingOf(const GroupShape& shape, bool closes) const
{
    // A channel that does not close in its node takes n - 1 steps over NVLink for n GPUs. This
    // leaves the links of one GPU free, or in a mesh one link of each GPU, for other channels.
    const double perNode = shape.GetRanksPerNode();
    const bool leaves = m_machine.isMesh || !(closes || m_machine.gpu.meshed);
    return leaves ? perNode / std::max(1.0, perNode - 1) : 1;
}

uint32_t
NcclSearch::NicUsers(const GroupShape& shape)
{
    return std::max(1U, shape.GetRanksPerNode() / shape.GetGpusPerNic());
}

double
NcclSearch::LimitBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const
{
    // NCCL chooses as if no other group were at work.
    double nic = m_machine.nicGBps * NicUsers(shape) / channels;
    if (closes && RingsReturnOverCpus(shape))
    {
        nic = std::min(nic, ARM_LINK_GBPS);
    }
    const double nvlink = PassingOf(shape, closes) * NvlinkGBps(shape) / channels;
    return shape.GetRanksPerNode() == 1 ? nic : std::min(nic, nvlink);
}

double
NcclSearch::SpeedBetweenNodes(double limit) const
{
    return HighestSpeed(
        m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation),
        [limit](double candidate) { return candidate <= limit; },
        limit);
}

NcclSearch::Channels
NcclSearch::ChannelsBetweenNodes(const GroupShape& shape, bool closes, uint32_t channels) const
{
    Channels search;
    search.channels = std::clamp(channels, 1U, m_traits.mostChannels / 2);
    search.interGBps = SpeedBetweenNodes(LimitBetweenNodes(shape, closes, search.channels));
    return search;
}

NcclSearch::Channels
NcclSearch::BestChannelsBetweenNodes(const GroupShape& shape, bool closes) const
{
    // One channel per NIC, as fast as it and the NVLinks allow.
    if (RingsReturnOverCpus(shape))
    {
        return ChannelsBetweenNodes(shape, closes, NicUsers(shape) * (shape.GetRanksPerNode() - 1));
    }
    const uint32_t nics = NicUsers(shape) * SeenNics();
    if (m_traits.ringsPerNic > 0)
    {
        return ChannelsBetweenNodes(shape, closes, nics * m_traits.ringsPerNic);
    }
    // NCCL src/graph/search.cc goes on until a NIC's bandwidth is used up: one that is several
    // times as fast as the fastest channel has several, if the NVLinks carry more through these.
    const double fastest = m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation).front();
    const auto perNic = static_cast<uint32_t>(m_machine.nicGBps / SeenNics() / fastest);
    const Channels one = ChannelsBetweenNodes(shape, closes, nics);
    const Channels several = ChannelsBetweenNodes(shape, closes, nics * std::max(1U, perNic));
    return several.channels * several.interGBps > one.channels * one.interGBps ? several : one;
}

NcclSearch::Channels
NcclSearch::SearchChannels(const GroupShape& shape, bool closes) const
{
    if (shape.GetNodes() == 1)
    {
        return IsOverPcie() ? SearchOverPcie(shape) : SearchWithinNode(shape);
    }
    Channels search = BestChannelsBetweenNodes(shape, closes);
    double speed = search.interGBps; // a few fast channels are cut in half
    constexpr double FAST = 25;
    constexpr double VERY_FAST = 50;
    const bool enough = m_machine.gpu.generation != GpuGeneration::Ampere && speed < VERY_FAST &&
                        search.channels > 4;
    if (speed >= FAST && !enough && 2 * search.channels <= m_traits.mostChannels / 2)
    {
        search.channels *= 2;
        speed /= 2;
    }
    search.interGBps = speed;
    const double nvlink = PassingOf(shape, closes) * NvlinkGBps(shape) / search.channels;
    search.intraGBps =
        closes || shape.GetRanksPerNode() == 1 ? speed : RaiseForTrees(speed, nvlink);
    return search;
}

double
NcclSearch::RaiseForTrees(double interGBps, double nvlinkGBps) const
{
    // A tree of two nodes has half as much traffic between as within them: the search then tries
    // the next higher speeds within a node, up to one that is twice that of a NIC.
    const auto speeds = m_tuning.SpeedsBetweenNodes(m_machine.gpu.generation);
    if (speeds.empty()) // no search
    {
        return std::max(interGBps, std::min(2 * interGBps, nvlinkGBps));
    }
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

NcclSearch::Channels
NcclSearch::SearchNvls(const GroupShape& shape) const
{
    const double nvlink = std::min(m_machine.nvlinkGBps, m_machine.gpu.nvlinkGBps);
    const bool within = shape.GetNodes() == 1;
    Channels search;
    search.channels = std::clamp(shape.GetRanksPerNode(), 1U, NvlsGraph::MAX_HEADS);
    // A GPU's links carry each head's traffic, and the own head's twice.
    const double share = nvlink / (search.channels + 1);
    if (within)
    {
        search.intraGBps = HighestSpeed(
            m_tuning.SpeedsWithinNode(m_machine.gpu.generation),
            [share](double candidate) { return candidate <= share; },
            share);
        search.interGBps = search.intraGBps;
        return search;
    }
    const double nic = m_machine.nicGBps / shape.GetGpusPerNic();
    const double limit = std::min(share, nic);
    search.intraGBps = SpeedBetweenNodes(limit);
    const double inter = std::min(nic, 2 * search.intraGBps);
    search.interGBps = std::max(search.intraGBps, SpeedBetweenNodes(inter));
    return search;
}

NcclSearch::NvlsTuning
NcclSearch::TuneNvlsTree(const GroupShape& shape) const
{
    // NCCL src/transport/nvls.cc: ncclNvlsTreeSm100Tuning.
    constexpr double NDR = 48; ///< GB/s of a NIC of 400 Gb/s
    constexpr double XDR = 96;
    const uint32_t perNode = shape.GetFewestRanks();
    const double nic = m_machine.nicGBps;
    const bool nearNic = !m_machine.gpu.onGrace;
    if (shape.GetNodes() == 2 && nic >= NDR)
    {
        const bool small = perNode >= 16 || (perNode <= 8 && nearNic && nic < XDR);
        return {32, (perNode <= 4 ? 256 : small ? 64 : 128) * KIB};
    }
    if (nic >= XDR)
    {
        return perNode <= 8 ? NvlsTuning{24, 256 * KIB}
                            : NvlsTuning{32, (perNode < 32 ? 128 : 64) * KIB};
    }
    return nic >= NDR ? NvlsTuning{24, (nearNic ? 64 : 128) * KIB} : NvlsTuning{32, 0};
}

NcclSearch::NvlsTuning
NcclSearch::TuneNvls(const GroupShape& shape) const
{
    // NCCL src/transport/nvls.cc, ncclNvlsTuning, and src/enqueue.cc, calcCollChunking: variables
    // win. NCCL_NVLS_CHUNKSIZE came with 2.21, NCCL_NVLSTREE_MAX_CHUNKSIZE with 2.20; before 2.21 a
    // chunk of NVLS-Tree was one of other collectives.
    constexpr uint32_t MANY_NODES = 4;
    constexpr uint64_t CHUNK = 128 * KIB;
    const uint32_t nodes = shape.GetNodes();
    const bool isBlackwell = m_machine.gpu.generation == GpuGeneration::Blackwell;
    const uint64_t step = m_options.GetSimpleStep();
    const uint64_t given = m_tuning.readsNvlsChunk ? m_options.GetNvlsChunk() : 0;
    NvlsTuning tuning{isBlackwell ? (nodes > 1 ? 32U : 24U) : 16U, 0};
    if (nodes == 1)
    {
        tuning.chunk = std::min(step, given ? given : CHUNK);
        return tuning;
    }
    uint64_t most = m_tuning.readsNvlsChunk ? CHUNK : step;
    if (isBlackwell && m_tuning.tunesNvlsTree)
    {
        tuning = TuneNvlsTree(shape);
        most = std::max(most, tuning.chunk);
    }
    most = given ? given : most;
    if (const uint64_t ofTree = m_tuning.readsNvlsTreeChunk ? m_options.GetNvlsTreeChunk() : 0)
    {
        tuning.chunk = ofTree;
    }
    else if (tuning.chunk == 0)
    {
        tuning.chunk = nodes >= MANY_NODES ? 64 * KIB : most;
    }
    tuning.chunk = std::min(tuning.chunk, most);
    return tuning;
}

uint32_t
NcclSearch::CommonChannels(const GroupShape& shape) const
{
    const uint32_t found = 2 * SearchChannels(shape, true).channels;
    // NCCL src/graph/connect.cc from 2.20 to 2.27; NVLS needs three GPUs (ncclNvlsInit).
    const bool asNvls = m_tuning.ringsAsNvls && m_options.nvlsEnable && HasNvls(shape) &&
                        shape.GetFewestRanks() > 2;
    return asNvls ? std::max(found, TuneNvls(shape).channels) : found;
}

uint32_t
NcclSearch::GetChannels(const NcclAlgorithm& algorithm, const GroupShape& shape) const
{
    if (IsSwitched(algorithm))
    {
        // NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS are of rings, which the others follow
        // (src/graph/connect.cc); NVLS has channels of its own (src/transport/nvls.cc).
        return std::clamp(TuneNvls(shape).channels, 1U, m_traits.mostChannels);
    }
    const uint32_t given = shape.GetNodes() == 1 ? m_options.nvChannels : m_options.ringChannels;
    uint32_t channels =
        std::clamp(given ? given : CommonChannels(shape), 1U, m_traits.mostChannels);
    if (m_options.maxChannels)
    {
        channels = std::min(channels, m_options.maxChannels);
    }
    return std::max(channels, m_options.minChannels);
}

uint32_t
NcclSearch::GetPairChannels(const GroupShape& shape) const
{
    // NCCL src/graph/paths.cc, ncclTopoComputeP2pChannels.
    return std::bit_ceil(GetChannels(NcclAlgorithm::Ring, shape));
}

uint32_t
NcclSearch::GetChannelsPerPair(const GroupShape& shape) const
{
    const uint32_t channels = GetPairChannels(shape);
    // NCCL src/graph/paths.cc, ncclTopoGetNchannels and ncclTopoComputeP2pChannels: the peers with
    // the fewest decide for all. NVLinks ask for more than there are, PCIe for two.
    constexpr uint32_t OVER_PCIE = 2;
    const bool isOverPcie = shape.GetRanksPerNode() > 1 && IsOverPcie();
    const uint32_t all = isOverPcie ? std::min(channels, OVER_PCIE) : channels;
    if (shape.GetNodes() == 1)
    {
        return all;
    }
    constexpr uint32_t PER_NIC = 2;
    constexpr double CHANNEL_GBPS = 14; ///< NCCL_P2P_PER_CHANNEL_NET_BW
    constexpr uint32_t BATCH = 8;       ///< NCCL_MAX_DEV_WORK_P2P_PER_BATCH
    uint32_t most = m_options.channelsPerNetPeer;
    if (most == 0 && !m_tuning.countsPairsByRate)
    {
        most = PER_NIC;
        while (most > 1 && most * shape.GetRanks() > 4 * channels)
        {
            most /= 2;
        }
        most = std::max(most, SeenNics());
    }
    else if (most == 0)
    {
        const auto byRate = static_cast<uint32_t>(std::ceil(m_machine.nicGBps / CHANNEL_GBPS));
        most = std::bit_ceil(std::max({PER_NIC, SeenNics(), byRate}));
        while (most > 1 && most * DivideUp(shape.GetRanks(), BATCH) > channels)
        {
            most /= 2;
        }
    }
    return std::min(all, std::bit_ceil(most));
}

uint32_t
NcclSearch::ChannelsForSize(uint32_t channels,
                            NcclProtocol protocol,
                            uint32_t ranks,
                            uint64_t bytes) const
{
    const NcclBlock block = NcclBlockOf(protocol);
    const uint32_t threads = m_traits.threads > 0 ? m_traits.threads : block.threads;
    const uint64_t threshold =
        uint64_t{block.threshold} * (protocol == NcclProtocol::Ll ? ranks : 1);
    const uint32_t least = std::max(1U, m_options.minChannels);
    while (channels > least && bytes < channels * threads * threshold)
    {
        --channels;
    }
    return channels;
}

bool
NcclSearch::HasNvls(const GroupShape& shape) const
{
    return m_machine.HasNvls() &&
           std::ranges::all_of(shape.nodes, [](const auto& node) { return node.size() > 1; });
}

} // namespace AstraSim
