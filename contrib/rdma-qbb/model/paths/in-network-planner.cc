/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "in-network-planner.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <tuple>
#include <utility>

namespace ns3
{

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

InNetworkPlanner::InNetworkPlanner(const ClusterTopology& topology,
                                   const InNetworkLimits& limits,
                                   std::function<bool(uint32_t link)> isUsable)
    : m_topology(topology),
      m_limits(limits),
      m_isUsable(std::move(isUsable)),
      m_treesUnder(topology.nodeCount),
      m_treesAt(topology.nodeCount)
{
}

bool
InNetworkPlanner::CanServe(const std::vector<uint32_t>& hosts) const
{
    return PlanOnNvSwitch({hosts, 0}) || (m_limits.reduces && !FindTops(hosts).empty());
}

std::shared_ptr<const InNetworkTree>
InNetworkPlanner::Plan(const Group& group)
{
    // Without trees of network switches nothing changes here, so threads may ask at one time.
    Tree tree = PlanOnNvSwitch(group);
    return tree || !m_limits.reduces ? tree : PlanOnSwitches(group);
}

bool
InNetworkPlanner::Reserve(std::span<const Group> groups)
{
    std::vector<const Group*> kept;
    for (const Group& group : groups)
    {
        const auto known = m_trees.find(group.hosts);
        if ((known != m_trees.end() && known->second.contains(group.stripe)) ||
            !CanServe(group.hosts))
        {
            continue; // it has one already, or room is not all that is lacking
        }
        if (!Plan(group))
        {
            std::ranges::for_each(kept, [this](const Group* each) { Release(*each); });
            m_refused.insert(groups.front().hosts);
            return false;
        }
        kept.push_back(&group);
    }
    return true;
}

void
InNetworkPlanner::DescribeRefusals(std::vector<std::string>& lines) const
{
    if (!m_refused.empty())
    {
        lines.push_back(
            fmt::format("groups that went on without CollNet, as their switches had no room for "
                        "another tree (IN_NETWORK_TREES {1}): {0}",
                        m_refused.size(),
                        m_limits.trees));
    }
}

InNetworkPlanner::Tree
InNetworkPlanner::PlanOnNvSwitch(const Group& group) const
{
    // The NVSwitches of the first host, in port order; one is taken that all others reach too.
    std::vector<uint32_t> nodes;
    for (const auto& port : m_topology.Ports(m_topology.NodeOfHost(group.hosts.front())))
    {
        if (m_topology.Is(port.peer, Kind::NvSwitch))
        {
            nodes.push_back(port.peer);
        }
    }
    InNetworkTree tree;
    for (uint32_t i = 0; i < nodes.size(); ++i)
    {
        const uint32_t node = nodes[(group.stripe + i) % nodes.size()];
        tree.members.clear();
        for (const uint32_t host : group.hosts)
        {
            const auto ports = m_topology.Ports(m_topology.NodeOfHost(host));
            const auto it = std::ranges::find_if(ports, [&](const auto& port) {
                return port.peer == node && m_isUsable(port.link);
            });
            if (it == ports.end())
            {
                break;
            }
            tree.members.push_back(
                {host, static_cast<uint16_t>(it - ports.begin()), it->peerPort, 0});
        }
        if (tree.members.size() == group.hosts.size())
        {
            tree.switches = {{node, 0, 0, 0}};
            tree.nvlink = true;
            return std::make_shared<InNetworkTree>(std::move(tree));
        }
    }
    return nullptr;
}

std::vector<uint32_t>
InNetworkPlanner::FindTops(const std::vector<uint32_t>& hosts) const
{
    using Distance = std::tuple<uint32_t, uint64_t>; // farthest, sum
    std::vector<Distance> distances(m_topology.nodeCount, Distance(0, 0));
    for (const uint32_t host : hosts)
    {
        const auto steps = Search(m_topology, m_topology.NodeOfHost(host), m_isUsable);
        for (uint32_t node = 0; node < steps.size(); ++node)
        {
            auto& [farthest, sum] = distances[node];
            farthest = std::max(farthest, steps[node].distance);
            sum += steps[node].distance;
        }
    }
    Distance best(UNREACHED, 0);
    std::vector<uint32_t> tops;
    for (uint32_t node = 0; node < m_topology.nodeCount; ++node)
    {
        if (!m_topology.Is(node, Kind::Switch) || distances[node] > best ||
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

bool
InNetworkPlanner::HasRoom(const InNetworkTree& tree) const
{
    return m_limits.trees == 0 || std::ranges::all_of(tree.switches, [this](const auto& each) {
               return m_treesAt[each.node] < m_limits.trees;
           });
}

bool
InNetworkPlanner::IsWhole(const InNetworkTree& tree) const
{
    const auto isUsable = [this](uint32_t node, uint16_t port) {
        return m_isUsable(m_topology.Ports(node)[port].link);
    };
    const bool membersAre = std::ranges::all_of(tree.members, [&](const auto& member) {
        return isUsable(m_topology.NodeOfHost(member.host), member.nic);
    });
    return membersAre &&
           std::all_of(tree.switches.begin() + 1, tree.switches.end(), [&](const auto& each) {
               return isUsable(each.node, each.upPort);
           });
}

void
InNetworkPlanner::Count(const InNetworkTree& tree, int change)
{
    m_treesUnder[tree.switches.front().node] += change;
    for (const InNetworkTree::Switch& each : tree.switches)
    {
        m_treesAt[each.node] += change;
    }
}

void
InNetworkPlanner::Release(const Group& group)
{
    Trees& trees = m_trees[group.hosts];
    const Tree tree = trees[group.stripe];
    trees.erase(group.stripe);
    if (std::ranges::none_of(trees, [&](const auto& other) { return other.second == tree; }))
    {
        Count(*tree, -1);
    }
}

InNetworkPlanner::Tree
InNetworkPlanner::PlanOnSwitches(const Group& group)
{
    std::vector<uint32_t> tops = FindTops(group.hosts);
    std::ranges::stable_sort(tops, {}, [this](uint32_t top) { return m_treesUnder[top]; });
    Trees& trees = m_trees[group.hosts];
    if (const auto known = trees.find(group.stripe); known != trees.end())
    {
        // It keeps its top while it can.
        const uint32_t top = known->second->switches.front().node;
        std::ranges::stable_partition(tops, [top](uint32_t each) { return each == top; });
        Release(group);
    }
    for (const uint32_t top : tops)
    {
        if (const Tree tree = MakeTree(top, group); HasRoom(*tree))
        {
            Count(*tree, 1);
            return trees[group.stripe] = tree;
        }
    }
    for (std::size_t i = 0; i < trees.size(); ++i)
    {
        const Tree shared = std::next(trees.begin(), (group.stripe + i) % trees.size())->second;
        if (IsWhole(*shared))
        {
            return trees[group.stripe] = shared;
        }
    }
    return nullptr;
}

InNetworkPlanner::Tree
InNetworkPlanner::MakeTree(uint32_t top, const Group& group) const
{
    const auto steps = Search(m_topology, top, m_isUsable);
    std::vector<uint32_t> indexOf(m_topology.nodeCount, UNREACHED);
    InNetworkTree tree;
    tree.switches = {{top, 0, 0, 0}};
    indexOf[top] = 0;
    // Takes a switch and those above it into the tree.
    const auto add = [&](auto& self, uint32_t node) -> uint32_t {
        if (indexOf[node] == UNREACHED)
        {
            const Step& step = steps[node];
            const uint32_t parent = self(self, step.before);
            indexOf[node] = static_cast<uint32_t>(tree.switches.size());
            tree.switches.push_back({node, parent, step.port, step.beforePort});
        }
        return indexOf[node];
    };
    for (const uint32_t host : group.hosts)
    {
        // NICs that are equally near carry the stripes in turn.
        const auto ports = m_topology.Ports(m_topology.NodeOfHost(host));
        std::vector<const ClusterTopology::Port*> nearest;
        for (const auto& port : ports)
        {
            if (!m_topology.Is(port.peer, Kind::Switch) || !m_isUsable(port.link))
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
        const ClusterTopology::Port* port = nearest[group.stripe % nearest.size()];
        tree.members.push_back({host,
                                static_cast<uint16_t>(port - ports.data()),
                                port->peerPort,
                                add(add, port->peer)});
    }
    return std::make_shared<InNetworkTree>(std::move(tree));
}

} // namespace ns3
