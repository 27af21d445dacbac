/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-options.h"

#include "astra-network-file.h"
#include "program-flags.h"
#include "run-check.h"
#include "run-environment.h"
#include "run-replay.h"

#include "ns3/input-error.h"
#include "ns3/ns3-flags.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// Every kind of network by its name; what --network takes.
constexpr std::pair<const char*, NetworkModel> NETWORKS[] = {
    {"packet", NetworkModel::Packet},
    {"analytical", NetworkModel::Analytical},
    {"flow", NetworkModel::Flow},
};

constexpr uint32_t MAX_QUEUES = 1024; ///< stream queues of a dimension

/// Flags that do not change how a network carries traffic: those that say what the traffic is,
/// where results go, what is printed and how much a run may use. Files count by their contents.
const std::set<std::string> NOT_OF_MODELS = {"workload",
                                             "workload-configuration",
                                             "comm-group-configuration",
                                             "remote-memory-configuration",
                                             "logical-topology-configuration",
                                             "logging-configuration",
                                             "network-topo",
                                             "network-conf",
                                             "network-configuration",
                                             "gpu-table",
                                             "tp",
                                             "ep",
                                             "pp",
                                             "passes",
                                             "separate-passes",
                                             "num-queues-per-dim",
                                             "comm-scale",
                                             "fast-forward",
                                             "fast-forward-memory",
                                             "fast-forward-store",
                                             "fast-forward-store-size",
                                             "thread",
                                             "output",
                                             "simai-files",
                                             "timeline-ranks",
                                             "timeline-limit",
                                             "progress",
                                             "quiet",
                                             "max-time",
                                             "max-memory"};

/// @return the names of NETWORKS, as a sentence lists them
std::string
NetworkNames()
{
    std::string names;
    for (std::size_t i = 0; i < std::size(NETWORKS); ++i)
    {
        names += (i == 0 ? "" : i + 1 < std::size(NETWORKS) ? ", " : " or ");
        names += NETWORKS[i].first;
    }
    return names;
}

/// What --fast-forward takes.
constexpr std::pair<const char*, FastForwardMode> FAST_FORWARD_MODES[] = {
    {"off", FastForwardMode::Off},
    {"auto", FastForwardMode::Auto},
    {"on", FastForwardMode::On},
    {"exact", FastForwardMode::Exact},
    {"verify", FastForwardMode::Verify},
};

/// Raw values of flags that are read further below.
struct RawRunFlags
{
    std::vector<std::string> workloads;
    std::string progress{"auto"};
    std::string network{"packet"};
    std::string fastForward{"auto"};
    std::string logging;
    std::string gpuTable;
    std::string networkKind;
    LimitFlags limits;
};

