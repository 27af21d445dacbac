/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-model.h"

#include "ns3/input-error.h"
#include "ns3/input-lines.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_map>

namespace AstraSim
{

namespace
{

constexpr double BITS_PER_GB = 8e9;

/// @return whether every server has an NVSwitch that all of its GPUs are linked to
bool
SwitchesJoinServers(const ns3::ClusterTopology& topology)
{
    const auto isLinked = [&](uint32_t host, uint32_t node) {
        const auto ports = topology.Ports(topology.NodeOfHost(host));
        return std::any_of(ports.begin(), ports.end(), [node](const auto& port) {
            return port.peer == node;
        });
    };
    for (uint32_t first = 0; first < topology.hostCount; first += topology.gpusPerServer)
    {
        const auto ports = topology.Ports(topology.NodeOfHost(first));
        const bool joined = std::any_of(ports.begin(), ports.end(), [&](const auto& port) {
            bool all = topology.Is(port.peer, ns3::ClusterTopology::NodeKind::NvSwitch);
            for (uint32_t gpu = 1; all && gpu < topology.gpusPerServer; ++gpu)
            {
                all = isLinked(first + gpu, port.peer);
            }
            return all;
        });
        if (!joined)
        {
            return false;
        }
    }
    return true;
}

} // namespace

GpuProfile
FindGpuProfile(const std::string& gpuType)
{
    const GpuTable table;
    const GpuProfile* profile = table.Find(gpuType);
    if (!profile)
    {
        throw ns3::InputError("GPU type",
                              0,
                              "'" + gpuType + "' is not a known GPU type",
                              "one of " + table.GetNames());
    }
    return *profile;
}

MachineModel
MachineModel::FromTopology(const ns3::ClusterTopology& topology, double nicRatePart)
{
    MachineModel machine;
    machine.gpuType = topology.gpuType;
    machine.source = topology.source;
    const GpuTable builtIn;
    if (const GpuProfile* profile = builtIn.Find(topology.gpuType))
    {
        machine.gpu = *profile;
    }
    else if (std::filesystem::is_regular_file(topology.source))
    {
        ns3::InputLines lines(topology.source);
        machine.gpuTypeLine = lines.Next() ? lines.Line() : 0;
    }
    machine.gpusPerServer = topology.gpusPerServer;
    machine.nvswitchesPerServer =
        topology.ServerCount() ? topology.nvswitchCount / topology.ServerCount() : 0;
    machine.isMesh = topology.IsMesh();
    double nvlink = 0;
    double nic = 0;
    uint32_t nics = 0;
    for (const auto& port : topology.Ports(topology.NodeOfHost(0)))
    {
        const double rate = static_cast<double>(topology.links[port.link].rateBps) / BITS_PER_GB;
        if (topology.IsNvLink(port.link))
        {
            nvlink += rate;
            continue;
        }
        const auto shared = topology.FindSharedNic(port.peer);
        const uint32_t link = shared ? shared->uplink : port.link;
        nic += std::min(rate, static_cast<double>(topology.links[link].rateBps) / BITS_PER_GB);
        ++nics;
        machine.gpusPerNic = shared ? shared->hosts : 1;
        machine.networkDelay = 2 * topology.links[link].delayPs;
    }
    machine.switchesJoinServers = machine.nvswitchesPerServer > 0 && SwitchesJoinServers(topology);
    machine.isRailOnly = machine.JoinsServers() && topology.FindUnconnected(false).has_value();
    machine.nvlinkGBps = nvlink;
    machine.nicGBps = nic / nicRatePart;
    machine.nicsPerGpu = std::max(1U, nics);
    return machine;
}

GroupShape::GroupShape(const CommGroup& group, const MachineModel& machine)
    : m_ranks(static_cast<uint32_t>(group.ranks.size())),
      m_rails(machine.gpusPerServer),
      m_isMesh(machine.isMesh),
      m_rings(machine.gpusPerServer == ServerRings::GPUS ? machine.gpu.rings : nullptr),
      m_sharing(machine.gpusPerNic),
      m_nodeOf(group.ranks.size()),
      m_placeInNode(group.ranks.size()),
      m_railOf(group.ranks.size())
{
    std::unordered_map<uint32_t, uint32_t> nodeOfServer;
    for (uint32_t i = 0; i < group.ranks.size(); ++i)
    {
        // Where only NICs join the GPUs of a server, each is a node of its own: its neighbours are
        // as far as any other.
        const uint32_t server = machine.JoinsServers() ? machine.ServerOf(group.ranks[i])
                                                       : static_cast<uint32_t>(group.ranks[i]);
        const auto [it, isNew] =
            nodeOfServer.try_emplace(server, static_cast<uint32_t>(nodes.size()));
        if (isNew)
        {
            nodes.emplace_back();
        }
        m_placeInNode[i] = static_cast<uint32_t>(nodes[it->second].size());
        nodes[it->second].push_back(i);
        m_nodeOf[i] = it->second;
        m_railOf[i] = static_cast<uint32_t>(group.ranks[i]) % m_rails;
    }
    m_onRail.assign(nodes.size() * m_rails, NONE);
    for (uint32_t i = 0; i < m_ranks; ++i)
    {
        m_onRail[std::size_t{m_nodeOf[i]} * m_rails + m_railOf[i]] = i;
    }
    std::set<uint32_t> nics;
    for (const uint32_t index : nodes.empty() ? std::vector<uint32_t>{} : nodes.front())
    {
        nics.insert(NicOf(index));
    }
    m_gpusPerNic = nics.empty() ? 1 : static_cast<uint32_t>(nodes.front().size() / nics.size());
    for (const auto& node : nodes)
    {
        m_ranksPerNode = std::max(m_ranksPerNode, static_cast<uint32_t>(node.size()));
        m_fewestRanks = std::min(m_fewestRanks, static_cast<uint32_t>(node.size()));
    }
}

} // namespace AstraSim
