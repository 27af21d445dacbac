/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_PARTS_H
#define FABRIC_PARTS_H

#include "fabric-partitions.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/in-network-engine.h"
#include "ns3/node.h"
#include "ns3/ptr.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/qbb-processes.h"
#include "ns3/rdma-driver.h"
#include "ns3/switch-node.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// The parts of a fabric, numbered as in its topology. RdmaFabric puts them together; users of the
/// built fabric take this.
struct FabricParts
{
    const ClusterTopology* topology{nullptr};
    FabricConf* conf{nullptr};
    std::vector<Ptr<Node>> nodes;                    ///< by node
    std::vector<std::vector<QbbNetDevice*>> devices; ///< by node and port
    std::vector<SwitchNode*> switches;               ///< by node; null for hosts
    std::vector<RdmaDriver*> drivers;                ///< by host number
    std::vector<Ptr<QbbChannel>> channels;           ///< by link
    std::vector<Ptr<InNetworkEngine>> inNetwork;     ///< by partition, with threads; else one
    FabricPartitions partitions;

    /// @return the RDMA engine of a host
    RdmaHw& Hw(uint32_t host) const
    {
        return drivers[host]->GetHw();
    }

    /// @return whether this process runs the events of a node (QbbProcesses)
    bool IsHere(uint32_t node) const
    {
        return partitions.partitionOf.empty() || // made by others: there is one process
               QbbProcesses::IsHere(partitions.partitionOf[node], partitions.count);
    }
};

} // namespace ns3

#endif /* FABRIC_PARTS_H */
