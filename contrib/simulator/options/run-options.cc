/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-options.h"

#include "astra-network-file.h"
#include "network-kind-flags.h"
#include "parallel-size-flags.h"
#include "programs/frame/ns3-flags.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"
#include "run-check.h"
#include "run-environment.h"
#include "run-replay.h"

#include "ns3/input-error.h"
#include "ns3/rows.h"
#include "ns3/units.h"

#include <optional>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE = "SimAI_simulator -w WORKLOAD -n TOPOLOGY -c CONF [flags]";
constexpr const char* PURPOSE =
    "Simulates workloads on a network, packet by packet, by flows or by formulas: how\n"
    "long an iteration of training, a collective or a request takes, and why.\n\n"
    "    SimAI_simulator -w workloads/microAllReduce.txt -n TOPOLOGY --network flow";
constexpr const char* NOTES_OF_SIMULATOR =
    "\nAny ns-3 attribute default or global value is a flag too:\n"
    "  --ns3::RdmaHw::DataOverhead=52 --SchedulerType=ns3::MapScheduler --RngRun=3\n"
    "\nEnvironment: AS_SEND_LAT AS_NVLS_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS\n"
    "  AS_GPU_TYPE AS_GPU_TABLE AS_NETWORK_KIND AS_NETWORK_TABLE AS_HOST_CPU\n"
    "  AS_MEASURED_FIGURES AS_ENGINE_ALLREDUCE AS_NET_BW AS_SIM_THREADS AS_LOG_LEVEL\n"
    "  NCCL_NVLS_ENABLE NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS\n"
    "  NCCL_CROSS_NIC NCCL_TUNING NCCL_SELECT NCCL_BUFFSIZE\n"
    "  NCCL_TUNER_CONFIG_FILE OFI_NCCL_TUNER_TYPE\n"
    "  NCCL_P2P_NET_CHUNKSIZE NCCL_P2P_NVL_CHUNKSIZE NCCL_NCHANNELS_PER_NET_PEER\n"
    "\nExit status: 0 done, 1 the workload did not finish or a check failed,\n"
    "  2 an input is wrong, 129, 130 and 143 ended by SIGHUP, SIGINT and SIGTERM,\n"
    "  after results so far were written.\n";

/// Every kind of network by its name: the values of --network.
constexpr std::pair<const char*, NetworkModel> NETWORKS[] = {
    {"packet", NetworkModel::Packet},
    {"analytical", NetworkModel::Analytical},
    {"flow", NetworkModel::Flow},
};

constexpr uint32_t MAX_QUEUES = 1024; ///< stream queues of a dimension

/// Values of --fast-forward.
constexpr std::pair<const char*, FastForwardMode> FAST_FORWARD_MODES[] = {
    {"off", FastForwardMode::Off},
    {"auto", FastForwardMode::Auto},
    {"on", FastForwardMode::On},
    {"exact", FastForwardMode::Exact},
    {"verify", FastForwardMode::Verify},
};

/// Values of --fidelity.
constexpr std::pair<const char*, Fidelity> FIDELITIES[] = {
    {"network", Fidelity::Network},
    {"auto", Fidelity::Auto},
};

/// The words of --progress.
constexpr std::pair<const char*, ProgressMode> PROGRESS_MODES[] = {
    {"auto", ProgressMode::Auto},
    {"always", ProgressMode::Always},
    {"never", ProgressMode::Never},
};

/// Values of flags that are taken together with others.
struct RawRunFlags
{
    std::vector<std::string> workloads;
    NetworkKindFlags network;
};

