/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-planner.h"

#include "fabric-parts.h"

#include "ns3/shared-log.h"

#include <algorithm>
#include <tuple>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaFabric");

namespace
{

using Kind = ClusterTopology::NodeKind;

constexpr uint32_t UNREACHED = UINT32_MAX;

/// A step of a search: the node before, and the ports that join both.
struct Step
{
    uint32_t distance{UNREACHED};
    uint32_t before{0};
    uint16_t port{0};       ///< of this node
    uint16_t beforePort{0}; ///< of the node before
};

/// @return how to get to every network switch from @p start, over network switches only
template <typename IsUsable>
std::vector<Step>
Search(const ClusterTopology& topology, uint32_t start, IsUsable isUsable)
{
    std::vector<Step> steps(topology.nodeCount);
    std::vector<uint32_t> queue{start};
    steps[start].distance = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        const uint32_t node = queue[i];
        const auto ports = topology.Ports(node);
        for (std::size_t p = 0; p < ports.size(); ++p)
        {
            Step& next = steps[ports[p].peer];
            if (next.distance == UNREACHED && topology.Is(ports[p].peer, Kind::Switch) &&
                isUsable(ports[p].link))
            {
                next = {steps[node].distance + 1,
                        node,
                        ports[p].peerPort,
                        static_cast<uint16_t>(p)};
                queue.push_back(ports[p].peer);
            }
        }
    }
    return steps;
}

} // namespace

InNetworkPlanner::InNetworkPlanner(const FabricParts& fabric,
                                   const LinkState& links,
                                   bool usesNetwork)
    : m_fabric(fabric),
      m_links(links),
      m_usesNetwork(usesNetwork)
{
}

bool
InNetworkPlanner::Plan(const std::vector<uint32_t>& hosts, uint32_t stripe, InNetworkSpec& spec)
{
    const bool planned = PlanOnNvSwitch(hosts, stripe, spec) ||
                         (m_usesNetwork && PlanOnSwitches(hosts, stripe, spec));
    NS_LOG_INFO("an operation of " << hosts.size() << " hosts has "
                                   << (planned ? spec.switches.size() : 0) << " switches");
    return planned;
}

bool
InNetworkPlanner::PlanOnNvSwitch(const std::vector<uint32_t>& hosts,
                                 uint32_t stripe,
                                 InNetworkSpec& spec) const
{
    const ClusterTopology& topology = *m_fabric.topology;
    // The NVSwitches of the first host, in port order; one is taken that all others reach too.
    std::vector<uint32_t> nodes;
    for (const auto& port : topology.Ports(topology.NodeOfHost(hosts.front())))
    {
        if (topology.Is(port.peer, Kind::NvSwitch))
        {
            nodes.push_back(port.peer);
        }
    }
    for (uint32_t i = 0; i < nodes.size(); ++i)
    {
        const uint32_t node = nodes[(stripe + i) % nodes.size()];
        spec.members.clear();
        for (const uint32_t host : hosts)
        {
            const auto ports = topology.Ports(topology.NodeOfHost(host));
            const auto it = std::ranges::find_if(ports, [&](const auto& port) {
                return port.peer == node && m_links.IsUp(port.link);
            });
            if (it == ports.end())
            {
                break;
            }
            spec.members.push_back(
                {&m_fabric.Hw(host), static_cast<uint16_t>(it - ports.begin()), it->peerPort, 0});
        }
        if (spec.members.size() == hosts.size())
        {
            spec.switches = {{m_fabric.switches[node], 0, 0, 0}};
            spec.nvlink = true;
            return true;
        }
    }
    return false;
}

bool
InNetworkPlanner::IsUsable(uint32_t link) const
{
    // A frame that is lost would be missing from the sum for ever.
    return m_links.IsUp(link) && !m_fabric.channels[link]->IsLossy();
}

