/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOW_ROUTER_H
#define FLOW_ROUTER_H

#include "ns3/cluster-topology.h"
#include "ns3/connection-planner.h"
#include "ns3/fabric-routes.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Paths of flows over a cluster, link by link.
 *
 * NIC and ECMP choices are those of rdma-qbb: the same ConnectionPlanner, the same shortest paths,
 * the same hash of the same 5-tuple. Links have two
 * directions, each with a number of its own: 2 x link from its end a, 2 x link + 1 from its end b.
 */
class FlowRouter
{
  public:
    /**
     * @param topology outlives the object
     * @param ecmpSeed as ns3::SwitchNode::EcmpSeed
     * @param network,nvlink sizes of frames through network switches and through NVSwitches
     * @param use how many of the shortest paths the packets of a flow take
     * @param queuePairs of a message on each NIC
     * @param like shares its routes of the same topology: links of neither may change then
     */
    FlowRouter(const ns3::ClusterTopology& topology,
               uint32_t ecmpSeed,
               const ns3::FrameSizes& network,
               const ns3::FrameSizes& nvlink,
               ns3::PathUse use,
               uint32_t queuePairs = 1,
               const FlowRouter* like = nullptr);

    /// A new connection, as ConnectionPlanner::Open() has it.
    /// @return where it starts, or nothing if no path leads there
    std::optional<ns3::ConnectionStart> Open(uint32_t src,
                                             uint32_t dst,
                                             int64_t channel,
                                             uint16_t dport,
                                             uint16_t sport = 0);

    /// @return how messages from one host to another are cut
    const ns3::MessageCut& FindCut(uint32_t src, uint32_t dst)
    {
        return *m_planner.Find(src, dst).cut;
    }

    /// The next connection of any two hosts is the first of them again.
    void ForgetConnections()
    {
        m_planner.Forget();
    }

    /// The next connection of two hosts is the first of them again.
    void ForgetConnections(uint32_t src, uint32_t dst)
    {
        m_planner.Find(src, dst).nextSport = ns3::ConnectionPlanner::FIRST_SPORT;
    }

    /**
     * Follow a connection's path.
     * @param there gets the links to the destination
     * @param back gets the directed links of the acknowledgements; null where they do not matter
     * @return whether there is a path
     */
    bool Follow(uint32_t src,
                uint32_t dst,
                const ns3::ConnectionStart& start,
                ns3::PathInfo& there,
                std::vector<uint32_t>* back) const;

    /// One of the links that a connection's frames are spread over.
    struct Share
    {
        uint32_t link;  ///< directed
        float fraction; ///< of the connection's bytes
    };

    /// Make switches spread frames evenly over their ports. @param nodes by node id: whether it
    /// does
    void SetSpreading(std::vector<bool> nodes)
    {
        m_spreads = std::move(nodes);
    }

    /// @return whether a switch spreads frames
    bool IsSpreading() const
    {
        return !m_spreads.empty();
    }

    /**
     * The links from a host's port on, where switches spread frames.
     * @param from,to hosts
     * @param port of @p from
     * @param hash decides at switches that do not spread
     * @param shares gets the links
     * @return time that a full frame takes alone on the slowest of the paths
     */
    TimePs Spread(uint32_t from,
                  uint32_t to,
                  uint16_t port,
                  uint32_t hash,
                  std::vector<Share>& shares) const;

    /// @return bits per second of the links together, for traffic spread over them in these shares
    double RateOf(const std::vector<Share>& shares) const;

    /// Move a connection to a port with a path, since its first port may have lost its own.
    /// @return false if no port has a path
    bool Move(uint32_t src, uint32_t dst, ns3::ConnectionStart& start);

    /// @return whether an NVSwitch joins the two hosts
    bool SharesNvSwitch(uint32_t src, uint32_t dst) const
    {
        return m_topology.ShareNvLink(src, dst);
    }

    /// A link changes; routes follow in Recompute().
    void SetLinkUp(uint32_t link, bool up)
    {
        m_links.Set(link, up);
    }

    bool IsLinkUp(uint32_t link) const
    {
        return m_links.IsUp(link);
    }

    /// Work out all routes again.
    void Recompute();

    /// @return column "ideal" of FCT files in picoseconds; 0 without a path
    TimePs IdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        return m_planner.GetIdealFctPs(src, dst, bytes);
    }

    const ns3::ClusterTopology& GetTopology() const
    {
        return m_topology;
    }

    /// @return number of the direction of a link that starts at node @p from
    static uint32_t DirectedLink(const ns3::ClusterTopology& topology, uint32_t link, uint32_t from)
    {
        return 2 * link + (topology.links[link].b == from);
    }

    /// @return number of the direction of a hop's link
    uint32_t DirectedLink(const ns3::PathHop& hop) const
    {
        return DirectedLink(hop.link, hop.node);
    }

  private:
    uint32_t DirectedLink(uint32_t link, uint32_t from) const
    {
        return DirectedLink(m_topology, link, from);
    }

    /// @return the port that a switch sends a 5-tuple by, or nothing
    std::optional<uint16_t> PortFrom(uint32_t node, uint32_t host, uint32_t hash) const;

    const ns3::ClusterTopology& m_topology;
    std::shared_ptr<ns3::FabricRoutes> m_routes;
    ns3::ConnectionPlanner m_planner;
    uint32_t m_frameBytes; ///< of a full frame between servers, on the wire
    ns3::LinkState m_links;
    std::vector<uint32_t> m_seeds; ///< by node id
    std::vector<bool> m_spreads;   ///< by node id; empty if no switch does
};

} // namespace AstraSim

#endif /* FLOW_ROUTER_H */