po::options_description
Describe(RunOptions& options, RawRunFlags& raw)
{
    po::options_description description("SimAI_simulator -w WORKLOAD -n TOPOLOGY -c CONF [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("help-conf", po::bool_switch(&options.helpConf), "the keys of a configuration file");
    add("PrintAttributes",
        po::value(&options.printAttributes),
        "the attributes of a class of ns-3, such as ns3::RdmaDcqcn");
    add("version", po::bool_switch(&options.version), "the version of the program");
    add("workload,w",
        po::value(&raw.workloads)->composing(),
        "workload file; FILE@0-63 or FILE@0,2,4-7 places it on those ranks; may repeat");
    add("network-topo,n", po::value(&options.topology), "topology file; else TOPOLOGY_FILE");
    add("network-conf,c", po::value(&options.conf), "SimAI.conf; else the defaults");
    add("network",
        po::value(&raw.network),
        ("how the network is simulated: " + NetworkNames()).c_str());
    add("output,o", po::value(&options.output), "output directory; else ./results/<w>_<n>/");
    add("simai-files",
        po::bool_switch(&options.simaiFiles),
        "also write ncclFlowModel_EndToEnd.csv and ncclFlowModel__dimension_utilization_0.csv");
    add("thread,t",
        po::value<uint32_t>(),
        "threads to run on, at most one per server; results do not depend on their number");
    add("system-configuration", po::value(&options.system), "ASTRA-sim system file (JSON)");
    add("network-configuration",
        po::value(&options.conf),
        "ASTRA-sim's name of -c; names the topology, or is a network of its analytical back ends "
        "(F.yml)");
    add("logical-topology-configuration",
        po::value(&options.logicalTopology),
        "logical dimensions (JSON)");
    add("workload-configuration",
        po::value(&raw.workloads)->composing(),
        "ASTRA-sim's name of -w; PREFIX of Chakra traces PREFIX.<rank>.et");
    add("remote-memory-configuration", po::value(&options.remoteMemory), "remote memory (JSON)");
    add("comm-group-configuration",
        po::value(&options.communicators),
        "communicators of Chakra traces (JSON), or empty");
    add("logging-configuration", po::value(&raw.logging), "accepted, no effect");
    add("gpu-table", po::value(&raw.gpuTable), "GPU types besides the built-in ones");
    add("network-kind",
        po::value(&raw.networkKind),
        ("what joins the servers: " + NetworkKind::GetNames()).c_str());
    add("background-flows",
        po::value(&options.backgroundFlows),
        "flow file that runs beside the workloads; else FLOW_FILE");
    add("fast-forward",
        po::value(&raw.fastForward)->implicit_value("on"),
        "simulate traffic that repeats once: off, on, exact, verify, or auto: exact with --network "
        "analytical, else off (auto)");
    add("fast-forward-memory",
        po::value(&options.fastForwardMemoryMib),
        "MiB for what --fast-forward keeps (1024)");
    DescribeFastForwardStore(options, description);
    add("timeline-ranks",
        po::value(&options.timelineRanks),
        "write timeline.json of the ranks below this number");
    add("timeline-limit",
        po::value(&options.timelineLimit),
        "largest number of events in timeline.json");
    add("num-queues-per-dim", po::value(&options.queuesPerDimension), "stream queues");
    add("comm-scale", po::value(&options.commScale), "multiplies every collective's bytes");
    add("injection-scale", po::value(&options.injectionScale), "multiplies the endpoint delay");
    add("rendezvous-protocol", po::value(&options.rendezvous), "messages wait for their receive");
    add("passes", po::value(&options.passes), "number of iterations");
    add("separate-passes",
        po::bool_switch(&options.separatePasses),
        "each iteration on an idle network, with results of its own in DIR/pass-K; see --resume");
    add("resume",
        po::value<std::string>(),
        "output directory of an interrupted run with --separate-passes: simulate what is missing");
    add("tp", po::value(&options.sizes.tp), "tensor parallel size, for micro lines");
    add("ep", po::value(&options.sizes.ep), "expert parallel size, for micro lines");
    add("pp", po::value(&options.sizes.pp), "pipeline stages, for micro lines");
    add("seed", po::value<uint32_t>(), "random seed; wins over SEED of the configuration");
    add("set",
        po::value(&options.confKeys)->composing(),
        "KEY=VALUE of the configuration, wins over the file; may repeat");
    add("check",
        po::bool_switch(&options.check),
        "check invariants throughout the run, such as that no byte is lost unnoticed");
    add("pcap", po::value(&options.pcap)->composing(), "NODE:PORT to capture; may repeat");
    raw.limits.AddTo(description);
    add("replay",
        po::value<std::string>(),
        "run.json of an earlier run: repeat it; -o and further flags may be added");
    add("progress", po::value(&raw.progress), "auto, always or never");
    add("quiet,q", po::bool_switch(&options.quiet), "print nothing but warnings and errors");
    return description;
}

/// ns-3's own flags name a TypeId or one of its global values; all else is a mistake.
void
SortOutUnknown(const std::vector<std::string>& unknown,
               const po::options_description& description,
               RunOptions& options)
{
    for (const std::string& flag : unknown)
    {
        if (!ns3::IsNs3Flag(flag))
        {
            RefuseUnknownFlag(flag, description);
        }
        options.ns3Flags.push_back(flag);
    }
}

/// What flags and environment both say, flags first.
void
TakeEnvironment(RunOptions& options,
                const RawRunFlags& raw,
                const po::variables_map& values,
                const RunEnvironment& read)
{
    options.nccl = read.nccl;
    options.netBandwidthBps = read.netBandwidthBps;
    options.environment = read.variables;
    options.warnings = read.warnings;
    options.logLevel = read.logLevel;
    options.quiet = options.quiet || read.logLevel > LogLevel::Info;
    options.threads = values.count("thread") ? values["thread"].as<uint32_t>() : read.threads;
    if (!raw.gpuTable.empty())
    {
        options.nccl.gpuTable = raw.gpuTable;
    }
    if (!raw.networkKind.empty())
    {
        options.nccl.SetNetworkKind(raw.networkKind, "command line", "--network-kind");
    }
}

ProgressMode
ParseProgressMode(const std::string& name)
{
    if (name != "auto" && name != "always" && name != "never")
    {
        RefuseFlag("--progress " + name, "auto, always or never");
    }
    return name == "auto"     ? ProgressMode::Auto
           : name == "always" ? ProgressMode::Always
                              : ProgressMode::Never;
}

/// A network file of ASTRA-sim describes a network of its own.
void
TakeNetworkFile(RunOptions& options, const RawRunFlags& raw, const po::variables_map& values)
{
    if (!IsAstraNetworkFile(options.conf))
    {
        return;
    }
    if (values.count("network") && options.network != NetworkModel::Analytical)
    {
        RefuseFlag("--network " + raw.network + " with ASTRA-sim's " + options.conf,
                   "--network analytical, or a topology and a configuration for the others");
    }
    if (!options.topology.empty())
    {
        RefuseFlag("-n " + options.topology + " with " + options.conf,
                   "one of the two, as the second describes the network, too");
    }
    options.network = NetworkModel::Analytical;
}

/// How the run is simulated, checked and shown.
void
TakeModes(RunOptions& options, const RawRunFlags& raw, const po::variables_map& values)
{
    options.progress = ParseProgressMode(raw.progress);
    options.network = ParseNetworkModel(raw.network);
    options.fastForward = ParseFastForwardMode(raw.fastForward);
    if (options.fastForwardMemoryMib == 0)
    {
        RefuseFlag("--fast-forward-memory is 0", "MiB, 1 or more");
    }
    CheckFastForwardStore(options);
    TakeNetworkFile(options, raw, values);
    if (options.check && options.IsFastForwarded())
    {
        RefuseFlag("--check with --fast-forward",
                   "one of the two: what is not simulated cannot be checked");
    }
    options.check = options.check || (RunCheck::IsDefault() && !options.IsFastForwarded());
    options.reportsRanks = values.count("workload-configuration") > 0;
    options.limits = raw.limits.Read();
    if (values.count("seed"))
    {
        options.seed = values["seed"].as<uint32_t>();
    }
    if (values.count("fast-forward-memory") && !options.IsFastForwarded() &&
        options.network != NetworkModel::Analytical)
    {
        options.warnings.emplace_back("--fast-forward-memory has no effect without --fast-forward");
    }
    if (values.count("fast-forward-store-size") && options.fastForwardStore.empty())
    {
        options.warnings.emplace_back(
            "--fast-forward-store-size has no effect without --fast-forward-store");
    }
    if (values.count("timeline-limit") && options.timelineRanks == 0)
    {
        options.warnings.emplace_back("--timeline-limit has no effect without --timeline-ranks");
    }
    if (!raw.logging.empty())
    {
        options.warnings.push_back("--logging-configuration is accepted and has no effect");
    }
}

void
TakeJobs(RunOptions& options, const RawRunFlags& raw)
{
    for (const std::string& workload : raw.workloads)
    {
        options.jobs.push_back(ParseJobPlacement(workload));
    }
    if (options.communicators == "empty")
    {
        options.communicators.clear();
    }
    if (options.jobs.empty())
    {
        RefuseFlag("no workload", "-w FILE");
    }
    if (options.separatePasses && options.output.empty())
    {
        RefuseFlag("--separate-passes without -o", "-o DIRECTORY, to resume from");
    }
}

void
CheckNumbers(const RunOptions& options)
{
    if (options.passes == 0 || options.threads == 0)
    {
        RefuseFlag("--passes and -t are counts", "1 or more");
    }
    if (options.queuesPerDimension == 0 || options.queuesPerDimension > MAX_QUEUES)
    {
        RefuseFlag("--num-queues-per-dim is " + std::to_string(options.queuesPerDimension),
                   "1 to " + std::to_string(MAX_QUEUES));
    }
    if (options.seed && *options.seed == 0)
    {
        RefuseFlag("--seed is 0", "1 or more");
    }
    for (const auto& [name, scale] : {std::pair{"--comm-scale", options.commScale},
                                      std::pair{"--injection-scale", options.injectionScale}})
    {
        if (!std::isfinite(scale) || scale <= 0)
        {
            RefuseFlag(std::string(name) + " is " + std::to_string(scale), "a number above 0");
        }
    }
}

} // namespace

