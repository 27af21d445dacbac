/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flows-run.h"

#include "base/input-path.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-driver.h"
#include "programs/frame/run-failures.h"
#include "programs/frame/run-results.h"
#include "programs/frame/thread-choice.h"
#include "programs/frame/thread-report.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"
#include "rdma-qbb/model/input/idle-keys.h"

#include "ns3/attribute-default.h"
#include "ns3/fabric-check.h"
#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"
#include "ns3/input-error.h"
#include "ns3/links-writer.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/qbb-simulator-impl.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

using namespace ns3;

namespace
{

constexpr std::size_t MAX_WAITS_OF_FLOWS = 20;

/// Replaces a path of the configuration by that of the file that was found, and prints it if it is
/// another. @param flag that overrides the path @param given value of the flag
void
Locate(Parameter<std::string>& path,
       const std::string& key,
       const std::string& flag,
       const std::string& given,
       const FabricConf& conf,
       bool quiet)
{
    if (!given.empty())
    {
        path = {given, flag + " " + given};
        return;
    }
    const std::string was = path.Look();
    path.Edit() = was.empty() ? "" : FindInput(was, conf.source);
    if (!quiet && !path.Look().empty() && path.Look() != was)
    {
        std::cout << key << " " << was << ": using " << path.Look() << "\n";
    }
}

/// @param[out] attributes the defaults that flags and the environment set
FabricConf
ReadConf(const FlowsOptions& options, std::vector<GivenAttribute>& attributes)
{
    FabricConf conf = options.conf.empty() ? FabricConf() : FabricConf::Read(options.conf);
    conf.SetFromFlags(options.keys);
    conf.Check();
    conf.Apply();
    attributes = ApplyNs3Overrides(options.ns3Flags);
    RefuseSetTwice(conf, attributes);
    Locate(conf.topologyFile, "TOPOLOGY_FILE", "-n", options.topology, conf, options.quiet);
    Locate(conf.flowFile, "FLOW_FILE", "-f", options.flows, conf, options.quiet);
    Locate(conf.traceFile, "TRACE_FILE", "", "", conf, options.quiet);
    if (conf.topologyFile->empty())
    {
        throw InputError(options.conf,
                         0,
                         "no topology: TOPOLOGY_FILE is missing or names no file",
                         "-n TOPOLOGY, or TOPOLOGY_FILE in the configuration");
    }
    return conf;
}

/// The part of run.json that is written before the run.
void
RecordInputs(RunRecord& record, const FlowsOptions& options, const FabricConf& conf)
{
    if (!conf.source.empty())
    {
        record.AddInput("configuration", conf.source);
    }
    record.AddInput("topology", conf.topologyFile);
    record.AddInput("flows", conf.flowFile);
    record.Set("seed", RngSeedManager::GetSeed());
    for (const auto& [key, value] : FabricConfValues(conf))
    {
        record.SetOption(key, value);
    }
    record.SetOption("ns3", options.ns3Flags);
}

/// @return where the flows are, if the configuration has them in a folder of the output directory:
/// a user of the HPCC simulator looks for that folder elsewhere
std::string
DescribeFlowsFolder(const FabricConf& conf, const std::string& output)
{
    const std::filesystem::path file =
        std::filesystem::path(*conf.fctOutputFile).lexically_normal();
    const bool isInside = file.is_relative() && file.has_parent_path() && *file.begin() != "..";
    return isInside ? ", flows in " + (std::filesystem::path(output) / file).string() : "";
}

void
PrintSummary(const FlowRunner& runner, const FabricTotals& totals, double wallSeconds)
{
    std::cout << runner.Finished() << " of " << runner.Announced() << " flows finished, "
              << runner.FinishedBytes() << " bytes, the last at " << runner.LastFinishPs() / 1000
              << " ns\n"
              << totals.packetHops << " packet-hops in " << wallSeconds << " s ("
              << static_cast<double>(totals.packetHops) / wallSeconds / 1e6 << " million/s)\n"
              << "pauses " << totals.pauses << ", buffer drops " << totals.bufferDrops
              << ", wire losses " << totals.wireLosses << ", route drops " << totals.routeDrops
              << ", dropped queues " << totals.flushed << ", timeouts " << totals.timeouts
              << ", retransmitted bytes " << totals.retransmittedBytes << "\n";
    std::cout << DescribeThreads();
    if (totals.trims)
    {
        std::cout << "trimmed " << totals.trims << " packets\n";
    }
    if (totals.outOfOrderPackets)
    {
        std::cout << "out of order " << totals.outOfOrderPackets << " packets, at most "
                  << totals.reorderBytes << " bytes ahead, NACKs " << totals.nacks << "\n";
    }
}

/// A run of flows, from options to results; one object per run.
class FlowsRun : public RunDriver
{
  public:
    explicit FlowsRun(const FlowsOptions& options)
        : RunDriver(options.limits),
          m_options(options),
          m_console(options.quiet)
    {
    }

