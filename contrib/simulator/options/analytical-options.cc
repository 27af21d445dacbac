/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-options.h"

#include "parallel-size-flags.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"

#include <initializer_list>

namespace AstraSim
{

namespace
{

constexpr double LEAST_GBPS = 1e-6;
constexpr double MOST_GBPS = 1e6;
constexpr const char* RATES = "GB/s, from 0.000001 to 1000000";
constexpr const char* USAGE_OF_ANALYTICAL = "SimAI_analytical -w WORKLOAD -g GPUS [flags]";
constexpr const char* PURPOSE_OF_ANALYTICAL =
    "Estimates a workload without a network: each collective takes the time of its\n"
    "flows on an idle network, or that of a bus bandwidth of yours.\n\n"
    "    SimAI_analytical -w workloads/gpt_1024g_tp8_pp8.txt -g 1024 -nic 48.5";
constexpr const char* NOTES_OF_ANALYTICAL =
    "\nEnvironment: AS_NVLS_ENABLE AS_NVLSTREE_ENABLE AS_RING_CHANNELS AS_NV_CHANNELS\n"
    "  AS_GPU_TYPE AS_NET_BW AS_SEND_LAT AS_LOG_LEVEL NCCL_ALGO NCCL_PROTO\n"
    "  NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_TUNING NCCL_SELECT\n"
    "  NCCL_TUNER_CONFIG_FILE NCCL_BUFFSIZE\n"
    "\nExit status: 0 done, 1 the workload did not finish, 2 an input is wrong.\n";

/// Add the flags of the machine.
void
AddMachine(ProgramFlags& flags, AnalyticalOptions& options)
{
    using enum FlagSubject;
    flags.Add(Model,
              "network-topo,n FILE",
              options.topology,
              "topology that gives GPUs, GPUs per server, types and bandwidths");
    flags.Add(Model, {"gpus,g", AboveZero(options.gpus), "GPUs (default: the workload's)"});
    flags
        .Add(Model,
             {"gpus-per-server", AboveZero(options.gpusPerServer), "GPUs per server (default: 8)"})
        .Alias({"g-p-s"});
    flags
        .Add(Model,
             "gpu-type NAME",
             options.gpuType,
             "GPU type, such as A100 or B200 (default: H100)")
        .Alias({"g-type"});
    flags.Add(Model,
              "gpu-table FILE",
              options.gpuTable,
              "further GPU types (YAML) (default: AS_GPU_TABLE, or none)");
    flags
        .Add(Model,
             {"nvlink X",
              Within(options.nvlinkGBps, LEAST_GBPS, MOST_GBPS, RATES),
              "GB/s of a GPU's NVLinks (default: the type's)"})
        .Alias({"nv"});
    flags
        .Add(Model,
             {"nic-busbw X",
              Within(options.nicGBps, LEAST_GBPS, MOST_GBPS, RATES),
              "GB/s of a NIC (default: the type's)"})
        .Alias({"nic"});
    flags
        .Add(Model,
             {"nic-per-server",
              AboveZero(options.nicsPerServer),
              "NICs of a server (default: the topology's, or one per GPU)"})
        .Alias({"n-p-s"});
    flags.Add(Model, "nic-type NAME", options.nicType, "NIC: cx6, cx7 or bf3 (default: cx7)")
        .Alias({"nic-t"});
    flags
        .Add(Model,
             "bus-bandwidth FILE",
             options.busbw,
             "bus bandwidths of collectives (YAML) (default: none; flows on an idle network)")
        .Alias({"busbw"});
}

/// Add the parts of communication that computation hides.
void
AddOverlaps(ProgramFlags& flags, AnalyticalOptions& options)
{
    const auto add = [&](const char* name,
                         std::initializer_list<const char*> aliases,
                         auto& ratio,
                         const char* help) {
        flags
            .Add(FlagSubject::Model,
                 {std::string(name) + " X", Within(ratio, 0, 1, "a ratio from 0 to 1"), help})
            .Alias(aliases);
    };
    const auto of = [&](GroupKind kind) -> double& {
        return options.overlap[static_cast<std::size_t>(kind)];
    };
    add("tp-overlap-ratio",
        {"tp-o", "tp-overlap"},
        of(GroupKind::Tp),
        "share of TP communication that computation hides, 0 to 1");
    add("dp-overlap-ratio", {"dp-o", "dp-overlap"}, of(GroupKind::Dp), "the same for DP and DP_EP");
    add("ep-overlap-ratio", {"ep-o", "ep-overlap"}, of(GroupKind::Ep), "the same for EP");
    add("pp-overlap-ratio",
        {"pp-o", "pp-overlap"},
        options.pipelineOverlap,
        "the same for PP (default: 1, or 0 for micro lines)");
}

void
DescribeFlags(ProgramFlags& flags, AnalyticalOptions& options)
{
    using enum FlagSubject;
    flags.Add(Traffic, "workload,w FILE", options.workload, "workload");
    AddMachine(flags, options);
    AddOverlaps(flags, options);
    flags.Add(Output, "result PREFIX", options.prefix, "beginning of the names of result files")
        .Alias({"r"});
    flags
        .Add(Output,
             "result-folder DIR",
             options.folder,
             "directory for the results (default: results; without -r "
             "results/<workload>_analytical)")
        .Alias({"r-f", "o", "output"});
    flags
        .Add(Output,
             {"visual 0|1",
              ns3::Flag(options.visual),
              "also draw a picture of where the time goes (SVG) (default: 0)"})
        .Alias({"v"});
    flags.Add(Traffic, {"passes", AtLeast(options.passes, 1), "iterations"});
    AddParallelSizes(flags, options.sizes);
    AddLimits(flags, options.limits);
    flags.Add(Output, "quiet,q", options.quiet, "print only warnings and errors");
}

/// @return the arguments with a value for every -v, which SimAI lets stand alone
std::vector<std::string>
CompleteVisual(const std::vector<std::string>& arguments)
{
    std::vector<std::string> result;
    for (std::size_t i = 0; i < arguments.size(); ++i)
    {
        const bool visual =
            arguments[i] == "-v" || arguments[i] == "-visual" || arguments[i] == "--visual";
        const bool given = visual && i + 1 < arguments.size() && arguments[i + 1].size() == 1;
        result.push_back(arguments[i]);
        if (visual && !given)
        {
            result.emplace_back("1");
        }
    }
    return result;
}

} // namespace

AnalyticalOptions
AnalyticalOptions::Parse(const std::vector<std::string>& arguments,
                         const NcclOptions::Lookup& environment)
{
    AnalyticalOptions options;
    ProgramFlags flags(USAGE_OF_ANALYTICAL, PURPOSE_OF_ANALYTICAL);
    ProgramQuestions questions;
    AddQuestions(flags, questions, false);
    DescribeFlags(flags, options);
    const auto unknown = flags.Read(CompleteVisual(arguments));
    if (!unknown.empty())
    {
        flags.RefuseUnknown(unknown.front());
    }
    options.environment = RunEnvironment::Read(environment);
    if (!options.gpuTable.empty())
    {
        options.environment.nccl.gpuTable = options.gpuTable;
    }
    options.quiet = options.quiet || options.environment.logLevel > LogLevel::Info;
    options.answer = Answer(questions,
                            flags,
                            "SimAI_analytical",
                            std::string(SPELLING_NOTE) + NOTES_OF_ANALYTICAL);
    if (!options.answer.empty())
    {
        return options;
    }
    if (options.workload.empty())
    {
        RefuseFlag("no workload", "-w FILE");
    }
    options.overlap[static_cast<std::size_t>(GroupKind::DpEp)] =
        options.overlap[static_cast<std::size_t>(GroupKind::Dp)];
    return options;
}

} // namespace AstraSim
