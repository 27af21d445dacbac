/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-model.h"

#include <algorithm>
#include <unordered_map>

namespace AstraSim
{

namespace
{

/// Channel speeds: 12 channels fill a node's NVLinks (A100 12 x 20, H100 12 x 30 GB/s); A800, H800
/// and H20 have fewer or as many NVLinks of the same kind.
const GpuProfile GPU_PROFILES[] = {
    {"A100", GpuGeneration::Ampere, 20, 240},
    {"A800", GpuGeneration::Ampere, 20, 160},
    {"H100", GpuGeneration::Hopper, 30, 360},
    {"H200", GpuGeneration::Hopper, 30, 360},
    {"H20", GpuGeneration::Hopper, 30, 360},
    {"H800", GpuGeneration::Hopper, 20, 160},
    {"B200", GpuGeneration::Blackwell, 45, 720},
    {"GB200", GpuGeneration::Blackwell, 45, 720},
};

constexpr double BITS_PER_GB = 8e9;

} // namespace

GpuProfile
FindGpuProfile(const std::string& gpuType, bool* isKnown)
{
    const auto it = std::find_if(std::begin(GPU_PROFILES),
                                 std::end(GPU_PROFILES),
                                 [&](const GpuProfile& p) { return p.name == gpuType; });
    const bool known = it != std::end(GPU_PROFILES);
    if (isKnown)
    {
        *isKnown = known;
    }
    return known ? *it : FindGpuProfile("H100");
}

MachineModel
MachineModel::FromTopology(const ns3::ClusterTopology& topology)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile(topology.gpuType);
    machine.gpusPerServer = topology.gpusPerServer;
    machine.nvswitchesPerServer =
        topology.ServerCount() ? topology.nvswitchCount / topology.ServerCount() : 0;
    double nvlink = 0;
    double nic = 0;
    for (const auto& port : topology.Ports(topology.NodeOfHost(0)))
    {
        const double rate = static_cast<double>(topology.links[port.link].rateBps) / BITS_PER_GB;
        (topology.IsNvLink(port.link) ? nvlink : nic) += rate;
    }
    machine.nvlinkGBps = nvlink;
    machine.nicGBps = nic;
    return machine;
}

GroupShape::GroupShape(const CommGroup& group, const MachineModel& machine)
    : m_ranks(static_cast<uint32_t>(group.ranks.size())),
      m_rails(machine.gpusPerServer),
      m_nodeOf(group.ranks.size()),
      m_railOf(group.ranks.size())
{
    std::unordered_map<uint32_t, uint32_t> nodeOfServer;
    for (uint32_t i = 0; i < group.ranks.size(); ++i)
    {
        // Without NVSwitches every GPU is a node of its own: its neighbours are as far as any
        // other.
        const uint32_t server = machine.nvswitchesPerServer ? machine.ServerOf(group.ranks[i])
                                                            : static_cast<uint32_t>(group.ranks[i]);
        const auto [it, isNew] =
            nodeOfServer.try_emplace(server, static_cast<uint32_t>(nodes.size()));
        if (isNew)
        {
            nodes.emplace_back();
        }
        nodes[it->second].push_back(i);
        m_nodeOf[i] = it->second;
        m_railOf[i] = static_cast<uint32_t>(group.ranks[i]) % m_rails;
    }
    m_onRail.assign(nodes.size() * m_rails, NONE);
    for (uint32_t i = 0; i < m_ranks; ++i)
    {
        m_onRail[std::size_t{m_nodeOf[i]} * m_rails + m_railOf[i]] = i;
    }
    for (const auto& node : nodes)
    {
        m_ranksPerNode = std::max(m_ranksPerNode, static_cast<uint32_t>(node.size()));
        m_balanced = m_balanced && node.size() == nodes.front().size();
    }
}

} // namespace AstraSim
