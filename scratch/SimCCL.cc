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
#include "ns3/gpu-table.h"
#include "ns3/guarded-main.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/layer-table.h"
#include "ns3/mock-nccl-group.h"
#include "ns3/output-directory.h"
#include "ns3/output-file.h"
#include "ns3/program-flags.h"
#include "ns3/rank-layout.h"
#include "ns3/run-record.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

namespace
{

namespace po = boost::program_options;
using namespace AstraSim;
using ns3::InputError;

constexpr std::size_t MAX_DOT_FLOWS = 400;

/// Names that other programs use for these flags.
const FlagAliases SPELLINGS_OF_SIMAI = {
    {"g-p-s", "gpus_per_node"},
    {"gpus-per-server", "gpus_per_node"},
    {"g-type", "gpu_type"},
    {"nv", "nvlink"},
};

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
    std::string gpuTable;
    std::string pairs;
    std::string workload;
    std::string topology;
    std::string output;
    uint64_t maxFlows;
    bool quiet{false};
    bool help{false};
    bool version{false};
};

po::options_description
Describe(Options& options)
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
    add("size", po::value(&options.size)->default_value(4194304), "bytes, as nccl-tests counts");
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
                                  CollectiveOp::AllToAllV,
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

/// The machine, and how many GPUs there are.
struct Cluster
{
    MachineModel machine;
    uint64_t gpus{0};
};

Cluster
ClusterOf(const Options& options, const GpuTable& gpus)
{
    if (!options.topology.empty())
    {
        const auto topology = ns3::ClusterTopology::Read(options.topology);
        return {MachineModel::FromTopology(topology), topology.hostCount};
    }
    const GpuProfile* gpu = gpus.Find(options.gpuType);
    if (!gpu)
    {
        throw InputError("command line",
                         0,
                         "unknown --gpu_type " + options.gpuType,
                         "one of " + gpus.GetNames() + ", or a row of --gpu-table");
    }
    MachineModel machine;
    machine.gpu = *gpu;
    machine.gpuType = options.gpuType;
    machine.gpusPerServer = options.gpusPerNode;
    machine.nvlinkGBps = options.nvlinkGBps > 0 ? options.nvlinkGBps : machine.gpu.nvlinkGBps;
    machine.nicGBps = options.nicGbps / 8;
    return {machine, uint64_t{options.nodes} * options.gpusPerNode};
}

/// @return bytes by sender and receiver
std::vector<uint64_t>
ReadPairs(const std::string& path, std::size_t ranks)
{
    ns3::InputLines lines(path);
    std::vector<uint64_t> pairs;
    const std::string expected = fmt::format("{} lines of {} numbers of bytes each", ranks, ranks);
    while (lines.Next())
    {
        if (lines.Fields().size() != ranks || pairs.size() == ranks * ranks)
        {
            lines.Fail("this line is not one of a table of all pairs", expected);
        }
        for (const std::string_view field : lines.Fields())
        {
            uint64_t bytes = 0;
            const auto [end, error] =
                std::from_chars(field.data(), field.data() + field.size(), bytes);
            if (error != std::errc() || end != field.data() + field.size())
            {
                lines.Fail("'" + std::string(field) + "' is not a valid number of bytes", expected);
            }
            pairs.push_back(bytes);
        }
    }
    if (pairs.size() != ranks * ranks)
    {
        throw InputError(path, lines.Line(), "the table ends too early", expected);
    }
    return pairs;
}

/// A collective to show.
struct Job
{
    CommGroup group;
    CollectiveRequest request;
};

void
CheckFits(uint64_t ranks, uint64_t gpus, const std::string& source)
{
    if (ranks == 0 || ranks > gpus)
    {
        throw InputError(source,
                         0,
                         fmt::format("{} ranks on {} GPUs", ranks, gpus),
                         fmt::format("1 to {}", gpus));
    }
}

