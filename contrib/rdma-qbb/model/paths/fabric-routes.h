/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_ROUTES_H
#define FABRIC_ROUTES_H

#include "forwarding-table.h"

#include "ns3/cluster-topology.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ns3
{

/// State of a topology's links: up or down.
class LinkState
{
  public:
    /// @param linkCount number of links, all up
    explicit LinkState(std::size_t linkCount)
        : m_up(linkCount, true)
    {
    }

    void Set(uint32_t link, bool up)
    {
        m_up[link] = up;
    }

    bool IsUp(uint32_t link) const
    {
        return m_up[link];
    }

  private:
    std::vector<bool> m_up;
};

/// One link on a path, in the direction of travel.
struct PathHop
{
    uint32_t node;    ///< id of the node that sends
    uint16_t port;    ///< its port, from 0
    uint32_t link;    ///< index into ClusterTopology::links
    uint64_t rateBps; ///< the link's rate
    int64_t delayPs;  ///< the link's propagation delay
};

/// A path from host to host.
struct PathInfo
{
    std::vector<PathHop> hops;
    int64_t delayPs{0};        ///< sum of the links' propagation delays, one way
    uint64_t bottleneckBps{0}; ///< the lowest rate
};

/**
 * @ingroup rdma-qbb
 * @brief All shortest paths (by number of links) between the hosts of a cluster.
 *
 * Traffic between GPUs of one server that NVSwitches connect takes these; all other
 * traffic goes from a host through network switches to a host. No path crosses the NVSwitch of a
 * server on the way to another server, and hosts do not forward.
 *
 * @code
 * FabricRoutes routes(topology);
 * LinkState links(topology.links.size());
 * links.Set(7, false);
 * routes.Recompute(links); // tables keep their addresses
 * if (!routes.Reachable(0, 9))
 * ...
 * @endcode
 *
 * Memory: one entry per network switch and group of hosts (those attached to the same switches),
 * one per NVSwitch and GPU of its server. Time: one breadth-first search per group, and one per
 * GPU over the NVSwitches of its server.
 */
class FabricRoutes
{
  public:
    static constexpr uint16_t UNREACHABLE = UINT16_MAX;

    /// Chooses one of the ports of a node on the way from host to host.
    using Chooser = std::function<uint16_t(uint32_t node, std::span<const uint16_t> ports)>;

    /// @param topology must outlive the object; all its links are taken as up
    explicit FabricRoutes(const ClusterTopology& topology);

    FabricRoutes(const FabricRoutes&) = delete;
    FabricRoutes& operator=(const FabricRoutes&) = delete;

    /// Work out all routes again. Tables change in place.
    void Recompute(const LinkState& links);

    /// @return a number that is another one whenever routes have been worked out again
    uint32_t GetVersion() const
    {
        return m_version;
    }

    /// @param node id of a switch or NVSwitch @return its table; stays at its address
    const ForwardingTable& Table(uint32_t node) const
    {
        return m_tables[node];
    }

    /// @return links from a switch or NVSwitch to the host on a shortest path, or UNREACHABLE
    uint16_t Distance(uint32_t node, uint32_t host) const;

    /**
     * @param src,dst numbers of different hosts
     * @return the source's ports that begin a shortest path, ascending: NVLink ports if NVSwitches
     * connect the two, otherwise NIC ports; empty if there is no path
     */
    std::vector<uint16_t> HostPorts(uint32_t src, uint32_t dst) const;

    /// @return whether there is a path
    bool Reachable(uint32_t src, uint32_t dst) const
    {
        return !HostPorts(src, dst).empty();
    }

    /**
     * @param limit at most so many
     * @return pairs of hosts without a path, one for each two groups that are cut off from each
     * other
     */
    std::vector<std::pair<uint32_t, uint32_t>> CutOffPairs(std::size_t limit) const;

    /**
     * Follow a path.
     * @param choose picks among the ports where there are several; without it the first is taken
     * @return the path, or nothing if there is none
     */
    std::optional<PathInfo> Path(uint32_t src, uint32_t dst, const Chooser& choose = {}) const;

    /// @return number of groups of hosts
    uint32_t GroupCount() const
    {
        return m_groupHosts.size();
    }

    /// @return the group that the host is in
    uint32_t GroupOf(uint32_t host) const
    {
        return m_places[host].group;
    }

    /// @return whether the link is up
    bool IsUp(uint32_t link) const
    {
        return m_links.IsUp(link);
    }

    const ClusterTopology& Topology() const
    {
        return m_topology;
    }

  private:
    void MakeGroups();
    void MakeNetworkTables();
    void MakeNvSwitchTables();
    void MakeNvSwitchEntries(uint32_t host);
    void SearchFrom(uint32_t group, std::vector<uint16_t>& distance) const;
    std::vector<uint16_t> AttachedPorts(uint32_t node, uint32_t group) const;
    /// @return the ports of a host that are up and have the least distance, ascending
    /// @param distanceOf number of links from a port's far end to the goal, or UNREACHABLE
    template <typename DistanceOf>
    std::vector<uint16_t> NearestPorts(uint32_t src, DistanceOf distanceOf) const;

    const ClusterTopology& m_topology;
    LinkState m_links;
    uint32_t m_version{0};
    std::vector<ForwardingTable> m_tables; ///< by node id; empty for hosts
    std::vector<HostPlace> m_places;       ///< by host: group and number in it
    std::vector<HostPlace> m_ownPlaces;    ///< by host: itself, for NVSwitches
    std::vector<std::vector<uint32_t>> m_groupHosts;
    std::vector<uint32_t> m_switchIndex; ///< by node id: row in m_distance
    std::vector<uint16_t> m_distance;    ///< by network switch and group
    /// By node id of an NVSwitch, and place of a GPU in its server.
    std::vector<std::vector<uint16_t>> m_nvDistance;
};

} // namespace ns3

#endif /* FABRIC_ROUTES_H */
