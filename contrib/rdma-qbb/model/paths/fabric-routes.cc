/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-routes.h"

#include "ns3/log.h"

#include <algorithm>
#include <map>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FabricRoutes");

// Hosts with the same switches have the same paths, so MakeGroups() puts them in one group, and
// a breadth-first search per group, from its switches, gives every switch its distance
// (SearchFrom). The next hops of a switch are its ports to switches one hop nearer, and at
// distance 1 its ports to the hosts themselves (MakeNetworkTables). A switch with equal lists
// for several groups stores the list once. NVSwitches have tables of their own, by a search per
// GPU inside its server (MakeNvSwitchTables). Only links that are up count; Recompute() repeats
// all of it when links fail or return.

namespace
{

using NodeKind = ClusterTopology::NodeKind;
using Port = ClusterTopology::Port;

} // namespace

FabricRoutes::FabricRoutes(const ClusterTopology& topology)
    : m_topology(topology),
      m_links(topology.links.size()),
      m_tables(topology.nodeCount)
{
    uint32_t switches = 0;
    m_switchIndex.assign(topology.nodeCount, UINT32_MAX);
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        if (topology.Is(node, NodeKind::Switch))
        {
            m_switchIndex[node] = switches++;
        }
    }
    for (uint32_t host = 0; host < topology.hostCount; ++host)
    {
        m_ownPlaces.push_back({host, 0});
    }
    Recompute(m_links);
}

void
FabricRoutes::Recompute(const LinkState& links)
{
    m_links = links;
    ++m_version;
    MakeGroups();
    MakeNetworkTables();
    MakeNvSwitchTables();
    NS_LOG_INFO("finds routes to " << m_topology.hostCount << " hosts in " << m_groupHosts.size()
                                   << " groups that share their switches");
}

void
FabricRoutes::MakeGroups()
{
    // A host with two links to a switch is not like one with a single link there: a table has one
    // width per group. So the key lists a switch as often as there are links.
    std::map<std::vector<uint32_t>, uint32_t> groupOf;
    m_groupHosts.clear();
    m_places.resize(m_topology.hostCount);
    for (uint32_t host = 0; host < m_topology.hostCount; ++host)
    {
        std::vector<uint32_t> attached;
        for (const Port& port : m_topology.Ports(m_topology.NodeOfHost(host)))
        {
            if (m_topology.Is(port.peer, NodeKind::Switch) && m_links.IsUp(port.link))
            {
                attached.push_back(port.peer);
            }
        }
        std::ranges::sort(attached);
        const auto [group, isNew] =
            groupOf.try_emplace(std::move(attached), static_cast<uint32_t>(m_groupHosts.size()));
        if (isNew)
        {
            m_groupHosts.emplace_back();
        }
        auto& hosts = m_groupHosts[group->second];
        m_places[host] = {group->second, static_cast<uint32_t>(hosts.size())};
        hosts.push_back(host);
    }
}

void
FabricRoutes::SearchFrom(uint32_t group, std::vector<uint16_t>& distance) const
{
    distance.assign(m_topology.nodeCount, UNREACHABLE);
    std::vector<uint32_t> queue;
    const auto reach = [&](const Port& port, uint16_t hops) {
        if (m_topology.Is(port.peer, NodeKind::Switch) && m_links.IsUp(port.link) &&
            distance[port.peer] == UNREACHABLE)
        {
            distance[port.peer] = hops;
            queue.push_back(port.peer);
        }
    };
    for (const Port& port : m_topology.Ports(m_topology.NodeOfHost(m_groupHosts[group].front())))
    {
        reach(port, 1);
    }
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        for (const Port& port : m_topology.Ports(queue[i]))
        {
            reach(port, distance[queue[i]] + 1);
        }
    }
}

std::vector<uint16_t>
FabricRoutes::AttachedPorts(uint32_t node, uint32_t group) const
{
    std::vector<uint16_t> ports;
    for (uint32_t host : m_groupHosts[group])
    {
        const std::size_t first = ports.size();
        for (const Port& port : m_topology.Ports(m_topology.NodeOfHost(host)))
        {
            if (port.peer == node && m_links.IsUp(port.link))
            {
                ports.push_back(port.peerPort);
            }
        }
        std::sort(ports.begin() + first, ports.end());
    }
    return ports;
}

