/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cluster-topology.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <numeric>

namespace ns3
{

void
ClusterTopology::Index()
{
    nodeCount = kind.size();
    hostCount = std::ranges::count(kind, NodeKind::Host);
    nvswitchCount = std::ranges::count(kind, NodeKind::NvSwitch);
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
    m_isMesh = gpusPerServer > 1 && nvswitchCount == 0 && LinksJoinServers();
    FindNvFabrics();
}

void
ClusterTopology::FindNvFabrics()
{
    boost::disjoint_sets_with_storage<> joined(nodeCount);
    for (const Link& link : links)
    {
        if (Is(link.a, NodeKind::NvSwitch) && Is(link.b, NodeKind::NvSwitch))
        {
            joined.union_set(link.a, link.b);
        }
    }
    m_nvFabric.resize(nodeCount);
    m_nvServer.assign(nodeCount, UINT32_MAX);
    for (uint32_t node = 0; node < nodeCount; ++node)
    {
        m_nvFabric[node] = static_cast<uint32_t>(joined.find_set(node));
    }
    for (const Link& link : links)
    {
        const bool aIsHost = Is(link.a, NodeKind::Host);
        const uint32_t nvswitch = aIsHost ? link.b : link.a;
        const uint32_t host = aIsHost ? link.a : link.b;
        if (Is(nvswitch, NodeKind::NvSwitch) && Is(host, NodeKind::Host))
        {
            uint32_t& server = m_nvServer[m_nvFabric[nvswitch]];
            server = std::min(server, Server(m_hostIndex[host]));
        }
    }
}

bool
ClusterTopology::LinksJoinServers() const
{
    for (uint32_t to = 0; to < hostCount; ++to)
    {
        for (uint32_t from = to - to % gpusPerServer; from < to; ++from)
        {
            if (LinksBetween(NodeOfHost(from), NodeOfHost(to)).empty())
            {
                return false;
            }
        }
    }
    return true;
}

bool
ClusterTopology::ShareNvLink(uint32_t hostA, uint32_t hostB) const
{
    if (Server(hostA) != Server(hostB))
    {
        return false;
    }
    const auto b = Ports(NodeOfHost(hostB));
    return std::ranges::any_of(Ports(NodeOfHost(hostA)), [&](const Port& port) {
        const auto ends = [&](const Port& other) {
            return m_nvFabric[other.peer] == m_nvFabric[port.peer];
        };
        return Is(port.peer, NodeKind::NvSwitch) ? std::ranges::any_of(b, ends)
                                                 : m_isMesh && port.peer == NodeOfHost(hostB);
    });
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

std::optional<ClusterTopology::SharedNic>
ClusterTopology::FindSharedNic(uint32_t node) const
{
    if (!Is(node, NodeKind::Switch))
    {
        return std::nullopt;
    }
    std::optional<uint32_t> server;
    std::optional<uint32_t> uplink;
    SharedNic nic{0, 0};
    for (const auto& port : Ports(node))
    {
        if (!Is(port.peer, NodeKind::Host))
        {
            if (uplink)
            {
                return std::nullopt;
            }
            uplink = port.link;
            continue;
        }
        const uint32_t its = Server(HostIndexOf(port.peer));
        if (server.value_or(its) != its)
        {
            return std::nullopt;
        }
        server = its;
        ++nic.hosts;
    }
    if (!uplink || nic.hosts < 2)
    {
        return std::nullopt;
    }
    nic.uplink = *uplink;
    return nic;
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

namespace
{

using Kind = ClusterTopology::NodeKind;
using Port = ClusterTopology::Port;
/// Network switches, and GPUs that pass on others' data, that reach each other.
using ReachSets = boost::disjoint_sets_with_storage<>;

ReachSets
MakeReachSets(const ClusterTopology& topology, bool gpusPassOn)
{
    ReachSets sets(topology.nodeCount);
    for (const ClusterTopology::Link& link : topology.links)
    {
        const auto joins = [&](Kind kind) {
            return topology.Is(link.a, kind) && topology.Is(link.b, kind);
        };
        if (joins(Kind::Switch) || (gpusPassOn && (joins(Kind::Host) || joins(Kind::NvSwitch))))
        {
            sets.union_set(link.a, link.b);
        }
    }
    for (uint32_t host = 0; gpusPassOn && host < topology.hostCount; ++host)
    {
        // A host on a GPU of a server can reach all GPUs on that GPU's NVSwitch, and the GPUs
        // linked to it.
        const uint32_t node = topology.NodeOfHost(host);
        const auto ports = topology.Ports(node);
        const auto nvlink = std::ranges::find_if(ports, [&](const Port& port) {
            return topology.IsNvLink(port.link);
        });
        for (const Port& port : ports)
        {
            if (nvlink != ports.end() && topology.Is(port.peer, Kind::Switch))
            {
                const bool switched = topology.Is(nvlink->peer, Kind::NvSwitch);
                sets.union_set(port.peer, switched ? nvlink->peer : node);
            }
        }
    }
    return sets;
}

/// Hosts by the sets that they are attached to: those attached to the same ones are alike, and
/// there are few kinds of them.
std::map<std::vector<std::size_t>, std::vector<uint32_t>>
HostsBySets(const ClusterTopology& topology, ReachSets& sets, bool gpusPassOn)
{
    std::map<std::vector<std::size_t>, std::vector<uint32_t>> hosts;
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        std::vector<std::size_t> attached;
        for (const Port& port : topology.Ports(topology.NodeOfHost(host)))
        {
            if (topology.Is(port.peer, Kind::Switch) ||
                (gpusPassOn && topology.Is(port.peer, Kind::Host)))
            {
                attached.push_back(sets.find_set(port.peer));
            }
        }
        std::ranges::sort(attached);
        attached.erase(std::unique(attached.begin(), attached.end()), attached.end());
        hosts[attached].push_back(host);
    }
    return hosts;
}

/// @return whether two hosts reach each other without a network switch
bool
AreNeighbours(const ClusterTopology& topology, uint32_t hostA, uint32_t hostB)
{
    const auto ports = topology.Ports(topology.NodeOfHost(hostA));
    return topology.ShareNvLink(hostA, hostB) || std::ranges::any_of(ports, [&](const Port& port) {
               return port.peer == topology.NodeOfHost(hostB);
           });
}

} // namespace

std::optional<ClusterTopology::Unconnected>
ClusterTopology::FindUnconnected(bool gpusPassOn) const
{
    ReachSets sets = MakeReachSets(*this, gpusPassOn);
    const auto hostsBySets = HostsBySets(*this, sets, gpusPassOn);
    for (auto a = hostsBySets.begin(); a != hostsBySets.end(); ++a)
    {
        for (auto b = a; b != hostsBySets.end(); ++b)
        {
            if (std::ranges::find_first_of(a->first, b->first) != a->first.end())
            {
                continue; // they share a member
            }
            for (uint32_t hostA : a->second)
            {
                for (uint32_t hostB : b->second)
                {
                    if (hostA != hostB && !AreNeighbours(*this, hostA, hostB))
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