/// Add the inputs by their own names, and by ASTRA-sim's.
void
AddInputs(ProgramFlags& flags, RunOptions& options, RawRunFlags& raw)
{
    using enum FlagSubject;
    flags.Add(Traffic,
              "workload,w FILE",
              raw.workloads,
              "workload; FILE@0-63 or FILE@0,2,4-7 places it on those ranks; may repeat");
    flags.Add(Traffic,
              "network-topo,n FILE",
              options.topology,
              "topology (default: TOPOLOGY_FILE of the configuration)");
    flags.Add(Traffic,
              "network-conf,c FILE",
              options.conf,
              "configuration of the network, such as conf/SimAI.conf (default: that of each key)");
    AddNetwork(
        flags,
        options,
        "messages travel packet by packet; flow gives them fair shares of links, analytical the "
        "time of a formula");
    flags.Add(Output,
              "output,o DIR",
              options.output,
              "directory for the results (default: ./results/<workload>_<topology>_<conf>/)");
    flags.Add(Output,
              "simai-files",
              options.simaiFiles,
              "also write results under SimAI's names: ncclFlowModel_EndToEnd.csv and "
              "ncclFlowModel__dimension_utilization_0.csv");
    flags.Add(Limit,
              {"thread,t",
               AtLeast(options.threads, 1, "1 or more threads"),
               "threads, at most one per server; results do not depend on their number"});
    flags.Add(Model,
              "system-configuration FILE",
              options.system,
              "system file of ASTRA-sim (JSON)");
    flags
        .Add(Traffic,
             "network-configuration FILE",
             options.conf,
             "ASTRA-sim's name of -c: a file that names the topology, or a network of its "
             "analytical back ends (F.yml)")
        .SameAs("network-conf");
    flags.Add(Traffic,
              "logical-topology-configuration FILE",
              options.logicalTopology,
              "logical dimensions of ASTRA-sim (JSON)");
    flags
        .Add(Traffic,
             "workload-configuration FILE",
             raw.workloads,
             "ASTRA-sim's name of -w: a workload, or PREFIX of Chakra traces PREFIX.<rank>.et")
        .SameAs("workload");
    flags.Add(Traffic,
              "remote-memory-configuration FILE",
              options.remoteMemory,
              "remote memory of ASTRA-sim (JSON)");
    flags.Add(Traffic,
              "comm-group-configuration FILE",
              options.communicators,
              "communicators of Chakra traces (JSON); the word empty stands for none");
    flags.Add(Output, {"logging-configuration FILE", Ignored(), "accepted, without effect"})
        .HasNone("ASTRA-sim's logs are not written", [] { return true; });
    flags.Add(Traffic,
              "gpu-table FILE",
              options.nccl.gpuTable,
              "further GPU types (YAML) (default: AS_GPU_TABLE, or none)");
    raw.network.AddTo(flags);
    flags.Add(Model,
              "background-flows FILE",
              options.backgroundFlows,
              "flows beside the workloads (default: FLOW_FILE of the configuration)");
}

/// Add the flags about parts of a run that need no packets.
void
AddFidelity(ProgramFlags& flags, RunOptions& options)
{
    using enum FlagSubject;
    flags.Add(
        Model,
        {"fidelity",
         Choice(options.fidelity, FIDELITIES),
         "network simulates everything as --network says; auto simulates a pattern of traffic by "
         "flows if packets cannot differ by more than --max-error"});
    flags
        .Add(Model,
             {"max-error X",
              ns3::Parsed(options.maxError,
                          &ns3::ParseShare,
                          "a share such as 1% or 0.01",
                          "1%",
                          ns3::RowValue::Kind::Number),
              "largest difference between times with --fidelity auto and those of packets"})
        .Needs("--fidelity auto", [&options] { return options.fidelity == Fidelity::Auto; });
}

/// Add the flags of how much is simulated, and how much of it is shown.
void
AddAmounts(ProgramFlags& flags, RunOptions& options)
{
    using enum FlagSubject;
    AddFastForward(flags,
                   options,
                   "simulate repeating traffic a single time; auto stands for exact with --network "
                   "analytical, and for off otherwise (default: auto; without MODE: on)");
    flags
        .Add(Limit,
             {"fast-forward-memory MIB",
              AtLeast(options.fastForwardMemoryMib, 1, "MiB, 1 or more"),
              "MiB for the outcomes that --fast-forward keeps"})
        .Needs("--fast-forward", [&options] {
            return options.IsFastForwarded() || options.network == NetworkModel::Analytical;
        });
    AddFastForwardStore(flags, options);
    AddFidelity(flags, options);
    flags.Add(Output,
              {"collectives-limit N",
               AtLeast(options.collectivesLimit, 0, "a number of rows"),
               "largest number of rows in collectives.csv (default: 200000 for INFERENCE, no limit "
               "otherwise)"});
    flags.Add(Output,
              "timeline-ranks",
              options.timelineRanks,
              "write timeline.json with the ranks below this number (default: 0, no such file)");
    flags
        .Add(Output,
             "timeline-limit",
             options.timelineLimit,
             "largest number of events in timeline.json")
        .Needs("--timeline-ranks", [&options] { return options.timelineRanks != 0; });
}