    ~FlowsRun() override
    {
        Release();
        Simulator::Destroy();
    }

  private:
    bool ReadInputs() override;
    Output GetOutput() const override;
    void Build() override;
    void Start() override;
    void Simulate() override;
    int Report() override;
    void Interrupt() override;
    void Release() override;
    ProgressSample SampleProgress() override;
    ProgressMode GetProgressMode() const override;

    std::optional<StopCause> WhyUnfinished() const;
    int ReportUnfinished(const StopCause& cause);
    /// Print, and record, warnings about results that the user may not expect.
    void WarnOfTrouble(const FabricTotals& totals);

    const FlowsOptions& m_options;
    RunConsole m_console;
    FabricConf m_conf;
    std::vector<GivenAttribute> m_attributes; ///< defaults set by flags and the environment
    ClusterTopology m_topology;
    Ptr<RdmaFabric> m_fabric;
    std::unique_ptr<FabricMonitors> m_monitors;
    std::vector<QbbPcapCapture> m_captures;
    std::unique_ptr<FlowRunner> m_runner;
    std::unique_ptr<FabricCheck> m_check;              ///< null if nothing is checked
    RunFailures m_failures{[] { Simulator::Stop(); }}; ///< violations that checks found
    std::optional<LinkUse> m_use;
    std::optional<LinkUse> m_useHere; ///< traffic of this process's flows
    bool m_wasStopped{false};         ///< by a signal or a limit
    LinkCountersOf m_links;           ///< when the last flow was done
    EventId m_stop;                   ///< at SIMULATOR_STOP_TIME or --max-sim-time
    bool m_outOfTime{false};
    std::function<int64_t()> m_reached; ///< time, for any thread
};

bool
FlowsRun::ReadInputs()
{
    m_conf = ReadConf(m_options, m_attributes);
    if (m_options.limits.simulated)
    {
        int64_t& limit = m_conf.stopTimePs.Edit();
        limit = std::min(limit, *m_options.limits.simulated);
    }
    m_console.Warn(m_conf.warnings);
    m_topology = ClusterTopology::Read(m_conf.topologyFile, m_conf.gpusPerServer);
    m_console.Warn(m_topology.warnings);
    if (m_conf.flowFile->empty())
    {
        std::cerr << "warning: no flow file; there is nothing to simulate\n";
        return false;
    }
    return true;
}

RunDriver::Output
FlowsRun::GetOutput() const
{
    std::vector<std::string> results = FabricMonitors::FileNames(m_conf);
    if (!m_options.output.empty())
    {
        return {m_options.output, "", std::move(results)};
    }
    if (m_conf.topologyFile->empty())
    {
        return {};
    }
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    return {"results/" + stem(m_conf.flowFile) + "_" +
                std::filesystem::path(*m_conf.topologyFile).filename().string() +
                (m_options.conf.empty() ? "" : "_" + stem(m_options.conf)),
            "",
            std::move(results)};
}

void
FlowsRun::Build()
{
    RecordInputs(GetRecord(), m_options, m_conf);
    const FlowFileSummary summary = CheckFlowFile(m_conf.flowFile, m_topology);
    m_conf.warnings.insert(m_conf.warnings.end(), summary.warnings.begin(), summary.warnings.end());
    m_conf.CountLinkEventsAsFlowsDo(summary.firstStartPs);
    SetDefaultUnlessSet(
        {"ns3::SwitchMmu::LosslessMask", Create<UintegerValue>(summary.priorityMask)});
    std::vector<uint32_t> traceNodes;
    if (m_conf.enableTrace && !m_conf.traceFile->empty())
    {
        traceNodes = ReadTraceNodes(m_conf.traceFile, m_topology.nodeCount);
    }
    m_fabric = CreateObject<RdmaFabric>();
    const ThreadWatchers watchers{m_options.check,
                                  !m_options.pcap.empty(),
                                  !traceNodes.empty(),
                                  !m_conf.monitors->empty()};
    const ThreadObstacle triggers[] = {{summary.hasTriggers, "a connection matrix with triggers"}};
    if (!StaysWhole(triggers, m_options.threads.value_or(1), m_console))
    {
        if (const auto threads = ChooseThreads(m_options.threads, watchers, m_console))
        {
            m_fabric->SetThreads(*threads);
        }
    }
    m_fabric->Build(m_topology, m_conf);
    m_monitors = std::make_unique<FabricMonitors>(*m_fabric,
                                                  m_conf,
                                                  GetDirectory().Path(),
                                                  m_conf.warnings,
                                                  traceNodes);
    for (const std::string& port : m_options.pcap)
    {
        m_captures.push_back(QbbPcapHelper::Capture(*m_fabric, port, GetDirectory().Path()));
    }
    if (m_options.check)
    {
        m_check = std::make_unique<FabricCheck>(*m_fabric, [this](const std::string& what) {
            m_failures.Fail(what);
        });
    }
    m_console.Warn(m_conf.warnings);
    m_runner = std::make_unique<FlowRunner>(*m_fabric, m_conf.flowFile);
    m_use.emplace(m_topology);
    m_useHere.emplace(LinkUse::PartOf(*m_use));
    m_runner->CountIn(*m_useHere, 0);
    m_reached = WatchSimulator();
}

void
FlowsRun::Start()
{
    if (m_conf.stopTimePs != TIME_PS_MAX)
    {
        m_stop = Simulator::Schedule(PicoSeconds(m_conf.stopTimePs), [this] {
            m_outOfTime = true;
            Simulator::Stop();
        });
    }
    m_runner->Start([this] {
        m_links = CountersNow(*m_fabric, m_runner->LastFinishPs());
        m_monitors->StopSampling();
        m_runner->CloseConnections();
        if (!m_stop.IsExpired())
        {
            Simulator::Remove(m_stop); // cancelled, it would still move the clock
        }
    });
    std::vector<std::string> idle =
        DescribeIdle(m_conf, m_attributes, {"in this run", true, false});
    m_console.Warn(idle);
}

void
FlowsRun::Simulate()
{
    Simulator::Run();
    m_wasStopped = ns3::IsInAnyProcess(GetSupervisor().GetCause().has_value());
    if (m_check)
    {
        m_check->Finish(m_runner->Finished() == m_runner->Announced() &&
                        m_failures.GetFailures().empty());
    }
}

ProgressSample
FlowsRun::SampleProgress()
{
    return {m_reached(), m_runner->Finished(), m_runner->Announced(), "flows"};
}

ProgressMode
FlowsRun::GetProgressMode() const
{
    return m_options.quiet ? ProgressMode::Never : ProgressMode::Auto;
}

void
FlowsRun::Interrupt()
{
    StopSimulatorFromAnyThread();
}

void
FlowsRun::Release()
{
    // Users of the fabric go before it does.
    m_check.reset();
    m_runner.reset();
    m_captures.clear();
    m_monitors.reset();
}

std::optional<StopCause>
FlowsRun::WhyUnfinished() const
{
    if (m_runner->Finished() == m_runner->Announced())
    {
        return std::nullopt;
    }
    if (m_wasStopped)
    {
        return GetStopCause();
    }
    if (m_outOfTime)
    {
        const bool isFlag = m_options.limits.simulated == m_conf.stopTimePs;
        return StopCause{"stopped",
                         std::string("at ") + (isFlag ? "--max-sim-time" : "SIMULATOR_STOP_TIME"),
                         1};
    }
    return StopCause{"stuck",
                     m_fabric->GetPfcWatchdog().HasStoppedRun() ? "and the network is deadlocked"
                                                                : "and nothing is left to simulate",
                     1};
}

int
FlowsRun::ReportUnfinished(const StopCause& cause)
{
    std::cerr << m_runner->Announced() - m_runner->Finished() << " flows are not finished, "
              << cause.text << ":\n";
    std::vector<std::string> lines = m_fabric->GetPfcWatchdog().Describe(MAX_WAITS_OF_FLOWS);
    for (const auto& more : {m_runner->DescribeUnfinished(MAX_WAITS_OF_FLOWS),
                             ns3::LinesOfAllProcesses(m_fabric->DescribeCutOff())})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    PrintIndented(lines, lines.size());
    EndRecord(cause.status, cause.text);
    return cause.exitStatus;
}

void
FlowsRun::WarnOfTrouble(const FabricTotals& totals)
{
    const bool isDone = m_runner->Finished() == m_runner->Announced();
    std::vector<std::string> lines = m_fabric->DescribeTrouble(
        totals,
        isDone ? m_runner->LastFinishPs() : Simulator::Now().GetTimeStep());
    if (isDone)
    {
        const std::vector<std::string> watched = m_fabric->GetPfcWatchdog().Describe(10);
        lines.insert(lines.end(), watched.begin(), watched.end());
    }
    m_console.Warn(lines);
    GetRecord().Set("warnings", m_console.GetWarnings());
}

int
FlowsRun::Report()
{
    m_monitors->Finish();
    for (QbbPcapCapture& capture : m_captures)
    {
        capture.Finish();
    }
    m_use->Merge(*m_useHere);
    WriteLinks(m_topology,
               m_links ? m_links : CountersNow(*m_fabric, Simulator::Now().GetTimeStep()),
               *m_use,
               {"flows"},
               GetDirectory().Path("links.csv"));
    const FabricTotals totals = m_fabric->GetTotals();
    NetworkTotals results{totals, Simulator::GetEventCount(), std::nullopt};
    results.flows = m_runner->Finished();
    RunResults{m_runner->LastFinishPs(), GetWallSeconds(), results, std::nullopt}.WriteTo(
        GetRecord());
    WarnOfTrouble(totals);
    const std::vector<LinkOutage> outages = m_fabric->GetOutages();
    RecordOutages(GetRecord(), outages, true);
    if (!m_options.quiet)
    {
        PrintSummary(*m_runner, totals, GetWallSeconds());
        for (const LinkOutage& outage : outages)
        {
            std::cout << DescribeOutage(outage, true) << "\n";
        }
        std::cout << "results in " << GetDirectory().Path()
                  << DescribeFlowsFolder(m_conf, GetDirectory().Path()) << "\n";
    }
    if (!m_failures.GetFailures().empty())
    {
        return ReportFailures(m_failures.GetFailures());
    }
    if (const auto cause = WhyUnfinished())
    {
        return ReportUnfinished(*cause);
    }
    if (!totals.ConservesPayload())
    {
        std::cerr << "bytes are not conserved: sent " << totals.dataPayloadSent << ", received "
                  << totals.dataPayloadReceived << ", lost " << totals.payloadLost
                  << ", frames left " << totals.framesInUse << "\n";
        EndRecord("inconsistent");
        return 1;
    }
    EndRecord("finished");
    return 0;
}

} // namespace

int
RunFlows(const FlowsOptions& options)
{
    FlowsRun run(options);
    return run.Run();
}

} // namespace AstraSim
