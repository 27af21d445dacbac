/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-options.h"

#include "ns3/input-error.h"
#include "ns3/program-flags.h"

#include <boost/algorithm/string/split.hpp>
#include <boost/program_options.hpp>
#include <cmath>
#include <sstream>
#include <utility>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// Values that are read further below.
struct RawFlags
{
    std::string workload;
    std::string nics;
    std::string interfaces;
    std::string compute{"sleep"};
    std::string gpuTable;
    std::string networkKind;
    std::string maxTime;
    std::string maxMemory;
};

po::options_description
Describe(PhyOptions& options, RawFlags& raw)
{
    RunOptions& run = options.run;
    po::options_description description(
        "mpirun -np RANKS SimAI_phynet -w WORKLOAD -n TOPOLOGY [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&run.help), "this text");
    add("help-conf", po::bool_switch(&run.helpConf), "the keys of a configuration file");
    add("version", po::bool_switch(&run.version), "the version of the program");
    add("workload,w",
        po::value(&raw.workload),
        "workload file, or PREFIX of Chakra traces PREFIX.<rank>.et; its ranks are processes");
    add("network-topo,n",
        po::value(&run.topology),
        "topology file that NCCL's choices follow; else TOPOLOGY_FILE");
    add("network-conf,c",
        po::value(&run.conf),
        "SimAI.conf; only TOPOLOGY_FILE and GPUS_PER_SERVER count");
    add("output,o", po::value(&run.output), "output directory; else ./results/<w>_<n>_physical/");
    add("provider",
        po::value(&options.provider),
        "libfabric's provider: auto (default), verbs, tcp, shm, or another one's name");
    add("nic",
        po::value(&raw.nics),
        "RDMA devices, separated by commas; rank i of a host takes the i-th of them");
    add("interface", po::value(&raw.interfaces), "the same for network interfaces, with tcp");
    add("compute",
        po::value(&raw.compute),
        "computation: spin keeps the core busy, sleep (default) leaves it to others, skip");
    add("verify", po::bool_switch(&options.verify), "fill payloads, and check them on arrival");
    add("reduce",
        po::bool_switch(&options.reduce),
        "carry out the collectives on real data, and check the results");
    add("warmup", po::value(&options.warmup), "iterations before those that count (1)");
    add("iterations", po::value(&options.iterations), "iterations that count (1)");
    add("timeout",
        po::value(&options.timeoutSeconds),
        "seconds after which a silent rank counts as dead (5)");
    add("passes", po::value(&run.passes), "passes over the workload in an iteration");
    add("tp", po::value(&run.sizes.tp), "tensor parallel size, for micro lines");
    add("ep", po::value(&run.sizes.ep), "expert parallel size, for micro lines");
    add("pp", po::value(&run.sizes.pp), "pipeline stages, for micro lines");
    add("comm-group-configuration",
        po::value(&run.communicators),
        "communicators of Chakra traces (JSON), or empty");
    add("gpu-table", po::value(&raw.gpuTable), "GPU types besides the built-in ones");
    add("network-kind",
        po::value(&raw.networkKind),
        ("what joins the servers: " + NetworkKind::GetNames()).c_str());
    add("max-time", po::value(&raw.maxTime), "wall time that the run may take, in seconds");
    add("max-memory", po::value(&raw.maxMemory), "memory that a rank may take, such as 8GiB");
    add("quiet,q", po::bool_switch(&run.quiet), "print nothing but warnings and errors");
    return description;
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

ComputeMode
ParseCompute(const std::string& text)
{
    for (const auto& [name, mode] : {std::pair{"spin", ComputeMode::Spin},
                                     std::pair{"sleep", ComputeMode::Sleep},
                                     std::pair{"skip", ComputeMode::Skip}})
    {
        if (text == name)
        {
            return mode;
        }
    }
    RefuseFlag("--compute " + text, "spin, sleep or skip");
}

void
CheckCounts(const PhyOptions& options)
{
    if (options.iterations == 0 || options.run.passes == 0)
    {
        RefuseFlag("--iterations and --passes are counts", "1 or more");
    }
    if (!std::isfinite(options.timeoutSeconds) || options.timeoutSeconds < 1 ||
        options.timeoutSeconds > 3600)
    {
        RefuseFlag("--timeout is " + std::to_string(options.timeoutSeconds),
                   "seconds, from 1 to 3600");
    }
}

} // namespace

PhyOptions
PhyOptions::Parse(const std::vector<std::string>& arguments, const NcclOptions::Lookup& environment)
{
    PhyOptions options;
    RawFlags raw;
    const po::options_description description = Describe(options, raw);
    po::variables_map values;
    const auto unknown = ReadFlags(arguments, description, values);
    if (!unknown.empty())
    {
        RefuseUnknownFlag(unknown.front(), description);
    }
    RunOptions& run = options.run;
    run.arguments = arguments;
    const RunEnvironment read = RunEnvironment::Read(environment);
    run.nccl = read.nccl;
    run.netBandwidthBps = read.netBandwidthBps;
    run.environment = read.variables;
    run.warnings = read.warnings;
    run.logLevel = read.logLevel;
    run.quiet = run.quiet || read.logLevel > LogLevel::Info;
    // Hosts have no switches that add: NVLS only if it is asked for, and then refused.
    run.nccl.nvlsEnable = run.nccl.nvlsRequired;
    run.nccl.nvlsTreeEnable = run.nccl.nvlsRequired;
    // A real network joins what a topology's rails do not.
    run.nccl.pxnEnable = run.nccl.pxnEnable.value_or(false);
    if (!raw.gpuTable.empty())
    {
        run.nccl.gpuTable = raw.gpuTable;
    }
    if (!raw.networkKind.empty())
    {
        run.nccl.SetNetworkKind(raw.networkKind, "command line", "--network-kind");
    }
    if (run.help || run.helpConf || run.version)
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
    run.limits = LimitFlags{raw.maxTime, raw.maxMemory, ""}.Read();
    options.devices = SplitNames("--nic", raw.nics);
    if (!raw.interfaces.empty())
    {
        if (!options.devices.empty())
        {
            RefuseFlag("--nic and --interface are both given", "one of them");
        }
        options.devices = SplitNames("--interface", raw.interfaces);
    }
    options.compute = ParseCompute(raw.compute);
    CheckCounts(options);
    return options;
}

std::string
PhyOptions::Help()
{
    PhyOptions options;
    RawFlags raw;
    std::ostringstream text;
    text << Describe(options, raw) << SPELLING_NOTE
         << "\nEnvironment: AS_PXN_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS AS_GPU_TYPE\n"
            "  AS_NETWORK_KIND AS_NET_BW AS_LOG_LEVEL NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS\n"
            "  NCCL_MAX_NCHANNELS NCCL_CROSS_NIC NCCL_TUNING NCCL_SELECT, and libfabric's\n"
            "  FI_...\n"
            "\nExit status: 0 done, 1 a rank failed, 2 an input is wrong, 129, 130 and 143\n"
            "  ended by SIGHUP, SIGINT and SIGTERM. If one rank fails, all exit within 10 s.\n";
    return text.str();
}

} // namespace AstraSim
