/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EXAMPLE_TOPOLOGIES_H
#define EXAMPLE_TOPOLOGIES_H

#include "ns3/cluster-topology.h"

#include <cstdint>

namespace ns3
{

inline constexpr uint64_t GBPS = 1'000'000'000;
inline constexpr int64_t PS_PER_NS = 1000;

inline void
AddLink(ClusterTopology& topology, uint32_t a, uint32_t b, uint64_t rateBps, int64_t delayPs)
{
    topology.links.push_back({a, b, rateBps, delayPs, 0.0, 0, 0, 0});
}

/**
 * A rail-optimized cluster as the topology generator lays it out: GPUs, one NVSwitch per server,
 * access switches (one per rail, or two when dual-homed), spine switches joined to each of them.
 */
inline ClusterTopology
RailCluster(uint32_t servers, uint32_t gpusPerServer, uint32_t tors, uint32_t spines)
{
    using Kind = ClusterTopology::NodeKind;
    ClusterTopology topology;
    const uint32_t gpus = servers * gpusPerServer;
    const uint32_t firstTor = gpus + servers;
    const uint32_t firstSpine = firstTor + gpusPerServer * tors;
    topology.gpusPerServer = gpusPerServer;
    topology.kind.assign(gpus, Kind::Host);
    topology.kind.resize(firstTor, Kind::NvSwitch);
    topology.kind.resize(firstSpine + spines, Kind::Switch);
    for (uint32_t gpu = 0; gpu < gpus; ++gpu)
    {
        AddLink(topology, gpu, gpus + gpu / gpusPerServer, 2880 * GBPS, 25 * PS_PER_NS);
        for (uint32_t t = 0; t < tors; ++t)
        {
            AddLink(topology,
                    gpu,
                    firstTor + t * gpusPerServer + gpu % gpusPerServer,
                    400 * GBPS,
                    500 * PS_PER_NS);
        }
    }
    for (uint32_t tor = firstTor; tor < firstSpine; ++tor)
    {
        for (uint32_t spine = 0; spine < spines; ++spine)
        {
            AddLink(topology, tor, firstSpine + spine, 400 * GBPS, 500 * PS_PER_NS);
        }
    }
    topology.Index();
    return topology;
}

} // namespace ns3

#endif /* EXAMPLE_TOPOLOGIES_H */
