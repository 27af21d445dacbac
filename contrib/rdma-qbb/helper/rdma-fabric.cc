/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaFabric: building. Paths, link events and totals are in rdma-fabric-paths.cc.
 */
#include "rdma-fabric.h"

#include "pfc-watchdog.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/pint-encoder.h"
#include "ns3/pointer.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/rdma-congestion-conf.h"
#include "ns3/rdma-congestion-factory.h"
#include "ns3/rdma-loss-recovery-factory.h"
#include "ns3/routing-policy-factory.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFabric");

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
            .AddTraceSource("RoutesChanged",
                            "All routes have been worked out again after a link changed",
                            MakeTraceSourceAccessor(&RdmaFabric::m_routesChanged),
                            "ns3::TracedCallback");
    return tid;
}

RdmaFabric::RdmaFabric()
    : m_inNetwork(CreateObject<InNetworkEngine>())
{
}

RdmaFabric::~RdmaFabric() = default;

void
RdmaFabric::DoDispose()
{
    m_watchdog = nullptr;
    m_pairs.clear();
    m_nodes.clear();
    m_devices.clear();
    m_switches.clear();
    m_drivers.clear();
    m_channels.clear();
    m_inNetwork = nullptr;
    Object::DoDispose();
}

void
RdmaFabric::Build(const ClusterTopology& topology, FabricConf& conf)
{
    m_topology = &topology;
    m_conf = &conf;
    m_routes = std::make_unique<FabricRoutes>(topology);
    m_links = std::make_unique<LinkState>(topology.links.size());
    CreateNodes();
    CreateLinks();
    ConfigureHosts();
    if (conf.globalT || UsesPint())
    {
        m_extremes = FindExtremes(*m_routes, GetFrameSizes());
    }
    ConfigureSwitches();
    for (const auto& node : m_nodes)
    {
        node->Initialize();
    }
    AssignStreams(0);
    m_watchdog = std::make_unique<PfcWatchdog>(*this);
    ScheduleLinkEvents();
    ScheduleNicPauses();
}

void
RdmaFabric::CreateNodes()
{
    using Kind = ClusterTopology::NodeKind;
    m_nodes.resize(m_topology->nodeCount);
    m_switches.assign(m_topology->nodeCount, nullptr);
    m_drivers.resize(m_topology->hostCount);
    const std::vector<FabricConf::Routing> routing = RoutingBySwitch(*m_topology, *m_conf);
    for (uint32_t id = 0; id < m_topology->nodeCount; ++id)
    {
        if (m_topology->Is(id, Kind::Host))
        {
            m_nodes[id] = CreateObject<Node>();
            Ptr<RdmaHw> hw = CreateObject<RdmaHw>();
            hw->SetHostIndex(m_topology->HostIndexOf(id));
            Ptr<RdmaDriver> driver = CreateObject<RdmaDriver>();
            driver->Install(hw, this);
            m_nodes[id]->AggregateObject(driver);
            m_drivers[m_topology->HostIndexOf(id)] = PeekPointer(driver);
            continue;
        }
        Ptr<SwitchNode> node;
        if (m_topology->Is(id, Kind::NvSwitch))
        {
            node = CreateObject<NVSwitchNode>();
        }
        else
        {
            node = CreateObject<SwitchNode>();
            node->SetEcnEnabled(m_conf->enableQcn);
            Ptr<RoutingPolicy> policy = CreateRoutingPolicy(routing[id]);
            m_reorders = m_reorders || (policy && policy->Reorders());
            node->SetRoutingPolicy(policy);
        }
        node->SetForwardingTable(&m_routes->Table(id));
        node->SetInNetworkHook(m_inNetwork);
        m_nodes[id] = node;
        m_switches[id] = PeekPointer(node);
    }
}

