/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/flow/flow-level-network.h"
#include "collectives/model/collective/traffic-purpose.h"
#include "flow-level-check.h"
#include "networks.h"
#include "rdma-qbb/model/routing/routing-policy-factory.h"
#include "simulator/inputs/run-inputs.h"

#include "ns3/attribute-default.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/event-loop.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/fct-writer.h"
#include "ns3/flow-file.h"
#include "ns3/input-error.h"
#include "ns3/link-changes.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"
#include "ns3/nstime.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

using ns3::FabricConf;

namespace
{

/// Runs the flows of a file over a FlowLevelFabric, each from its start time.
class FlowLevelBackground
{
  public:
    /// @param loop,fabric outlive the object @param path flow file
    FlowLevelBackground(EventLoop& loop, FlowLevelFabric& fabric, const std::string& path)
        : m_loop(loop),
          m_fabric(fabric),
          m_file(path, fabric.GetTopology())
    {
    }

    /// Schedule the flows.
    void Start()
    {
        m_next = m_file.Next();
        ScheduleNext();
    }

    /// @return flows that are complete at their senders
    uint64_t GetFinished() const
    {
        return m_finished;
    }

    /// @return whether all flows of the file are complete
    bool IsDone() const
    {
        return m_finished >= m_file.Count();
    }

  private:
    void ScheduleNext()
    {
        if (m_next)
        {
            m_loop.Schedule(
                m_next->startPs - m_loop.Now(),
                [](void* self) { static_cast<FlowLevelBackground*>(self)->StartDueFlows(); },
                this);
        }
    }

    void StartDueFlows()
    {
        const MessageHandler done = [](void* self) {
            ++static_cast<FlowLevelBackground*>(self)->m_finished;
        };
        while (m_next && m_next->startPs <= m_loop.Now())
        {
            m_fabric.StartBackground({m_next->src,
                                      m_next->dst,
                                      m_next->bytes,
                                      m_next->priority,
                                      m_next->dport,
                                      done,
                                      this});
            m_next = m_file.Next();
        }
        ScheduleNext();
    }