void
FabricRoutes::MakeNetworkTables()
{
    const uint32_t groups = m_groupHosts.size();
    m_distance.assign(std::size_t{m_topology.switchCount} * groups, UNREACHABLE);
    std::vector<std::map<std::vector<uint16_t>, ForwardingTable::Entry>> entries(
        m_topology.switchCount);
    for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
    {
        if (m_topology.Is(node, NodeKind::Switch))
        {
            ForwardingTable& table = m_tables[node];
            table.m_places = m_places.data();
            table.m_entries.assign(groups, {});
            table.m_ports.clear();
        }
    }

    std::vector<uint16_t> distance;
    std::vector<uint16_t> ports;
    for (uint32_t group = 0; group < groups; ++group)
    {
        SearchFrom(group, distance);
        for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
        {
            if (distance[node] == UNREACHABLE)
            {
                continue;
            }
            const uint32_t index = m_switchIndex[node];
            m_distance[std::size_t{index} * groups + group] = distance[node];
            ForwardingTable& table = m_tables[node];
            ForwardingTable::Entry& entry = table.m_entries[group];
            if (distance[node] == 1)
            {
                ports = AttachedPorts(node, group);
                entry.width = ports.size() / m_groupHosts[group].size();
                entry.stride = entry.width;
                table.SetPorts(entry, ports);
                continue;
            }
            ports.clear();
            const auto all = m_topology.Ports(node);
            for (uint16_t p = 0; p < all.size(); ++p)
            {
                if (m_topology.Is(all[p].peer, NodeKind::Switch) && m_links.IsUp(all[p].link) &&
                    distance[all[p].peer] == distance[node] - 1)
                {
                    ports.push_back(p);
                }
            }
            const auto [known, isNew] = entries[index].try_emplace(ports, entry);
            if (isNew)
            {
                table.SetPorts(known->second, ports);
                known->second.width = ports.size();
            }
            entry = known->second;
        }
    }
}

void
FabricRoutes::MakeNvSwitchTables()
{
    m_nvDistance.resize(m_topology.nodeCount);
    for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
    {
        if (!m_topology.Is(node, NodeKind::NvSwitch))
        {
            continue;
        }
        ForwardingTable& table = m_tables[node];
        table.m_places = m_ownPlaces.data();
        const uint32_t server = m_topology.ServerOfNvSwitch(node);
        if (server == UINT32_MAX)
        {
            continue; // no GPU is linked to it
        }
        table.m_firstGroup = server * m_topology.gpusPerServer;
        table.m_entries.assign(m_topology.gpusPerServer, {});
        table.m_ports.clear();
        m_nvDistance[node].assign(m_topology.gpusPerServer, UNREACHABLE);
    }
    for (uint32_t host = 0; m_topology.nvswitchCount > 0 && host < m_topology.hostCount; ++host)
    {
        MakeNvSwitchEntries(host);
    }
}

void
FabricRoutes::MakeNvSwitchEntries(uint32_t host)
{
    const uint32_t place = host % m_topology.gpusPerServer;
    const uint32_t hostNode = m_topology.NodeOfHost(host);
    const auto mayPass = [this](const Port& port) {
        return m_topology.Is(port.peer, NodeKind::NvSwitch) && m_links.IsUp(port.link);
    };
    std::vector<uint32_t> reached;
    const auto reachFrom = [&](uint32_t node, uint16_t hops) {
        for (const Port& port : m_topology.Ports(node))
        {
            if (mayPass(port) && m_nvDistance[port.peer][place] == UNREACHABLE)
            {
                m_nvDistance[port.peer][place] = hops;
                reached.push_back(port.peer);
            }
        }
    };
    reachFrom(hostNode, 1);
    std::vector<uint16_t> ports;
    for (std::size_t i = 0; i < reached.size(); ++i)
    {
        const uint32_t node = reached[i];
        const uint16_t hops = m_nvDistance[node][place];
        reachFrom(node, hops + 1);
        const auto all = m_topology.Ports(node);
        ports.clear();
        for (uint16_t p = 0; p < all.size(); ++p)
        {
            const bool isNearer =
                hops == 1 ? all[p].peer == hostNode && m_links.IsUp(all[p].link)
                          : mayPass(all[p]) && m_nvDistance[all[p].peer][place] == hops - 1;
            if (isNearer)
            {
                ports.push_back(p);
            }
        }
        ForwardingTable::Entry& entry = m_tables[node].m_entries[place];
        entry.width = ports.size();
        m_tables[node].SetPorts(entry, ports);
    }
}

