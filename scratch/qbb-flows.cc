/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a list of flows over a topology, without collectives: the main job of the HPCC simulator.
 *
 *   qbb-flows -c SimAI.conf -n topology.txt -f flow.txt -o results/flows
 *   qbb-flows config.txt                          # topology and flows as the configuration says
 *
 * Exit status: 0 all flows finished, 1 some did not, 2 an input is wrong, 130 and 143 ended by
 * SIGINT and SIGTERM.
 */
#include "ns3/fabric-check.h"
#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"
#include "ns3/guarded-main.h"
#include "ns3/huge-pages.h"
#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/links-writer.h"
#include "ns3/ns3-flags.h"
#include "ns3/output-directory.h"
#include "ns3/pfc-watchdog.h"
#include "ns3/program-flags.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/run-check.h"
#include "ns3/run-record.h"
#include "ns3/run-supervisor.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

namespace po = boost::program_options;

/// What the command line asks for.
struct Options
{
    std::string conf;
    std::string topology;
    std::string flows;
    std::string output;
    std::vector<std::string> keys;
    std::vector<std::string> pcap;
    bool check{AstraSim::RunCheck::ALWAYS};
    bool quiet{false};
    bool help{false};
    bool helpConf{false};
    bool version{false};
    std::string printAttributes; ///< name of a class
    std::vector<std::string> ns3Flags;
    AstraSim::LimitFlags limits;
};

