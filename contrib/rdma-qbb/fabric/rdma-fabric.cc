/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabric: building from a topology file. Nodes that a program has made are taken over in
 * rdma-fabric-nodes.cc.
 */
#include "rdma-fabric.h"

#include "fabric-faults.h"
#include "fabric-link-guards.h"
#include "pfc-watchdog.h"
#include "rdma-qbb/model/attribute/switch-model.h"
#include "rdma-qbb/model/paths/oversubscription.h"
#include "rdma-qbb/model/routing/ecmp-routing.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"

#include "ns3/abort.h"
#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/node.h"
#include "ns3/pint-encoder.h"
#include "ns3/pointer.h"
#include "ns3/qbb-helper.h"
#include "ns3/qbb-partitions.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"
#include "ns3/units.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
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
            .AddAttribute("InNetworkTrees",
                          "Trees of groups that a network switch can be part of; 0: any number",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaFabric::m_inNetworkTrees),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("InNetworkOperations",
                          "In-network operations that a network switch carries out at a time; 0: "
                          "any number",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaFabric::m_inNetworkOperations),
                          MakeUintegerChecker<uint32_t>())
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
            .AddAttribute("DeliverOnAck",
                          "A rank has a message when its sender has the last acknowledgement, not "
                          "when its last byte arrives",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaFabric::m_deliverOnAck),
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
            .AddTraceSource("RoutesChanged",
                            "All routes have been worked out again after a link changed",
                            MakeTraceSourceAccessor(&RdmaFabric::m_routesChanged),
                            "ns3::TracedCallback");
    return tid;
}

RdmaFabric::RdmaFabric()
{
    m_parts.inNetwork.push_back(CreateObject<InNetworkEngine>());
}

RdmaFabric::~RdmaFabric() = default;

void
RdmaFabric::DoDispose()
{
    m_watchdog = nullptr;
    m_faults.reset();
    m_paths.reset();
    m_parts.nodes.clear();
    m_parts.devices.clear();
    m_parts.switches.clear();
    m_parts.drivers.clear();
    m_parts.channels.clear();
    m_parts.inNetwork.clear();
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
    CreateLinks(topology, conf);
    Configure(topology, conf);
    for (uint32_t host = 0; m_threads > 0 && host < m_parts.drivers.size(); ++host)
    {
        m_parts.drivers[host]->GetHw().SetDivided(m_partitionPerNode ? host
                                                                     : topology.Server(host));
    }
}

void
RdmaFabric::ShareOut(const ClusterTopology& topology)
{
    const QbbProcesses* processes = QbbProcesses::Get();
    NS_ABORT_MSG_IF(processes && m_threads == 0, "processes run partitions: SetThreads()");
    const uint32_t runners = m_threads * (processes ? processes->GetCount() : 1);
    const uint32_t wanted = runners > 1 && m_wantedPartitions ? m_wantedPartitions : runners;
    m_parts.partitions = m_partitionPerNode ? ShareOutNodes(topology)
                                            : ShareOutServers(topology, std::max(wanted, 1U));
    NS_ABORT_MSG_IF(m_threads > 0 && m_inNetworkReduction,
                    "operations of network switches are of several partitions");
    while (m_threads > 0 && m_parts.inNetwork.size() < m_parts.partitions.count)
    {
        m_parts.inNetwork.push_back(CreateObject<InNetworkEngine>());
    }
}

const Ptr<InNetworkEngine>&
RdmaFabric::InNetworkEngineAt(uint32_t node) const
{
    return m_parts
        .inNetwork[m_parts.inNetwork.size() == 1 ? 0 : m_parts.partitions.partitionOf[node]];
}

