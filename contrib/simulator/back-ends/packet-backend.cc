/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/packet/astra-sim-network.h"
#include "collectives/model/collective/traffic-purpose.h"
#include "networks.h"
#include "programs/frame/ns3-flags.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"
#include "simulator/inputs/run-inputs.h"

#include "ns3/clock-range.h"
#include "ns3/event-id.h"
#include "ns3/fabric-check.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"
#include "ns3/nstime.h"
#include "ns3/ptr.h"
#include "ns3/qbb-mail.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/qbb-processes.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

using ns3::FabricConf;
using ns3::Simulator;

namespace
{

/// Totals of this process.
struct OwnTotals
{
    uint64_t events{0};
    uint64_t flows{0};
};

/**
 * @ingroup simulator
 * @brief Every packet simulated: an RdmaFabric with its monitors, and flows beside the workloads.
 *
 * Runs ns-3's Simulator; there can be one at a time.
 */
class PacketBackend : public SimulationBackend
{
  public:
    PacketBackend(const RunOptions& options,
                  const RunInputs& inputs,
                  const BackgroundFlows& background,
                  std::string output,
                  std::optional<uint32_t> threads,
                  std::vector<std::string>& warnings)
        : m_conf(inputs.conf),
          m_output(std::move(output)),
          m_use(inputs.topology),
          m_isDivided(threads.has_value()),
          m_backgroundUse(ns3::LinkUse::PartOf(m_use))
    {
        m_fabric = ns3::CreateObject<ns3::RdmaFabric>();
        m_fabric->SetThreads(threads.value_or(0));
        m_fabric->Build(inputs.topology, m_conf);
        WaitAsNcclDoes(options.nccl.GetPatience());
        if (!background.file.empty())
        {
            m_background = std::make_unique<ns3::FlowRunner>(*m_fabric, background.file);
            m_background->CountIn(m_isDivided ? m_backgroundUse : m_use, BACKGROUND_PURPOSE);
        }
        MakeNetworks();
        SetCapabilities();
        m_reached = ns3::WatchSimulator();
        if (!m_output.empty())
        {
            m_monitors = std::make_unique<ns3::FabricMonitors>(*m_fabric,
                                                               m_conf,
                                                               m_output,
                                                               m_conf.warnings,
                                                               inputs.traceNodes);
        }
        warnings.insert(warnings.end(), m_conf.warnings.begin(), m_conf.warnings.end());
        for (const std::string& port : options.pcap)
        {
            m_captures.push_back(ns3::QbbPcapHelper::Capture(*m_fabric, port, m_output));
        }
        if (m_conf.stopTimePs != ns3::TIME_PS_MAX)
        {
            m_stop = Simulator::Schedule(ns3::PicoSeconds(m_conf.stopTimePs), [this] {
                m_outOfTime = true;
                Simulator::Stop();
            });
        }
    }

    ~PacketBackend() override
    {
        // Users of the fabric go before it does.
        m_check.reset();
        m_background.reset();
        m_monitors.reset();
        m_networks.clear();
        Simulator::Destroy();
        m_engines.clear();
        m_fabric->Dispose();
    }

    RankNetwork& GetNetwork(int rank) override
    {
        return NetworkOf(rank).GetNetwork(rank);
    }

    SimulationEnd Run() override
    {
        if (m_background)
        {
            m_background->Start([this] { m_background->CloseConnections(); });
        }
        Simulator::Run();
        m_interrupted = ns3::IsInAnyProcess(m_interrupted);
        m_drained = !m_stoppedEarly && !m_outOfTime && !m_interrupted &&
                    !m_fabric->GetPfcWatchdog().HasStoppedRun();
        if (m_fabric->GetPfcWatchdog().HasStoppedRun())
        {
            return SimulationEnd::Deadlock;
        }
        return m_outOfTime     ? SimulationEnd::OutOfTime
               : m_interrupted ? SimulationEnd::Interrupted
                               : SimulationEnd::Drained;
    }

    void Interrupt() override
    {
        m_interrupted = true;
        ns3::StopSimulatorFromAnyThread();
    }

    NetworkTotals GetTotals() const override
    {
        NetworkTotals totals{m_fabric->GetTotals(), 0, std::nullopt};
        OwnTotals own;
        own.events = Simulator::GetEventCount();
        for (const auto& network : m_networks)
        {
            own.flows += network->GetDelivered();
        }
        for (const OwnTotals& each : ns3::ValueOfAllProcesses(own))
        {
            totals.events += each.events;
            totals.flows += each.flows;
        }
        if (m_background)
        {
            totals.backgroundFlows = m_background->Finished();
        }
        return totals;
    }

    std::vector<LinkLoad> GetLinkLoads() const override
    {
        const ns3::ClusterTopology& topology = m_fabric->GetTopology();
        return LinkLoadsOf(topology, m_links ? m_links : ns3::CountersNow(*m_fabric, Now()), m_use);
    }

