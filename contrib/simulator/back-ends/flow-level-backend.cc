/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-level-backend.h"

#include "collectives/model/collective/traffic-purpose.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/input-error.h"
#include "ns3/link-changes.h"
#include "ns3/links-writer.h"
#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace AstraSim
{

using ns3::FabricConf;

namespace
{

using ns3::AttributeDefault;

void
WarnOfNoEffect(const RunInputs& inputs, std::vector<std::string>& warnings)
{
    const auto& links = inputs.topology.links;
    const bool losses =
        AttributeDefault<ns3::DoubleValue>("ns3::RdmaFabric::ErrorRatePerLink") > 0 ||
        std::any_of(links.begin(), links.end(), [](const auto& link) {
            return link.errorRate > 0;
        });
    if (losses)
    {
        warnings.emplace_back("--network flow loses nothing: error rates have no effect");
    }
    const auto routing = ns3::RoutingBySwitch(inputs.topology, inputs.conf);
    const auto flowlets = ns3::TypeId::LookupByName("ns3::FlowletRouting");
    if (std::ranges::any_of(routing, [flowlets](ns3::TypeId each) {
            return each == flowlets || each.IsChildOf(flowlets);
        }))
    {
        warnings.emplace_back(
            "--network flow has no gaps in flows: flowlets stay where ECMP puts them");
    }
    if (!inputs.traceNodes.empty())
    {
        warnings.emplace_back("--network flow has no packets: TRACE_FILE has no effect");
    }
}

} // namespace

FlowLevelConfig
FlowLevelConfigOf(const FabricConf& conf, const ns3::ClusterTopology& topology)
{
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    FlowLevelConfig config;
    config.networkFrames = frames.network;
    config.nvlinkFrames = frames.nvlink;
    config.ackIntervalBytes = AttributeDefault<ns3::UintegerValue>("ns3::RdmaHw::AckInterval");
    config.queuePairs = static_cast<uint32_t>(
        AttributeDefault<ns3::UintegerValue>("ns3::RdmaFabric::QpsPerConnection"));
    config.persistentConnections =
        AttributeDefault<ns3::BooleanValue>("ns3::RdmaFabric::PersistentQueuePairs");
    const auto routing = ns3::RoutingBySwitch(topology, conf);
    config.pathUse = ns3::PathUseOf(routing);
    if (config.pathUse == ns3::PathUse::All)
    {
        config.spreading.resize(routing.size());
        std::transform(routing.begin(),
                       routing.end(),
                       config.spreading.begin(),
                       ns3::ReordersFrames);
    }
    config.ecmpSeed =
        static_cast<uint32_t>(AttributeDefault<ns3::UintegerValue>("ns3::SwitchNode::EcmpSeed"));
    config.routeUpdateDelay =
        AttributeDefault<ns3::TimeValue>("ns3::RdmaFabric::RouteUpdateDelay").GetPicoSeconds();
    config.linkChanges = ns3::FindLinkChanges(conf, topology);
    return config;
}

FlowLevelBackend::FlowLevelBackend(const RunOptions& options,
                                   const RunInputs& inputs,
                                   const BackgroundFlows& background,
                                   std::string output,
                                   std::vector<std::string>& warnings)
    : m_conf(inputs.conf),
      m_limit(inputs.conf.stopTimePs),
      m_output(std::move(output)),
      m_use(inputs.topology)
{
    if (!options.pcap.empty())
    {
        throw ns3::InputError("--network flow",
                              0,
                              "--pcap has no packets to capture",
                              "--network packet for that");
    }
    WarnOfNoEffect(inputs, warnings);
    FlowLevelConfig config = FlowLevelConfigOf(inputs.conf, inputs.topology);
    m_overhead = {config.networkFrames,
                  config.nvlinkFrames,
                  config.ackIntervalBytes,
                  !config.linkChanges.empty()};
    m_fabric = std::make_unique<FlowLevelFabric>(m_loop, inputs.topology, std::move(config));
    m_fabric->CountIn(m_use);
    SetCapabilities();
    if (!background.file.empty())
    {
        m_background = std::make_unique<FlowLevelBackground>(m_loop, *m_fabric, background.file);
    }
    if (m_output.empty())
    {
        return;
    }
    std::vector<std::string> moved;
    m_fct = std::make_unique<ns3::FctWriter>(
        inputs.topology,
        ns3::ResolveOutputPath("FCT_OUTPUT_FILE", inputs.conf.fctOutputFile, m_output, moved));
    ns3::WarnOfMoved(moved, m_output, warnings);
    m_fabric->SetObserver([this](const FlowLevelRecord& record) { WriteMessage(record); });
}

FlowLevelBackend::~FlowLevelBackend() = default;

RankNetwork&
FlowLevelBackend::GetNetwork(int rank)
{
    return m_fabric->GetNetwork(rank);
}

void
FlowLevelBackend::SetCapabilities()
{
    m_can.makeUnused = [this] { return m_fabric->MakeUnused(m_limit); };
    m_can.startChecks = [this](Report report) {
        m_check = std::make_unique<FlowLevelCheck>(m_loop,
                                                   *m_fabric,
                                                   m_use,
                                                   m_overhead,
                                                   std::move(report));
    };
    m_can.finishWorkloads = [this] { FinishWorkloads(); };
    m_can.finish = [this] { Finish(); };
}

SimulationEnd
FlowLevelBackend::Run()
{
    if (m_background)
    {
        m_background->Start();
    }
    m_drained = m_loop.Run(m_limit) && !m_loop.IsInterrupted();
    if (m_drained && !m_finishPs && m_fabric->EndsBeyondClock(m_limit))
    {
        return SimulationEnd::OutOfTime;
    }
    return m_loop.IsInterrupted()    ? SimulationEnd::Interrupted
           : m_drained || m_finishPs ? SimulationEnd::Drained
                                     : SimulationEnd::OutOfTime;
}

void
FlowLevelBackend::Interrupt()
{
    m_loop.Interrupt();
}

void
FlowLevelBackend::FinishWorkloads()
{
    m_finishPs = m_loop.Now();
    if (m_background && !m_background->IsDone())
    {
        m_loop.Stop();
    }
}

void
FlowLevelBackend::Finish()
{
    if (m_check)
    {
        m_check->Finish(m_drained);
    }
    if (m_fct)
    {
        m_fct->Finish();
        ns3::WriteLinks(m_fabric->GetTopology(),
                        CountersOfLinks(),
                        m_use,
                        TrafficPurposeNames(),
                        m_output + "/links.csv");
    }
}

void
FlowLevelBackend::WriteMessage(const FlowLevelRecord& record)
{
    m_fct->Write({.src = record.src,
                  .dst = record.dst,
                  .sport = record.sport,
                  .dport = record.dport,
                  .bytes = record.bytes,
                  .startPs = record.startPs,
                  .fctPs = m_loop.Now() - record.startPs,
                  .idealPs = m_fabric->GetIdealFctPs(record.src, record.dst, record.bytes)});
}

ns3::LinkCountersOf
FlowLevelBackend::CountersOfLinks() const
{
    FluidTransfers& transfers = m_fabric->GetTransfers();
    transfers.UpdateCarried();
    const double nowNs = static_cast<double>(m_loop.Now()) / 1000;
    return [this, &transfers, nowNs](uint32_t node, uint16_t port) {
        const ns3::ClusterTopology& topology = m_fabric->GetTopology();
        const uint32_t link = topology.Ports(node)[port].link;
        const double bytes = transfers.GetCarried(FlowRouter::DirectedLink(topology, link, node));
        const uint64_t rateBps = topology.links[link].rateBps;
        return ns3::LinkCounters{.rateBps = rateBps,
                                 .txBytes = static_cast<uint64_t>(std::llround(bytes)),
                                 .busyNs =
                                     std::min(bytes * 8e9 / static_cast<double>(rateBps), nowNs)};
    };
}

std::vector<LinkLoad>
FlowLevelBackend::GetLinkLoads() const
{
    return LinkLoadsOf(m_fabric->GetTopology(), CountersOfLinks(), m_use);
}

NetworkTotals
FlowLevelBackend::GetTotals() const
{
    NetworkTotals totals;
    totals.events = m_loop.GetEventCount();
    totals.flows = m_fabric->GetDelivered();
    totals.uncertainPs = m_fabric->GetTransfers().GetUncertainPs();
    if (m_background)
    {
        totals.backgroundFlows = m_background->GetFinished();
    }
    return totals;
}

NetworkDescription
FlowLevelBackend::Describe(double wallSeconds, std::size_t limit) const
{
    const double passed = static_cast<double>(std::max<TimePs>(m_loop.Now(), 1));
    const double uncertain =
        static_cast<double>(m_fabric->GetTransfers().GetUncertainPs()) / passed;
    return {
        fmt::format("{} flows in {:.2f} s ({:.2f} million/s), max-min fair; packets may differ for "
                    "{:.2g}% of the time, when messages met",
                    m_fabric->GetDelivered(),
                    wallSeconds,
                    static_cast<double>(m_fabric->GetDelivered()) / wallSeconds / 1e6,
                    100 * uncertain),
        m_fabric->DescribeCutOff(limit),
        m_fabric->DescribeReceives(limit),
        ns3::DescribeIdleChanges(m_conf, m_finishPs.value_or(m_loop.Now())),
        GetOutages()};
}

std::vector<ns3::LinkOutage>
FlowLevelBackend::GetOutages() const
{
    std::vector<ns3::LinkOutage> outages = ns3::FindOutages(m_conf, m_fabric->GetTopology());
    std::erase_if(outages, [this](const auto& outage) { return outage.fromPs > m_loop.Now(); });
    return outages;
}

TimePs
FlowLevelBackend::Now() const
{
    return m_loop.Now();
}

} // namespace AstraSim