void
RdmaFabric::Divide()
{
    QbbSimulatorImpl* simulator = QbbSimulatorImpl::Get();
    NS_ABORT_MSG_UNLESS(simulator, "threads need ns3::QbbSimulatorImpl");
    QbbPartitionPlan plan;
    plan.processes = QbbProcesses::Get();
    plan.partitionOf.resize(m_parts.nodes.back()->GetId() + 1);
    plan.serverOf.resize(plan.partitionOf.size());
    for (uint32_t id = 0; id < m_parts.nodes.size(); ++id)
    {
        plan.partitionOf[m_parts.nodes[id]->GetId()] = m_parts.partitions.partitionOf[id];
        plan.serverOf[m_parts.nodes[id]->GetId()] =
            m_parts.nodes[m_parts.partitions.serverOf[id]]->GetId();
    }
    uint32_t here = 0;
    for (uint32_t partition = 0; partition < m_parts.partitions.count; ++partition)
    {
        here += QbbProcesses::IsHere(partition, m_parts.partitions.count);
    }
    plan.threads = std::clamp(here, 1U, m_threads);
    // A call to another partition arrives after reactionPs, which may be less than the delays of
    // the links between them.
    plan.lookaheadPs = std::min(m_parts.partitions.lookaheadPs, m_parts.partitions.reactionPs);
    plan.reactionPs = m_parts.partitions.reactionPs;
    simulator->Divide(std::move(plan));
}

void
RdmaFabric::CreateNodes(const ClusterTopology& topology)
{
    using Kind = ClusterTopology::NodeKind;
    const RdmaHostHelper hosts;
    const SwitchHelper switches;
    for (uint32_t id = 0; id < topology.nodeCount; ++id)
    {
        const uint32_t partition = m_parts.partitions.partitionOf[id];
        if (topology.Is(id, Kind::Host))
        {
            m_parts.nodes.push_back(CreateObject<Node>());
            hosts.Install(m_parts.nodes.back());
        }
        else
        {
            const bool isNvSwitch = topology.Is(id, Kind::NvSwitch);
            m_parts.nodes.push_back(isNvSwitch ? Ptr<Node>(CreateObject<NVSwitchNode>())
                                               : switches.Create());
        }
        if (m_parts.partitions.count > 1)
        {
            m_parts.nodes.back()->SetAttribute("SystemId", UintegerValue(partition));
        }
    }
}

void
RdmaFabric::CreateLinks(const ClusterTopology& topology, const FabricConf& conf)
{
    m_parts.devices.resize(topology.nodeCount);
    const auto credited = AttributeDefault<UintegerValue>("ns3::SwitchMmu::LosslessMask") & 0xfe;
    const std::vector<LinkGuards> guards = GuardsOfLinks(topology, conf);
    // Objects made from their attributes cost much; links that differ are few.
    std::map<std::tuple<uint64_t, int64_t, double, bool, uint64_t>, QbbHelper>
        helpers; // by rate, delay, error rate, retry and credits
    for (uint32_t i = 0; i < topology.links.size(); ++i)
    {
        const auto& link = topology.links[i];
        const auto& [retries, creditBytes] = guards[i];
        const double error =
            std::min(link.errorRate + (topology.IsNvLink(i) ? 0 : m_errorRatePerLink), 1.0);
        const auto [helper, isNew] =
            helpers.try_emplace({link.rateBps, link.delayPs, error, retries, creditBytes});
        if (isNew)
        {
            helper->second.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rateBps)));
            helper->second.SetChannelAttribute("Delay", TimeValue(PicoSeconds(link.delayPs)));
            helper->second.SetChannelAttribute("ErrorRate", DoubleValue(error));
            helper->second.SetChannelAttribute("LinkRetry", BooleanValue(retries));
            helper->second.SetChannelAttribute("CreditBytes", UintegerValue(creditBytes));
            helper->second.SetChannelAttribute("CreditPriorities", UintegerValue(credited));
        }
        const NetDeviceContainer ends =
            helper->second.Install(m_parts.nodes[link.a], m_parts.nodes[link.b]);
        const Ptr<QbbNetDevice> a = DynamicCast<QbbNetDevice>(ends.Get(0));
        m_parts.devices[link.a].push_back(PeekPointer(a));
        m_parts.devices[link.b].push_back(PeekPointer(DynamicCast<QbbNetDevice>(ends.Get(1))));
        m_parts.channels.push_back(DynamicCast<QbbChannel>(a->GetChannel()));
    }
}

