/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IN_NETWORK_PLANNER_H
#define IN_NETWORK_PLANNER_H

#include "ns3/cluster-topology.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

/// Switches that carry out in-network operations of some hosts: an NVSwitch, or a tree of network
/// switches.
struct InNetworkTree
{
    /// A switch of the tree.
    struct Switch
    {
        uint32_t node;
        uint32_t parent;     ///< index of the switch above; the root's own
        uint16_t upPort;     ///< its port to the switch above
        uint16_t parentPort; ///< that switch's port to it
    };

    /// A host that takes part.
    struct Member
    {
        uint32_t host;
        uint16_t nic;        ///< its port to the switch
        uint16_t switchPort; ///< the switch's port to it
        uint32_t at;         ///< the switch: index in switches
    };

    /// @return links from a switch to the root
    uint32_t DepthOf(uint32_t at) const
    {
        return at == 0 ? 0 : 1 + DepthOf(switches[at].parent);
    }

    /// @return the nodes of the switches
    std::vector<uint32_t> ListNodes() const
    {
        std::vector<uint32_t> nodes;
        for (const Switch& each : switches)
        {
            nodes.push_back(each.node);
        }
        return nodes;
    }

    std::vector<Switch> switches; ///< the root first, each after its parent
    std::vector<Member> members;
    bool nvlink{false}; ///< the switch is an NVSwitch
};

/// Abilities of network switches for in-network operations.
struct InNetworkLimits
{
    bool reduces{false}; ///< whether they carry any out
    uint32_t trees{0};   ///< that a switch can be part of; 0: any number
};

/**
 * @ingroup rdma-qbb
 * @brief Finds the switches that carry out in-network operations: an NVSwitch that joins the hosts,
 * or a tree of network switches.
 *
 * The top of a tree is nearest to its farthest host. Of switches that are equally near, a tree
 * takes the top of the fewest, as the manager of a subnet spreads its trees. Each list of hosts and
 * stripe (a channel, or a rail) has a tree of its own while its switches have room; a stripe
 * without room shares the tree of another stripe.
 */
class InNetworkPlanner
{
  public:
    /// Hosts with operations, on a stripe.
    struct Group
    {
        std::vector<uint32_t> hosts;
        uint32_t stripe;
    };

    /// @param topology outlives the object
    /// @param isUsable whether a link is up and loses nothing: a lost frame would be missing from
    /// the sum
    InNetworkPlanner(const ClusterTopology& topology,
                     const InNetworkLimits& limits,
                     std::function<bool(uint32_t link)> isUsable);

    /// @return whether there are switches for some hosts, with or without room
    bool CanServe(const std::vector<uint32_t>& hosts) const;

    /// Find the switches of a group anew: links may have changed. @return null if there are none
    std::shared_ptr<const InNetworkTree> Plan(const Group& group);

    /// Keep trees for some groups. @return whether there was room for all; else none is kept
    bool Reserve(std::span<const Group> groups);

    /// Say how many groups Reserve() found no room for, if any. @param lines gets it
    void DescribeRefusals(std::vector<std::string>& lines) const;

  private:
    using Tree = std::shared_ptr<const InNetworkTree>;

    /// By stripe. Some may be the same.
    using Trees = std::map<uint32_t, Tree>;

    Tree PlanOnNvSwitch(const Group& group) const;
    Tree PlanOnSwitches(const Group& group);
    /// @return the tree with a top that a stripe of some hosts has
    Tree MakeTree(uint32_t top, const Group& group) const;
    bool HasRoom(const InNetworkTree& tree) const;
    /// @return whether no link of a tree has failed
    bool IsWhole(const InNetworkTree& tree) const;
    /// Count a new tree at its switches, or one that is gone.
    void Count(const InNetworkTree& tree, int change);
    /// Forget a group's tree.
    void Release(const Group& group);
    /// @return the switches with the least distance to their farthest host, and of those the least
    /// sum of distances
    std::vector<uint32_t> FindTops(const std::vector<uint32_t>& hosts) const;

    const ClusterTopology& m_topology;
    InNetworkLimits m_limits;
    std::function<bool(uint32_t link)> m_isUsable;
    std::map<std::vector<uint32_t>, Trees> m_trees; ///< by hosts
    std::vector<uint32_t> m_treesUnder;             ///< by node: trees with this top
    std::vector<uint32_t> m_treesAt;                ///< by node: trees that it is part of
    std::set<std::vector<uint32_t>> m_refused;      ///< first hosts of those without room
};

} // namespace ns3

#endif /* IN_NETWORK_PLANNER_H */
