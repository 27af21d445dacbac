/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simccl-jobs.h"

#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/workload/rank-layout.h"

#include "ns3/cluster-topology.h"
#include "ns3/input-error.h"
#include "ns3/input-lines.h"
#include "ns3/layer-table.h"

#include <boost/algorithm/string/predicate.hpp>
#include <charconv>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <tuple>

namespace AstraSim
{

using ns3::InputError;

namespace
{

CollectiveOp
ParseOp(const std::string& name)
{
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
    }
    throw InputError("command line", 0, "unknown --op " + name, "a collective that --help lists");
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

} // namespace

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
    machine.SetServersOf(*gpu);
    return {machine, uint64_t{options.nodes} * options.gpusPerNode, std::nullopt};
}

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

} // namespace AstraSim