void
RdmaFabric::Configure(const ClusterTopology& topology, FabricConf& conf)
{
    m_parts.topology = &topology;
    m_parts.conf = &conf;
    CheckLinks();
    m_routes = std::make_unique<FabricRoutes>(topology);
    FindNodes();
    ConfigureRouting();
    ConfigureHosts();
    MakePaths();
    ConfigureSwitches();
    FitBuffersToPaths();
    m_paths->NoteBuffers();
    WarnOfThresholds();
    WarnOfUnlistedRates();
    for (const auto& node : m_parts.nodes)
    {
        node->Initialize();
    }
    WarnOfShortPauses();
    AssignStreams(0);
    m_watchdog = CreateObject<PfcWatchdog>();
    m_watchdog->Watch(m_parts);
    m_faults->ScheduleLinkEvents();
    m_faults->ScheduleNicPauses(m_nicPauseTime);
}

FabricTotals
RdmaFabric::GetTotals() const
{
    FabricTotals totals = FabricTotals::Of(m_parts);
    totals.longestPausePs = m_watchdog->GetLongestPs();
    totals.pfcStorms = m_watchdog->GetStorms();
    return totals;
}

void
RdmaFabric::FindNodes()
{
    for (uint32_t id = 0; id < m_parts.nodes.size(); ++id)
    {
        const uint32_t number = m_parts.nodes[id]->GetId();
        m_idOfNode.resize(std::max<std::size_t>(m_idOfNode.size(), number + 1));
        m_idOfNode[number] = id;
        m_parts.switches.push_back(dynamic_cast<SwitchNode*>(PeekPointer(m_parts.nodes[id])));
        if (m_parts.switches.back())
        {
            continue;
        }
        Ptr<RdmaDriver> driver = m_parts.nodes[id]->GetObject<RdmaDriver>();
        NS_ABORT_MSG_UNLESS(driver, "node " << number << " needs an RdmaDriver: RdmaHostHelper");
        driver->GetHw().SetHostIndex(m_parts.topology->HostIndexOf(id));
        m_parts.drivers.push_back(PeekPointer(driver));
    }
}

namespace
{

bool
HasCreditedLink(const QbbNetDevice* device)
{
    const Ptr<QbbChannel> channel = DynamicCast<QbbChannel>(device->GetChannel());
    return channel && channel->GetCreditBytes() > 0;
}

} // namespace

bool
RdmaFabric::HasCredits() const
{
    return std::ranges::any_of(m_parts.channels,
                               [](const auto& channel) { return channel->GetCreditBytes() > 0; });
}

void
RdmaFabric::CheckLinks() const
{
    const bool haveCredits = HasCredits();
    const bool haveRetry = std::ranges::any_of(m_parts.channels, [](const auto& channel) {
        return channel->Retries() && channel->GetErrorRate() > 0;
    });
    if (haveCredits && m_inNetworkReduction)
    {
        m_parts.conf->FailAt({"LINK_CREDITS", "IN_NETWORK_REDUCTION"},
                             "LINK_CREDITS counts no packets that switches add and copy",
                             "no IN_NETWORK_REDUCTION beside it");
    }
    if ((haveCredits || haveRetry) && QbbProcesses::Get() && !m_parts.conf->linkEvents.empty())
    {
        m_parts.conf->FailAt({"LINK_CREDITS", "LINK_RETRY"},
                             "the two ends of a link that fails cannot be in different processes "
                             "with LINK_CREDITS or LINK_RETRY",
                             "one process");
    }
}