    NetworkDescription Describe(double wallSeconds, std::size_t limit) const override
    {
        const NetworkTotals totals = GetTotals();
        return {fmt::format("{} flows, {} packet-hops in {:.2f} s ({:.2f} million/s), "
                            "{} pauses, {} drops",
                            totals.flows,
                            totals.packetHops,
                            wallSeconds,
                            static_cast<double>(totals.packetHops) / wallSeconds / 1e6,
                            totals.pauses,
                            totals.drops),
                DescribeObstacles(limit),
                DescribeWaits(limit),
                m_fabric->DescribeTrouble(m_fabric->GetTotals(), m_finishPs.value_or(Now())),
                m_fabric->GetOutages()};
    }

    TimePs Now() const override
    {
        return Simulator::Now().GetPicoSeconds();
    }

    TimePs GetReached() const override
    {
        return m_reached();
    }

  private:
    /// Set the capabilities that only some networks have.
    void SetCapabilities()
    {
        m_can.keepTrees = KeepTreesOf(m_fabric->GetInNetworkPlanner());
        if (m_isDivided)
        {
            const auto nodeOf = [this](int rank) {
                return m_fabric->GetTopology().NodeOfHost(static_cast<uint32_t>(rank));
            };
            m_can.divided = {
                [this, nodeOf](int rank) {
                    return m_fabric->GetPartitions().partitionOf[nodeOf(rank)];
                },
                [this, nodeOf](int rank) { return m_fabric->IsHere(nodeOf(rank)); },
                [] { ns3::QbbSimulatorImpl::Get()->RunUndivided(); },
            };
        }
        m_can.copyable = {[this] { RunInitialEvents(); }, [this] { m_monitors.reset(); }};
        m_can.quietBytes = [this](uint32_t node, uint16_t port) {
            const ns3::SwitchNode* there = m_fabric->GetSwitch(node);
            return there ? static_cast<double>(there->GetMmu()->QuietBytes(port))
                         : std::numeric_limits<double>::infinity();
        };
        m_can.engines = {
            [this](const CollectiveEngine::Kind& kind) -> CollectiveEngine& {
                return EngineOf(kind);
            },
            [this] { return CountChecked(); },
        };
        m_can.startChecks = [this](Report report) {
            m_report = report;
            m_check = std::make_unique<ns3::FabricCheck>(*m_fabric, std::move(report));
        };
        m_can.finishWorkloads = [this] { FinishWorkloads(); };
        m_can.finish = [this] { Finish(); };
    }

    void RunInitialEvents()
    {
        if (m_isDivided)
        {
            return; // partitions have events of their own, on threads
        }
        Simulator::ScheduleNow([] { Simulator::Stop(); }); // stops after all events of this moment
        Simulator::Run();
        if (m_interrupted)
        {
            ns3::StopSimulatorFromAnyThread(); // the interrupt was meant for the main Run()
        }
    }

    CollectiveEngine& EngineOf(const CollectiveEngine::Kind& kind)
    {
        auto& engine = m_engines[&kind];
        if (!engine)
        {
            engine = kind.MakeOn(*m_fabric, m_report);
        }
        return *engine;
    }

    /// @return collectives with checked results, of all engines
    uint64_t CountChecked() const
    {
        uint64_t checked = 0;
        for (const auto& [kind, engine] : m_engines)
        {
            checked += engine->GetChecked();
        }
        return checked;
    }

    void FinishWorkloads()
    {
        m_finishPs = Now() - ns3::QbbMail::GetDelayPs(); // the last rank's end is known a mail's
                                                         // delay later
        // Nothing of interest follows: let the event list drain, unless flows go on beside.
        if (m_background && m_background->Finished() < m_background->Announced())
        {
            m_stoppedEarly = true;
            Simulator::Stop();
        }
        if (m_monitors)
        {
            m_monitors->StopSampling();
        }
        if (!m_stop.IsExpired())
        {
            Simulator::Remove(m_stop);
        }
        m_links = ns3::CountersNow(*m_fabric, Now());
    }

    void Finish()
    {
        if (m_check)
        {
            m_check->Finish(m_drained);
        }
        MergeUse();
        if (!m_monitors)
        {
            return;
        }
        m_monitors->Finish();
        for (ns3::QbbPcapCapture& capture : m_captures)
        {
            capture.Finish();
        }
        ns3::WriteLinks(m_fabric->GetTopology(),
                        m_links ? m_links : ns3::CountersNow(*m_fabric, Now()),
                        m_use,
                        TrafficPurposeNames(),
                        m_output + "/links.csv");
    }