std::vector<Job>
JobsOf(const Options& options, uint64_t gpus, uint32_t gpusPerServer)
{
    if (options.workload.empty())
    {
        const uint64_t ranks = options.ranks ? options.ranks : gpus;
        CheckFits(ranks, gpus, "command line");
        Job job;
        job.group.name = "all";
        job.group.ranks.resize(ranks);
        std::iota(job.group.ranks.begin(), job.group.ranks.end(), 0);
        job.request.op = ParseOp(options.op);
        job.request.bytes = options.size;
        job.request.root = options.root;
        if (job.request.op == CollectiveOp::Barrier)
        {
            job.request.bytes = 0; // NCCL's own few, not the user's
        }
        if (job.request.op == CollectiveOp::AllToAllV)
        {
            if (options.pairs.empty())
            {
                throw InputError("command line", 0, "--op AllToAllV without --pairs", "its file");
            }
            job.request.bytesPerPair = ReadPairs(options.pairs, ranks);
            job.request.bytes = std::accumulate(job.request.bytesPerPair.begin(),
                                                job.request.bytesPerPair.end(),
                                                uint64_t{0});
        }
        return {job};
    }
    const LayerTable table = ReadLayerTable(options.workload);
    const uint64_t world = table.sizes.world ? table.sizes.world : gpus; // micro lines take all
    if (!options.topology.empty())
    {
        CheckFits(world, gpus, options.workload);
    }
    std::vector<int> ranks(world);
    std::iota(ranks.begin(), ranks.end(), 0);
    ParallelSizes sizes;
    sizes.gpusPerServer = gpusPerServer;
    const RankLayout layout(GroupSizes(table, sizes, ranks), ranks, table.file);
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

/// Which links flows go over.
class LinkClasses
{
  public:
    LinkClasses(const MachineModel& machine, const CommGroup& group)
        : m_machine(machine),
          m_firstSwitch(1 + *std::max_element(group.ranks.begin(), group.ranks.end()))
    {
    }

    bool IsSwitch(int end) const
    {
        return end >= m_firstSwitch;
    }

    bool IsNvLink(const SingleFlow& flow) const
    {
        if (IsSwitch(flow.src) || IsSwitch(flow.dst))
        {
            return flow.type == ConnType::Nvls;
        }
        return m_machine.nvswitchesPerServer > 0 &&
               m_machine.ServerOf(flow.src) == m_machine.ServerOf(flow.dst);
    }

    bool CrossesRails(const SingleFlow& flow) const
    {
        const int rails = static_cast<int>(m_machine.gpusPerServer);
        return !IsNvLink(flow) && !IsSwitch(flow.src) && !IsSwitch(flow.dst) &&
               flow.src % rails != flow.dst % rails;
    }

    uint64_t RateOf(const SingleFlow& flow) const
    {
        return static_cast<uint64_t>((IsNvLink(flow) ? m_machine.nvlinkGBps : m_machine.nicGBps) *
                                     8e9);
    }

  private:
    const MachineModel& m_machine;
    int m_firstSwitch;
};

/// Number and bytes of some flows.
struct Count
{
    uint64_t flows{0};
    uint64_t bytes{0};
};

void
ShowSummary(const LinkClasses& links, const NcclPlan& plan, const std::vector<SingleFlow>& flows)
{
    uint64_t nvlink = 0;
    uint64_t network = 0;
    uint64_t acrossRails = 0;
    std::map<ConnType, Count> connections;
    for (const SingleFlow& flow : flows)
    {
        (links.IsNvLink(flow) ? nvlink : network) += flow.bytes;
        acrossRails += links.CrossesRails(flow) ? flow.bytes : 0;
        ++connections[flow.type].flows;
        connections[flow.type].bytes += flow.bytes;
    }
    const auto rateOf = [&](const SingleFlow& flow) { return links.RateOf(flow); };
    const FlowDagSummary dag = SummarizeFlows(flows, rateOf, plan.wireInflation);
    fmt::print("  flows          {}\n  NVLink bytes   {}\n  network bytes  {}, {} across rails\n",
               flows.size(),
               nvlink,
               network,
               acrossRails);
    for (const auto& [type, count] : connections)
    {
        fmt::print("    {:<12} {} flows, {} bytes\n", ToString(type), count.flows, count.bytes);
    }
    fmt::print("  steps          {}\n  critical path  {:.3f} us, base latency not counted\n",
               dag.steps,
               static_cast<double>(dag.critical) / 1e6);
}

void
ShowJob(const Job& job, const MockNcclGroup& group, const std::vector<SingleFlow>& flows)
{
    const MachineModel& machine = group.GetMachine();
    const NcclPlan plan = group.Choose(job.group, job.request);
    const GroupShape shape(job.group, machine);
    const CollectiveChoice choice = group.Describe(job.group, job.request);
    fmt::print("{} of {} bytes, group {}: {} ranks on {} nodes\n",
               ToString(job.request.op),
               job.request.bytes,
               job.group.name,
               shape.GetRanks(),
               shape.GetNodes());
    fmt::print("  choice         {}, {}, {} channels\n",
               choice.algorithm,
               choice.protocol,
               choice.channels);
    if (choice.predicted > 0)
    {
        fmt::print("  NCCL's estimate {:.3f} us\n", static_cast<double>(choice.predicted) / 1e6);
    }
    ShowSummary(LinkClasses(machine, job.group), plan, flows);
}

std::string
PathOf(const Options& options, const std::string& name)
{
    return (std::filesystem::path(options.output) / name).string();
}

void
Run(const Options& options)
{
    NcclOptions nccl =
        NcclOptions::FromEnvironment([](const std::string& name) -> std::optional<std::string> {
            const char* value = std::getenv(name.c_str());
            return value ? std::optional<std::string>(value) : std::nullopt;
        });
    if (!options.gpuTable.empty())
    {
        nccl.gpuTable = options.gpuTable;
    }
    const GpuTable gpus = nccl.gpuTable.empty() ? GpuTable() : GpuTable::Read(nccl.gpuTable);
    const Cluster cluster = ClusterOf(options, gpus);
    const MockNcclGroup group(cluster.machine, nccl);
    const MachineModel& machine = group.GetMachine();
    const auto jobs = JobsOf(options, cluster.gpus, machine.gpusPerServer);
    const ns3::OutputDirectory directory(options.output);
    ns3::OutputFile csv(PathOf(options, "ncclFlowModel_detailed_flows.csv"));
    bool drawn = false;
    for (const Job& job : jobs)
    {
        const auto flows = group.GetSingleFlows(job.group, job.request, options.maxFlows);
        if (!options.quiet)
        {
            ShowJob(job, group, flows);
        }
        if (jobs.size() > 1)
        {
            csv.Write(fmt::format("# {} {} {}\n",
                                  ToString(job.request.op),
                                  job.request.bytes,
                                  job.group.name));
        }
        std::ostringstream rows;
        WriteSingleFlowsCsv(rows, flows);
        csv.Write(rows.view());
        if (jobs.size() == 1 && flows.size() <= MAX_DOT_FLOWS)
        {
            std::ostringstream dot;
            WriteSingleFlowsDot(dot, flows);
            ns3::WriteWholeFile(PathOf(options, "ncclFlowModel_flows.dot"), dot.view());
            drawn = true;
        }
    }
    csv.Finish();
    if (!drawn)
    {
        // What an earlier run left must not pass for this one's.
        std::error_code error;
        std::filesystem::remove(PathOf(options, "ncclFlowModel_flows.dot"), error);
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    return GuardedMain([&] {
        Options options;
        const auto description = Describe(options);
        po::variables_map values;
        const auto unknown =
            ReadFlags({argv + 1, argv + argc}, description, values, SPELLINGS_OF_SIMAI);
        if (!unknown.empty())
        {
            RefuseUnknownFlag(unknown.front(), description);
        }
        if (options.help)
        {
            std::cout << description << SPELLING_NOTE;
            return 0;
        }
        if (options.version)
        {
            std::cout << "SimCCL " << ProgramVersion() << "\n";
            return 0;
        }
        Run(options);
        return 0;
    });
}
