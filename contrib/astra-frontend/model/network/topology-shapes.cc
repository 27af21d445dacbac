/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topology-shapes.h"

#include <algorithm>
#include <unordered_map>

namespace AstraSim
{

using ns3::ClusterTopology;

TopologyShapes::TopologyShapes(const ClusterTopology& topology)
    : m_topology(topology),
      m_levels(topology.nodeCount, UINT32_MAX)
{
    std::vector<uint32_t> nodes;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        nodes.push_back(topology.NodeOfHost(host));
        m_levels[nodes.back()] = 0;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
    {
        for (const ClusterTopology::Port& port : topology.Ports(nodes[i]))
        {
            if (m_levels[port.peer] == UINT32_MAX)
            {
                m_levels[port.peer] = m_levels[nodes[i]] + 1;
                nodes.push_back(port.peer);
            }
        }
    }
    m_hasLevels = std::ranges::none_of(topology.links, [this](const auto& link) {
        return m_levels[link.a] == m_levels[link.b] && m_levels[link.a] > 0;
    });
}

std::vector<uint64_t>
TopologyShapes::Find(std::span<const int> ranks) const
{
    std::vector<uint64_t> shape{ranks.size()};
    std::unordered_map<uint32_t, uint64_t> servers; // number by server
    std::unordered_map<uint32_t, uint64_t> numbers; // by node id
    std::vector<uint32_t> nodes;                    // by number
    for (const int rank : ranks)
    {
        const auto host = static_cast<uint32_t>(rank);
        shape.push_back(servers.try_emplace(m_topology.Server(host), servers.size()).first->second);
        nodes.push_back(m_topology.NodeOfHost(host));
        numbers.emplace(nodes.back(), nodes.size() - 1);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
    {
        const uint32_t node = nodes[i];
        for (const ClusterTopology::Port& port : m_topology.Ports(node))
        {
            if (m_levels[port.peer] > m_levels[node] &&
                numbers.try_emplace(port.peer, nodes.size()).second)
            {
                nodes.push_back(port.peer);
            }
            // Of a mesh, links to other hosts of the group count.
            const bool isMesh = m_levels[node] == 0 && m_levels[port.peer] == 0;
            if (!(isMesh && numbers.contains(port.peer)) && m_levels[port.peer] <= m_levels[node])
            {
                continue;
            }
            const ClusterTopology::Link& link = m_topology.links[port.link];
            shape.insert(shape.end(),
                         {i,
                          numbers.at(port.peer),
                          static_cast<uint64_t>(m_topology.kind[port.peer]),
                          link.rateBps,
                          static_cast<uint64_t>(link.delayPs)});
        }
    }
    return shape;
}

} // namespace AstraSim
