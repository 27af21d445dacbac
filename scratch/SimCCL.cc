/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shows what NCCL would do for a collective, without a network: its choice and its flows.
 *
 *   SimCCL --op AllReduce --size 4194304 --nRanks 16 --nNodes 2 --gpus_per_node 8 --gpu_type H100
 *   SimCCL -w microAllReduce.txt -n Spectrum-X_16g_8gps_400Gbps_H100
 *
 * Writes ncclFlowModel_detailed_flows.csv and, for small collectives, ncclFlowModel_flows.dot.
 * Exit status: 0, or 2 if an input is wrong.
 */
#include "ns3/cluster-topology.h"
#include "ns3/input-error.h"
#include "ns3/layer-table.h"
#include "ns3/mock-nccl-group.h"
#include "ns3/rank-layout.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <numeric>
#include <set>
#include <tuple>

namespace
{

namespace po = boost::program_options;
using namespace AstraSim;
using ns3::InputError;

constexpr std::size_t MAX_DOT_FLOWS = 400;

struct Options
{
    std::string op;
    uint64_t size;
    uint32_t ranks;
    uint32_t nodes;
    uint32_t gpusPerNode;
    std::string gpuType;
    double nvlinkGBps;
    double nicGbps;
    int root;
    std::string workload;
    std::string topology;
    std::string output;
    uint64_t maxFlows;
    bool help{false};
};

po::options_description
Describe(Options& options)
{
    po::options_description description("SimCCL [flags]");
    auto add = description.add_options();
    add("help,h", po::bool_switch(&options.help), "this text");
    add("op",
        po::value(&options.op)->default_value("AllReduce"),
        "AllReduce AllGather ReduceScatter AllToAll Broadcast Reduce Gather Scatter SendRecv "
        "Barrier");
    add("size", po::value(&options.size)->default_value(4194304), "bytes, as nccl-tests counts");
    add("nRanks", po::value(&options.ranks)->default_value(0), "ranks; 0: nodes x GPUs per node");
    add("nNodes", po::value(&options.nodes)->default_value(1), "nodes");
    add("gpus_per_node", po::value(&options.gpusPerNode)->default_value(8), "GPUs of a node");
    add("gpu_type", po::value(&options.gpuType)->default_value("H100"), "A100, H100, B200, ...");
    add("nvlink",
        po::value(&options.nvlinkGBps)->default_value(0),
        "NVLink GB/s of a GPU in one direction; 0: the GPU type's");
    add("nic", po::value(&options.nicGbps)->default_value(400), "Gb/s of a GPU's NICs together");
    add("root", po::value(&options.root)->default_value(0), "root of Broadcast, Reduce, ...");
    add("workload,w", po::value(&options.workload), "show every collective of a text workload");
    add("network-topo,n", po::value(&options.topology), "take the machine from a topology file");
    add("output,o", po::value(&options.output)->default_value("."), "where files are written");
    add("max-flows",
        po::value(&options.maxFlows)->default_value(2000000),
        "refuse to write more flows than that");
    return description;
}

CollectiveOp
ParseOp(const std::string& name)
{
    const auto lower = [](std::string text) {
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
            return static_cast<char>(std::tolower(c));
        });
        return text;
    };
    for (const CollectiveOp op : {CollectiveOp::AllReduce,
                                  CollectiveOp::AllGather,
                                  CollectiveOp::ReduceScatter,
                                  CollectiveOp::AllToAll,
                                  CollectiveOp::Broadcast,
                                  CollectiveOp::Reduce,
                                  CollectiveOp::Gather,
                                  CollectiveOp::Scatter,
                                  CollectiveOp::SendRecv,
                                  CollectiveOp::Barrier})
    {
        if (lower(ToString(op)) == lower(name))
        {
            return op;
        }
    }
    throw InputError("command line", 0, "unknown --op " + name, "a collective that --help lists");
}

MachineModel
MachineOf(const Options& options)
{
    if (!options.topology.empty())
    {
        return MachineModel::FromTopology(ns3::ClusterTopology::Read(options.topology));
    }
    bool known = false;
    MachineModel machine;
    machine.gpu = FindGpuProfile(options.gpuType, &known);
    if (!known)
    {
        throw InputError("command line",
                         0,
                         "unknown --gpu_type " + options.gpuType,
                         "A100, A800, H100, H200, H20, H800, B200 or GB200");
    }
    machine.gpusPerServer = options.gpusPerNode;
    machine.nvlinkGBps = options.nvlinkGBps > 0 ? options.nvlinkGBps : machine.gpu.nvlinkGBps;
    machine.nicGBps = options.nicGbps / 8;
    return machine;
}

/// A collective to show.
struct Job
{
    CommGroup group;
    CollectiveRequest request;
};