const char*
ToString(NetworkModel network)
{
    return std::find_if(std::begin(NETWORKS),
                        std::end(NETWORKS),
                        [network](const auto& known) { return network == known.second; })
        ->first;
}

FastForwardMode
ParseFastForwardMode(const std::string& name)
{
    const auto mode = std::find_if(std::begin(FAST_FORWARD_MODES),
                                   std::end(FAST_FORWARD_MODES),
                                   [&name](const auto& known) { return name == known.first; });
    if (mode == std::end(FAST_FORWARD_MODES))
    {
        RefuseFlag("--fast-forward " + name, "off, auto, on, exact or verify");
    }
    return mode->second;
}

void
DescribeFastForwardStore(RunOptions& options, po::options_description& description)
{
    auto add = description.add_options();
    add("fast-forward-store",
        po::value(&options.fastForwardStore),
        "directory where --fast-forward keeps what it has simulated for later runs");
    add("fast-forward-store-size",
        po::value(&options.fastForwardStoreMib),
        "MiB that the directory may take (1024)");
}

void
CheckFastForwardStore(RunOptions& options)
{
    if (options.fastForwardStoreMib == 0)
    {
        RefuseFlag("--fast-forward-store-size is 0", "MiB, 1 or more");
    }
    if (!options.fastForwardStore.empty() && !options.IsFastForwarded())
    {
        options.warnings.emplace_back("--fast-forward-store has no effect without --fast-forward");
    }
}

