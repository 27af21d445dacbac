/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simccl-options.h"

#include "program-flags.h"

#include <boost/program_options.hpp>
#include <sstream>

namespace AstraSim
{

namespace
{

namespace po = boost::program_options;

/// Names that other programs use for these flags.
const FlagAliases SPELLINGS_OF_SIMAI = {
    {"g-p-s", "gpus_per_node"},
    {"gpus-per-server", "gpus_per_node"},
    {"g-type", "gpu_type"},
    {"nv", "nvlink"},
};

po::options_description
DescribeOptions(SimCclOptions& options, std::string& size)
{
    po::options_description description("SimCCL [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("version", po::bool_switch(&options.version), "the version of the program");
    add("quiet,q", po::bool_switch(&options.quiet), "write the files and print nothing");
    add("op",
        po::value(&options.op)->default_value("AllReduce"),
        "AllReduce AllGather ReduceScatter AllToAll AllToAllV Broadcast Reduce Gather Scatter "
        "SendRecv Barrier");
    add("size", po::value(&size)->default_value("4194304"), "bytes, as nccl-tests counts: 8, 32M");
    add("nRanks", po::value(&options.ranks)->default_value(0), "ranks; 0: as many as GPUs");
    add("nNodes", po::value(&options.nodes)->default_value(1), "nodes");
    add("gpus_per_node", po::value(&options.gpusPerNode)->default_value(8), "GPUs of a node");
    add("gpu_type", po::value(&options.gpuType)->default_value("H100"), "A100, H100, B200, ...");
    add("nvlink",
        po::value(&options.nvlinkGBps)->default_value(0),
        "NVLink GB/s of a GPU in one direction; 0: the GPU type's");
    add("nic", po::value(&options.nicGbps)->default_value(400), "Gb/s of a GPU's NICs together");
    add("root", po::value(&options.root)->default_value(0), "root of Broadcast, Reduce, ...");
    add("pairs",
        po::value(&options.pairs),
        "AllToAllV: a file with a line per sender, the bytes for each receiver in it");
    add("gpu-table", po::value(&options.gpuTable), "GPU types besides the built-in ones");
    add("workload,w", po::value(&options.workload), "show every collective of a text workload");
    add("network-topo,n", po::value(&options.topology), "take the machine from a topology file");
    add("output,o", po::value(&options.output)->default_value("."), "where files are written");
    add("max-flows",
        po::value(&options.maxFlows)->default_value(2000000),
        "refuse to write more flows than that");
    return description;
}

} // namespace

SimCclOptions
SimCclOptions::Parse(const std::vector<std::string>& arguments)
{
    SimCclOptions options;
    std::string size;
    const auto description = DescribeOptions(options, size);
    po::variables_map values;
    const auto unknown = ReadFlags(arguments, description, values, SPELLINGS_OF_SIMAI);
    if (!unknown.empty())
    {
        RefuseUnknownFlag(unknown.front(), description);
    }
    options.size = ParseSizeFlag("--size", size);
    return options;
}

std::string
SimCclOptions::Help()
{
    SimCclOptions unused;
    std::string size;
    std::ostringstream text;
    text << DescribeOptions(unused, size) << SPELLING_NOTE;
    return text.str();
}

} // namespace AstraSim
