/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-network.h"

#include "astra-frontend/model/network/machine-of-topology.h"
#include "run-inputs.h"

#include "ns3/fabric-frame-sizes.h"

#include <tuple>

namespace AstraSim
{

namespace
{

/// @return whether the machine's links are those of the topology; flags may give it others
bool
HasLinksOf(const MachineModel& machine, const ns3::ClusterTopology& topology)
{
    const MachineModel theirs = MachineOfTopology(topology);
    const auto numbers = [](const MachineModel& each) {
        return std::tuple(each.gpusPerServer,
                          each.nvlinkGBps,
                          each.nicGBps,
                          each.nicsPerGpu,
                          each.gpusPerNic);
    };
    return numbers(machine) == numbers(theirs);
}

} // namespace

IdleNetwork
MakeIdleNetwork(const NetworkKind& kind,
                MachineModel& machine,
                std::optional<ns3::ClusterTopology>& topology)
{
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    IdleNetwork network;
    network.config.networkFrames = frames.network;
    network.config.nvlinkFrames = frames.nvlink;
    const uint32_t payload = kind.packetBytes ? kind.packetBytes : IdleNetwork::FRAME_BYTES;
    network.config.networkFrames.mtuPayload = payload;
    network.config.nvlinkFrames.mtuPayload = payload;
    machine.packetBytes = payload;
    network.nicRatePart = NicRatePart(kind, payload);
    if (topology && HasLinksOf(machine, *topology))
    {
        SetNicRates(*topology, std::nullopt, network.nicRatePart);
        network.topology = &*topology;
    }
    return network;
}

} // namespace AstraSim
