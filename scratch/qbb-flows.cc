/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a list of flows over a topology, without collectives: the main job of the HPCC simulator.
 *
 *   qbb-flows -c SimAI.conf -n topology.txt -f flow.txt -o results/flows
 *   qbb-flows config.txt                          # topology and flows as the configuration says
 *
 * Exit status: 0 all flows finished, 1 some did not, 2 an input is wrong.
 */
#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-runner.h"
#include "ns3/huge-pages.h"
#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/links-writer.h"
#include "ns3/ns3-flags.h"
#include "ns3/pfc-watchdog.h"
#include "ns3/program-flags.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/run-record.h"
#include "ns3/simulator.h"

#include <boost/program_options.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>
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
    bool quiet{false};
    bool help{false};
    bool helpConf{false};
    bool version{false};
    std::string printAttributes; ///< name of a class
    std::vector<std::string> ns3Flags;
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
    add("pcap", po::value(&options.pcap)->composing(), "NODE:PORT to capture; may repeat");
    add("PrintAttributes",
        po::value(&options.printAttributes),
        "the attributes of a class of ns-3, such as ns3::RdmaDcqcn");
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
        conf.Set(key, "command line");
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
OutputDirectory(const Options& options, const FabricConf& conf)
{
    if (!options.output.empty())
    {
        return options.output;
    }
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    return "results/" + (conf.flowFile.empty() ? "no-flows" : stem(conf.flowFile)) + "_" +
           std::filesystem::path(conf.topologyFile).filename().string();
}

/// run.json as it stands before the run.
AstraSim::RunRecord
BeginRecord(const Options& options, const FabricConf& conf, const std::string& directory)
{
    AstraSim::RunRecord record(directory + "/run.json");
    record.AddInput("configuration", conf.source);
    record.AddInput("topology", conf.topologyFile);
    record.AddInput("flows", conf.flowFile);
    record.Set("seed", RngSeedManager::GetSeed());
    for (const auto& [key, value] : FabricConfValues(conf))
    {
        record.SetOption(key, value);
    }
    record.SetOption("ns3", options.ns3Flags);
    return record;
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
    record.Set("paused_ns", static_cast<double>(totals.pausedPs) / 1000);
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

int
Run(const Options& options)
{
    FabricConf conf = ReadConf(options);
    PrintWarnings(conf.warnings);
    ClusterTopology topology = ClusterTopology::Read(conf.topologyFile, conf.gpusPerServer);
    PrintWarnings(topology.warnings);
    if (conf.flowFile.empty())
    {
        std::cerr << "warning: no flow file; there is nothing to simulate\n";
        return 0;
    }
    const FlowFileSummary summary = CheckFlowFile(conf.flowFile, topology);
    std::vector<uint32_t> traceNodes;
    if (conf.enableTrace && !conf.traceFile.empty())
    {
        traceNodes = ReadTraceNodes(conf.traceFile, topology.nodeCount);
    }

    Ptr<RdmaFabric> fabric = CreateObject<RdmaFabric>();
    fabric->SetLosslessMask(summary.priorityMask);
    fabric->Build(topology, conf);
    const std::string output = OutputDirectory(options, conf);
    FabricMonitors monitors(*fabric, conf, output, conf.warnings, traceNodes);
    AstraSim::RunRecord record = BeginRecord(options, conf, output);
    for (const std::string& port : options.pcap)
    {
        QbbPcapHelper::Capture(*fabric, port, output);
    }
    PrintWarnings(conf.warnings);
    FlowRunner runner(*fabric, conf.flowFile);
    LinkUse use(topology);
    runner.CountIn(use, 0);

    bool outOfTime = false;
    EventId stop;
    if (conf.stopTimePs != TIME_PS_MAX)
    {
        stop = Simulator::Schedule(PicoSeconds(conf.stopTimePs), [&outOfTime] {
            outOfTime = true;
            Simulator::Stop();
        });
    }
    runner.Start([&] {
        monitors.StopSampling();
        runner.CloseConnections();
        if (!stop.IsExpired())
        {
            Simulator::Remove(stop); // cancelled, it would still move the clock
        }
    });
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    monitors.Finish();
    WriteLinks(topology, CountersOf(*fabric), use, {"flows"}, output + "/links.csv");

    const FabricTotals totals = fabric->GetTotals();
    const PfcWatchdog& watchdog = fabric->GetPfcWatchdog();
    RecordResults(record, runner, totals, watchdog, wall.count());
    if (!options.quiet)
    {
        PrintSummary(runner, totals, wall.count());
    }
    if (runner.Finished() < runner.Announced())
    {
        std::cerr << runner.Announced() - runner.Finished() << " flows are not finished"
                  << (outOfTime                  ? " at SIMULATOR_STOP_TIME"
                      : watchdog.HasStoppedRun() ? ", and the network is deadlocked"
                                                 : ", and nothing is left to simulate")
                  << ":\n";
        for (const std::string& line : watchdog.Describe(20))
        {
            std::cerr << "  " << line << "\n";
        }
        for (const std::string& line : runner.DescribeUnfinished(20))
        {
            std::cerr << "  " << line << "\n";
        }
        for (const std::string& line : fabric->DescribeCutOff())
        {
            std::cerr << "  " << line << "\n";
        }
        record.Write(outOfTime ? "stopped" : "stuck");
        return 1;
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
        record.Write("inconsistent");
        return 1;
    }
    record.Write("finished");
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
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
        const int status = Run(options);
        Simulator::Destroy();
        return status;
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
