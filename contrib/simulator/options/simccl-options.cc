/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simccl-options.h"

#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"

#include <cstdint>
#include <string>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE_OF_SIMCCL = "SimCCL [flags]";

/// Other names of flags are those that other programs use.
void
DescribeFlags(FlagTable& flags, SimCclOptions& options, std::string& size)
{
    using enum FlagSubject;
    using Text = std::string;
    flags.Add(Output, "quiet,q", options.quiet, "write the files and print nothing");
    flags.AddDefault(Traffic,
                     "op",
                     options.op,
                     Text("AllReduce"),
                     "AllReduce AllGather ReduceScatter AllToAll AllToAllV Broadcast Reduce Gather "
                     "Scatter SendRecv Barrier");
    flags.AddDefault(Traffic, "size", size, Text("4194304"), "bytes, as nccl-tests counts: 8, 32M");
    flags.AddDefault(Traffic, "nRanks", options.ranks, 0U, "ranks; 0: as many as GPUs");
    flags.AddDefault(Model, "nNodes", options.nodes, 1U, "nodes").AtLeast(1);
    flags.AddDefault(Model, "gpus_per_node", options.gpusPerNode, 8U, "GPUs of a node")
        .AtLeast(1)
        .Alias({"g-p-s", "gpus-per-server"});
    flags.AddDefault(Model, "gpu_type", options.gpuType, Text("H100"), "A100, H100, B200, ...")
        .Alias({"g-type"});
    flags
        .AddDefault(Model,
                    "nvlink",
                    options.nvlinkGBps,
                    0.0,
                    "NVLink GB/s of a GPU in one direction; 0: the GPU type's")
        .Alias({"nv"});
    flags.AddDefault(Model, "nic", options.nicGbps, 400.0, "Gb/s of a GPU's NICs together")
        .AboveZero();
    flags.AddDefault(Traffic, "root", options.root, 0, "root of Broadcast, Reduce, ...");
    flags.Add(Traffic,
              "pairs",
              options.pairs,
              "AllToAllV: a file with a line per sender, the bytes for each receiver in it");
    flags.Add(Model,
              "gpu-table",
              options.gpuTable,
              "rows of GPU types besides the built-in ones (YAML)");
    flags.Add(Traffic, "workload,w", options.workload, "show every collective of a text workload");
    flags.Add(Model, "network-topo,n", options.topology, "take the machine from a topology file");
    flags.AddDefault(Output, "output,o", options.output, Text("."), "where files are written");
    flags.AddDefault(Limit,
                     "max-flows",
                     options.maxFlows,
                     uint64_t{2000000},
                     "refuse to write more flows than that");
}

/// Refuse flags beside a file that has the same settings.
void
RefuseBeside(const FlagTable& flags,
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
    std::string size;
    FlagTable flags(USAGE_OF_SIMCCL);
    ProgramQuestions questions;
    AddQuestions(flags, questions, false);
    DescribeFlags(flags, options, size);
    const auto unknown = flags.Read(arguments);
    if (!unknown.empty())
    {
        flags.RefuseUnknown(unknown.front());
    }
    options.answer = Answer(questions, flags, "SimCCL", SPELLING_NOTE);
    options.size = ParseSizeFlag("--size", size);
    if (!options.answer.empty())
    {
        return options;
    }
    flags.Check();
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
