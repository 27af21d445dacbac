/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-partitions.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ns3
{

namespace
{

using Kind = ClusterTopology::NodeKind;

constexpr uint32_t NOWHERE = UINT32_MAX;

/// @return whether a run may be divided at a link
bool
MayDivide(const ClusterTopology& topology, uint32_t number)
{
    if (topology.IsNvLink(number))
    {
        return false;
    }
    const ClusterTopology::Link& link = topology.links[number];
    return !topology.Is(link.a, Kind::Host) || !topology.Is(link.b, Kind::Host) ||
           topology.Server(topology.HostIndexOf(link.a)) !=
               topology.Server(topology.HostIndexOf(link.b));
}

/// @return the least delay of the links with numbers that @p counts accepts; 0 if there is none
template <typename Predicate>
int64_t
LeastDelayPs(const ClusterTopology& topology, Predicate counts)
{
    int64_t least = INT64_MAX;
    for (uint32_t link = 0; link < topology.links.size(); ++link)
    {
        if (counts(link))
        {
            least = std::min(least, topology.links[link].delayPs);
        }
    }
    return least == INT64_MAX ? 0 : least;
}

/// @return the server of an NVSwitch; NOWHERE for all other nodes
uint32_t
FindServer(const ClusterTopology& topology, uint32_t node)
{
    return topology.Is(node, Kind::NvSwitch) ? topology.ServerOfNvSwitch(node) : NOWHERE;
}

/// Assigns switches to partitions, tier by tier from the hosts up.
class SwitchSharing
{
  public:
    SwitchSharing(const ClusterTopology& topology, FabricPartitions& partitions)
        : m_topology(topology),
          m_partitions(partitions),
          m_load(partitions.count)
    {
    }

    /// NVSwitches go where their GPUs are.
    void PlaceNvSwitches()
    {
        for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
        {
            const uint32_t server = FindServer(m_topology, node);
            if (server != NOWHERE)
            {
                m_partitions.partitionOf[node] =
                    m_partitions
                        .partitionOf[m_topology.NodeOfHost(server * m_topology.gpusPerServer)];
            }
        }
    }

    void PlaceSwitches()
    {
        std::vector<uint32_t> tier = FindTier();
        while (!tier.empty())
        {
            // The whole tier is chosen first and assigned then, so the order within it does not
            // matter.
            std::vector<uint32_t> chosen;
            for (const uint32_t node : tier)
            {
                chosen.push_back(Choose(node));
                m_load[chosen.back()] += m_topology.Ports(node).size();
            }
            for (std::size_t i = 0; i < tier.size(); ++i)
            {
                m_partitions.partitionOf[tier[i]] = chosen[i];
            }
            tier = FindTier();
        }
        std::ranges::replace(m_partitions.partitionOf, NOWHERE, 0U); // joined to nothing
    }

  private:
    /// @return the nodes without a partition that have a neighbour with one
    std::vector<uint32_t> FindTier() const
    {
        std::vector<uint32_t> tier;
        for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
        {
            const auto ports = m_topology.Ports(node);
            if (m_partitions.partitionOf[node] == NOWHERE &&
                std::ranges::any_of(ports, [this](const auto& port) {
                    return m_partitions.partitionOf[port.peer] != NOWHERE;
                }))
            {
                tier.push_back(node);
            }
        }
        return tier;
    }

    /// @return the partition of most neighbours; of several, the one with the least load
    uint32_t Choose(uint32_t node) const
    {
        std::vector<std::size_t> neighbours(m_partitions.count);
        for (const auto& port : m_topology.Ports(node))
        {
            if (m_partitions.partitionOf[port.peer] != NOWHERE)
            {
                ++neighbours[m_partitions.partitionOf[port.peer]];
            }
        }
        std::vector<uint32_t> order(m_partitions.count);
        std::iota(order.begin(), order.end(), 0);
        return *std::ranges::min_element(order, [&](uint32_t a, uint32_t b) {
            return std::tie(neighbours[b], m_load[a], a) < std::tie(neighbours[a], m_load[b], b);
        });
    }

    const ClusterTopology& m_topology;
    FabricPartitions& m_partitions;
    std::vector<std::size_t> m_load; ///< ports of the switches of each partition
};

void
FindDelays(const ClusterTopology& topology, FabricPartitions& partitions)
{
    partitions.reactionPs =
        LeastDelayPs(topology, [&](uint32_t link) { return MayDivide(topology, link); });
    partitions.lookaheadPs = LeastDelayPs(topology, [&](uint32_t number) {
        const ClusterTopology::Link& link = topology.links[number];
        return partitions.partitionOf[link.a] != partitions.partitionOf[link.b];
    });
    if (partitions.count == 1)
    {
        partitions.lookaheadPs = partitions.reactionPs;
    }
}

/// A server's GPUs and NVSwitches stay together, wherever they are.
void
FindServers(const ClusterTopology& topology, FabricPartitions& partitions)
{
    partitions.serverOf.resize(topology.nodeCount);
    std::iota(partitions.serverOf.begin(), partitions.serverOf.end(), 0);
    std::vector<uint32_t> first(topology.ServerCount(), NOWHERE);
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        const uint32_t node = topology.NodeOfHost(host);
        uint32_t& whole = first[topology.Server(host)];
        whole = std::min(whole, node);
        partitions.serverOf[node] = whole;
    }
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const uint32_t server = FindServer(topology, node);
        if (server != NOWHERE)
        {
            partitions.serverOf[node] = first[server];
        }
    }
}

} // namespace

FabricPartitions
ShareOutServers(const ClusterTopology& topology, uint32_t wanted)
{
    FabricPartitions partitions;
    const int64_t leastPs =
        LeastDelayPs(topology, [&](uint32_t link) { return MayDivide(topology, link); });
    const uint32_t servers = topology.ServerCount();
    partitions.count = leastPs > 0 ? std::clamp(wanted, 1U, std::max(servers, 1U)) : 1;
    partitions.partitionOf.assign(topology.nodeCount, NOWHERE);
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        const uint64_t server = topology.Server(host);
        partitions.partitionOf[topology.NodeOfHost(host)] =
            static_cast<uint32_t>(server * partitions.count / servers);
    }
    SwitchSharing sharing(topology, partitions);
    sharing.PlaceNvSwitches();
    sharing.PlaceSwitches();
    FindDelays(topology, partitions);
    FindServers(topology, partitions);
    return partitions;
}

FabricPartitions
ShareOutNodes(const ClusterTopology& topology)
{
    FabricPartitions partitions;
    partitions.count = topology.nodeCount;
    partitions.partitionOf.resize(topology.nodeCount);
    std::iota(partitions.partitionOf.begin(), partitions.partitionOf.end(), 0);
    partitions.serverOf = partitions.partitionOf;
    FindDelays(topology, partitions);
    return partitions;
}

} // namespace ns3