po::options_description
DescribeOptions(Options& options)
{
    po::options_description description("qbb-flows [CONF] [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("help-conf", po::bool_switch(&options.helpConf), "the keys of a configuration file");
    add("network-conf,c", po::value(&options.conf), "configuration file (SimAI.conf syntax)");
    add("network-topo,n", po::value(&options.topology), "topology file; else TOPOLOGY_FILE");
    add("flows,f", po::value(&options.flows), "flow file; else FLOW_FILE");
    add("output,o",
        po::value(&options.output),
        "output directory; else results/<flows>_<topology>");
    add("set", po::value(&options.keys)->composing(), "KEY=VALUE, wins over the file; may repeat");
    add("check",
        po::bool_switch(&options.check)->default_value(AstraSim::RunCheck::ALWAYS),
        "check throughout what must hold of every run, such as that no byte is lost unnoticed");
    add("pcap", po::value(&options.pcap)->composing(), "NODE:PORT to capture; may repeat");
    add("PrintAttributes",
        po::value(&options.printAttributes),
        "the attributes of a class of ns-3, such as ns3::RdmaDcqcn");
    options.limits.AddTo(description);
    add("version", po::bool_switch(&options.version), "the version of this program");
    add("quiet,q", po::bool_switch(&options.quiet), "print nothing but warnings and errors");
    return description;
}

Options
ParseCommandLine(int argc, char* argv[])
{
    Options options;
    const po::options_description description = DescribeOptions(options);
    po::variables_map values;
    for (const std::string& word :
         AstraSim::ReadFlags({argv + 1, argv + argc}, description, values))
    {
        if (!word.starts_with('-') && options.conf.empty())
        {
            options.conf = word;
        }
        else
        {
            options.ns3Flags.push_back(word);
        }
    }
    if (options.conf.empty() && !options.help && !options.helpConf && !options.version &&
        options.printAttributes.empty())
    {
        throw InputError("command line", 0, "no configuration file", "qbb-flows CONF or -c CONF");
    }
    return options;
}

/// Replaces a path of the configuration by that of the file it means, and says so if it is another.
std::string
Located(const std::string& key, const std::string& path, const FabricConf& conf, bool quiet)
{
    const std::string found = path.empty() ? "" : FindInput(path, conf.source);
    if (!quiet && !found.empty() && found != path)
    {
        std::cout << key << " " << path << ": using " << found << "\n";
    }
    return found;
}

FabricConf
ReadConf(const Options& options)
{
    FabricConf conf = FabricConf::Read(options.conf);
    for (const std::string& key : options.keys)
    {
        conf.Set(key, "--set " + key);
    }
    conf.Check();
    conf.Apply();
    ApplyNs3Environment();
    ApplyNs3Flags(options.ns3Flags);
    conf.topologyFile = options.topology.empty()
                            ? Located("TOPOLOGY_FILE", conf.topologyFile, conf, options.quiet)
                            : options.topology;
    conf.flowFile = options.flows.empty() ? Located("FLOW_FILE", conf.flowFile, conf, options.quiet)
                                          : options.flows;
    conf.traceFile = Located("TRACE_FILE", conf.traceFile, conf, options.quiet);
    if (conf.topologyFile.empty())
    {
        throw InputError(options.conf,
                         0,
                         "no topology: TOPOLOGY_FILE is missing or names no file",
                         "-n TOPOLOGY, or TOPOLOGY_FILE in the configuration");
    }
    return conf;
}

std::string
OutputPath(const Options& options, const FabricConf& conf)
{
    if (!options.output.empty())
    {
        return options.output;
    }
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    return "results/" + (conf.flowFile.empty() ? "no-flows" : stem(conf.flowFile)) + "_" +
           std::filesystem::path(conf.topologyFile).filename().string() + "_" + stem(options.conf);
}

/// What run.json says before the run.
void
RecordInputs(AstraSim::RunRecord& record, const Options& options, const FabricConf& conf)
{
    record.AddInput("configuration", conf.source);
    record.AddInput("topology", conf.topologyFile);
    record.AddInput("flows", conf.flowFile);
    record.Set("seed", RngSeedManager::GetSeed());
    for (const auto& [key, value] : FabricConfValues(conf))
    {
        record.SetOption(key, value);
    }
    record.SetOption("ns3", options.ns3Flags);
}

/// What run.json says of the run, with the names that SimAI_simulator uses.
void
RecordResults(AstraSim::RunRecord& record,
              const FlowRunner& runner,
              const FabricTotals& totals,
              const PfcWatchdog& watchdog,
              double wallSeconds)
{
    record.Set("simulated_ns", static_cast<double>(runner.LastFinishPs()) / 1000);
    record.Set("simulation_wall_s", wallSeconds);
    record.Set("events", Simulator::GetEventCount());
    record.Set("packets", totals.txFrames);
    record.Set("packet_hops", totals.packetHops);
    record.Set("drops", totals.Drops());
    record.Set("pauses", totals.pauses);
    record.Set("paused_ns", totals.pausedPs.ToPs() / 1000);
    record.Set("longest_pause_ns", static_cast<double>(watchdog.GetLongestPs()) / 1000);
    record.Set("pfc_storms", watchdog.GetStorms());
    record.Set("timeouts", totals.timeouts);
    record.Set("retransmitted_bytes", totals.retransmitted);
    record.Set("nacks", totals.nacks);
    record.Set("cnps", totals.cnps);
    record.Set("out_of_order_packets", totals.outOfOrderFrames);
    record.Set("reorder_bytes", totals.reorderBytes);
    record.Set("flows", runner.Finished());
}

void
PrintWarnings(std::vector<std::string>& warnings)
{
    for (const std::string& warning : warnings)
    {
        std::cerr << "warning: " << warning << "\n";
    }
    warnings.clear();
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
              << ", retransmitted bytes " << totals.retransmitted << "\n";
    if (totals.outOfOrderFrames)
    {
        std::cout << "out of order " << totals.outOfOrderFrames << " packets, at most "
                  << totals.reorderBytes << " bytes ahead, NACKs " << totals.nacks << "\n";
    }
}

/// Bytes sent = bytes received + bytes lost, once nothing is under way.
bool
BytesAreConserved(const FabricTotals& totals)
{
    return totals.dataPayloadSent == totals.dataPayloadReceived + totals.payloadLost &&
           totals.framesInUse == 0;
}

/// A run of flows, from options to results; one object per run.
class FlowsRun
{
  public:
    explicit FlowsRun(const Options& options)
        : m_options(options),
          m_limits(options.limits.Read()),
          m_supervisor(m_limits)
    {
    }

    ~FlowsRun()
    {
        // Users of the fabric go before it does.
        m_check.reset();
        m_runner.reset();
        m_monitors.reset();
        Simulator::Destroy();
    }

    int Run();

  private:
    std::vector<std::string> ResultNames() const;
    void Build();
    void Begin();
    void Refuse(const std::string& reason);
    void Simulate();
    void OnFailure(const std::string& what);
    int ReportFailures();
    int Report();
    std::optional<AstraSim::StopCause> WhyUnfinished() const;
    int ReportUnfinished(const AstraSim::StopCause& cause);
    void Write(const std::string& status);

    const Options& m_options;
    AstraSim::RunLimits m_limits;
    AstraSim::RunSupervisor m_supervisor;
    FabricConf m_conf;
    ClusterTopology m_topology;
    std::optional<OutputDirectory> m_directory;
    std::optional<AstraSim::RunRecord> m_record;
    Ptr<RdmaFabric> m_fabric;
    std::unique_ptr<FabricMonitors> m_monitors;
    std::vector<QbbPcapCapture> m_captures;
    std::unique_ptr<FlowRunner> m_runner;
    std::unique_ptr<FabricCheck> m_check; ///< null if nothing is checked
    std::vector<std::string> m_failures;  ///< of checks, the first of them
    std::optional<LinkUse> m_use;
    LinkCountersOf m_links; ///< when the last flow was done
    bool m_outOfTime{false};
    double m_wallSeconds{0};
};

std::vector<std::string>
FlowsRun::ResultNames() const
{
    return {m_conf.fctOutputFile,
            m_conf.pfcOutputFile,
            m_conf.qlenMonFile,
            m_conf.bwMonFile,
            m_conf.rateMonFile,
            m_conf.cnpMonFile,
            m_conf.traceOutputFile};
}

void
FlowsRun::Build()
{
    RecordInputs(*m_record, m_options, m_conf);
    const FlowFileSummary summary = CheckFlowFile(m_conf.flowFile, m_topology);
    std::vector<uint32_t> traceNodes;
    if (m_conf.enableTrace && !m_conf.traceFile.empty())
    {
        traceNodes = ReadTraceNodes(m_conf.traceFile, m_topology.nodeCount);
    }
    m_fabric = CreateObject<RdmaFabric>();
    m_fabric->SetLosslessMask(summary.priorityMask);
    m_fabric->Build(m_topology, m_conf);
    m_monitors = std::make_unique<FabricMonitors>(*m_fabric,
                                                  m_conf,
                                                  m_directory->Path(),
                                                  m_conf.warnings,
                                                  traceNodes);
    for (const std::string& port : m_options.pcap)
    {
        m_captures.push_back(QbbPcapHelper::Capture(*m_fabric, port, m_directory->Path()));
    }
    if (m_options.check)
    {
        m_check = std::make_unique<FabricCheck>(*m_fabric, [this](const std::string& what) {
            OnFailure(what);
        });
    }
    PrintWarnings(m_conf.warnings);
    m_runner = std::make_unique<FlowRunner>(*m_fabric, m_conf.flowFile);
    m_use.emplace(m_topology);
    m_runner->CountIn(*m_use, 0);
}

void
FlowsRun::Refuse(const std::string& reason)
{
    m_monitors.reset();
    m_captures.clear();
    m_directory->RemoveParts(ResultNames());
    const std::string path = m_directory->Path("run.json");
    if (!m_directory->HasRecord() || AstraSim::RunRecord::StatusOf(path) == "refused")
    {
        m_record->Set("reason", reason);
        m_record->Write("refused");
    }
}

void
FlowsRun::Begin()
{
    std::vector<std::string> names = ResultNames();
    const auto earlier = AstraSim::RunRecord::OutputsOf(m_directory->Path("run.json"));
    names.insert(names.end(), earlier.begin(), earlier.end());
    m_directory->RemoveEarlierResults(names);
    m_record->Write("running");
}

void
FlowsRun::Simulate()
{
    EventId stop;
    if (m_conf.stopTimePs != TIME_PS_MAX)
    {
        stop = Simulator::Schedule(PicoSeconds(m_conf.stopTimePs), [this] {
            m_outOfTime = true;
            Simulator::Stop();
        });
    }
    m_runner->Start([&] {
        m_links = CountersNow(*m_fabric);
        m_monitors->StopSampling();
        m_runner->CloseConnections();
        if (!stop.IsExpired())
        {
            Simulator::Remove(stop); // cancelled, it would still move the clock
        }
    });
    m_supervisor.Watch(&StopSimulatorFromAnyThread);
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    m_supervisor.EndWatch();
    m_wallSeconds = wall.count();
    if (m_check)
    {
        m_check->Finish(m_runner->Finished() == m_runner->Announced() && m_failures.empty());
    }
}

void
FlowsRun::OnFailure(const std::string& what)
{
    constexpr std::size_t MAX_FAILURES = 10;
    if (m_failures.empty())
    {
        Simulator::Stop();
    }
    if (m_failures.size() < MAX_FAILURES)
    {
        m_failures.push_back(what);
    }
}

int
FlowsRun::ReportFailures()
{
    for (const std::string& failure : m_failures)
    {
        std::cerr << "check failed: " << failure << "\n";
    }
    m_record->Set("reason", "check failed: " + m_failures.front());
    Write("failed");
    return 1;
}

std::optional<AstraSim::StopCause>
FlowsRun::WhyUnfinished() const
{
    if (m_runner->Finished() == m_runner->Announced())
    {
        return std::nullopt;
    }
    if (const auto cause = m_supervisor.GetCause())
    {
        return cause;
    }
    if (m_outOfTime)
    {
        const bool isFlag = m_limits.simulated == m_conf.stopTimePs;
        return AstraSim::StopCause{"stopped",
                                   std::string("at ") +
                                       (isFlag ? "--max-sim-time" : "SIMULATOR_STOP_TIME"),
                                   1};
    }
    return AstraSim::StopCause{"stuck",
                               m_fabric->GetPfcWatchdog().HasStoppedRun()
                                   ? "and the network is deadlocked"
                                   : "and nothing is left to simulate",
                               1};
}

int
FlowsRun::ReportUnfinished(const AstraSim::StopCause& cause)
{
    std::cerr << m_runner->Announced() - m_runner->Finished() << " flows are not finished, "
              << cause.text << ":\n";
    std::vector<std::string> lines = m_fabric->GetPfcWatchdog().Describe(20);
    for (const auto& more : {m_runner->DescribeUnfinished(20), m_fabric->DescribeCutOff()})
    {
        lines.insert(lines.end(), more.begin(), more.end());
    }
    for (const std::string& line : lines)
    {
        std::cerr << "  " << line << "\n";
    }
    m_record->Set("reason", cause.text);
    Write(cause.status);
    return cause.exitStatus;
}

void
FlowsRun::Write(const std::string& status)
{
    m_record->Set("outputs", m_directory->ListResults(ResultNames()));
    m_record->Write(status);
}

int
FlowsRun::Report()
{
    m_monitors->Finish();
    for (QbbPcapCapture& capture : m_captures)
    {
        capture.Finish();
    }
    WriteLinks(m_topology,
               m_links ? m_links : CountersNow(*m_fabric),
               *m_use,
               {"flows"},
               m_directory->Path("links.csv"));
    const FabricTotals totals = m_fabric->GetTotals();
    const PfcWatchdog& watchdog = m_fabric->GetPfcWatchdog();
    RecordResults(*m_record, *m_runner, totals, watchdog, m_wallSeconds);
    if (!m_options.quiet)
    {
        PrintSummary(*m_runner, totals, m_wallSeconds);
    }
    if (!m_failures.empty())
    {
        return ReportFailures();
    }
    if (const auto cause = WhyUnfinished())
    {
        return ReportUnfinished(*cause);
    }
    for (const std::string& line : watchdog.Describe(10))
    {
        std::cerr << "warning: " << line << "\n";
    }
    if (!BytesAreConserved(totals))
    {
        std::cerr << "bytes are not conserved: sent " << totals.dataPayloadSent << ", received "
                  << totals.dataPayloadReceived << ", lost " << totals.payloadLost
                  << ", frames left " << totals.framesInUse << "\n";
        Write("inconsistent");
        return 1;
    }
    Write("finished");
    return 0;
}

int
FlowsRun::Run()
{
    m_conf = ReadConf(m_options);
    if (m_limits.simulated)
    {
        m_conf.stopTimePs = std::min(m_conf.stopTimePs, *m_limits.simulated);
    }
    PrintWarnings(m_conf.warnings);
    m_topology = ClusterTopology::Read(m_conf.topologyFile, m_conf.gpusPerServer);
    PrintWarnings(m_topology.warnings);
    if (m_conf.flowFile.empty())
    {
        std::cerr << "warning: no flow file; there is nothing to simulate\n";
        return 0;
    }
    m_directory.emplace(OutputPath(m_options, m_conf));
    m_directory->RemoveParts(ResultNames());
    m_record.emplace(m_directory->Path("run.json"));
    try
    {
        Build();
    }
    catch (const InputError& error)
    {
        Refuse(error.what());
        throw;
    }
    Begin();
    try
    {
        Simulate();
        return Report();
    }
    catch (const InputError& error)
    {
        m_supervisor.EndWatch();
        m_record->Set("reason", error.what());
        m_record->Write("failed"); // a flow file may break far in, a disk may fill
        throw;
    }
    catch (const std::bad_alloc&)
    {
        m_supervisor.EndWatch();
        m_record->Set("reason", AstraSim::DescribeOutOfMemory());
        m_record->Write("failed");
        throw;
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    return AstraSim::GuardedMain([&] {
        // Before anything makes a Time or schedules an event.
        Time::SetResolution(Time::PS);
        UseHugePages();
        UseFastSimulator();
        const Options options = ParseCommandLine(argc, argv);
        if (options.help)
        {
            Options unused;
            std::cout << DescribeOptions(unused) << AstraSim::SPELLING_NOTE
                      << "\nAny ns-3 attribute default or global value is a flag too:\n"
                         "  --ns3::RdmaHw::DataOverhead=52 --RngRun=3\n";
            return 0;
        }
        if (options.version)
        {
            std::cout << "qbb-flows " << AstraSim::ProgramVersion() << "\n";
            return 0;
        }
        if (!options.printAttributes.empty())
        {
            std::cout << AttributesHelp(options.printAttributes);
            return 0;
        }
        if (options.helpConf)
        {
            std::cout << FabricConfHelp();
            return 0;
        }
        return FlowsRun(options).Run();
    });
}