uint16_t
FabricRoutes::Distance(uint32_t node, uint32_t host) const
{
    if (m_switchIndex[node] == UINT32_MAX)
    {
        const bool isOfServer = m_topology.Is(node, NodeKind::NvSwitch) &&
                                m_topology.ServerOfNvSwitch(node) == m_topology.Server(host);
        return isOfServer ? m_nvDistance[node][host % m_topology.gpusPerServer] : UNREACHABLE;
    }
    return m_distance[std::size_t{m_switchIndex[node]} * m_groupHosts.size() +
                      m_places[host].group];
}

template <typename DistanceOf>
std::vector<uint16_t>
FabricRoutes::NearestPorts(uint32_t src, DistanceOf distanceOf) const
{
    std::vector<uint16_t> ports;
    const auto all = m_topology.Ports(m_topology.NodeOfHost(src));
    uint16_t nearest = UNREACHABLE;
    for (uint16_t p = 0; p < all.size(); ++p)
    {
        const uint16_t distance = m_links.IsUp(all[p].link) ? distanceOf(all[p]) : UNREACHABLE;
        if (distance < nearest)
        {
            nearest = distance;
            ports.clear();
        }
        if (distance == nearest && nearest != UNREACHABLE)
        {
            ports.push_back(p);
        }
    }
    return ports;
}

std::vector<uint16_t>
FabricRoutes::HostPorts(uint32_t src, uint32_t dst) const
{
    if (src == dst)
    {
        return {};
    }
    if (m_topology.Server(src) == m_topology.Server(dst))
    {
        auto nvlinks = NearestPorts(src, [&](const Port& port) {
            return m_topology.Is(port.peer, NodeKind::NvSwitch) ? Distance(port.peer, dst)
                                                                : UNREACHABLE;
        });
        if (!nvlinks.empty())
        {
            return nvlinks;
        }
    }
    return NearestPorts(src, [&](const Port& port) -> uint16_t {
        if (m_topology.Is(port.peer, NodeKind::Switch))
        {
            return Distance(port.peer, dst);
        }
        return port.peer == m_topology.NodeOfHost(dst) ? 0 : UNREACHABLE;
    });
}

std::vector<std::pair<uint32_t, uint32_t>>
FabricRoutes::CutOffPairs(std::size_t limit) const
{
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (std::size_t a = 0; a < m_groupHosts.size(); ++a)
    {
        for (std::size_t b = a; b < m_groupHosts.size(); ++b)
        {
            const uint32_t src = m_groupHosts[a].front();
            // Within a server NVLink may hide that the network does not connect two groups.
            const auto dst = std::ranges::find_if(m_groupHosts[b], [&](uint32_t host) {
                return host != src && !Reachable(src, host);
            });
            if (dst == m_groupHosts[b].end())
            {
                continue;
            }
            if (pairs.size() == limit)
            {
                return pairs;
            }
            pairs.emplace_back(src, *dst);
        }
    }
    return pairs;
}

std::optional<PathInfo>
FabricRoutes::Path(uint32_t src, uint32_t dst, const Chooser& choose) const
{
    PathInfo path;
    path.bottleneckBps = UINT64_MAX;
    const std::vector<uint16_t> first = HostPorts(src, dst);
    std::span<const uint16_t> ports = first;
    uint32_t node = m_topology.NodeOfHost(src);
    const uint32_t last = m_topology.NodeOfHost(dst);
    while (node != last)
    {
        if (ports.empty())
        {
            return std::nullopt;
        }
        const uint16_t port = choose && ports.size() > 1 ? choose(node, ports) : ports.front();
        const Port& next = m_topology.Ports(node)[port];
        const ClusterTopology::Link& link = m_topology.links[next.link];
        path.hops.push_back({node, port, next.link, link.rateBps, link.delayPs});
        path.delayPs += link.delayPs;
        path.bottleneckBps = std::min(path.bottleneckBps, link.rateBps);
        node = next.peer;
        if (node != last)
        {
            ports = m_tables[node].NextHops(dst);
        }
    }
    return path;
}

} // namespace ns3
