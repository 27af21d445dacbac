/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-planner.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return the algorithm of @p dimension; the last entry holds for all further dimensions
const NativeAlgorithm&
AlgorithmAt(const std::vector<NativeAlgorithm>& algorithms, uint32_t dimension)
{
    return algorithms[std::min<std::size_t>(dimension, algorithms.size() - 1)];
}

} // namespace

CollectivePlanner::CollectivePlanner(const SystemConfig& config,
                                     const LogicalTopology& topology,
                                     CollectiveImplementation* nccl,
                                     CollectiveEngine::Lookup engines,
                                     MemoryBusLookup busOf,
                                     CollectiveCheck* check)
    : m_config(config),
      m_topology(topology),
      m_nccl(nccl),
      m_engines(std::move(engines)),
      m_natives(std::move(busOf)),
      m_check(check)
{
}

CollectiveSchedule
CollectivePlanner::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    const auto& algorithms = m_config.AlgorithmsOf(request.op);
    CollectiveSchedule schedule;
    if (algorithms.empty() || algorithms.front().kind == NativeAlgorithm::Kind::Nccl)
    {
        schedule.lastPhases = {WholeGroup(group, request, NativeAlgorithm{})};
        return schedule;
    }
    if (algorithms.front().kind == NativeAlgorithm::Kind::Engine)
    {
        schedule.lastPhases = {WholeGroup(group, request, algorithms.front())};
        return schedule;
    }
    const uint64_t splits = m_config.preferredDatasetSplits;
    const uint64_t chunkBytes = std::max<uint64_t>(request.bytes / splits, 1);
    schedule.chunks =
        static_cast<uint32_t>(std::max<uint64_t>((request.bytes + chunkBytes - 1) / chunkBytes, 1));
    schedule.chunks = std::min(schedule.chunks, m_config.preferredDatasetSplits);
    CollectiveRequest chunk = request;
    chunk.bytes = chunkBytes;
    schedule.phases = PhasesOf(group, chunk);
    chunk.bytes = request.bytes - chunkBytes * (schedule.chunks - 1);
    schedule.lastPhases = PhasesOf(group, chunk);
    return schedule;
}

uint32_t
CollectivePlanner::GetQueueThreshold() const
{
    const uint32_t queues = QueueCount();
    return (m_config.activeChunksPerDimension + queues - 1) / queues;
}

std::vector<CollectivePhase>
CollectivePlanner::PhasesOf(const CommGroup& group, const CollectiveRequest& request)
{
    const auto& algorithms = m_config.AlgorithmsOf(request.op);
    const uint32_t mask = m_topology.GetMask(group);
    if (mask == 0 || algorithms.front().acrossDimensions || m_topology.GetDimensionCount() == 1)
    {
        return {WholeGroup(group, request, algorithms.front())};
    }
    return AcrossDimensions(mask, request);
}

std::vector<CollectivePhase>
CollectivePlanner::AcrossDimensions(uint32_t mask, const CollectiveRequest& request)
{
    std::vector<uint32_t> used;
    uint64_t ranks = 1;
    for (uint32_t dimension = 0; dimension < m_topology.GetDimensionCount(); ++dimension)
    {
        if ((mask >> dimension & 1) && m_topology.GetSize(dimension) > 1)
        {
            used.push_back(dimension);
            ranks *= m_topology.GetSize(dimension);
        }
    }
    std::vector<CollectivePhase> phases;
    const auto add = [&](uint32_t dimension, CollectiveOp op, uint64_t bytes) {
        const auto& algorithms = m_config.AlgorithmsOf(op).empty()
                                     ? m_config.AlgorithmsOf(request.op)
                                     : m_config.AlgorithmsOf(op);
        CollectiveRequest part = request;
        part.op = op;
        part.bytes = bytes;
        phases.push_back({QueueOfDimension(dimension),
                          QueueCount(),
                          static_cast<int>(dimension),
                          part,
                          ImplementationOf(AlgorithmAt(algorithms, dimension))});
    };

    const uint64_t bytes = request.bytes;
    if (request.op == CollectiveOp::AllReduce &&
        m_config.optimization == CollectiveOptimization::LocalBwAware)
    {
        // The buffer of each phase is the part that the phases before have left.
        uint64_t part = bytes;
        for (std::size_t i = 0; i + 1 < used.size(); ++i)
        {
            add(used[i], CollectiveOp::ReduceScatter, part);
            part = std::max<uint64_t>(part / m_topology.GetSize(used[i]), 1);
        }
        add(used.back(), CollectiveOp::AllReduce, part);
        for (std::size_t i = used.size() - 1; i-- > 0;)
        {
            part *= m_topology.GetSize(used[i]);
            add(used[i], CollectiveOp::AllGather, std::min(part, bytes));
        }
        return phases;
    }

    uint64_t part = bytes;
    if (request.op == CollectiveOp::AllGather)
    {
        part = std::max<uint64_t>(bytes / ranks, 1);
    }
    for (const uint32_t dimension : used)
    {
        const uint32_t size = m_topology.GetSize(dimension);
        if (request.op == CollectiveOp::AllGather)
        {
            part *= size;
        }
        add(dimension, request.op, part);
        if (request.op == CollectiveOp::ReduceScatter)
        {
            part = std::max<uint64_t>(part / size, 1);
        }
    }
    return phases;
}

CollectivePhase
CollectivePlanner::WholeGroup(const CommGroup& group,
                              const CollectiveRequest& request,
                              const NativeAlgorithm& algorithm)
{
    const bool isWorld = group.ranks.size() == m_topology.GetWorld().ranks.size();
    const bool isNative = algorithm.kind != NativeAlgorithm::Kind::Nccl;
    const bool sharesDimension = isWorld && isNative;
    return {sharesDimension ? QueueOfDimension(0) : QueueOfGroup(group),
            sharesDimension ? QueueCount() : 1,
            -1,
            request,
            ImplementationOf(algorithm)};
}

CollectiveImplementation*
CollectivePlanner::ImplementationOf(const NativeAlgorithm& algorithm)
{
    if (algorithm.kind == NativeAlgorithm::Kind::Engine)
    {
        if (!m_engines)
        {
            throw ns3::InputError("system configuration",
                                  0,
                                  "a collective is left to " + algorithm.engine->GetName() +
                                      "'s engines, which this network does not have",
                                  "the packet-level network, without --fast-forward");
        }
        return &m_engines(*algorithm.engine);
    }
    if (algorithm.kind != NativeAlgorithm::Kind::Nccl)
    {
        return Watched(m_natives.Get(algorithm));
    }
    if (!m_nccl)
    {
        throw ns3::InputError("system configuration",
                              0,
                              "a collective is left to NCCL, which this run does not have",
                              "a native algorithm");
    }
    return Watched(*m_nccl);
}

CollectiveImplementation*
CollectivePlanner::Watched(CollectiveImplementation& implementation)
{
    return m_check ? &m_check->Watch(implementation) : &implementation;
}

uint32_t
CollectivePlanner::QueueCount() const
{
    return std::max(1U, m_config.queuesPerDimension);
}

int
CollectivePlanner::QueueOfDimension(uint32_t dimension) const
{
    return static_cast<int>(dimension * QueueCount());
}

int
CollectivePlanner::QueueOfGroup(const CommGroup& group) const
{
    return static_cast<int>(m_topology.GetDimensionCount() * QueueCount() + group.id);
}

} // namespace AstraSim