void
RdmaFabric::ConfigureRouting()
{
    const std::vector<TypeId> routing = RoutingBySwitch(*m_parts.topology, *m_parts.conf);
    for (uint32_t id = 0; id < m_parts.topology->nodeCount; ++id)
    {
        SwitchNode* node = m_parts.switches[id];
        if (!node)
        {
            continue;
        }
        if (m_parts.topology->Is(id, ClusterTopology::NodeKind::Switch))
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
RdmaFabric::CheckRates(uint32_t longestFrame) const
{
    // LinkAgenda tells departures apart within 2^47 ps.
    constexpr uint64_t LONGEST_S = 100;
    for (const ClusterTopology::Link& link : m_parts.topology->links)
    {
        if (uint64_t{longestFrame} * 8 > LONGEST_S * link.rateBps)
        {
            throw InputError(m_parts.topology->source,
                             link.line,
                             fmt::format("a frame of {} bytes takes more than {} s at {}",
                                         longestFrame,
                                         LONGEST_S,
                                         FormatDataRate(link.rateBps)),
                             "a faster link, smaller frames, or a network without packets");
        }
    }
}

void
RdmaFabric::ConfigureHosts()
{
    const Ptr<RdmaTransport> transport = GetHw(0).GetTransport();
    m_reorders = m_reorders || (transport && transport->SpreadsFrames());
    uint32_t fieldBytes = 0;
    for (const SwitchNode* node : m_parts.switches)
    {
        const Ptr<RoutingPolicy> policy = node ? node->GetRoutingPolicy() : nullptr;
        fieldBytes = std::max(fieldBytes, policy ? policy->GetFieldBytes() : 0);
    }
    for (uint32_t host = 0; host < m_parts.drivers.size(); ++host)
    {
        GetHw(host).SetRoutingFieldBytes(fieldBytes);
    }
    const uint32_t mtu = GetHw(0).GetMtu();
    const uint32_t longest =
        std::max(GetHw(0).GetDataWireBytes(mtu, false), GetHw(0).GetDataWireBytes(mtu, true));
    CheckRates(longest);
    for (uint32_t host = 0; host < m_parts.drivers.size(); ++host)
    {
        RdmaHw& hw = GetHw(host);
        const auto& nics = m_parts.devices[m_parts.topology->NodeOfHost(host)];
        if (std::ranges::any_of(nics, HasCreditedLink))
        {
            // An ACK may ignore a pause; without credit, the far end has no room for it.
            hw.SetAttribute("AckIgnoresPause", BooleanValue(false));
        }
        if (m_reorders)
        {
            hw.ExpectReordering(LossTime());
        }
        hw.SetInNetworkHook(InNetworkEngineAt(m_parts.topology->NodeOfHost(host)));
    }
    for (const auto& devices : m_parts.devices)
    {
        std::ranges::for_each(devices, [mtu, longest](QbbNetDevice* device) {
            device->SetRdmaMtu(mtu);
            device->SetLongestFrame(longest);
        });
    }
    m_frameSizes = FabricFrameSizes::Of(GetHw(0));
}

void
RdmaFabric::MakePaths()
{
    m_paths =
        std::make_unique<FabricPaths>(m_parts,
                                      *m_routes,
                                      m_frameSizes,
                                      PathUseOf(RoutingBySwitch(*m_parts.topology, *m_parts.conf)),
                                      m_qpsPerConnection);
    if (m_globalBaseRtt)
    {
        m_paths->UseGlobally(m_paths->FindExtremes());
    }
    for (RdmaDriver* driver : m_parts.drivers)
    {
        driver->SetPathPlanner(m_paths.get());
    }
    if (const std::string misfit = FitRoutingToPaths(); !misfit.empty())
    {
        m_parts.conf->warnings.push_back(misfit);
    }
    FitTransportToPaths();
    m_faults = std::make_unique<FabricFaults>(m_parts, *m_paths, m_routeUpdateDelay, [this] {
        FitRoutingToPaths();
        m_routesChanged();
    });
    m_inNetworkPlanner = std::make_unique<InNetworkPlanner>(
        *m_parts.topology,
        InNetworkLimits{m_inNetworkReduction, m_inNetworkTrees},
        [this](uint32_t link) {
            return m_faults->GetLinks().IsUp(link) && !m_parts.channels[link]->IsLossy();
        });
    m_parts.inNetwork.front()->SetPlaces(m_inNetworkOperations);
}

std::string
RdmaFabric::FitRoutingToPaths()
{
    // Where frames are expected to overtake each other, routing may let them.
    if (m_reorders || !m_paths->MayPart())
    {
        return "";
    }
    const int64_t spreadPs = m_paths->FindExtremes().maxSpreadPs;
    std::string misfit;
    for (SwitchNode* node : m_parts.switches)
    {
        if (const Ptr<RoutingPolicy> policy = node ? node->GetRoutingPolicy() : nullptr)
        {
            const std::string text = policy->FitToPaths(spreadPs);
            misfit = misfit.empty() ? text : misfit;
        }
    }
    return misfit;
}

void
RdmaFabric::FitTransportToPaths()
{
    if (!GetHw(0).GetTransport())
    {
        return;
    }
    const int64_t longestRttPs = m_paths->FindExtremes().maxBaseRttPs;
    const double oversubscription = FindOversubscription(*m_parts.topology);
    for (uint32_t host = 0; host < m_parts.drivers.size(); ++host)
    {
        GetHw(host).GetTransport()->FitToPaths(longestRttPs);
        GetHw(host).GetTransport()->FitToOversubscription(oversubscription);
    }
}

void
RdmaFabric::FitBuffersToPaths()
{
    std::optional<int64_t> longestRttPs;
    for (uint32_t id = 0; id < m_parts.topology->nodeCount; ++id)
    {
        SwitchNode* node = m_parts.switches[id];
        if (BufferPolicy* policy = node ? node->GetMmu()->GetPolicy() : nullptr)
        {
            longestRttPs = longestRttPs ? longestRttPs : m_paths->FindExtremes().maxBaseRttPs;
            policy->FitToPaths(*node, *longestRttPs);
        }
    }
}

void
RdmaFabric::SetLinkUp(uint32_t link, bool up)
{
    m_faults->SetLinkUp(link, up);
}

std::vector<LinkOutage>
RdmaFabric::GetOutages() const
{
    return m_faults->GetOutages();
}

bool
RdmaFabric::PlanInNetwork(const std::vector<uint32_t>& hosts,
                          uint32_t stripe,
                          InNetworkSpec& spec) const
{
    const auto tree = m_inNetworkPlanner->Plan({hosts, stripe});
    NS_LOG_INFO("an operation of " << hosts.size() << " hosts has "
                                   << (tree ? tree->switches.size() : 0) << " switches");
    if (!tree)
    {
        return false;
    }
    spec.nvlink = tree->nvlink;
    spec.switches.clear();
    for (const InNetworkTree::Switch& each : tree->switches)
    {
        spec.switches.push_back(
            {m_parts.switches[each.node], each.parent, each.upPort, each.parentPort});
    }
    spec.members.clear();
    for (const InNetworkTree::Member& each : tree->members)
    {
        spec.members.push_back({&m_parts.Hw(each.host), each.nic, each.switchPort, each.at});
    }
    return true;
}

Time
RdmaFabric::LossTime() const
{
    const bool mayLose =
        std::ranges::any_of(m_parts.switches,
                            [](const SwitchNode* node) {
                                return node && node->GetMmu()->GetLimits().GetLosslessMask() == 0;
                            }) ||
        std::ranges::any_of(m_parts.channels,
                            [](const auto& channel) { return channel->IsLossy(); });
    return mayLose ? m_lossTime : Time(0);
}

void
RdmaFabric::WarnOfThresholds()
{
    for (uint32_t id = 0; id < m_parts.topology->nodeCount; ++id)
    {
        if (!m_parts.switches[id])
        {
            continue;
        }
        const SwitchMmu& mmu = *m_parts.switches[id]->GetMmu();
        if (mmu.IsThresholdOutOfReach())
        {
            m_parts.conf->warnings.push_back(
                fmt::format("ns3::SwitchMmu::StaticThreshold of {} bytes is more than the {} bytes "
                            "that all ports of switch {} share: its partners are paused only when "
                            "none of these is left",
                            mmu.GetLimits().GetStaticThreshold(),
                            mmu.GetLimits().GetSharedBytes(),
                            id));
            return; // one warning is enough
        }
    }
}

void
RdmaFabric::WarnOfUnlistedRates()
{
    std::set<uint64_t> unlisted;
    for (uint32_t id = 0; id < m_parts.topology->nodeCount; ++id)
    {
        if (!m_parts.topology->Is(id, ClusterTopology::NodeKind::Switch))
        {
            continue;
        }
        for (const ClusterTopology::Port& port : m_parts.topology->Ports(id))
        {
            const uint64_t rateBps = m_parts.topology->links[port.link].rateBps;
            if (!m_parts.switches[id]->GetMmu()->GetLimits().ListsEcnFor(rateBps) &&
                unlisted.insert(rateBps).second)
            {
                m_parts.conf->warnings.push_back(
                    m_parts.conf->source + ": KMIN_MAP, KMAX_MAP and PMAX_MAP do not all list " +
                    FormatDataRate(rateBps) + "; the nearest listed rate is taken");
            }
        }
    }
}

void
RdmaFabric::WarnOfShortPauses()
{
    if (!m_parts.conf->IsGiven("PAUSE_TIME"))
    {
        return;
    }
    std::set<uint64_t> warned;
    for (const auto& devices : m_parts.devices)
    {
        for (const QbbNetDevice* device : devices)
        {
            const Time wanted = AttributeDefault<TimeValue>("ns3::QbbNetDevice::PauseTime");
            const int64_t lastsPs = device->GetPausePs();
            if (lastsPs > wanted.GetTimeStep() && warned.insert(device->GetRateBps()).second)
            {
                const FabricConf::Origin origin = m_parts.conf->OriginOf({"PAUSE_TIME"});
                m_parts.conf->warnings.push_back(
                    fmt::format("{}{}: PAUSE_TIME of {:g} us is too short for the frames of {}: "
                                "pauses last {:.4g} us there",
                                origin.file,
                                origin.line ? ":" + std::to_string(origin.line) : "",
                                static_cast<double>(wanted.GetTimeStep()) / 1e6,
                                FormatDataRate(device->GetRateBps()),
                                static_cast<double>(lastsPs) / 1e6));
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
    SwitchMmu& mmu = *m_parts.switches[id]->GetMmu();
    const auto ports = m_parts.topology->Ports(id);
    const bool nvswitch = m_parts.topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
    const RdmaHw& host = GetHw(0);
    const uint32_t mtuWire = host.GetDataWireBytes(host.GetMtu(), nvswitch);
    mmu.SetPorts(static_cast<uint32_t>(ports.size()));
    for (uint32_t port = 0; port < ports.size(); ++port)
    {
        const auto& link = m_parts.topology->links[ports[port].link];
        mmu.ConfigurePort(port,
                          link.rateBps,
                          link.delayPs,
                          mtuWire,
                          AlphaScaleFor(link.rateBps, nicRateBps));
        const QbbChannel& channel = *m_parts.channels[ports[port].link];
        if (channel.GetCreditBytes() > 0)
        {
            const uint32_t longest = std::max(mtuWire, host.GetDataWireBytes(host.GetMtu(), true));
            mmu.SetCredits(port, std::max<uint64_t>(channel.GetCreditBytes(), longest));
        }
    }
}

void
RdmaFabric::RequirePorts(uint32_t id) const
{
    const SwitchModel* model = SwitchModel::Find(*m_parts.conf->switchModel);
    if (!model)
    {
        return;
    }
    const auto ports = m_parts.topology->Ports(id);
    uint64_t fastestBps = 0;
    uint64_t sumBps = 0;
    for (const auto& port : ports)
    {
        const uint64_t rateBps = m_parts.topology->links[port.link].rateBps;
        fastestBps = std::max(fastestBps, rateBps);
        sumBps += rateBps;
    }
    const std::string misfit = model->DescribeMisfit(ports.size(), fastestBps, sumBps);
    if (!misfit.empty())
    {
        m_parts.conf->FailAt({"SWITCH_MODEL"},
                             fmt::format("SWITCH_MODEL {} {}, as switch {} of the topology asks",
                                         model->name,
                                         misfit,
                                         id),
                             "another model or topology");
    }
}

void
RdmaFabric::RequireShared(uint32_t id) const
{
    SwitchMmu& mmu = *m_parts.switches[id]->GetMmu();
    if (mmu.Partition() > 0)
    {
        return;
    }
    const bool nvswitch = m_parts.topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
    const std::string bytes = std::to_string(mmu.GetLimits().GetBufferBytes()) + " bytes";
    const std::string what = " cannot hold the reserves and PFC headroom, or credits, of the " +
                             std::to_string(m_parts.topology->Ports(id).size()) + " ports of " +
                             (nvswitch ? "NVSwitch " : "switch ") + std::to_string(id);
    const std::string expected = "a larger buffer";
    if (nvswitch)
    {
        throw InputError("ns3::NVSwitchNode::BufferBytes", 0, bytes + what, expected);
    }
    const std::string& model = m_parts.conf->switchModel;
    if (!model.empty() && !m_parts.conf->IsGiven("BUFFER_SIZE"))
    {
        m_parts.conf->FailAt({"SWITCH_MODEL"},
                             "SWITCH_MODEL " + model + " has a buffer of " + bytes + ", which" +
                                 what,
                             "fewer ports, shorter links or another model");
    }
    const auto given = m_parts.conf->FindSetting("ns3::SwitchMmu::BufferBytes");
    if (!given ||
        dynamic_cast<const UintegerValue&>(*given).Get() != mmu.GetLimits().GetBufferBytes())
    {
        throw InputError("ns3::SwitchMmu::BufferBytes",
                         0,
                         bytes + what,
                         expected + ", by BUFFER_SIZE or a flag");
    }
    m_parts.conf->FailAt({"BUFFER_SIZE"}, "BUFFER_SIZE of " + bytes + what, expected);
}

void
RdmaFabric::ConfigureSwitches()
{
    const int64_t longestRttPs = UsesPint() ? m_paths->FindExtremes().maxBaseRttPs : 0;
    const uint64_t nicRateBps = std::max<uint64_t>(m_parts.topology->MaxNicRateBps(), 1);
    for (uint32_t id = 0; id < m_parts.topology->nodeCount; ++id)
    {
        if (!m_parts.switches[id])
        {
            continue;
        }
        Ptr<SwitchMmu> mmu = m_parts.switches[id]->GetMmu();
        const bool nvswitch = m_parts.topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
        ConfigurePorts(id, nicRateBps);
        if (nvswitch)
        {
            const auto ports = m_parts.topology->Ports(id);
            const bool isLinkedToOthers = std::ranges::any_of(ports, [this](const auto& port) {
                return m_parts.topology->Is(port.peer, ClusterTopology::NodeKind::NvSwitch);
            });
            DynamicCast<NVSwitchNode>(m_parts.nodes[id])->ConfigureBuffer(isLinkedToOthers);
        }
        else
        {
            RequirePorts(id);
        }
        RequireShared(id);
        if (UsesPint() && !nvswitch)
        {
            Ptr<PintEncoder> encoder = CreateObject<PintEncoder>();
            if (longestRttPs > 0)
            {
                encoder->SetFabricBaseRtt(PicoSeconds(longestRttPs));
            }
            m_parts.switches[id]->SetPintEncoder(encoder);
        }
    }
}

int64_t
RdmaFabric::AssignStreams(int64_t stream)
{
    const int64_t first = stream;
    for (const auto& devices : m_parts.devices)
    {
        for (QbbNetDevice* device : devices)
        {
            stream += device->AssignStreams(stream);
        }
    }
    for (SwitchNode* node : m_parts.switches)
    {
        if (node)
        {
            stream += node->AssignStreams(stream);
        }
    }
    for (RdmaDriver* driver : m_parts.drivers)
    {
        stream += driver->GetHw().AssignStreams(stream);
    }
    return stream - first;
}

} // namespace ns3
