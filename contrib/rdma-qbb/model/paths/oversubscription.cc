/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "oversubscription.h"

#include "ns3/cluster-topology.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

constexpr uint32_t FAR = UINT32_MAX;

/// @return links from each node to its nearest host; FAR if there is none
std::vector<uint32_t>
FindTiers(const ClusterTopology& topology)
{
    std::vector<uint32_t> tier(topology.nodeCount, FAR);
    std::vector<uint32_t> reached;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        reached.push_back(topology.NodeOfHost(host));
        tier[reached.back()] = 0;
    }
    for (std::size_t at = 0; at < reached.size(); ++at)
    {
        for (const ClusterTopology::Port& port : topology.Ports(reached[at]))
        {
            if (tier[port.peer] == FAR && !topology.IsNvLink(port.link))
            {
                tier[port.peer] = tier[reached[at]] + 1;
                reached.push_back(port.peer);
            }
        }
    }
    return tier;
}

} // namespace

double
FindOversubscription(const ClusterTopology& topology)
{
    const std::vector<uint32_t> tier = FindTiers(topology);
    std::vector<double> bpsBelow; // of the links between a tier and the one below
    for (const ClusterTopology::Link& link : topology.links)
    {
        const auto [low, high] = std::minmax(tier[link.a], tier[link.b]);
        if (high != FAR && high == low + 1)
        {
            bpsBelow.resize(std::max<std::size_t>(bpsBelow.size(), high + 1));
            bpsBelow[high] += static_cast<double>(link.rateBps);
        }
    }
    double ratio = 1;
    for (std::size_t high = 2; high < bpsBelow.size(); ++high)
    {
        ratio = std::max(ratio, bpsBelow[1] / bpsBelow[high]);
    }
    return ratio;
}

} // namespace ns3
