/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabric: building. Paths, link events and totals are in rdma-fabric-paths.cc.
 */
#include "rdma-fabric.h"

#include "pfc-watchdog.h"
#include "qbb-helper.h"

#include "ns3/abort.h"
#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/ecmp-routing.h"
#include "ns3/input-error.h"
#include "ns3/node.h"
#include "ns3/pint-encoder.h"
#include "ns3/pointer.h"
#include "ns3/qbb-partitions.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/routing-policy-factory.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"
#include "ns3/units.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaFabric");

NS_OBJECT_ENSURE_REGISTERED(RdmaFabric);

TypeId
RdmaFabric::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaFabric")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaFabric>()
            .AddAttribute("RouteUpdateDelay",
                          "Time from a link's change of state until all routes have changed",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaFabric::m_routeUpdateDelay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("LossTime",
                          "How long receivers wait for a frame that others overtook, where frames "
                          "may be lost and RdmaLossRecovery's ReorderTime does not say",
                          TimeValue(MicroSeconds(100)),
                          MakeTimeAccessor(&RdmaFabric::m_lossTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ErrorRatePerLink",
                          "Packet loss probability added to that of each link but NVLinks",
                          DoubleValue(0),
                          MakeDoubleAccessor(&RdmaFabric::m_errorRatePerLink),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("InNetworkReduction",
                          "Network switches add and copy the data of a group's ranks (CollNet), "
                          "only over links that lose nothing",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_inNetworkReduction),
                          MakeBooleanChecker())
            .AddAttribute("GlobalBaseRtt",
                          "Connections use the largest base RTT and bandwidth-delay product of any "
                          "pair of hosts",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_globalBaseRtt),
                          MakeBooleanChecker())
            .AddAttribute("QpsPerConnection",
                          "Queue pairs that a message is split over, with source ports of their "
                          "own",
                          UintegerValue(1),
                          MakeUintegerAccessor(&RdmaFabric::m_qpsPerConnection),
                          MakeUintegerChecker<uint32_t>(1, 1024))
            .AddAttribute("PersistentQueuePairs",
                          "A connection keeps its queue pairs between messages, with the state of "
                          "their congestion control",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_persistentQueuePairs),
                          MakeBooleanChecker())
            .AddAttribute("NicPauseTime",
                          "How long every NIC pauses its switch from the start, as a slow "
                          "receiver does; 0: none does",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaFabric::m_nicPauseTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("PartitionPerNode",
                          "Make each node of a topology a partition of its own: results stay the "
                          "same, and take longer",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_partitionPerNode),
                          MakeBooleanChecker())
            .AddAttribute("Partitions",
                          "Partitions of a fabric on several threads; 0: one for each thread. "
                          "Results are the same for every number",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaFabric::m_wantedPartitions),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("GuardPartitions",
                          "A check: end the program where an event of one partition touches the "
                          "state of another (see PartitionMemory)",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_guardPartitions),
                          MakeBooleanChecker())
            .AddTraceSource("RoutesChanged",
                            "All routes have been worked out again after a link changed",
                            MakeTraceSourceAccessor(&RdmaFabric::m_routesChanged),
                            "ns3::TracedCallback");
    return tid;
}

RdmaFabric::RdmaFabric()
    : m_inNetwork{CreateObject<InNetworkEngine>()}
{
}

RdmaFabric::~RdmaFabric() = default;

void
RdmaFabric::DoDispose()
{
    m_watchdog = nullptr;
    m_planner.reset();
    if (m_guardPartitions)
    {
        PartitionMemory::Unguard();
    }
    m_nodes.clear();
    m_devices.clear();
    m_switches.clear();
    m_drivers.clear();
    m_channels.clear();
    m_inNetwork.clear();
    Object::DoDispose();
}

void
RdmaFabric::Build(const ClusterTopology& topology, FabricConf& conf)
{
    NS_LOG_INFO("builds " << topology.nodeCount << " nodes and " << topology.links.size()
                          << " links of " << topology.source);
    ShareOut(topology);
    CreateNodes(topology);
    if (m_threads > 0)
    {
        Divide();
    }
    CreateLinks(topology);
    Configure(topology, conf);
    for (uint32_t host = 0; m_threads > 0 && host < m_drivers.size(); ++host)
    {
        m_drivers[host]->GetHw().SetDivided(m_partitionPerNode ? host : topology.Server(host));
    }
}