/// Add the flags about the contents of workloads.
void
AddWork(ProgramFlags& flags, RunOptions& options)
{
    using enum FlagSubject;
    flags
        .Add(Traffic,
             {"num-queues-per-dim",
              Within(options.queuesPerDimension,
                     1,
                     MAX_QUEUES,
                     "1 to " + std::to_string(MAX_QUEUES)),
              "queues of streams in each logical dimension"})
        .Record("queues_per_dimension", options.queuesPerDimension);
    flags
        .Add(Traffic,
             {"comm-scale X",
              AboveZero(options.commScale),
              "factor on the bytes of every collective"})
        .Record("comm_scale", options.commScale);
    flags
        .Add(Model,
             {"injection-scale X",
              AboveZero(options.injectionScale),
              "factor on the endpoint delay of a system file"})
        .Record("injection_scale", options.injectionScale);
    flags
        .Add(Model,
             {"gpu-spread X",
              Within(options.gpuSpread, 0, 1, "0 to 1; 0.015 is usual"),
              "differences between GPUs: standard deviation of the logarithm of their kernels' "
              "times; 0.015 is usual"})
        .Record("gpu_spread", options.gpuSpread);
    flags
        .Add(Model,
             {"rendezvous-protocol true|false",
              Truth(options.rendezvous),
              "messages wait for their receive (default: false)"})
        .Record("rendezvous", options.rendezvous);
    flags.Add(Traffic, {"passes", AtLeast(options.passes, 1), "iterations"})
        .Record("passes", options.passes);
    flags.Add(Traffic,
              "separate-passes",
              options.separatePasses,
              "simulate each iteration on an idle network, with results of its own in DIR/pass-K; "
              "needs -o");
    flags.Add(Output,
              {"resume DIR",
               Ignored(), // RunOptions::Parse() has put the run's own flags in its place
               "complete the interrupted run with --separate-passes in this output directory"});
    AddParallelSizes(flags, options.sizes);
}

void
Describe(ProgramFlags& flags, RunOptions& options, RawRunFlags& raw)
{
    using enum FlagSubject;
    AddInputs(flags, options, raw);
    AddAmounts(flags, options);
    AddWork(flags, options);
    flags.Add(Model,
              {"seed",
               AtLeast(options.seed, 1),
               "seed of the random numbers (default: SEED of the configuration)"});
    flags
        .Add(Model,
             "set KEY=VALUE",
             options.confKeys,
             "key of the configuration, which wins over the file; may repeat")
        .Record("set", options.confKeys);
    flags.Add(Model,
              "check",
              options.check,
              "check invariants throughout the run, such as that no byte is lost unnoticed");
    flags.Add(Model, "pcap NODE:PORT", options.pcap, "port to capture in a pcap file; may repeat");
    AddLimits(flags, options.limits);
    flags.Add(Output,
              {"replay RUN.JSON",
               Ignored(), // as with --resume
               "repeat the run of this run.json; -o and further flags may be added"});
    flags.Add(Output,
              {"progress",
               Choice(options.progress, PROGRESS_MODES),
               "reports of progress: auto rewrites a line on a terminal, and prints one at each "
               "interval elsewhere"});
    flags.Add(Output, "quiet,q", options.quiet, "print only warnings and errors");
}

/// ns-3's own flags name a TypeId or one of its global values; all else is a mistake.
void
SortOutUnknown(const std::vector<std::string>& unknown,
               const ProgramFlags& flags,
               RunOptions& options)
{
    for (const std::string& flag : unknown)
    {
        if (!ns3::IsNs3Flag(flag))
        {
            flags.RefuseUnknown(flag);
        }
        options.ns3Flags.push_back(flag);
    }
}

/// A network file of ASTRA-sim describes a network of its own.
void
TakeNetworkFile(RunOptions& options, const ProgramFlags& flags)
{
    if (!IsAstraNetworkFile(options.conf))
    {
        return;
    }
    if (flags.IsGiven("network") && options.network != NetworkModel::Analytical)
    {
        RefuseFlag(std::string("--network ") + ToString(options.network) + " with ASTRA-sim's " +
                       options.conf,
                   "--network analytical, or a topology and a configuration for the others");
    }
    if (!options.topology.empty())
    {
        RefuseFlag("-n " + options.topology + " with " + options.conf,
                   "one of the two, as the second describes the network, too");
    }
    if (options.netBandwidthBps)
    {
        throw ns3::InputError("environment",
                              0,
                              "AS_NET_BW with " + options.conf,
                              "one of the two, as the second gives the bandwidth of its links");
    }
    options.network = NetworkModel::Analytical;
}

