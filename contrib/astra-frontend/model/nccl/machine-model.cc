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

constexpr double BITS_PER_GB = 8e9;

} // namespace

GpuProfile
FindGpuProfile(const std::string& gpuType)
{
    const GpuTable table;
    const GpuProfile* profile = table.Find(gpuType);
    return profile ? *profile : *table.Find("H100");
}

MachineModel
MachineModel::FromTopology(const ns3::ClusterTopology& topology)
{
    MachineModel machine;
    machine.gpuType = topology.gpuType;
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
        m_fewestRanks = std::min(m_fewestRanks, static_cast<uint32_t>(node.size()));
    }
}

} // namespace AstraSim