void
RdmaFabric::ShareOut(const ClusterTopology& topology)
{
    const QbbProcesses* processes = QbbProcesses::Get();
    NS_ABORT_MSG_IF(processes && m_threads == 0, "processes run partitions: SetThreads()");
    const uint32_t runners = m_threads * (processes ? processes->GetCount() : 1);
    const uint32_t wanted = runners > 1 && m_wantedPartitions ? m_wantedPartitions : runners;
    m_partitions = m_partitionPerNode ? ShareOutNodes(topology)
                                      : ShareOutServers(topology, std::max(wanted, 1U));
    NS_ABORT_MSG_IF(m_threads > 0 && m_inNetworkReduction,
                    "operations of network switches are of several partitions");
    while (m_threads > 0 && m_inNetwork.size() < m_partitions.count)
    {
        m_inNetwork.push_back(CreateObject<InNetworkEngine>());
    }
}

const Ptr<InNetworkEngine>&
RdmaFabric::InNetworkEngineAt(uint32_t node) const
{
    return m_inNetwork[m_inNetwork.size() == 1 ? 0 : m_partitions.partitionOf[node]];
}

void
RdmaFabric::Divide()
{
    QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get();
    NS_ABORT_MSG_UNLESS(simulator, "threads need ns3::QbbSimulatorImpl");
    QbbPartitionPlan plan;
    plan.processes = QbbProcesses::Get();
    plan.partitionOf.resize(m_nodes.back()->GetId() + 1);
    plan.serverOf.resize(plan.partitionOf.size());
    for (uint32_t id = 0; id < m_nodes.size(); ++id)
    {
        plan.partitionOf[m_nodes[id]->GetId()] = m_partitions.partitionOf[id];
        plan.serverOf[m_nodes[id]->GetId()] = m_nodes[m_partitions.serverOf[id]]->GetId();
    }
    uint32_t here = 0;
    for (uint32_t partition = 0; partition < m_partitions.count; ++partition)
    {
        here += QbbProcesses::IsHere(partition, m_partitions.count);
    }
    plan.threads = std::clamp(here, 1U, m_threads);
    // What partitions bring about at each other may come sooner than frames.
    plan.lookaheadPs = std::min(m_partitions.lookaheadPs, m_partitions.reactionPs);
    plan.reactionPs = m_partitions.reactionPs;
    simulator->Divide(std::move(plan));
}

void
RdmaFabric::CreateNodes(const ClusterTopology& topology)
{
    using Kind = ClusterTopology::NodeKind;
    const RdmaHostHelper hosts;
    const SwitchHelper switches;
    if (m_guardPartitions && !PartitionMemory::Guard())
    {
        throw InputError("ns3::RdmaFabric::GuardPartitions",
                         0,
                         "another simulator implementation",
                         "ns3::QbbSimulatorImpl, which tells whose event it runs");
    }
    for (uint32_t id = 0; id < topology.nodeCount; ++id)
    {
        const uint32_t partition = m_partitions.partitionOf[id];
        const PartitionMemory::Scope scope(partition);
        if (topology.Is(id, Kind::Host))
        {
            m_nodes.push_back(CreateObject<Node>());
            hosts.Install(m_nodes.back());
        }
        else
        {
            const bool isNvSwitch = topology.Is(id, Kind::NvSwitch);
            m_nodes.push_back(isNvSwitch ? Ptr<Node>(CreateObject<NVSwitchNode>())
                                         : switches.Create());
        }
        if (m_partitions.count > 1)
        {
            m_nodes.back()->SetAttribute("SystemId", UintegerValue(partition));
        }
    }
}

void
RdmaFabric::CreateLinks(const ClusterTopology& topology)
{
    m_devices.resize(topology.nodeCount);
    // Objects made from their attributes cost much; links that differ are few.
    std::map<std::tuple<uint64_t, int64_t, double>, QbbHelper>
        helpers; // by rate, delay, error rate
    for (uint32_t i = 0; i < topology.links.size(); ++i)
    {
        const auto& link = topology.links[i];
        const double error =
            std::min(link.errorRate + (topology.IsNvLink(i) ? 0 : m_errorRatePerLink), 1.0);
        const auto [helper, isNew] = helpers.try_emplace({link.rateBps, link.delayPs, error});
        if (isNew)
        {
            helper->second.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rateBps)));
            helper->second.SetChannelAttribute("Delay", TimeValue(PicoSeconds(link.delayPs)));
            helper->second.SetChannelAttribute("ErrorRate", DoubleValue(error));
        }
        const NetDeviceContainer ends = helper->second.Install(m_nodes[link.a], m_nodes[link.b]);
        const Ptr<QbbNetDevice> a = DynamicCast<QbbNetDevice>(ends.Get(0));
        m_devices[link.a].push_back(PeekPointer(a));
        m_devices[link.b].push_back(PeekPointer(DynamicCast<QbbNetDevice>(ends.Get(1))));
        m_channels.push_back(DynamicCast<QbbChannel>(a->GetChannel()));
    }
}

