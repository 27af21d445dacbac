/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_IDENTITY_H
#define FABRIC_IDENTITY_H

#include "rdma-fabric.h"

#include "ns3/cluster-topology.h"

#include <cstdint>

namespace ns3
{

/**
 * @file
 * Names of nodes, hosts and times in output files.
 */

/// @return number of a node's kind: 0 host, 1 switch, 2 NVSwitch
inline uint32_t
NodeKindNumber(const ClusterTopology& topology, uint32_t node)
{
    switch (topology.kind[node])
    {
    case ClusterTopology::NodeKind::Host:
        return 0;
    case ClusterTopology::NodeKind::Switch:
        return 1;
    default:
        return 2;
    }
}

/// @return a host's IPv4 address, 11.x.y.1 made from its node id
inline uint32_t
HostAddress(const ClusterTopology& topology, uint32_t host)
{
    const uint32_t node = topology.NodeOfHost(host);
    return 0x0b000001 + ((node / 256) << 16) + ((node % 256) << 8);
}

/// @return the nearest whole nanosecond @param ps not negative
inline uint64_t
NearestNs(int64_t ps)
{
    return (static_cast<uint64_t>(ps) + 500) / 1000;
}

/// Run f(node id, port number from 0, device) for every port of a fabric that is in this process.
template <typename Function>
void
ForEachPort(const RdmaFabric& fabric, Function f)
{
    const ClusterTopology& topology = fabric.GetTopology();
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const bool isHere = fabric.IsHere(node);
        const auto ports = isHere ? static_cast<uint16_t>(topology.Ports(node).size()) : 0;
        for (uint16_t port = 0; port < ports; ++port)
        {
            f(node, port, fabric.GetDevice(node, port));
        }
    }
}

/// Run f(RdmaHw) for every host of a fabric that is in this process.
template <typename Function>
void
ForEachHost(const RdmaFabric& fabric, Function f)
{
    for (uint32_t host = 0; host < fabric.GetTopology().hostCount; ++host)
    {
        if (fabric.IsHere(fabric.GetTopology().NodeOfHost(host)))
        {
            f(fabric.GetHw(host));
        }
    }
}

} // namespace ns3

#endif /* FABRIC_IDENTITY_H */