std::vector<uint32_t>
InNetworkPlanner::FindTops(const std::vector<uint32_t>& hosts) const
{
    const ClusterTopology& topology = *m_fabric.topology;
    using Distance = std::tuple<uint32_t, uint64_t>; // farthest, sum
    std::vector<Distance> distances(topology.nodeCount, Distance(0, 0));
    for (const uint32_t host : hosts)
    {
        const auto steps = Search(topology, topology.NodeOfHost(host), [this](uint32_t link) {
            return IsUsable(link);
        });
        for (uint32_t node = 0; node < steps.size(); ++node)
        {
            auto& [farthest, sum] = distances[node];
            farthest = std::max(farthest, steps[node].distance);
            sum += steps[node].distance;
        }
    }
    Distance best(UNREACHED, 0);
    std::vector<uint32_t> tops;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        if (!topology.Is(node, Kind::Switch) || distances[node] > best ||
            std::get<0>(distances[node]) == UNREACHED)
        {
            continue;
        }
        if (distances[node] < best)
        {
            best = distances[node];
            tops.clear();
        }
        tops.push_back(node);
    }
    return tops;
}

uint32_t
InNetworkPlanner::ChooseTop(const std::vector<uint32_t>& tops,
                            const std::vector<uint32_t>& hosts,
                            uint32_t stripe)
{
    const auto [known, isNew] = m_topOf.try_emplace({hosts, stripe}, UNREACHED);
    uint32_t& top = known->second;
    if (isNew || std::ranges::find(tops, top) == tops.end())
    {
        // As a subnet manager does: trees of all groups share the switches evenly.
        if (!isNew)
        {
            --m_treesOf[top];
        }
        top = *std::ranges::min_element(tops, [this](uint32_t a, uint32_t b) {
            return m_treesOf[a] < m_treesOf[b];
        });
        ++m_treesOf[top];
    }
    return top;
}

bool
InNetworkPlanner::PlanOnSwitches(const std::vector<uint32_t>& hosts,
                                 uint32_t stripe,
                                 InNetworkSpec& spec)
{
    const ClusterTopology& topology = *m_fabric.topology;
    const std::vector<uint32_t> tops = FindTops(hosts);
    if (tops.empty())
    {
        return false;
    }
    const uint32_t top = ChooseTop(tops, hosts, stripe);
    const auto steps = Search(topology, top, [this](uint32_t link) { return IsUsable(link); });
    std::vector<uint32_t> indexOf(topology.nodeCount, UNREACHED);
    spec.switches = {{m_fabric.switches[top], 0, 0, 0}};
    spec.members.clear();
    spec.nvlink = false;
    indexOf[top] = 0;
    // Takes a switch and those above it into the tree.
    const auto add = [&](auto& self, uint32_t node) -> uint32_t {
        if (indexOf[node] == UNREACHED)
        {
            const Step& step = steps[node];
            const uint32_t parent = self(self, step.before);
            indexOf[node] = static_cast<uint32_t>(spec.switches.size());
            spec.switches.push_back({m_fabric.switches[node], parent, step.port, step.beforePort});
        }
        return indexOf[node];
    };
    for (const uint32_t host : hosts)
    {
        // NICs that are equally near carry the stripes in turn.
        const auto ports = topology.Ports(topology.NodeOfHost(host));
        std::vector<const ClusterTopology::Port*> nearest;
        for (const auto& port : ports)
        {
            if (!topology.Is(port.peer, Kind::Switch) || !IsUsable(port.link))
            {
                continue;
            }
            const uint32_t distance = steps[port.peer].distance;
            const uint32_t best =
                nearest.empty() ? UNREACHED : steps[nearest.front()->peer].distance;
            if (distance < best)
            {
                nearest.clear();
            }
            if (distance <= best && distance != UNREACHED)
            {
                nearest.push_back(&port);
            }
        }
        const ClusterTopology::Port* port = nearest[stripe % nearest.size()];
        spec.members.push_back({&m_fabric.Hw(host),
                                static_cast<uint16_t>(port - ports.data()),
                                port->peerPort,
                                add(add, port->peer)});
    }
    return true;
}

} // namespace ns3
