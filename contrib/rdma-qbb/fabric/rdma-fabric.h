/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_FABRIC_H
#define RDMA_FABRIC_H

#include "fabric-frame-sizes.h"
#include "fabric-parts.h"
#include "fabric-paths.h"
#include "fabric-totals.h"
#include "fabric-trouble.h"

#include "ns3/in-network-planner.h"
#include "ns3/node-container.h"
#include "ns3/nvswitch-node.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ns3
{

class FabricFaults;
struct LinkOutage;
class PfcWatchdog;

/**
 * @ingroup rdma-qbb
 * @brief A cluster's fabric, built from a topology and a configuration.
 *
 * Creates one ns-3 node per topology node, in the order of their ids, with QbbNetDevices at the
 * port numbers of ClusterTopology; RdmaHw and RdmaDriver on hosts; forwarding tables, buffers
 * and ECN thresholds on switches. FabricParts are its parts, FabricPaths knows their paths and
 * FabricTotals their sums; FabricFaults carries out the configuration's link events.
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
class RdmaFabric : public Object
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
        return m_parts.partitions;
    }

    /// @return whether this process runs the events of a node (QbbProcesses)
    bool IsHere(uint32_t node) const
    {
        return m_parts.IsHere(node);
    }

    /// @return queue pairs that a message is split over on each NIC
    uint32_t GetQpsPerConnection() const
    {
        return m_qpsPerConnection;
    }

    /// @return whether a connection keeps its queue pairs, and their state, between messages
    bool HasPersistentQueuePairs() const
    {
        return m_persistentQueuePairs;
    }

    /// @return whether a rank has a message only when its sender has the last acknowledgement
    bool DeliversOnAck() const
    {
        return m_deliverOnAck;
    }

    /**
     * Build everything, with the defaults of attributes.
     * @param topology outlives the fabric
     * @param conf outlives the fabric: changes by place and time; warnings are added to it
     * @throw InputError if the buffer is too small for the ports, or a key is out of range
     */
    void Build(const ClusterTopology& topology, FabricConf& conf);

    /**
     * Build a fabric of hosts (RdmaHostHelper) and switches that QbbHelper has joined: routes,
     * buffers and marking thresholds. Hosts are numbered in the order of the container.
     * @throw InputError if a buffer is too small for its ports
     */
    void Build(const NodeContainer& nodes);

    /// @return the ns-3 node of a topology node
    Ptr<Node> GetNode(uint32_t node) const
    {
        return m_parts.nodes[node];
    }

    /// @return the device at a topology node's port
    QbbNetDevice& GetDevice(uint32_t node, uint16_t port) const
    {
        return *m_parts.devices[node][port];
    }

    /// @return the topology node that a device of this fabric is at
    uint32_t NodeOf(const QbbNetDevice& device) const
    {
        return m_idOfNode[device.GetNode()->GetId()];
    }

    /// @return the switch at a topology node; null for hosts
    SwitchNode* GetSwitch(uint32_t node) const
    {
        return m_parts.switches[node];
    }

    /// @return the switches by topology node; null for hosts
    std::span<SwitchNode* const> GetSwitches() const
    {
        return m_parts.switches;
    }

    /// @return the watchdog of the pauses
    const PfcWatchdog& GetPfcWatchdog() const
    {
        return *m_watchdog;
    }

    /// @return the driver of a host, by host number
    RdmaDriver* GetDriver(uint32_t host) const
    {
        return m_parts.drivers[host];
    }

    /// @return the RDMA engine of a host, by host number
    RdmaHw& GetHw(uint32_t host) const
    {
        return m_parts.Hw(host);
    }

    /// @return the channel of a link, by index into ClusterTopology::links
    QbbChannel& GetChannel(uint32_t link) const
    {
        return *m_parts.channels[link];
    }

    /// @return the topology
    const ClusterTopology& GetTopology() const
    {
        return *m_parts.topology;
    }

    /// @return the routes in force
    const FabricRoutes& GetRoutes() const
    {
        return *m_routes;
    }

    /// @return the engine of in-network operations of a host and others in its server
    InNetworkEngine& GetInNetworkEngine(uint32_t host = 0) const
    {
        return *InNetworkEngineAt(m_parts.topology->NodeOfHost(host));
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

    /// @return the planner of in-network operations, which knows the room that switches have
    InNetworkPlanner& GetInNetworkPlanner() const
    {
        return *m_inNetworkPlanner;
    }

    /// Cut or mend a link now; routes follow after RouteUpdateDelay.
    void SetLinkUp(uint32_t link, bool up);

    /// @return sums over all nodes
    FabricTotals GetTotals() const;

    /// @return the outages that the configuration asked for and that have begun, with their losses
    std::vector<LinkOutage> GetOutages() const;

    /// @return lines on results that users seldom mean, after a run. @param totals GetTotals()
    /// @param endPs when the traffic of interest was done
    std::vector<std::string> DescribeTrouble(const FabricTotals& totals, int64_t endPs) const
    {
        std::vector<std::string> lines = ns3::DescribeTrouble(m_parts, totals, endPs);
        m_inNetworkPlanner->DescribeRefusals(lines);
        return lines;
    }

    /// @return how messages from one host to another are cut
    const MessageCut& FindCut(uint32_t src, uint32_t dst)
    {
        return m_paths->FindCut(src, dst);
    }

    /// @return column "ideal" of FCT files for a message, in picoseconds; 0 without a path
    int64_t GetIdealFctPs(uint32_t src, uint32_t dst, uint64_t bytes)
    {
        return m_paths->GetIdealFctPs(src, dst, bytes);
    }

    /// @return lines naming the queue pairs with data left and no path between their hosts
    std::vector<std::string> DescribeCutOff() const
    {
        return m_paths->DescribeCutOff();
    }

    /// Fix all random streams of the fabric. @return how many were used
    int64_t AssignStreams(int64_t stream);

  protected:
    void DoDispose() override;

  private:
    /// Find out which partition each node is in.
    void ShareOut(const ClusterTopology& topology);
    /// Have the simulator run the partitions.
    void Divide();
    const Ptr<InNetworkEngine>& InNetworkEngineAt(uint32_t node) const;
    void CreateNodes(const ClusterTopology& topology);
    void CreateLinks(const ClusterTopology& topology, const FabricConf& conf);
    /// Set up all nodes, which have been made and joined.
    void Configure(const ClusterTopology& topology, FabricConf& conf);
    void FindNodes();
    /// @return whether links have credits instead of PFC
    bool HasCredits() const;
    /// @throw InputError if keys of links do not go together
    void CheckLinks() const;
    void ConfigureRouting();
    /// @throw InputError if a link is too slow for such a frame
    void CheckRates(uint32_t longestFrame) const;
    void ConfigureHosts();
    void ConfigureSwitches();
    void ConfigurePorts(uint32_t node, uint64_t nicRateBps);
    /// @throw InputError if SWITCH_MODEL does not have the ports of a network switch
    void RequirePorts(uint32_t node) const;
    /// @throw InputError if a switch's buffer is too small for its ports
    void RequireShared(uint32_t node) const;
    /// Find how connections and in-network operations get from host to host.
    void MakePaths();
    /// Tell routing policies how much the delays of paths differ. @return a warning if the settings
    /// of a policy do not fit; else an empty text
    std::string FitRoutingToPaths();
    /// Tell the transport of each host, and the buffer policies of switches, how long paths are.
    void FitTransportToPaths();
    void FitBuffersToPaths();
    /// @return how long receivers wait for a frame that others overtook if the attribute is unset;
    /// 0: for ever
    Time LossTime() const;
    /// Warn of ports at which a pause has to last longer than PAUSE_TIME.
    void WarnOfShortPauses();
    /// Warn of switches whose ingresses can never reach their static threshold.
    void WarnOfThresholds();
    /// Warn of link rates without marking thresholds.
    void WarnOfUnlistedRates();
    /// @return whether the congestion control reads HPCC-PINT's digests
    bool UsesPint() const;
    static double AlphaScaleFor(uint64_t rateBps, uint64_t nicRateBps);

    FabricParts m_parts;
    std::unique_ptr<FabricRoutes> m_routes;
    std::unique_ptr<ClusterTopology> m_ownTopology; ///< of nodes that a program made
    std::unique_ptr<FabricConf> m_ownConf;          ///< likewise; says nothing
    std::vector<uint32_t> m_idOfNode;               ///< by ns-3's number of the node
    FabricFrameSizes m_frameSizes;
    std::unique_ptr<FabricPaths> m_paths;
    std::unique_ptr<FabricFaults> m_faults;
    std::unique_ptr<InNetworkPlanner> m_inNetworkPlanner;
    Ptr<PfcWatchdog> m_watchdog;
    uint32_t m_wantedPartitions{0}; ///< attribute Partitions
    uint32_t m_threads{0};          ///< 0: the simulator has one list of all events
    bool m_reorders{false};         ///< some switch chooses paths per frame
    bool m_inNetworkReduction{false};
    uint32_t m_inNetworkTrees{0};
    uint32_t m_inNetworkOperations{0};
    bool m_globalBaseRtt{false};
    bool m_persistentQueuePairs{false};
    bool m_deliverOnAck{false};
    bool m_partitionPerNode{false};
    uint32_t m_qpsPerConnection{1};
    double m_errorRatePerLink{0};
    Time m_nicPauseTime;
    Time m_routeUpdateDelay;
    Time m_lossTime;
    TracedCallback<> m_routesChanged;
};

} // namespace ns3

#endif /* RDMA_FABRIC_H */