void
RdmaFabric::Configure(const ClusterTopology& topology, FabricConf& conf)
{
    m_topology = &topology;
    m_conf = &conf;
    m_routes = std::make_unique<FabricRoutes>(topology);
    m_links = std::make_unique<LinkState>(topology.links.size());
    FindNodes();
    ConfigureRouting();
    ConfigureHosts();
    if (m_globalBaseRtt || UsesPint())
    {
        m_extremes = FindExtremes(*m_routes, GetFrameSizes());
    }
    ConfigureSwitches();
    WarnOfUnlistedRates();
    for (const auto& node : m_nodes)
    {
        node->Initialize();
    }
    AssignStreams(0);
    m_watchdog = CreateObject<PfcWatchdog>();
    m_watchdog->Watch(*this);
    ScheduleLinkEvents();
    ScheduleNicPauses();
}

void
RdmaFabric::FindNodes()
{
    for (uint32_t id = 0; id < m_nodes.size(); ++id)
    {
        const uint32_t number = m_nodes[id]->GetId();
        m_idOfNode.resize(std::max<std::size_t>(m_idOfNode.size(), number + 1));
        m_idOfNode[number] = id;
        m_switches.push_back(dynamic_cast<SwitchNode*>(PeekPointer(m_nodes[id])));
        if (m_switches.back())
        {
            continue;
        }
        Ptr<RdmaDriver> driver = m_nodes[id]->GetObject<RdmaDriver>();
        NS_ABORT_MSG_UNLESS(driver, "node " << number << " needs an RdmaDriver: RdmaHostHelper");
        driver->GetHw().SetHostIndex(m_topology->HostIndexOf(id));
        driver->SetPathPlanner(this);
        m_drivers.push_back(PeekPointer(driver));
    }
}

void
RdmaFabric::ConfigureRouting()
{
    const std::vector<TypeId> routing = RoutingBySwitch(*m_topology, *m_conf);
    for (uint32_t id = 0; id < m_topology->nodeCount; ++id)
    {
        SwitchNode* node = m_switches[id];
        if (!node)
        {
            continue;
        }
        if (m_topology->Is(id, ClusterTopology::NodeKind::Switch))
        {
            const Ptr<RoutingPolicy> made = node->GetRoutingPolicy();
            if (!m_ownConf &&
                (made ? made->GetInstanceTypeId() : EcmpRouting::GetTypeId()) != routing[id])
            {
                node->SetRoutingPolicyType(routing[id]);
            }
            const Ptr<RoutingPolicy> policy = node->GetRoutingPolicy();
            m_reorders = m_reorders || (policy && policy->Reorders());
        }
        node->SetForwardingTable(&m_routes->Table(id));
        node->SetInNetworkHook(InNetworkEngineAt(id));
    }
}

void
RdmaFabric::ConfigureHosts()
{
    const uint32_t mtu = GetHw(0).GetMtu();
    for (uint32_t host = 0; host < m_drivers.size(); ++host)
    {
        RdmaHw& hw = GetHw(host);
        if (m_reorders)
        {
            hw.ExpectReordering(LossTime());
        }
        hw.SetInNetworkHook(InNetworkEngineAt(m_topology->NodeOfHost(host)));
    }
    for (const auto& devices : m_devices)
    {
        std::for_each(devices.begin(), devices.end(), [mtu](QbbNetDevice* device) {
            device->SetRdmaMtu(mtu);
        });
    }
    m_frameSizes = FabricFrameSizes::Of(GetHw(0));
    const auto routing = RoutingBySwitch(*m_topology, *m_conf);
    const bool spreads = std::any_of(routing.begin(), routing.end(), [](TypeId each) {
        return each != EcmpRouting::GetTypeId();
    });
    m_planner = std::make_unique<ConnectionPlanner>(*m_topology,
                                                    *m_routes,
                                                    m_frameSizes.network,
                                                    m_frameSizes.nvlink,
                                                    spreads);
}

Time
RdmaFabric::LossTime() const
{
    const bool mayLose = m_errorRatePerLink > 0 ||
                         std::any_of(m_switches.begin(),
                                     m_switches.end(),
                                     [](const SwitchNode* node) {
                                         return node && node->GetMmu()->GetLosslessMask() == 0;
                                     }) ||
                         std::any_of(m_topology->links.begin(),
                                     m_topology->links.end(),
                                     [](const auto& link) { return link.errorRate > 0; });
    return mayLose ? m_lossTime : Time(0);
}

