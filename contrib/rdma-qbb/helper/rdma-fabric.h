/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_H
#define RDMA_FABRIC_H

#include "fabric-frame-sizes.h"
#include "fabric-partitions.h"

#include "ns3/clock-range.h"
#include "ns3/cluster-topology.h"
#include "ns3/connection-planner.h"
#include "ns3/fabric-conf.h"
#include "ns3/fabric-routes.h"
#include "ns3/in-network-engine.h"
#include "ns3/node-container.h"
#include "ns3/node.h"
#include "ns3/nvswitch-node.h"
#include "ns3/object.h"
#include "ns3/path-timing.h"
#include "ns3/qbb-channel.h"
#include "ns3/qbb-net-device.h"
#include "ns3/qbb-processes.h"
#include "ns3/rdma-driver.h"
#include "ns3/switch-node.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <memory>
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
    uint64_t payloadTaken{0};        ///< payload bytes that switches have added up or copied
    uint64_t payloadMade{0};         ///< payload bytes of the sums and copies they have sent
    uint64_t bufferDrops{0};         ///< frames for which a switch had no room
    uint64_t routeDrops{0};          ///< frames without a path
    uint64_t wireLosses{0};          ///< frames lost on wires
    uint64_t flushed{0};             ///< frames dropped with a queue: link down, PFC watchdog
    uint64_t pauses{0};              ///< times a priority of a port was paused
    TimeSum pausedPs;                ///< port time spent paused
    uint64_t timeouts{0};            ///< retransmission timers that ran out
    uint64_t retransmitted{0};       ///< payload bytes sent more than once
    uint64_t nacks{0};               ///< NACKs sent
    uint64_t cnps{0};                ///< CNPs sent
    uint64_t outOfOrderFrames{0};    ///< data frames that came before one sent earlier
    uint64_t reorderBytes{0};        ///< farthest that one reached beyond the byte expected
    uint64_t framesInUse{0};         ///< frames that are somewhere in the fabric

    /// Add what another process has counted.
    FabricTotals& operator+=(const FabricTotals& other);

    /// @return whether each payload byte has come to its end, once no frame is under way
    bool ConservesPayload() const
    {
        return framesInUse == 0 &&
               dataPayloadSent + payloadMade == dataPayloadReceived + payloadLost + payloadTaken;
    }

    /// @return all frames that were lost or dropped
    uint64_t Drops() const
    {
        return bufferDrops + routeDrops + wireLosses + flushed;
    }
};

class PfcWatchdog;

