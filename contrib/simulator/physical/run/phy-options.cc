/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-options.h"

#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"
#include "simulator/options/network-kind-flags.h"
#include "simulator/options/parallel-size-flags.h"

#include <boost/algorithm/string/split.hpp>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE = "mpirun -np RANKS SimAI_phynet -w WORKLOAD -n TOPOLOGY [flags]";
constexpr const char* PURPOSE =
    "Sends the collectives of a workload as real traffic between processes, a rank\n"
    "each, and measures them.\n\n"
    "    mpirun -np 4 SimAI_phynet -w WORKLOAD -n TOPOLOGY --provider tcp";
constexpr const char* NOTES =
    "\nEnvironment: AS_PXN_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS AS_GPU_TYPE\n"
    "  AS_GPU_TABLE AS_NETWORK_KIND AS_NETWORK_TABLE AS_NET_BW AS_LOG_LEVEL\n"
    "  NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS\n"
    "  NCCL_MAX_NCHANNELS NCCL_CROSS_NIC NCCL_TUNING NCCL_SELECT NCCL_BUFFSIZE\n"
    "  NCCL_TUNER_CONFIG_FILE OFI_NCCL_TUNER_TYPE, and libfabric's FI_...\n"
    "\nExit status: 0 done, 1 a rank failed, 2 an input is wrong, 129, 130 and 143\n"
    "  ended by SIGHUP, SIGINT and SIGTERM. If one rank fails, all exit within 10 s.\n";
constexpr double MAX_TIMEOUT = 3600; ///< seconds

constexpr std::pair<const char*, ComputeMode> COMPUTE_MODES[] = {
    {"spin", ComputeMode::Spin},
    {"sleep", ComputeMode::Sleep},
    {"skip", ComputeMode::Skip},
};

/// Values of flags that are taken together with others.
struct RawFlags
{
    std::string workload;
    std::string nics;
    std::string interfaces;
    NetworkKindFlags network;
};

/// Add the flags that real traffic has and a simulation has not.
void
AddTraffic(ProgramFlags& flags, PhyOptions& options, RawFlags& raw)
{
    using enum FlagSubject;
    flags.Add(Model,
              "provider NAME",
              options.provider,
              "libfabric's provider: auto, verbs, tcp, shm, or the name of another");
    flags.Add(Model,
              "nic NAMES",
              raw.nics,
              "RDMA devices, separated by commas; rank i of a host takes the i-th of them");
    flags.Add(Model,
              "interface NAMES",
              raw.interfaces,
              "the same for network interfaces, with tcp");
    flags.Add(
        Model,
        {"compute",
         Choice(options.compute, COMPUTE_MODES),
         "computation: spin keeps the core busy, sleep leaves it to others, skip takes no time"});
    flags.Add(Model, "verify", options.verify, "fill payloads, and check them on arrival");
    flags.Add(Model,
              "reduce",
              options.reduce,
              "carry out the collectives on real data, and check the results");
    flags.Add(Traffic, "warmup", options.warmup, "iterations before those that count");
    flags.Add(Traffic, {"iterations", AtLeast(options.iterations, 1), "iterations that count"});
    flags.Add(Limit,
              {"timeout S",
               Within(options.timeoutSeconds, 1, MAX_TIMEOUT, "seconds, from 1 to 3600"),
               "seconds after which a silent rank counts as dead"});
}

void
Describe(ProgramFlags& flags, PhyOptions& options, RawFlags& raw)
{
    using enum FlagSubject;
    RunOptions& run = options.run;
    flags.Add(Traffic,
              "workload,w FILE",
              raw.workload,
              "workload, or PREFIX of Chakra traces PREFIX.<rank>.et; its ranks are processes");
    flags.Add(Model,
              "network-topo,n FILE",
              run.topology,
              "topology that NCCL's choices follow (default: TOPOLOGY_FILE of the configuration)");
    flags.Add(Model,
              "network-conf,c FILE",
              run.conf,
              "configuration, of which only TOPOLOGY_FILE and GPUS_PER_SERVER count");
    flags.Add(Output,
              "output,o DIR",
              run.output,
              "directory for the results (default: ./results/<workload>_<topology>_physical/)");
    AddTraffic(flags, options, raw);
    flags.Add(Traffic,
              {"passes", AtLeast(run.passes, 1), "passes over the workload in an iteration"});
    AddParallelSizes(flags, run.sizes);
    flags.Add(Traffic,
              "comm-group-configuration FILE",
              run.communicators,
              "communicators of Chakra traces (JSON); the word empty stands for none");
    flags.Add(Model,
              "gpu-table FILE",
              run.nccl.gpuTable,
              "further GPU types (YAML) (default: AS_GPU_TABLE, or none)");
    raw.network.AddTo(flags);
    AddTimeLimit(flags,
                 run.limits,
                 "time on the clock that the run may take, such as 90s or 10min");
    AddMemoryLimit(flags, run.limits, "memory that a rank may take, such as 8GiB");
    AddProgressInterval(flags, run.limits);
    flags.Add(Output, "quiet,q", run.quiet, "print only warnings and errors");
}

std::vector<std::string>
SplitNames(const std::string& flag, const std::string& text)
{
    std::vector<std::string> names;
    if (text.empty())
    {
        return names;
    }
    boost::split(names, text, [](char c) { return c == ','; });
    for (const std::string& name : names)
    {
        if (name.empty())
        {
            RefuseFlag(flag + " " + text, "names separated by commas");
        }
    }
    return names;
}

} // namespace

PhyOptions
PhyOptions::Parse(const std::vector<std::string>& arguments, const NcclOptions::Lookup& environment)
{
    PhyOptions options;
    RunOptions& run = options.run;
    const RunEnvironment read = RunEnvironment::Read(environment);
    run.arguments = arguments;
    run.Take(read);
    RawFlags raw;
    ProgramFlags flags(USAGE, PURPOSE);
    ProgramQuestions questions;
    AddQuestions(flags, questions, true);
    Describe(flags, options, raw);
    const auto unknown = flags.Read(arguments);
    if (!unknown.empty())
    {
        flags.RefuseUnknown(unknown.front());
    }
    run.quiet = run.quiet || read.logLevel > LogLevel::Info;
    raw.network.Take(run.nccl);
    // Hosts have no switches that add: NVLS only if it is asked for, and then refused.
    run.nccl.nvlsEnable = run.nccl.nvlsRequired;
    run.nccl.nvlsTreeEnable = run.nccl.nvlsRequired;
    // No PXN by default: on a real network all NICs reach each other, also where a topology's rails
    // are separate.
    run.nccl.pxnEnable = run.nccl.pxnEnable.value_or(false);
    run.answer = Answer(questions, flags, "SimAI_phynet", std::string(SPELLING_NOTE) + NOTES);
    if (!run.answer.empty())
    {
        return options;
    }
    if (raw.workload.empty())
    {
        RefuseFlag("no workload", "-w FILE");
    }
    run.jobs.push_back({raw.workload, {}});
    if (run.communicators == "empty")
    {
        run.communicators.clear();
    }
    options.devices = SplitNames("--nic", raw.nics);
    if (!raw.interfaces.empty())
    {
        if (!options.devices.empty())
        {
            RefuseFlag("--nic and --interface are both given", "one of them");
        }
        options.devices = SplitNames("--interface", raw.interfaces);
    }
    return options;
}

} // namespace AstraSim