/// Parts of a run are simulated by themselves when it is fast-forwarded.
void
TakeFidelity(RunOptions& options)
{
    if (options.fidelity == Fidelity::Network)
    {
        return;
    }
    if (options.network != NetworkModel::Packet)
    {
        RefuseFlag(std::string("--fidelity auto with --network ") + ToString(options.network),
                   "--network packet, the default: it chooses between packets and flows");
    }
    if (options.fastForward == FastForwardMode::Off)
    {
        RefuseFlag("--fidelity auto with --fast-forward=off",
                   "one of the two: it chooses for each pattern of traffic");
    }
    options.fastForward =
        options.fastForward == FastForwardMode::Auto ? FastForwardMode::On : options.fastForward;
}

/// Whether the run is checked, unless a flag says so.
void
TakeCheck(RunOptions& options)
{
    if (options.check && options.IsFastForwarded())
    {
        RefuseFlag("--check with --fast-forward",
                   "one of the two: what is not simulated cannot be checked");
    }
    options.check = options.check || (RunCheck::IsDefault() && !options.IsFastForwarded());
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

} // namespace

const char*
ToString(NetworkModel network)
{
    return WordOf(network, NETWORKS);
}

void
AddNetwork(ProgramFlags& flags, RunOptions& options, const std::string& help)
{
    flags.Add(FlagSubject::Model, {"network", Choice(options.network, NETWORKS), help});
}

void
AddFastForward(ProgramFlags& flags, RunOptions& options, const std::string& help)
{
    flags
        .Add(FlagSubject::Limit,
             {"fast-forward MODE", Choice(options.fastForward, FAST_FORWARD_MODES), help})
        .Alone("on");
}

void
AddFastForwardStore(ProgramFlags& flags, RunOptions& options)
{
    using enum FlagSubject;
    flags
        .Add(Limit,
             "fast-forward-store FILE",
             options.fastForwardStore,
             "SQLite file in which --fast-forward keeps outcomes for later runs")
        .Needs("--fast-forward", [&options] { return options.IsFastForwarded(); });
    flags
        .Add(Limit,
             {"fast-forward-store-size MIB",
              AtLeast(options.fastForwardStoreMib, 1, "MiB, 1 or more"),
              "MiB that this file may take"})
        .Needs("--fast-forward-store", [&options] { return !options.fastForwardStore.empty(); });
}

void
RunOptions::Take(const RunEnvironment& read)
{
    nccl = read.nccl;
    netBandwidthBps = read.netBandwidthBps;
    environment = read.variables;
    warnings = read.warnings;
    logLevel = read.logLevel;
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
    const RunEnvironment read = RunEnvironment::Read(environment);
    RunOptions options;
    options.arguments = arguments;
    options.Take(read);
    options.threads = read.threads;
    RawRunFlags raw;
    ProgramFlags flags(USAGE, PURPOSE);
    ProgramQuestions questions;
    AddQuestions(flags, questions, true);
    Describe(flags, options, raw);
    SortOutUnknown(flags.Read(arguments), flags, options);
    options.quiet = options.quiet || read.logLevel > LogLevel::Info;
    raw.network.Take(options.nccl);
    options.answer = Answer(questions,
                            flags,
                            "SimAI_simulator",
                            std::string(SPELLING_NOTE) + NOTES_OF_SIMULATOR);
    if (!options.answer.empty())
    {
        return options;
    }
    const std::vector<std::string> warnings = flags.DescribeIdle();
    options.warnings.insert(options.warnings.end(), warnings.begin(), warnings.end());
    options.modelFlags = flags.GetModelFlags();
    options.recorded = flags.GetRecorded();
    options.reportsRanks = flags.IsGiven("workload-configuration");
    TakeNetworkFile(options, flags);
    TakeFidelity(options);
    TakeCheck(options);
    TakeJobs(options, raw);
    return options;
}

} // namespace AstraSim