/**
 * @ingroup rdma-qbb
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
 * conf.Apply();
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

    /**
     * Run the fabric on so many threads, of each process if there are several (QbbProcesses),
     * servers and switches shared out between them; before Build(), with QbbSimulatorImpl. Results
     * do not depend on the numbers.
     */
    void SetThreads(uint32_t threads)
    {
        m_threads = threads;
    }

    /// @return how the fabric has been divided; one partition without SetThreads()
    const FabricPartitions& GetPartitions() const
    {
        return m_partitions;
    }

    /// @return whether this process runs the events of a node (QbbProcesses)
    bool IsHere(uint32_t node) const
    {
        return m_partitions.partitionOf.empty() || // made by others: there is one process
               QbbProcesses::IsHere(m_partitions.partitionOf[node], m_partitions.count);
    }

    /// @return queue pairs that a message is split over
    uint32_t GetQpsPerConnection() const
    {
        return m_qpsPerConnection;
    }

    /// @return whether a connection keeps its queue pairs, and what they learnt, between messages
    bool HasPersistentQueuePairs() const
    {
        return m_persistentQueuePairs;
    }

    /**
     * Build everything, with the defaults of attributes.
     * @param topology outlives the fabric
     * @param conf outlives the fabric: what changes when and where; warnings are added to it
     * @throw InputError if the buffer cannot hold what the ports need, or a key is out of range
     */
    void Build(const ClusterTopology& topology, FabricConf& conf);

    /**
     * Build a fabric of hosts (RdmaHostHelper) and switches that QbbHelper has joined: routes,
     * buffers and marking thresholds. Hosts are numbered in the order of the container.
     * @throw InputError if a buffer cannot hold what its ports need
     */
    void Build(const NodeContainer& nodes);

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
        return m_idOfNode[device.GetNode()->GetId()];
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

    /// @return what carries out in-network operations of a host and others in its server
    InNetworkEngine& GetInNetworkEngine(uint32_t host = 0) const
    {
        return *InNetworkEngineAt(m_topology->NodeOfHost(host));
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
        return m_planner->GetIdealFctPs(src, dst, bytes);
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
    bool PlanOnNvSwitch(const std::vector<uint32_t>& hosts,
                        uint32_t stripe,
                        InNetworkSpec& spec) const;
    bool PlanOnSwitches(const std::vector<uint32_t>& hosts,
                        uint32_t stripe,
                        InNetworkSpec& spec) const;
    /// Find out which partition each node is in.
    void ShareOut(const ClusterTopology& topology);
    /// Have the simulator run the partitions.
    void Divide();
    const Ptr<InNetworkEngine>& InNetworkEngineAt(uint32_t node) const;
    void CreateNodes(const ClusterTopology& topology);
    void CreateLinks(const ClusterTopology& topology);
    /// Set up all nodes, which have been made and joined.
    void Configure(const ClusterTopology& topology, FabricConf& conf);
    void FindNodes();
    void ConfigureRouting();
    void ConfigureHosts();
    void ConfigureSwitches();
    void ConfigurePorts(uint32_t node, uint64_t nicRateBps);
    /// @throw InputError if a switch's buffer cannot hold what its ports need
    void RequireShared(uint32_t node) const;
    void ScheduleLinkEvents();
    uint32_t FindLink(const LinkEvent& event) const;
    std::vector<uint32_t> FindLinks(const LinkEvent& event) const;
    void UpdateRoutes();
    void ScheduleNicPauses();
    /// Have a NIC pause, or resume, what its partner may send.
    void PauseNic(uint32_t node, uint16_t port, bool pause) const;
    /// @return the priorities that PFC protects at a node; a host has no MMU that says so
    uint8_t LosslessMaskAt(uint32_t node) const;
    /// Move queue pairs from NIC ports that no longer begin a path to ports that do.
    void MoveQueuePairs();
    /// @return how long receivers wait for a frame that others overtook, where the attribute does
    /// not say; 0: for ever
    Time LossTime() const;
    /// Say which rates the marking thresholds do not list.
    void WarnOfUnlistedRates();
    /// @return whether the congestion control reads HPCC-PINT's digests
    bool UsesPint() const;
    static double AlphaScaleFor(uint64_t rateBps, uint64_t nicRateBps);
    uint64_t CountFramesInUse() const;

    const ClusterTopology* m_topology{nullptr};
    FabricConf* m_conf{nullptr};
    std::unique_ptr<FabricRoutes> m_routes;
    std::unique_ptr<LinkState> m_links;
    std::unique_ptr<ClusterTopology> m_ownTopology; ///< of nodes that a program made
    std::unique_ptr<FabricConf> m_ownConf;          ///< likewise; says nothing
    std::vector<Ptr<Node>> m_nodes;
    std::vector<uint32_t> m_idOfNode; ///< by ns-3's number of the node
    std::vector<std::vector<QbbNetDevice*>> m_devices;
    std::vector<SwitchNode*> m_switches;
    std::vector<RdmaDriver*> m_drivers;
    std::vector<Ptr<QbbChannel>> m_channels;
    std::vector<Ptr<InNetworkEngine>> m_inNetwork; ///< by partition, with threads; else one
    FabricFrameSizes m_frameSizes;
    std::unique_ptr<ConnectionPlanner> m_planner;
    FabricExtremes m_extremes;
    Ptr<PfcWatchdog> m_watchdog;
    FabricPartitions m_partitions;
    uint32_t m_wantedPartitions{0}; ///< attribute Partitions
    uint32_t m_threads{0};          ///< 0: the simulator has one list of all events
    bool m_reorders{false};         ///< some switch chooses paths per frame
    bool m_inNetworkReduction{false};
    bool m_globalBaseRtt{false};
    bool m_persistentQueuePairs{false};
    bool m_partitionPerNode{false};
    bool m_guardPartitions{false};
    uint32_t m_qpsPerConnection{1};
    double m_errorRatePerLink{0};
    Time m_nicPauseTime;
    Time m_routeUpdateDelay;
    Time m_lossTime;
    Time m_routesDue{-1}; ///< when the newest update of the routes is due
    TracedCallback<> m_routesChanged;
};

} // namespace ns3

#endif /* RDMA_FABRIC_H */
