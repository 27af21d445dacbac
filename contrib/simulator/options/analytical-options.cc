/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "analytical-options.h"

#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"

#include <initializer_list>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE_OF_ANALYTICAL =
    "SimAI_analytical -w WORKLOAD -g GPUS [flags]; in brackets SimAI's short flag";
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
              "network-topo,n",
              options.topology,
              "topology file that GPUs, GPUs per server, types and bandwidths are taken from");
    flags.Add(Model, {"gpus,g", AboveZero(options.gpus), "GPUs; else the workload's"});
    flags
        .Add(Model,
             {"gpus-per-server",
              AboveZero(options.gpusPerServer),
              "[-g_p_s] GPUs per server; else 8"})
        .Alias({"g-p-s"});
    flags
        .Add(Model, "gpu-type", options.gpuType, "[-g_type] A100 A800 H100 H800 H20 ...; else H100")
        .Alias({"g-type"});
    flags.Add(Model,
              "gpu-table",
              options.gpuTable,
              "rows of GPU types besides the built-in ones (YAML)");
    flags
        .Add(Model,
             {"nvlink",
              AboveZero(options.nvlinkGBps),
              "[-nv] GB/s of a GPU's NVLinks; else the type's"})
        .Alias({"nv"});
    flags
        .Add(Model,
             {"nic-busbw", AboveZero(options.nicGBps), "[-nic] GB/s of a NIC; else the type's"})
        .Alias({"nic"});
    flags
        .Add(Model,
             {"nic-per-server",
              AboveZero(options.nicsPerServer),
              "[-n_p_s] NICs; else the topology's, or one per GPU"})
        .Alias({"n-p-s"});
    flags.Add(Model, "nic-type", options.nicType, "[-nic_t] cx6, cx7 or bf3; else cx7")
        .Alias({"nic-t"});
    flags
        .Add(Model,
             "bus-bandwidth",
             options.busbw,
             "[-busbw] file with the bus bandwidth of each collective; else NCCL's cost model")
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
        flags.Add(FlagSubject::Model, {name, Within(ratio, 0, 1, "a ratio from 0 to 1"), help})
            .Alias(aliases);
    };
    const auto of = [&](GroupKind kind) -> double& {
        return options.overlap[static_cast<std::size_t>(kind)];
    };
    add("tp-overlap-ratio",
        {"tp-o", "tp-overlap"},
        of(GroupKind::Tp),
        "[-tp_o] 0 to 1, of TP communication");
    add("dp-overlap-ratio",
        {"dp-o", "dp-overlap"},
        of(GroupKind::Dp),
        "[-dp_o] the same of DP and DP_EP");
    add("ep-overlap-ratio", {"ep-o", "ep-overlap"}, of(GroupKind::Ep), "[-ep_o] the same of EP");
    add("pp-overlap-ratio",
        {"pp-o", "pp-overlap"},
        options.pipelineOverlap,
        "[-pp_o] the same of PP; else 1, or 0 for micro lines");
}

void
DescribeFlags(ProgramFlags& flags, AnalyticalOptions& options)
{
    using enum FlagSubject;
    flags.Add(Traffic, "workload,w", options.workload, "workload file");
    AddMachine(flags, options);
    AddOverlaps(flags, options);
    flags.Add(Output, "result", options.prefix, "[-r] what names of result files begin with")
        .Alias({"r"});
    flags
        .Add(Output,
             "result-folder",
             options.folder,
             "[-r_f] directory; else results, without -r results/<workload>_analytical")
        .Alias({"r-f", "o", "output"});
    flags
        .Add(Output,
             {"visual", ns3::Flag(options.visual), "[-v] 1: also draw where the time goes (SVG)"})
        .Alias({"v"});
    flags.Add(Traffic, {"passes", AtLeast(options.passes, 1), "number of iterations"});
    flags.Add(Traffic, "tp", options.sizes.tp, "tensor parallel size, for micro lines");
    flags.Add(Traffic, "ep", options.sizes.ep, "expert parallel size, for micro lines");
    flags.Add(Traffic, "pp", options.sizes.pp, "pipeline stages, for micro lines");
    AddLimits(flags, options.limits);
    flags.Add(Output, "quiet,q", options.quiet, "print nothing but warnings and errors");
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
    ProgramFlags flags(USAGE_OF_ANALYTICAL);
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
