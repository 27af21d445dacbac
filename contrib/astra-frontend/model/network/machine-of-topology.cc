/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "machine-of-topology.h"

#include "ns3/input-lines.h"

#include <algorithm>
#include <filesystem>

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
        return std::ranges::any_of(ports, [node](const auto& port) { return port.peer == node; });
    };
    for (uint32_t first = 0; first < topology.hostCount; first += topology.gpusPerServer)
    {
        const auto ports = topology.Ports(topology.NodeOfHost(first));
        const bool joined = std::ranges::any_of(ports, [&](const auto& port) {
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

MachineModel
MachineOfTopology(const ns3::ClusterTopology& topology, double nicRatePart)
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

} // namespace AstraSim
