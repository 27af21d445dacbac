/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simccl-options.h"

#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <initializer_list>
#include <string>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE_OF_SIMCCL = "SimCCL [flags]";
constexpr const char* PURPOSE_OF_SIMCCL =
    "Shows how NCCL carries out a collective: algorithm, protocol, channels, time on\n"
    "an idle network, and every flow as a CSV file.\n\n"
    "    SimCCL --op AllReduce --size 4M --nNodes 2 --gpus_per_node 8 --gpu_type H100";
constexpr double MOST_RATE = 1e7; ///< GB/s or Gb/s

constexpr double LEAST_RATE = 1e-6;

bool
IsOneOf(const std::string& op, std::initializer_list<const char*> names)
{
    return std::ranges::any_of(names, [&op](const char* name) {
        return boost::algorithm::iequals(op, name);
    });
}

/// Other names of flags are those that other programs use.
void
DescribeFlags(ProgramFlags& flags, SimCclOptions& options, std::string& size)
{
    using enum FlagSubject;
    flags.Add(Output, "quiet,q", options.quiet, "write the files and print nothing");
    flags.Add(
        Traffic,
        "op NAME",
        options.op,
        "collective: AllReduce AllGather ReduceScatter AllToAll AllToAllV Broadcast Reduce Gather "
        "Scatter SendRecv Barrier");
    flags.Add(Traffic, "size SIZE", size, "bytes as nccl-tests counts them, such as 8 or 32M")
        .HasNone("a Barrier has no bytes, and AllToAllV those of --pairs", [&options] {
            return IsOneOf(options.op, {"Barrier", "AllToAllV"});
        });
    flags.Add(Traffic, "nRanks", options.ranks, "ranks (default: 0, as many as GPUs)");
    flags.Add(Model, {"nNodes", AtLeast(options.nodes, 1), "servers"});
    flags.Add(Model, {"gpus_per_node", AtLeast(options.gpusPerNode, 1), "GPUs of a server"})
        .Alias({"g-p-s", "gpus-per-server"});
    flags.Add(Model, "gpu_type NAME", options.gpuType, "GPU type, such as A100 or B200")
        .Alias({"g-type"});
    flags
        .Add(Model,
             {"nvlink X",
              Within(options.nvlinkGBps, 0, MOST_RATE, "GB/s, from 0 to 10000000"),
              "GB/s of a GPU's NVLinks in one direction (default: 0, the GPU type's)"})
        .Alias({"nv"});
    flags.Add(Model,
              {"nic X",
               Within(options.nicGbps, LEAST_RATE, MOST_RATE, "Gb/s, from 0.000001 to 10000000"),
               "Gb/s of a GPU's NICs together"});
    flags.Add(Traffic, "root RANK", options.root, "root of Broadcast, Reduce, Gather and Scatter")
        .HasNone("only Broadcast, Reduce, Gather and Scatter have a root", [&options] {
            return !IsOneOf(options.op, {"Broadcast", "Reduce", "Gather", "Scatter"});
        });
    flags.Add(Traffic,
              "pairs FILE",
              options.pairs,
              "file for AllToAllV: a line per sender, with the bytes for each receiver");
    flags.Add(Model,
              "gpu-table FILE",
              options.gpuTable,
              "further GPU types (YAML) (default: AS_GPU_TABLE, or none)");
    flags.Add(Traffic,
              "workload,w FILE",
              options.workload,
              "show every collective of this text workload");
    flags.Add(Model,
              "network-topo,n FILE",
              options.topology,
              "take the machine from this topology");
    flags.Add(Output,
              "output,o DIR",
              options.output,
              "directory for the files (default: this one)");
    flags.Add(Limit, "max-flows", options.maxFlows, "refuse to write more flows than this");
}

/// Refuse flags beside a file that has the same settings.
void
RefuseBeside(const ProgramFlags& flags,
             const std::string& file,
             std::initializer_list<const char*> names,
             const std::string& what)
{
    for (const char* name : names)
    {
        if (flags.IsGiven(name))
        {
            RefuseFlag(std::string("--") + name + " with " + file,
                       "one of them, as the file has the " + what);
        }
    }
}

} // namespace

SimCclOptions
SimCclOptions::Parse(const std::vector<std::string>& arguments)
{
    SimCclOptions options;
    std::string size{"4194304"};
    ProgramFlags flags(USAGE_OF_SIMCCL, PURPOSE_OF_SIMCCL);
    ProgramQuestions questions;
    AddQuestions(flags, questions, false);
    DescribeFlags(flags, options, size);
    const auto unknown = flags.Read(arguments);
    if (!unknown.empty())
    {
        flags.RefuseUnknown(unknown.front());
    }
    options.answer = Answer(questions, flags, "SimCCL", SPELLING_NOTE);
    options.warnings = flags.DescribeIdle();
    options.size = ParseSizeFlag("--size", size);
    if (!options.answer.empty())
    {
        return options;
    }
    if (!options.workload.empty())
    {
        RefuseBeside(flags,
                     "-w " + options.workload,
                     {"op", "size", "nRanks", "root", "pairs"},
                     "collectives");
    }
    if (!options.topology.empty())
    {
        RefuseBeside(flags,
                     "-n " + options.topology,
                     {"nNodes", "gpus_per_node", "gpu_type", "nvlink", "nic"},
                     "machine");
    }
    if (!options.pairs.empty() && options.op != "AllToAllV")
    {
        RefuseFlag("--pairs with --op " + options.op, "--op AllToAllV");
    }
    return options;
}

} // namespace AstraSim
