/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/workload/rank-layout.h"
#include "collectives/model/gpu/gpu-table.h"
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "program-runs.h"
#include "programs/frame/run-console.h"
#include "simulator/inputs/idle-network.h"
#include "simulator/options/run-environment.h"
#include "simulator/options/simccl-options.h"

#include "ns3/cluster-topology.h"
#include "ns3/collective-implementation.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/layer-table.h"
#include "ns3/nearest-name.h"
#include "ns3/output-directory.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>
#include <vector>

namespace AstraSim
{

namespace
{

using ns3::InputError;

CollectiveOp
ParseOp(const std::string& name)
{
    std::vector<std::string> names;
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
        if (boost::algorithm::iequals(std::string(ToString(op)), name))
        {
            return op;
        }
        names.emplace_back(ToString(op));
    }
    RefuseFlag("unknown --op " + name,
               "a collective that --help lists" + ns3::NearestHint(name, names));
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

/// A machine, and how many GPUs there are.
struct SimCclCluster
{
    MachineModel machine;
    uint64_t gpus{0};
    std::optional<ns3::ClusterTopology> topology{}; ///< that the machine was read from
};

constexpr uint64_t MAX_GPUS = 10'000'000; ///< as many as a topology may have

/// A collective to show.
struct SimCclJob
{
    CommGroup group;
    CollectiveRequest request;
};

/// @return the machine of the topology, or of the flags @throw ns3::InputError for a wrong one
SimCclCluster
FindSimCclCluster(const SimCclOptions& options, const GpuTable& gpus)
{
    if (!options.topology.empty())
    {
        auto topology = ns3::ClusterTopology::Read(options.topology);
        MachineModel machine = MachineOfTopology(topology);
        const uint64_t gpus = topology.hostCount;
        return {std::move(machine), gpus, std::move(topology)};
    }
    const GpuProfile* gpu = gpus.Find(options.gpuType);
    if (!gpu)
    {
        RefuseFlag("unknown --gpu_type " + options.gpuType, gpus.Expected(options.gpuType));
    }
    const uint64_t count = uint64_t{options.nodes} * options.gpusPerNode;
    if (count > MAX_GPUS)
    {
        RefuseFlag(fmt::format("--nNodes {} with {} GPUs each", options.nodes, options.gpusPerNode),
                   fmt::format("at most {} GPUs", MAX_GPUS));
    }
    MachineModel machine;
    machine.gpu = *gpu;
    machine.gpuType = options.gpuType;
    machine.gpusPerServer = options.gpusPerNode;
    machine.nvlinkGBps = options.nvlinkGBps > 0 ? options.nvlinkGBps : machine.gpu.nvlinkGBps;
    machine.nicGBps = options.nicGbps / 8;
    machine.SetServersOf(*gpu);
    return {machine, count, std::nullopt};
}

/// @return the collective of the flags, or each different one of the workload
/// @throw ns3::InputError for a mistake in either
std::vector<SimCclJob>
SimCclJobs(const SimCclOptions& options, uint64_t gpus, uint32_t gpusPerServer)
{
    if (options.workload.empty())
    {
        const uint64_t ranks = options.ranks ? options.ranks : gpus;
        CheckFits(ranks, gpus, "command line");
        SimCclJob job;
        job.group.name = "all";
        job.group.ranks.resize(ranks);
        std::iota(job.group.ranks.begin(), job.group.ranks.end(), 0);
        job.request.op = ParseOp(options.op);
        job.request.bytes = options.size;
        job.request.root = options.root;
        if (job.request.op == CollectiveOp::Barrier)
        {
            job.request.bytes = 0; // NCCL chooses a barrier's few bytes itself
        }
        if (job.request.op == CollectiveOp::AllToAllV)
        {
            if (options.pairs.empty())
            {
                RefuseFlag("--op AllToAllV without --pairs", "its file");
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
    std::vector<SimCclJob> jobs;
    std::set<std::tuple<GroupKind, CollectiveOp, uint64_t>> seen;
    for (const Layer& layer : table.layers)
    {
        for (const LayerCollective& comm : layer.comm)
        {
            if (comm.op != CollectiveOp::None && comm.bytes > 0 &&
                seen.emplace(comm.group, comm.op, comm.bytes).second)
            {
                SimCclJob job;
                job.group = layout.GetGroup(comm.group, 0);
                job.request.op = comm.op;
                job.request.bytes = comm.bytes;
                jobs.push_back(std::move(job));
            }
        }
    }
    return jobs;
}

constexpr std::size_t MAX_DOT_FLOWS = 400;
constexpr const char* FLOWS_FILE = "ncclFlowModel_detailed_flows.csv";
constexpr const char* PICTURE_FILE = "ncclFlowModel_flows.dot";

/// Links that flows go over.
class LinkClasses
{
  public:
    LinkClasses(const MachineModel& machine, const CommGroup& group)
        : m_machine(machine),
          m_firstSwitch(1 + *std::ranges::max_element(group.ranks))
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
        return m_machine.JoinsServers() &&
               m_machine.ServerOf(flow.src) == m_machine.ServerOf(flow.dst);
    }

    bool CrossesRails(const SingleFlow& flow) const
    {
        const int rails = static_cast<int>(m_machine.gpusPerServer);
        return !IsNvLink(flow) && !IsSwitch(flow.src) && !IsSwitch(flow.dst) &&
               flow.src % rails != flow.dst % rails;
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
ShowFlows(const LinkClasses& links, const std::vector<SingleFlow>& flows)
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
    fmt::print("  flows          {}\n  NVLink bytes   {}\n  network bytes  {}, {} across rails\n",
               flows.size(),
               nvlink,
               network,
               acrossRails);
    for (const auto& [type, count] : connections)
    {
        fmt::print("    {:<12} {} flows, {} bytes\n", ToString(type), count.flows, count.bytes);
    }
    fmt::print("  steps          {}\n", CountSteps(flows));
}

void
ShowJob(const SimCclJob& job,
        const MockNcclGroup& group,
        const IdleMachine& idle,
        const std::vector<SingleFlow>& flows)
{
    const MachineModel& machine = group.GetMachine();
    const CollectiveOffer offer = group.Choose(job.group, job.request);
    const GroupShape shape(job.group, machine);
    const CollectiveChoice& choice = offer.choice;
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
    if (!choice.by.empty())
    {
        fmt::print("  chosen by      {}\n", choice.by);
    }
    if (choice.predicted > 0)
    {
        // RCCL divides the bandwidth of choices to avoid by 100: its figure is a rating, no time.
        const char* label = choice.protocol == "-"          ? "estimate      " // a plug-in's
                            : IsAmd(machine.gpu.generation) ? "RCCL's rating "
                                                            : "NCCL's estimate";
        fmt::print("  {} {:.3f} us\n", label, static_cast<double>(choice.predicted) / 1e6);
    }
    ShowFlows(LinkClasses(machine, job.group), flows);
    const TimePs time = idle.GetTime(job.group, job.request, offer);
    fmt::print("  time           {:.3f} us on an idle network\n", static_cast<double>(time) / 1e6);
}

std::string
PathOf(const SimCclOptions& options, const std::string& name)
{
    return (std::filesystem::path(options.output) / name).lexically_normal().string();
}

} // namespace

int
RunSimCcl(const SimCclOptions& options)
{
    RunEnvironment environment = RunEnvironment::Read(EnvironmentVariable);
    const RunConsole console(options.quiet, environment.logLevel);
    console.Warn(environment.warnings);
    std::vector<std::string> idleFlags = options.warnings;
    console.Warn(idleFlags);
    NcclOptions nccl = environment.nccl;
    if (!options.gpuTable.empty())
    {
        nccl.gpuTable = options.gpuTable;
    }
    const GpuTable gpus = GpuTable::Read(nccl.gpuTable);
    SimCclCluster cluster = FindSimCclCluster(options, gpus);
    std::vector<std::string> idleTable =
        gpus.DescribeIdle(nccl.gpuType.empty() ? cluster.machine.gpuType : nccl.gpuType);
    console.Warn(idleTable);
    const IdleNetwork network =
        MakeIdleNetwork(nccl.networkKind, cluster.machine, cluster.topology);
    const MockNcclGroup group(cluster.machine, nccl);
    const IdleMachine idle(group, network);
    const MachineModel& machine = group.GetMachine();
    const auto jobs = SimCclJobs(options, cluster.gpus, machine.gpusPerServer);
    const ns3::OutputDirectory directory(options.output);
    ns3::OutputFile csv(PathOf(options, FLOWS_FILE));
    bool drawn = false;
    for (const SimCclJob& job : jobs)
    {
        const auto flows = group.GetSingleFlows(job.group, job.request, options.maxFlows);
        if (!options.quiet)
        {
            ShowJob(job, group, idle, flows);
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
            ns3::WriteWholeFile(PathOf(options, PICTURE_FILE), dot.view());
            drawn = true;
        }
    }
    csv.Finish();
    if (!options.quiet)
    {
        fmt::print("written: {}{}\n",
                   PathOf(options, FLOWS_FILE),
                   drawn ? " and " + PathOf(options, PICTURE_FILE) : "");
    }
    if (!drawn)
    {
        // Output of an earlier run must not pass for this one's.
        std::error_code error;
        std::filesystem::remove(PathOf(options, PICTURE_FILE), error);
    }
    return 0;
}

} // namespace AstraSim