    std::vector<std::string> DescribeObstacles(std::size_t limit) const
    {
        std::vector<std::string> lines = m_fabric->GetPfcWatchdog().Describe(limit / 2);
        std::vector<std::string> pending;
        for (const auto& network : m_networks)
        {
            std::ranges::move(network->DescribePending(), std::back_inserter(pending));
        }
        std::ranges::move(ns3::LinesOfAllProcesses(std::move(pending)), std::back_inserter(lines));
        const auto cutOff = ns3::LinesOfAllProcesses(m_fabric->DescribeCutOff());
        lines.insert(lines.end(), cutOff.begin(), cutOff.end());
        if (lines.size() > limit)
        {
            const std::size_t more = lines.size() - limit;
            lines.resize(limit);
            lines.push_back("and " + std::to_string(more) + " more without a path");
        }
        return lines;
    }

    std::vector<std::string> DescribeWaits(std::size_t limit) const
    {
        std::vector<std::string> lines;
        for (const auto& network : m_networks)
        {
            for (std::string& line : network->DescribeReceives(limit - lines.size()))
            {
                lines.push_back(std::move(line));
            }
        }
        lines = ns3::LinesOfAllProcesses(std::move(lines));
        lines.resize(std::min(lines.size(), limit));
        return lines;
    }

    /// Where a link comes back, NICs must not have given up before NCCL's would.
    void WaitAsNcclDoes(TimePs patience)
    {
        if (std::ranges::none_of(m_conf.linkEvents, [](const ns3::LinkEvent& event) {
                return event.up && event.IsOfState();
            }))
        {
            return;
        }
        for (uint32_t host = 0; host < m_fabric->GetTopology().hostCount; ++host)
        {
            ns3::TimeValue own;
            m_fabric->GetHw(host).GetAttribute("GiveUpTime", own);
            if (own.Get().IsZero())
            {
                m_fabric->GetHw(host).SetAttribute("GiveUpTime",
                                                   ns3::TimeValue(ns3::PicoSeconds(patience)));
            }
        }
    }

    /// Make the networks of the ranks: one, or, in a divided run, one per server.
    void MakeNetworks()
    {
        if (!m_isDivided)
        {
            m_networks.push_back(std::make_unique<AstraSimFabric>(*m_fabric));
            m_networks.front()->CountIn(m_use);
            return;
        }
        const uint32_t servers = m_fabric->GetTopology().ServerCount();
        m_networks.reserve(servers);
        m_parts.reserve(servers);
        for (uint32_t server = 0; server < servers; ++server)
        {
            m_parts.push_back(ns3::LinkUse::PartOf(m_use));
            m_networks.push_back(std::make_unique<AstraSimFabric>(*m_fabric, server, m_networks));
            m_networks.back()->CountIn(m_parts.back());
        }
    }

    /// Merge the message counts of all parts.
    void MergeUse()
    {
        m_use.Merge(m_backgroundUse);
        for (const ns3::LinkUse& part : m_parts)
        {
            m_use.Merge(part); // of a server that another process runs: empty
        }
    }

    /// @return the network of a rank
    AstraSimFabric& NetworkOf(int rank) const
    {
        const uint32_t server = m_fabric->GetTopology().Server(static_cast<uint32_t>(rank));
        return *m_networks[m_isDivided ? server : 0];
    }

    ns3::FabricConf m_conf; ///< the fabric refers to it
    std::string m_output;
    ns3::Ptr<ns3::RdmaFabric> m_fabric;
    ns3::LinkUse m_use;
    bool m_isDivided;
    std::vector<std::unique_ptr<AstraSimFabric>> m_networks;
    std::vector<ns3::LinkUse> m_parts; ///< of m_use, by server; empty if the run is not divided
    ns3::LinkUse m_backgroundUse;      ///< of flows beside the workloads, in a divided run
    std::map<const CollectiveEngine::Kind*, std::unique_ptr<CollectiveEngine>> m_engines;
    Report m_report;                               ///< of checks; empty if nothing is checked
    std::unique_ptr<ns3::FlowRunner> m_background; ///< null without flows beside the workloads
    std::unique_ptr<ns3::FabricMonitors> m_monitors;
    std::unique_ptr<ns3::FabricCheck> m_check; ///< null if nothing is checked
    ns3::EventId m_stop;
    std::function<int64_t()> m_reached; ///< time, for any thread
    ns3::LinkCountersOf m_links;        ///< when the last workload was done
    std::optional<TimePs> m_finishPs;   ///< when the workloads were done
    bool m_outOfTime{false};
    bool m_stoppedEarly{false}; ///< flows beside the workloads go on
    bool m_drained{false};      ///< Run() has left nothing to simulate
    std::atomic<bool> m_interrupted{false};
    std::vector<ns3::QbbPcapCapture> m_captures;
};

} // namespace

std::unique_ptr<SimulationBackend>
MakePacketNetwork(const RunOptions& options,
                  const RunInputs& inputs,
                  const BackgroundFlows& background,
                  const std::string& output,
                  std::optional<uint32_t> threads,
                  std::vector<std::string>& warnings)
{
    return std::make_unique<PacketBackend>(options, inputs, background, output, threads, warnings);
}

} // namespace AstraSim