void
RdmaFabric::WarnOfUnlistedRates()
{
    std::set<uint64_t> unlisted;
    for (uint32_t id = 0; id < m_topology->nodeCount; ++id)
    {
        if (!m_topology->Is(id, ClusterTopology::NodeKind::Switch))
        {
            continue;
        }
        for (const ClusterTopology::Port& port : m_topology->Ports(id))
        {
            const uint64_t rateBps = m_topology->links[port.link].rateBps;
            if (!m_switches[id]->GetMmu()->ListsEcnFor(rateBps) && unlisted.insert(rateBps).second)
            {
                m_conf->warnings.push_back(
                    m_conf->source + ": KMIN_MAP, KMAX_MAP and PMAX_MAP do not all list " +
                    FormatDataRate(rateBps) + "; the nearest listed rate is taken");
            }
        }
    }
}

bool
RdmaFabric::UsesPint() const
{
    return GetHw(0).GetCongestionOps()->GetTelemetry() == RdmaCongestionOps::Telemetry::Pint;
}

double
RdmaFabric::AlphaScaleFor(uint64_t rateBps, uint64_t nicRateBps)
{
    // As the HPCC simulator: ports as fast as the hosts' count once, twice that per doubling of
    // rate.
    const uint64_t ratio = std::max<uint64_t>(rateBps / nicRateBps, 1);
    const int doublings = std::min(static_cast<int>(std::bit_width(ratio)) - 1, 3);
    return 1 << doublings;
}

void
RdmaFabric::ConfigurePorts(uint32_t id, uint64_t nicRateBps)
{
    SwitchMmu& mmu = *m_switches[id]->GetMmu();
    const auto ports = m_topology->Ports(id);
    const bool nvswitch = m_topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
    const RdmaHw& host = GetHw(0);
    const uint32_t mtuWire = host.GetDataWireBytes(host.GetMtu(), nvswitch);
    mmu.SetPorts(static_cast<uint32_t>(ports.size()));
    for (uint32_t port = 0; port < ports.size(); ++port)
    {
        const auto& link = m_topology->links[ports[port].link];
        mmu.ConfigurePort(port,
                          link.rateBps,
                          link.delayPs,
                          mtuWire,
                          AlphaScaleFor(link.rateBps, nicRateBps));
    }
}

void
RdmaFabric::RequireShared(uint32_t id) const
{
    SwitchMmu& mmu = *m_switches[id]->GetMmu();
    if (mmu.Partition() > 0)
    {
        return;
    }
    const bool nvswitch = m_topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
    const std::string bytes = std::to_string(mmu.GetBufferBytes()) + " bytes";
    const std::string what = " cannot hold the reserves and PFC headroom of the " +
                             std::to_string(m_topology->Ports(id).size()) + " ports of " +
                             (nvswitch ? "NVSwitch " : "switch ") + std::to_string(id);
    const std::string expected = "a larger buffer";
    if (nvswitch)
    {
        throw InputError("ns3::NVSwitchNode::BufferBytes", 0, bytes + what, expected);
    }
    const auto given = m_conf->FindSetting("ns3::SwitchMmu::BufferBytes");
    if (!given || dynamic_cast<const UintegerValue&>(*given).Get() != mmu.GetBufferBytes())
    {
        throw InputError("ns3::SwitchMmu::BufferBytes",
                         0,
                         bytes + what,
                         expected + ", by BUFFER_SIZE or a flag");
    }
    m_conf->FailAt({"BUFFER_SIZE"}, "BUFFER_SIZE of " + bytes + what, expected);
}

void
RdmaFabric::ConfigureSwitches()
{
    const uint64_t nicRateBps = std::max<uint64_t>(m_topology->MaxNicRateBps(), 1);
    for (uint32_t id = 0; id < m_topology->nodeCount; ++id)
    {
        if (!m_switches[id])
        {
            continue;
        }
        Ptr<SwitchMmu> mmu = m_switches[id]->GetMmu();
        const bool nvswitch = m_topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
        ConfigurePorts(id, nicRateBps);
        if (nvswitch)
        {
            DynamicCast<NVSwitchNode>(m_nodes[id])->ConfigureBuffer();
        }
        RequireShared(id);
        if (UsesPint() && !nvswitch)
        {
            Ptr<PintEncoder> encoder = CreateObject<PintEncoder>();
            if (m_extremes.maxBaseRttPs > 0)
            {
                encoder->SetFabricBaseRtt(PicoSeconds(m_extremes.maxBaseRttPs));
            }
            m_switches[id]->SetPintEncoder(encoder);
        }
    }
}

int64_t
RdmaFabric::AssignStreams(int64_t stream)
{
    const int64_t first = stream;
    for (const auto& devices : m_devices)
    {
        for (QbbNetDevice* device : devices)
        {
            stream += device->AssignStreams(stream);
        }
    }
    for (SwitchNode* node : m_switches)
    {
        if (node)
        {
            stream += node->AssignStreams(stream);
        }
    }
    for (RdmaDriver* driver : m_drivers)
    {
        stream += driver->GetHw().AssignStreams(stream);
    }
    return stream - first;
}

} // namespace ns3