std::vector<Job>
JobsOf(const Options& options)
{
    if (options.workload.empty())
    {
        const uint64_t ranks =
            options.ranks ? options.ranks : uint64_t{options.nodes} * options.gpusPerNode;
        if (ranks == 0 || ranks > uint64_t{options.nodes} * options.gpusPerNode)
        {
            throw InputError("command line",
                             0,
                             fmt::format("--nRanks {} on {} nodes of {} GPUs",
                                         ranks,
                                         options.nodes,
                                         options.gpusPerNode),
                             "1 to nodes x GPUs per node");
        }
        Job job;
        job.group.name = "all";
        job.group.ranks.resize(ranks);
        std::iota(job.group.ranks.begin(), job.group.ranks.end(), 0);
        job.request.op = ParseOp(options.op);
        job.request.bytes = options.size;
        job.request.root = options.root;
        return {job};
    }
    const LayerTable table = ReadLayerTable(options.workload);
    std::vector<int> ranks(table.sizes.world);
    std::iota(ranks.begin(), ranks.end(), 0);
    const RankLayout layout(table.sizes, ranks, table.file);
    std::vector<Job> jobs;
    std::set<std::tuple<GroupKind, CollectiveOp, uint64_t>> seen;
    for (const Layer& layer : table.layers)
    {
        for (const LayerCollective& comm : layer.comm)
        {
            if (comm.op != CollectiveOp::None && comm.bytes > 0 &&
                seen.emplace(comm.group, comm.op, comm.bytes).second)
            {
                Job job;
                job.group = layout.GetGroup(comm.group, 0);
                job.request.op = comm.op;
                job.request.bytes = comm.bytes;
                jobs.push_back(std::move(job));
            }
        }
    }
    return jobs;
}

void
ShowSummary(const MachineModel& machine, const NcclPlan& plan, const std::vector<SingleFlow>& flows)
{
    const auto isInside = [&machine](const SingleFlow& flow) {
        return flow.type == ConnType::Nvls ||
               machine.ServerOf(flow.src) == machine.ServerOf(flow.dst);
    };
    uint64_t nvlink = 0;
    uint64_t network = 0;
    for (const SingleFlow& flow : flows)
    {
        (isInside(flow) ? nvlink : network) += flow.bytes;
    }
    const auto rateOf = [&](const SingleFlow& flow) {
        return static_cast<uint64_t>((isInside(flow) ? machine.nvlinkGBps : machine.nicGBps) * 8e9);
    };
    const FlowDagSummary dag = SummarizeFlows(flows, rateOf, plan.wireInflation);
    fmt::print(
        "  flows          {}\n  NVLink bytes   {}\n  network bytes  {}\n  steps          {}\n"
        "  critical path  {:.3f} us, base latency not counted\n",
        flows.size(),
        nvlink,
        network,
        dag.steps,
        static_cast<double>(dag.critical) / 1e6);
}

std::ofstream
OpenOutput(const Options& options, const std::string& name)
{
    std::error_code error;
    std::filesystem::create_directories(options.output, error);
    const auto path = (std::filesystem::path(options.output) / name).string();
    std::ofstream file(path);
    if (!file)
    {
        throw InputError(path, 0, "cannot be written", "a directory that can be, with -o");
    }
    return file;
}

void
Run(const Options& options)
{
    const NcclOptions nccl =
        NcclOptions::FromEnvironment([](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value ? std::optional<std::string>(value) : std::nullopt;
        });
    const MockNcclGroup group(MachineOf(options), nccl);
    const MachineModel& machine = group.GetMachine();
    const auto jobs = JobsOf(options);
    std::ofstream csv = OpenOutput(options, "ncclFlowModel_detailed_flows.csv");
    for (const Job& job : jobs)
    {
        const auto flows = group.GetSingleFlows(job.group, job.request, options.maxFlows);
        const NcclPlan plan = group.Choose(job.group, job.request);
        const GroupShape shape(job.group, machine);
        const bool pairwise = !flows.empty() && flows.front().type == ConnType::P2p;
        fmt::print("{} of {} bytes, group {}: {} ranks on {} nodes\n",
                   ToString(job.request.op),
                   job.request.bytes,
                   job.group.name,
                   shape.GetRanks(),
                   shape.GetNodes());
        if (pairwise)
        {
            fmt::print("  choice         Direct, {}\n", ToString(plan.protocol));
        }
        else
        {
            fmt::print("  choice         {}, {}, {} channels\n  NCCL's estimate {:.3f} us\n",
                       ToString(plan.algorithm),
                       ToString(plan.protocol),
                       plan.channels,
                       static_cast<double>(plan.predicted) / 1e6);
        }
        ShowSummary(machine, plan, flows);
        if (jobs.size() > 1)
        {
            csv << "# " << ToString(job.request.op) << ' ' << job.request.bytes << ' '
                << job.group.name << '\n';
        }
        WriteSingleFlowsCsv(csv, flows);
        if (jobs.size() == 1 && flows.size() <= MAX_DOT_FLOWS)
        {
            std::ofstream dot = OpenOutput(options, "ncclFlowModel_flows.dot");
            WriteSingleFlowsDot(dot, flows);
        }
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        Options options;
        const auto description = Describe(options);
        try
        {
            po::variables_map values;
            po::store(po::parse_command_line(argc, argv, description), values);
            po::notify(values);
        }
        catch (const po::error& error)
        {
            throw InputError("command line", 0, error.what(), "flags as --help says");
        }
        if (options.help)
        {
            std::cout << description;
            return 0;
        }
        Run(options);
        return 0;
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
