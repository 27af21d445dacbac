/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_PARTITIONS_H
#define FABRIC_PARTITIONS_H

#include "ns3/cluster-topology.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Assignment of the nodes of a cluster to partitions.
struct FabricPartitions
{
    std::vector<uint32_t> partitionOf; ///< by node of the topology
    std::vector<uint32_t> serverOf;    ///< by node: the first node of its server
    uint32_t count{1};                 ///< of partitions; each has a node
    int64_t lookaheadPs{0};            ///< least delay of the links between partitions
    /// Least delay of the links between servers and switches, whether or not they are divided
    /// there.
    int64_t reactionPs{0};
};

/**
 * @ingroup rdma-qbb
 * @brief Divides the nodes of a cluster among partitions: neighbouring servers go together, each
 * switch to the partition of most of its neighbours, and spines to the one with the least load.
 *
 * A server with its NVSwitches stays whole.
 *
 * @param wanted partitions; there are fewer if there are fewer servers, and one if a link between
 * servers and switches has no delay
 */
FabricPartitions ShareOutServers(const ClusterTopology& topology, uint32_t wanted);

/// Makes every node a partition of its own.
FabricPartitions ShareOutNodes(const ClusterTopology& topology);

} // namespace ns3

#endif /* FABRIC_PARTITIONS_H */
