/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_H
#define RDMA_FABRIC_H

#include "fabric-frame-sizes.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/fabric-routes.h"
#include "ns3/in-network-engine.h"
#include "ns3/node.h"
#include "ns3/nvswitch-node.h"
#include "ns3/object.h"
#include "ns3/path-timing.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-driver.h"
#include "ns3/switch-node.h"
#include "ns3/traced-callback.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

/// Sums over a fabric, for results and for the conservation law.
struct FabricTotals
{
    uint64_t packetHops{0};          ///< frames received whole by a port, PFC not included
    uint64_t txFrames{0};            ///< frames begun, PFC not included
    uint64_t dataPayloadSent{0};     ///< RDMA payload bytes put into frames
    uint64_t dataPayloadReceived{0}; ///< RDMA payload bytes that arrived at their hosts
    uint64_t payloadLost{0};         ///< RDMA payload bytes lost on wires or dropped in switches
    uint64_t bufferDrops{0};         ///< frames for which a switch had no room
    uint64_t routeDrops{0};          ///< frames without a path
    uint64_t wireLosses{0};          ///< frames lost on wires
    uint64_t flushed{0};             ///< frames dropped with a queue: link down, PFC watchdog
    uint64_t pauses{0};              ///< times a priority of a port was paused
    int64_t pausedPs{0};             ///< port time spent paused
    uint64_t timeouts{0};            ///< retransmission timers that ran out
    uint64_t retransmitted{0};       ///< payload bytes sent more than once
    uint64_t nacks{0};               ///< NACKs sent
    uint64_t cnps{0};                ///< CNPs sent
    uint64_t outOfOrderFrames{0};    ///< data frames that came before one sent earlier
    uint64_t reorderBytes{0};        ///< farthest that one reached beyond the byte expected
    uint64_t framesInUse{0};         ///< frames that are somewhere in the fabric

    /// @return all frames that were lost or dropped
    uint64_t Drops() const
    {
        return bufferDrops + routeDrops + wireLosses + flushed;
    }
};

class PfcWatchdog;

/**
 * @brief A cluster's fabric, built from a topology and a configuration.
 *
 * Creates one ns-3 node per topology node, in the order of their ids, with QbbNetDevices whose port
 * numbers are those of ClusterTopology; RdmaHw and RdmaDriver on hosts; forwarding tables, buffers
 * and ECN thresholds on switches. Carries out the configuration's link events.
 *
 * @code
 * Time::SetResolution(Time::PS);
 * ClusterTopology topology = ClusterTopology::Read("topology.txt");
 * FabricConf conf = FabricConf::Read("SimAI.conf");
 * Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
 * fabric->Build(topology, conf);
 * RdmaQueuePair* qp = fabric->GetDriver(0)->Connect(5, {});
 * fabric->GetHw(0).PostMessage(*qp, 1 << 20, [] { std::cout << "done"; }, nullptr);
 * Simulator::Run();
 * @endcode
 */
class RdmaFabric : public Object, public RdmaPathPlanner
{
  public:
    static TypeId GetTypeId();

    RdmaFabric();
    ~RdmaFabric() override;

    /// Make PFC protect these priorities (bit p: priority p); before Build(). Default: 3.
    void SetLosslessMask(uint8_t mask)
    {
        m_losslessMask = mask;
    }

    /// @return the priorities that PFC protects
    uint8_t GetLosslessMask() const
    {
        return m_losslessMask;
    }

    /**
     * Build everything.
     * @param topology outlives the fabric
     * @param conf outlives the fabric; lookups of unlisted rates add warnings to it
     * @throw InputError if the buffer cannot hold what the ports need, or a key is out of range
     */
    void Build(const ClusterTopology& topology, FabricConf& conf);

    /// @return the ns-3 node of a topology node
    Ptr<Node> GetNode(uint32_t node) const
    {
        return m_nodes[node];
    }

    /// @return the device at a topology node's port
    QbbNetDevice& GetDevice(uint32_t node, uint16_t port) const
    {
        return *m_devices[node][port];
    }

    /// @return the topology node that a device of this fabric is at
    uint32_t NodeOf(const QbbNetDevice& device) const
    {
        return device.GetNode()->GetId() - m_nodes.front()->GetId();
    }

    /// @return the switch at a topology node; null for hosts
    SwitchNode* GetSwitch(uint32_t node) const
    {
        return m_switches[node];
    }

    /// @return the switches by topology node; null for hosts
    std::span<SwitchNode* const> GetSwitches() const
    {
        return m_switches;
    }

    /// @return what watches the pauses
    const PfcWatchdog& GetPfcWatchdog() const
    {
        return *m_watchdog;
    }

    /// @return the driver of a host, by host number
    RdmaDriver* GetDriver(uint32_t host) const
    {
        return m_drivers[host];
    }

    /// @return the RDMA engine of a host, by host number
    RdmaHw& GetHw(uint32_t host) const
    {
        return m_drivers[host]->GetHw();
    }

    /// @return the channel of a link, by index into ClusterTopology::links
    QbbChannel& GetChannel(uint32_t link) const
    {
        return *m_channels[link];
    }

    /// @return the topology
    const ClusterTopology& GetTopology() const
    {
        return *m_topology;
    }

    /// @return the configuration
    const FabricConf& GetConf() const
    {
        return *m_conf;
    }

    /// @return the routes in force
    const FabricRoutes& GetRoutes() const
    {
        return *m_routes;
    }