NetworkModel
ParseNetworkModel(const std::string& name)
{
    const auto network = std::find_if(std::begin(NETWORKS),
                                      std::end(NETWORKS),
                                      [&name](const auto& known) { return name == known.first; });
    if (network == std::end(NETWORKS))
    {
        RefuseFlag("--network " + name, NetworkNames());
    }
    return network->second;
}

RunOptions
RunOptions::Parse(const std::vector<std::string>& arguments, const Environment& environment)
{
    const auto lookup = [](const RunReplay& run) {
        return [&run](const std::string& name) -> std::optional<std::string> {
            const auto found = run.variables.find(name);
            return found == run.variables.end() ? std::nullopt : std::optional(found->second);
        };
    };
    if (const auto run = RunReplay::FindReplayed(arguments))
    {
        return Parse(run->arguments, lookup(*run));
    }
    if (const auto run = RunReplay::FindResumed(arguments))
    {
        RunOptions options = Parse(run->arguments, lookup(*run));
        options.resumes = true;
        return options;
    }
    RunOptions options;
    options.arguments = arguments;
    RawRunFlags raw;
    const po::options_description description = Describe(options, raw);
    po::variables_map values;
    const auto unknown = ReadFlags(arguments, description, values);
    options.modelFlags = FlagsBut(arguments, description, NOT_OF_MODELS);
    SortOutUnknown(unknown, description, options);
    TakeEnvironment(options, raw, values, RunEnvironment::Read(environment));
    if (options.help || options.helpConf || options.version || !options.printAttributes.empty())
    {
        return options;
    }
    TakeModes(options, raw, values);
    TakeJobs(options, raw);
    CheckNumbers(options);
    return options;
}

std::string
RunOptions::Help()
{
    RunOptions options;
    RawRunFlags raw;
    std::ostringstream text;
    text << Describe(options, raw) << SPELLING_NOTE
         << "\nAny ns-3 attribute default or global value is a flag too:\n"
            "  --ns3::RdmaHw::DataOverhead=52 --SchedulerType=ns3::MapScheduler --RngRun=3\n"
            "\nEnvironment: AS_SEND_LAT AS_NVLS_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS\n"
            "  AS_GPU_TYPE AS_NETWORK_KIND AS_HOST_CPU AS_NET_BW AS_SIM_THREADS AS_LOG_LEVEL\n"
            "  NCCL_NVLS_ENABLE NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS\n"
            "  NCCL_CROSS_NIC NCCL_TUNING NCCL_SELECT\n"
            "\nExit status: 0 done, 1 the workload did not finish or a check failed,\n"
            "  2 an input is wrong, 129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM,\n"
            "  after results so far were written.\n";
    return text.str();
}

} // namespace AstraSim
