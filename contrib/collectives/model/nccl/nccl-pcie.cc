/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nccl-pcie.h"

#include <algorithm>
#include <array>

namespace AstraSim
{

// Search() walks NCCL's list of speeds and counts how many rings of each speed the slots and the
// link between the CPUs hold: the most GB/s in all wins. Where no speed fits, NCCL takes one ring
// in the order of the GPUs and expects next to nothing of it. HasPeerAccess() follows NCCL's rule
// for the way of the data; through the host's memory, GPUs of one CPU share what it carries
// (GpuGBps).

namespace
{

constexpr uint32_t GPUS_OF_ONE_CPU = 4; ///< of a server that has no second CPU
constexpr double AMD_GBPS = 16;         ///< between CPUs (topo.h, AMD_BW)
constexpr double ICE_LAKE_GBPS = 10;    ///< SKL_QPI_BW, hosts of PCIe 4
constexpr double SAPPHIRE_GBPS = 22;    ///< SRP_QPI_BW, hosts of PCIe 5
constexpr double PCIE5_GBPS = 48;
constexpr double INTEL_OVERHEAD = 1.2; ///< INTEL_P2P_OVERHEAD, of ways through an Intel CPU
constexpr double UNFIT_GBPS = 0.1;     ///< that the search expects of a ring that does not fit
constexpr double LOWER = 0.49;         ///< part of the best speed down to which the search goes on
constexpr double FAST = 25;            ///< a ring from here on becomes two (ncclTopoDupChannels)
constexpr double VERY_FAST = 50;
constexpr uint32_t MANY = 4;

} // namespace

uint32_t
NcclPcie::CpuOf(const GroupShape& shape, uint32_t index) const
{
    const uint32_t gpus = m_machine.gpusPerServer;
    return gpus > GPUS_OF_ONE_CPU && shape.RailOf(index) >= gpus / 2 ? 1 : 0;
}

bool
NcclPcie::Crosses(const GroupShape& shape) const
{
    return std::ranges::any_of(shape.nodes, [&](const auto& node) {
        return std::ranges::any_of(node, [&](uint32_t index) {
            return CpuOf(shape, index) != CpuOf(shape, node.front());
        });
    });
}

uint32_t
NcclPcie::RanksPerCpu(const GroupShape& shape) const
{
    uint32_t most = 1;
    for (const auto& node : shape.nodes)
    {
        std::array<uint32_t, 2> ranks{};
        for (const uint32_t index : node)
        {
            ++ranks[CpuOf(shape, index)];
        }
        most = std::max({most, ranks[0], ranks[1]});
    }
    return most;
}

double
NcclPcie::InterCpuGBps() const
{
    const bool isPcie5 = m_machine.gpu.nvlinkGBps >= PCIE5_GBPS;
    return m_options.hostsAreAmd ? AMD_GBPS : isPcie5 ? SAPPHIRE_GBPS : ICE_LAKE_GBPS;
}

NcclPcie::Found
NcclPcie::Search(const GroupShape& shape,
                 double slotGBps,
                 std::span<const double> speeds,
                 uint32_t most) const
{
    const double overhead = m_options.hostsAreAmd ? 1 : INTEL_OVERHEAD;
    const bool crosses = Crosses(shape);
    Found best{0, 0};
    for (const double speed : speeds)
    {
        if (best.channels > 0 &&
            (speed <= LOWER * best.GBps || best.channels * best.GBps >= slotGBps))
        {
            break;
        }
        const double rings = std::min(slotGBps / (overhead * speed),
                                      crosses ? InterCpuGBps() / speed : slotGBps / speed);
        const uint32_t channels = std::min(static_cast<uint32_t>(rings), most);
        if (channels * speed > best.channels * best.GBps)
        {
            best = {channels, speed};
        }
    }
    if (best.channels == 0)
    {
        return {1, UNFIT_GBPS};
    }
    const bool enough = m_machine.gpu.generation != GpuGeneration::Ampere &&
                        best.GBps < VERY_FAST && best.channels > MANY;
    if (best.GBps >= FAST && !enough && 2 * best.channels <= most)
    {
        best = {2 * best.channels, best.GBps / 2};
    }
    return best;
}

bool
NcclPcie::HasPeerAccess(const GroupShape& shape) const
{
    // NCCL src/graph/paths.cc, ncclTopoCheckP2p: not through a CPU (PATH_PXB), unless a
    // communicator has two GPUs at most and AMD's CPUs.
    constexpr uint32_t FEW = 2;
    const PciePath standard = m_options.hostsAreAmd && shape.GetRanks() <= FEW
                                  ? PciePath::BetweenCpus
                                  : PciePath::Switches;
    return m_options.peerLevel.value_or(standard) >= PciePath::HostBridge;
}

double
NcclPcie::GpuGBps(const GroupShape& shape, double slotGBps) const
{
    return HasPeerAccess(shape)
               ? slotGBps
               : std::min(slotGBps, m_options.figures.hostMemoryGBps / RanksPerCpu(shape));
}

} // namespace AstraSim