    /// @return what carries out in-network operations
    InNetworkEngine& GetInNetworkEngine() const
    {
        return *m_inNetwork;
    }

    /**
     * Find switches that carry out in-network operations of some hosts: an NVSwitch that joins
     * them, or, where the configuration says IN_NETWORK_REDUCTION, a tree of network switches.
     * @param hosts host numbers
     * @param stripe chooses among several that are as good
     * @param spec gets switches and members, if there are such switches
     * @return whether there are
     */
    bool PlanInNetwork(const std::vector<uint32_t>& hosts,
                       uint32_t stripe,
                       InNetworkSpec& spec) const;

    /// Cut or mend a link now; routes follow after RouteUpdateDelay.
    void SetLinkUp(uint32_t link, bool up);

    /// @return sums over all nodes
    FabricTotals GetTotals() const;

    /// @return sizes of this fabric's frames
    const FrameSizes& GetFrameSizes() const
    {
        return m_frameSizes.network;
    }

    /// @return column "ideal" of FCT files for a message, in picoseconds; 0 without a path
    int64_t GetIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        RecentIdeal& recent = m_recentIdeals[IDEALS_PER_HOST * src + dst % IDEALS_PER_HOST];
        if (recent.dst != dst || recent.bytes != bytes)
        {
            recent = {WorkOutIdealFctPs(src, dst, bytes), bytes, dst};
        }
        return recent.idealPs;
    }

    /// @return lines naming the queue pairs with data left whose hosts no path connects
    std::vector<std::string> DescribeCutOff() const;

    /// Fix all random streams of the fabric. @return how many were used
    int64_t AssignStreams(int64_t stream);

    // --- RdmaPathPlanner
    RdmaPath PlanPath(uint32_t src, uint32_t dst, const RdmaConnectionOptions& options) override;

  protected:
    void DoDispose() override;

  private:
    /// What connections between two hosts have in common.
    struct Pair
    {
        const std::vector<uint16_t>* ports{nullptr}; ///< that begin a path; never null when filled
        int64_t baseRttPs{0};
        uint64_t bottleneckBps{0};
        uint16_t nextSport{10000};
        bool nvlink{false};
    };

    /// The ideal of a message, likely to be asked for again: hosts send messages of few sizes.
    struct RecentIdeal
    {
        int64_t idealPs{0};
        uint64_t bytes{0};
        uint32_t dst{UINT32_MAX};
    };

    /// Peers of a host that are remembered: of a ring two, of a tree four.
    static constexpr uint32_t IDEALS_PER_HOST = 4;

    int64_t WorkOutIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes);
    bool PlanOnNvSwitch(const std::vector<uint32_t>& hosts,
                        uint32_t stripe,
                        InNetworkSpec& spec) const;
    bool PlanOnSwitches(const std::vector<uint32_t>& hosts,
                        uint32_t stripe,
                        InNetworkSpec& spec) const;
    void CreateNodes();
    void CreateLinks();
    /// @return a port of a link of @p rateBps, to be copied
    Ptr<QbbNetDevice> CreateDeviceModel(uint64_t rateBps) const;
    /// Put a device at the next port of a node. @return the device
    Ptr<QbbNetDevice> AddDevice(uint32_t id, Ptr<QbbNetDevice> device);
    void ConfigureHosts();
    void ConfigureSwitches();
    void ConfigurePorts(uint32_t node, uint64_t nicRateBps);
    void ScheduleLinkEvents();
    uint32_t FindLink(const LinkEvent& event) const;
    std::vector<uint32_t> FindLinks(const LinkEvent& event) const;
    void UpdateRoutes();
    void ScheduleNicPauses();
    /// Move queue pairs from NIC ports that no longer begin a path to ports that do.
    void MoveQueuePairs();
    /// @return how long receivers wait for a frame that others overtook; 0: for ever
    int64_t ReorderTimePs() const;
    /// @return whether the congestion control reads HPCC-PINT's digests
    bool UsesPint() const;
    static double AlphaFor(uint64_t rateBps, uint64_t nicRateBps);
    Pair& FindPair(uint32_t src, uint32_t dst);
    void FillPair(Pair& pair, uint32_t src, uint32_t dst);

    const ClusterTopology* m_topology{nullptr};
    FabricConf* m_conf{nullptr};
    std::unique_ptr<FabricRoutes> m_routes;
    std::unique_ptr<LinkState> m_links;
    std::vector<Ptr<Node>> m_nodes;
    std::vector<std::vector<QbbNetDevice*>> m_devices;
    std::vector<SwitchNode*> m_switches;
    std::vector<RdmaDriver*> m_drivers;
    std::vector<Ptr<QbbChannel>> m_channels;
    Ptr<InNetworkEngine> m_inNetwork;
    boost::unordered_flat_map<uint64_t, Pair> m_pairs;
    std::set<std::vector<uint16_t>> m_portSets; ///< few: pairs share them
    FabricFrameSizes m_frameSizes;
    std::vector<RecentIdeal> m_recentIdeals; ///< by source and the lowest bits of destination
    FabricExtremes m_extremes;
    std::unique_ptr<PfcWatchdog> m_watchdog;
    uint8_t m_losslessMask{1 << 3};
    bool m_reorders{false}; ///< some switch chooses paths per frame
    Time m_routeUpdateDelay;
    Time m_routesDue{-1}; ///< when the newest update of the routes is due
    TracedCallback<> m_routesChanged;
};

} // namespace ns3

#endif /* RDMA_FABRIC_H */