    EventLoop& m_loop;
    FlowLevelFabric& m_fabric;
    ns3::FlowFile m_file;
    std::optional<ns3::FlowRecord> m_next;
    uint64_t m_finished{0};
};

using ns3::AttributeDefault;
using ns3::LookAtDefault;

void
WarnOfNoEffect(const RunInputs& inputs, std::vector<std::string>& warnings)
{
    const auto& links = inputs.topology.links;
    const bool losses =
        AttributeDefault<ns3::DoubleValue>("ns3::RdmaFabric::ErrorRatePerLink") > 0 ||
        std::ranges::any_of(links, [](const auto& link) { return link.errorRate > 0; });
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

/**
 * @ingroup simulator
 * @brief No packets: messages share the links of their paths max-min fairly (see FlowLevelFabric).
 *
 * Frame sizes, ECMP seed and route update delay come from the same configuration and ns-3
 * attributes as those of packets. Writes fct.txt and links.csv.
 */
class FlowLevelBackend : public SimulationBackend
{
  public:
    FlowLevelBackend(const RunOptions& options,
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
            m_background =
                std::make_unique<FlowLevelBackground>(m_loop, *m_fabric, background.file);
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

    RankNetwork& GetNetwork(int rank) override
    {
        return m_fabric->GetNetwork(rank);
    }

    SimulationEnd Run() override
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

    void Interrupt() override
    {
        m_loop.Interrupt();
    }

    NetworkTotals GetTotals() const override
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

    std::vector<LinkLoad> GetLinkLoads() const override
    {
        return LinkLoadsOf(m_fabric->GetTopology(), CountersOfLinks(), m_use);
    }

    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override
    {
        const double passed = static_cast<double>(std::max<TimePs>(m_loop.Now(), 1));
        const double uncertain =
            static_cast<double>(m_fabric->GetTransfers().GetUncertainPs()) / passed;
        return {fmt::format(
                    "{} flows in {:.2f} s ({:.2f} million/s), max-min fair; packets may differ for "
                    "{:.2g}% of the time, when messages met",
                    m_fabric->GetDelivered(),
                    wallSeconds,
                    static_cast<double>(m_fabric->GetDelivered()) / wallSeconds / 1e6,
                    100 * uncertain),
                m_fabric->DescribeCutOff(limit),
                m_fabric->DescribeReceives(limit),
                DescribeTrouble(),
                GetOutages()};
    }

    TimePs Now() const override
    {
        return m_loop.Now();
    }

    TimePs GetReached() const override
    {
        return m_loop.GetReached();
    }

  private:
    /// Set the capabilities that only some networks have.
    void SetCapabilities()
    {
        m_can.keepTrees = KeepTreesOf(m_fabric->GetInNetworkPlanner());
        m_can.makeUnused = [this] { return m_fabric->MakeUnused(m_limit); };
        m_can.live = {[this](TimePs from, const std::function<void()>& begin) {
                          m_fabric->CatchUp(from, begin);
                      },
                      [this](int src, int dst) { m_fabric->ForgetConnections(src, dst); },
                      [this] { m_fabric->Unwatch(); }};
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

    std::vector<std::string> DescribeTrouble() const
    {
        std::vector<std::string> lines =
            ns3::DescribeIdleChanges(m_conf, m_finishPs.value_or(m_loop.Now()));
        m_fabric->GetInNetworkPlanner().DescribeRefusals(lines);
        return lines;
    }

    void FinishWorkloads()
    {
        m_finishPs = m_loop.Now();
        if (m_background && !m_background->IsDone())
        {
            m_loop.Stop();
        }
    }

    void Finish()
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

    void WriteMessage(const FlowLevelRecord& record)
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

    ns3::LinkCountersOf CountersOfLinks() const
    {
        FluidTransfers& transfers = m_fabric->GetTransfers();
        transfers.UpdateCarried();
        const double nowNs = static_cast<double>(m_loop.Now()) / 1000;
        return [this, &transfers, nowNs](uint32_t node, uint16_t port) {
            const ns3::ClusterTopology& topology = m_fabric->GetTopology();
            const uint32_t link = topology.Ports(node)[port].link;
            const double bytes =
                transfers.GetCarried(FlowRouter::DirectedLink(topology, link, node));
            const uint64_t rateBps = topology.links[link].rateBps;
            return ns3::LinkCounters{
                .rateBps = rateBps,
                .txBytes = static_cast<uint64_t>(std::llround(bytes)),
                .busyNs = std::min(bytes * 8e9 / static_cast<double>(rateBps), nowNs)};
        };
    }

    std::vector<ns3::LinkOutage> GetOutages() const
    {
        std::vector<ns3::LinkOutage> outages = ns3::FindOutages(m_conf, m_fabric->GetTopology());
        std::erase_if(outages, [this](const auto& outage) { return outage.fromPs > m_loop.Now(); });
        return outages;
    }

    ns3::FabricConf m_conf;
    TimePs m_limit; ///< ns3::TIME_PS_MAX: none
    std::string m_output;
    ns3::LinkUse m_use;
    EventLoop m_loop;
    std::unique_ptr<FlowLevelFabric> m_fabric;
    std::unique_ptr<FlowLevelBackground> m_background; ///< null without flows beside the workloads
    std::unique_ptr<FlowLevelCheck> m_check;           ///< null if nothing is checked
    std::unique_ptr<ns3::FctWriter> m_fct;
    FlowLevelCheck::Overhead m_overhead;
    bool m_drained{false};            ///< nothing was left to simulate
    std::optional<TimePs> m_finishPs; ///< when the workloads were done
};

} // namespace

namespace
{

constexpr const char* REDUCES = "ns3::RdmaFabric::InNetworkReduction";
constexpr const char* TREES = "ns3::RdmaFabric::InNetworkTrees";
constexpr const char* OPERATIONS = "ns3::RdmaFabric::InNetworkOperations";

/// Say what network switches do.
void
SetReductions(FlowLevelConfig& config, const ns3::ClusterTopology& topology)
{
    const auto numberOf = [](const char* name) {
        return static_cast<uint32_t>(LookAtDefault<ns3::UintegerValue>(name));
    };
    config.inNetwork = {LookAtDefault<ns3::BooleanValue>(REDUCES), numberOf(TREES)};
    config.inNetworkOperations = numberOf(OPERATIONS);
    const double error = LookAtDefault<ns3::DoubleValue>("ns3::RdmaFabric::ErrorRatePerLink");
    const bool retries = LookAtDefault<ns3::BooleanValue>("ns3::QbbChannel::LinkRetry");
    config.losesFrames = [&topology, error, retries](uint32_t link) {
        return !topology.IsNvLink(link) && !retries && topology.links[link].errorRate + error > 0;
    };
}

} // namespace

void
CountReductionsAsRead()
{
    for (const char* read : {REDUCES, TREES, OPERATIONS})
    {
        ns3::ReadDefault(read);
    }
}

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
    ns3::ReadDefault("ns3::UecTransport::Ordered"); // the transport asks it which paths it takes
    config.pathUse = ns3::PathUseOf(routing);
    if (config.pathUse == ns3::PathUse::All)
    {
        const bool everywhere = ns3::TransportSpreadsFrames();
        for (uint32_t node = 0; node < routing.size(); ++node)
        {
            config.spreading.push_back(
                everywhere ? topology.Is(node, ns3::ClusterTopology::NodeKind::Switch)
                           : ns3::ReordersFrames(routing[node]));
        }
    }
    config.ecmpSeed =
        static_cast<uint32_t>(AttributeDefault<ns3::UintegerValue>("ns3::SwitchNode::EcmpSeed"));
    config.routeUpdateDelay =
        AttributeDefault<ns3::TimeValue>("ns3::RdmaFabric::RouteUpdateDelay").GetPicoSeconds();
    config.linkChanges = ns3::FindLinkChanges(conf, topology);
    SetReductions(config, topology);
    return config;
}

KeepTrees
KeepTreesOf(ns3::InNetworkPlanner& planner)
{
    if (LookAtDefault<ns3::UintegerValue>(TREES) == 0)
    {
        return {};
    }
    return [&planner](const std::vector<ReducingGroup>& groups) {
        std::vector<ns3::InNetworkPlanner::Group> asked;
        for (const ReducingGroup& group : groups)
        {
            asked.push_back({{group.ranks.begin(), group.ranks.end()}, group.channel});
        }
        return planner.Reserve(asked);
    };
}

std::unique_ptr<SimulationBackend>
MakeFlowNetwork(const RunOptions& options,
                const RunInputs& inputs,
                const BackgroundFlows& background,
                const std::string& output,
                std::vector<std::string>& warnings)
{
    return std::make_unique<FlowLevelBackend>(options, inputs, background, output, warnings);
}

} // namespace AstraSim