void
RdmaFabric::CreateLinks()
{
    m_devices.resize(m_topology->nodeCount);
    // Objects made from their attributes cost much; links that differ are few.
    std::map<uint64_t, Ptr<QbbNetDevice>> models;                 // by rate
    std::map<std::pair<int64_t, double>, ObjectFactory> channels; // by delay and error rate
    for (uint32_t i = 0; i < m_topology->links.size(); ++i)
    {
        const auto& link = m_topology->links[i];
        const double error =
            std::min(link.errorRate + (m_topology->IsNvLink(i) ? 0 : m_conf->errorRatePerLink),
                     1.0);
        const auto [channelOf, isNewChannel] = channels.try_emplace({link.delayPs, error});
        if (isNewChannel)
        {
            channelOf->second = ObjectFactory("ns3::QbbChannel",
                                              "Delay",
                                              TimeValue(PicoSeconds(link.delayPs)),
                                              "ErrorRate",
                                              DoubleValue(error));
        }
        Ptr<QbbNetDevice>& model = models[link.rateBps];
        if (!model)
        {
            model = CreateDeviceModel(link.rateBps);
        }
        auto channel = channelOf->second.Create<QbbChannel>();
        channel->Attach(AddDevice(link.a, CopyObject<QbbNetDevice>(model)));
        channel->Attach(AddDevice(link.b, CopyObject<QbbNetDevice>(model)));
        m_channels.push_back(channel);
    }
}

Ptr<QbbNetDevice>
RdmaFabric::CreateDeviceModel(uint64_t rateBps) const
{
    auto device =
        CreateObjectWithAttributes<QbbNetDevice>("DataRate",
                                                 DataRateValue(DataRate(rateBps)),
                                                 "RdmaMtu",
                                                 UintegerValue(m_conf->payloadBytes),
                                                 "PauseTime",
                                                 TimeValue(PicoSeconds(m_conf->pauseTimePs)));
    for (uint8_t priority = 1; priority < QbbNetDevice::PRIORITIES; ++priority)
    {
        device->SetWeight(priority, m_conf->queueWeights[priority]);
    }
    return device;
}

Ptr<QbbNetDevice>
RdmaFabric::AddDevice(uint32_t id, Ptr<QbbNetDevice> device)
{
    device->SetAddress(
        QbbPacketBuilder::PortAddress(id, static_cast<uint16_t>(m_devices[id].size())));
    if (SwitchNode* node = m_switches[id])
    {
        node->AddPort(device);
    }
    else
    {
        m_nodes[id]->AddDevice(device);
        GetHw(m_topology->HostIndexOf(id)).AddNic(device);
    }
    m_devices[id].push_back(PeekPointer(device));
    return device;
}

void
RdmaFabric::ConfigureHosts()
{
    Ptr<RdmaCongestionOps> congestion = CreateCongestionOps(*m_conf);
    // Algorithms keep per-pair state in the pair, so one object serves all hosts.
    Ptr<RdmaLossRecovery> recovery = CreateLossRecovery(*m_conf);
    if (m_reorders)
    {
        recovery->SetAttribute("ReorderFrames", UintegerValue(m_conf->reorderFrames));
        recovery->SetAttribute("ReorderTime", TimeValue(TimeStep(ReorderTimePs())));
    }
    for (RdmaDriver* driver : m_drivers)
    {
        RdmaHw& hw = driver->GetHw();
        hw.SetAttribute("Mtu", UintegerValue(m_conf->payloadBytes));
        hw.SetAttribute("AckInterval", UintegerValue(std::max<uint64_t>(m_conf->l2AckInterval, 1)));
        hw.SetAttribute("AckHighPriority", BooleanValue(m_conf->ackHighPriority));
        hw.SetCongestionOps(congestion);
        hw.SetLossRecovery(recovery);
        hw.SetInNetworkHook(m_inNetwork);
    }
    m_frameSizes = FabricFrameSizes::Of(GetHw(0));
    m_recentIdeals.resize(m_drivers.size() * IDEALS_PER_HOST);
}

