/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simccl-options.h"

#include "programs/frame/program-flags.h"
#include "programs/frame/program-questions.h"

#include <string>

namespace AstraSim
{

namespace
{

constexpr const char* USAGE_OF_SIMCCL = "SimCCL [flags]";
constexpr double MOST_GBPS = 1e9;

/// Other names of flags are those that other programs use.
void
DescribeFlags(ProgramFlags& flags, SimCclOptions& options, std::string& size)
{
    using enum FlagSubject;
    flags.Add(Output, "quiet,q", options.quiet, "write the files and print nothing");
    flags.Add(Traffic,
              "op",
              options.op,
              "AllReduce AllGather ReduceScatter AllToAll AllToAllV Broadcast Reduce Gather "
              "Scatter SendRecv Barrier");
    flags.Add(Traffic, "size", size, "bytes, as nccl-tests counts: 8, 32M");
    flags.Add(Traffic, "nRanks", options.ranks, "ranks; 0: as many as GPUs");
    flags.Add(Model, {"nNodes", AtLeast(options.nodes, 1), "nodes"});
    flags.Add(Model, {"gpus_per_node", AtLeast(options.gpusPerNode, 1), "GPUs of a node"})
        .Alias({"g-p-s", "gpus-per-server"});
    flags.Add(Model, "gpu_type", options.gpuType, "A100, H100, B200, ...").Alias({"g-type"});
    flags
        .Add(Model,
             {"nvlink",
              Within(options.nvlinkGBps, 0, MOST_GBPS, "GB/s, 0 or more"),
              "NVLink GB/s of a GPU in one direction; 0: the GPU type's"})
        .Alias({"nv"});
    flags.Add(Model, {"nic", AboveZero(options.nicGbps), "Gb/s of a GPU's NICs together"});
    flags.Add(Traffic, "root", options.root, "root of Broadcast, Reduce, ...");
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
    flags.Add(Output, "output,o", options.output, "where files are written");
    flags.Add(Limit, "max-flows", options.maxFlows, "refuse to write more flows than that");
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
    ProgramFlags flags(USAGE_OF_SIMCCL, true);
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
