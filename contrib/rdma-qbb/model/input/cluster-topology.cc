/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cluster-topology.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace ns3
{

void
ClusterTopology::Index()
{
    nodeCount = kind.size();
    hostCount = std::count(kind.begin(), kind.end(), NodeKind::Host);
    nvswitchCount = std::count(kind.begin(), kind.end(), NodeKind::NvSwitch);
    switchCount = nodeCount - hostCount - nvswitchCount;

    m_hostIndex.assign(nodeCount, UINT32_MAX);
    m_hostNode.clear();
    for (uint32_t node = 0; node < nodeCount; ++node)
    {
        if (kind[node] == NodeKind::Host)
        {
            m_hostIndex[node] = m_hostNode.size();
            m_hostNode.push_back(node);
        }
    }

    std::vector<std::size_t> degree(nodeCount, 0);
    for (Link& link : links)
    {
        link.portA = degree[link.a]++;
        link.portB = degree[link.b]++;
    }
    m_firstPort.assign(nodeCount + 1, 0);
    std::partial_sum(degree.begin(), degree.end(), m_firstPort.begin() + 1);
    m_ports.resize(m_firstPort.back());
    for (uint32_t i = 0; i < links.size(); ++i)
    {
        const Link& link = links[i];
        m_ports[m_firstPort[link.a] + link.portA] = {link.b, i, link.portB};
        m_ports[m_firstPort[link.b] + link.portB] = {link.a, i, link.portA};
    }
}

bool
ClusterTopology::ShareNvSwitch(uint32_t hostA, uint32_t hostB) const
{
    if (Server(hostA) != Server(hostB))
    {
        return false;
    }
    const auto b = Ports(NodeOfHost(hostB));
    for (const Port& port : Ports(NodeOfHost(hostA)))
    {
        if (Is(port.peer, NodeKind::NvSwitch) &&
            std::any_of(b.begin(), b.end(), [&](const Port& p) { return p.peer == port.peer; }))
        {
            return true;
        }
    }
    return false;
}

std::vector<uint32_t>
ClusterTopology::LinksBetween(uint32_t a, uint32_t b) const
{
    std::vector<uint32_t> between;
    for (const Port& port : Ports(a))
    {
        if (port.peer == b)
        {
            between.push_back(port.link);
        }
    }
    return between;
}

uint64_t
ClusterTopology::MaxNicRateBps() const
{
    uint64_t rate = 0;
    for (uint32_t i = 0; i < links.size(); ++i)
    {
        if (!IsNvLink(i) && (Is(links[i].a, NodeKind::Host) || Is(links[i].b, NodeKind::Host)))
        {
            rate = std::max(rate, links[i].rateBps);
        }
    }
    return rate;
}

std::optional<ClusterTopology::Unconnected>
ClusterTopology::FindUnconnected(bool gpusPassOn) const
{
    // Sets of network switches that reach each other; each set has one switch as its name.
    std::vector<uint32_t> parent(nodeCount);
    std::iota(parent.begin(), parent.end(), 0);
    const auto find = [&](uint32_t node) {
        while (parent[node] != node)
        {
            node = parent[node] = parent[parent[node]];
        }
        return node;
    };
    for (const Link& link : links)
    {
        const auto joins = [&](NodeKind kind) { return Is(link.a, kind) && Is(link.b, kind); };
        if (joins(NodeKind::Switch) || (gpusPassOn && joins(NodeKind::Host)))
        {
            parent[find(link.a)] = find(link.b);
        }
    }
    for (uint32_t host = 0; gpusPassOn && host < hostCount; ++host)
    {
        // What hangs on a GPU of a server is within reach of all GPUs on its NVSwitch.
        const auto ports = Ports(NodeOfHost(host));
        const auto nvswitch = std::find_if(ports.begin(), ports.end(), [this](const Port& port) {
            return Is(port.peer, NodeKind::NvSwitch);
        });
        for (const Port& port : ports)
        {
            if (nvswitch != ports.end() && Is(port.peer, NodeKind::Switch))
            {
                parent[find(port.peer)] = find(nvswitch->peer);
            }
        }
    }

    // Hosts attached to the same sets are alike; there are few kinds of them.
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> hostsBySets;
    for (uint32_t host = 0; host < hostCount; ++host)
    {
        std::vector<uint32_t> sets;
        for (const Port& port : Ports(NodeOfHost(host)))
        {
            if (Is(port.peer, NodeKind::Switch) || (gpusPassOn && Is(port.peer, NodeKind::Host)))
            {
                sets.push_back(find(port.peer));
            }
        }
        std::sort(sets.begin(), sets.end());
        sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
        hostsBySets[sets].push_back(host);
    }

    const auto direct = [&](uint32_t a, uint32_t b) {
        const auto ports = Ports(NodeOfHost(a));
        return std::any_of(ports.begin(), ports.end(), [&](const Port& port) {
            return port.peer == NodeOfHost(b);
        });
    };
    for (auto a = hostsBySets.begin(); a != hostsBySets.end(); ++a)
    {
        for (auto b = a; b != hostsBySets.end(); ++b)
        {
            const auto common = std::find_first_of(a->first.begin(),
                                                   a->first.end(),
                                                   b->first.begin(),
                                                   b->first.end());
            if (common != a->first.end())
            {
                continue;
            }
            for (uint32_t hostA : a->second)
            {
                for (uint32_t hostB : b->second)
                {
                    if (hostA != hostB && !ShareNvSwitch(hostA, hostB) && !direct(hostA, hostB))
                    {
                        return Unconnected{std::min(hostA, hostB), std::max(hostA, hostB)};
                    }
                }
            }
        }
    }
    return std::nullopt;
}

} // namespace ns3