int64_t
RdmaFabric::ReorderTimePs() const
{
    if (m_conf->reorderTimePs)
    {
        return m_conf->reorderTimePs;
    }
    const bool mayLose = m_losslessMask == 0 || m_conf->errorRatePerLink > 0 ||
                         std::any_of(m_topology->links.begin(),
                                     m_topology->links.end(),
                                     [](const auto& link) { return link.errorRate > 0; });
    constexpr int64_t LOSSY_PS = 100'000'000;
    return mayLose ? LOSSY_PS : 0;
}

bool
RdmaFabric::UsesPint() const
{
    return GetHw(0).GetCongestionOps()->GetTelemetry() == RdmaCongestionOps::Telemetry::Pint;
}

double
RdmaFabric::AlphaFor(uint64_t rateBps, uint64_t nicRateBps)
{
    // As the HPCC simulator: 1/8 for ports as fast as the hosts', twice that per doubling of rate.
    const uint64_t ratio = std::max<uint64_t>(rateBps / nicRateBps, 1);
    const int doublings = std::min(static_cast<int>(std::bit_width(ratio)) - 1, 3);
    return 1.0 / (8 >> doublings);
}

void
RdmaFabric::ConfigurePorts(uint32_t id, uint64_t nicRateBps)
{
    SwitchMmu& mmu = *m_switches[id]->GetMmu();
    const auto ports = m_topology->Ports(id);
    const bool nvswitch = m_topology->Is(id, ClusterTopology::NodeKind::NvSwitch);
    const RdmaHw& host = GetHw(0);
    const uint32_t mtuWire = host.GetDataWireBytes(m_conf->payloadBytes, nvswitch);
    mmu.SetPorts(static_cast<uint32_t>(ports.size()));
    for (uint32_t port = 0; port < ports.size(); ++port)
    {
        const auto& link = m_topology->links[ports[port].link];
        mmu.ConfigurePort(port,
                          link.rateBps,
                          link.delayPs,
                          mtuWire,
                          AlphaFor(link.rateBps, nicRateBps));
        if (!nvswitch)
        {
            const EcnRamp ramp = m_conf->EcnFor(link.rateBps);
            mmu.SetEcn(port, {ramp.kminBytes, ramp.kmaxBytes, ramp.pmax});
        }
    }
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
        mmu->SetAttribute("LosslessMask", UintegerValue(m_losslessMask));
        mmu->SetAttribute("DynamicThreshold",
                          BooleanValue(m_conf->dynamicPfcThreshold || nvswitch));
        ConfigurePorts(id, nicRateBps);
        if (nvswitch)
        {
            // NVLink's credits are per link: as much as all headroom, and as much again to share.
            uint64_t headroom = 0;
            for (uint32_t port = 0; port < m_topology->Ports(id).size(); ++port)
            {
                headroom += mmu->GetHeadroom(port) * std::popcount(m_losslessMask);
            }
            mmu->SetAttribute("BufferBytes", UintegerValue(2 * headroom + (4U << 20)));
        }
        else
        {
            mmu->SetAttribute("BufferBytes", UintegerValue(m_conf->bufferBytes));
        }
        if (mmu->Partition() == 0)
        {
            throw InputError(m_conf->source,
                             0,
                             "BUFFER_SIZE of " + std::to_string(m_conf->bufferBytes) +
                                 " bytes cannot hold the reserves and PFC headroom of the " +
                                 std::to_string(m_topology->Ports(id).size()) +
                                 " ports of switch " + std::to_string(id),
                             "a larger buffer");
        }
        if (UsesPint() && !nvswitch)
        {
            m_switches[id]->SetPintEncoder(CreatePintEncoder(*m_conf, m_extremes.maxBaseRttPs));
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
    if (!m_drivers.empty())
    {
        stream += GetHw(0).AssignStreams(stream);
    }
    return stream - first;
}

} // namespace ns3
