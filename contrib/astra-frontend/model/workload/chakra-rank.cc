/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chakra-rank.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

/// What an element-wise AllReduce of a barrier carries.
constexpr uint64_t BARRIER_BYTES = 4;

} // namespace

ChakraRank::ChakraRank(ChakraWorkload& workload, uint32_t rank, Sys& sys)
    : m_workload(workload),
      m_sys(sys),
      m_rank(rank),
      m_window(workload.PathOf(rank))
{
}

void
ChakraRank::Start()
{
    Run({});
}

bool
ChakraRank::Finished() const
{
    return m_finished;
}

void
ChakraRank::Run(const Ended& ended)
{
    while (const ChakraNode* node = m_window.Next())
    {
        EndExposed(ended);
        Begin(*node);
    }
    const bool exposed = m_communicating > 0 && !m_gpu.busy && !m_cpu.busy;
    if (!exposed)
    {
        EndExposed(ended);
    }
    else if (!m_exposed)
    {
        m_exposed = true;
        m_exposedSince = m_sys.Now();
    }
    if (m_window.Done() && !m_finished)
    {
        m_finished = true;
        auto& observer = m_sys.get_observer();
        observer.PassFinished(m_sys.get_rank(), 0, m_sys.Now());
        observer.RankFinished(m_sys.get_rank(), m_sys.Now());
        m_sys.get_network().NotifyFinished();
    }
}

void
ChakraRank::Begin(const ChakraNode& node)
{
    TrackMemory(node);
    if (m_sys.get_config().replayOnly && node.type != ChakraNode::Type::Metadata)
    {
        After(node.duration, node, nullptr);
        return;
    }
    switch (node.type)
    {
    case ChakraNode::Type::Metadata:
        m_workload.DefineGroups(node, m_window.GetTrace());
        m_window.Finish(node.id);
        break;
    case ChakraNode::Type::Compute:
        BeginCompute(node);
        break;
    case ChakraNode::Type::MemLoad:
    case ChakraNode::Type::MemStore:
        BeginMemory(node);
        break;
    case ChakraNode::Type::Send:
        BeginSend(node);
        break;
    case ChakraNode::Type::Receive:
        BeginReceive(node);
        break;
    case ChakraNode::Type::Collective:
        BeginCollective(node);
        break;
    }
}

TimePs
ChakraRank::ComputeTime(const ChakraNode& node) const
{
    const auto& config = m_sys.get_config();
    if (!config.rooflineEnabled || node.operations == 0)
    {
        return node.duration;
    }
    // TFLOP/s are operations per picosecond, GB/s are bytes per nanosecond.
    const auto operations = static_cast<double>(node.operations);
    const double atPeak = operations / config.peakPerf;
    const double atMemory =
        static_cast<double>(node.tensorBytes) * 1000.0 / config.memoryBus.localMemBandwidth;
    return ns3::RoundToPs(std::max(atPeak, atMemory));
}

void
ChakraRank::BeginCompute(const ChakraNode& node)
{
    Occupy(node.isCpuOp ? m_cpu : m_gpu, node);
}

void
ChakraRank::Occupy(Processor& processor, const ChakraNode& node)
{
    if (processor.busy)
    {
        processor.waiting.push(node.id);
        m_queued[node.id] = &node;
        return;
    }
    processor.busy = true;
    After(ComputeTime(node), node, &processor);
}

void
ChakraRank::BeginMemory(const ChakraNode& node)
{
    auto& memory = m_workload.GetRemoteMemory();
    if (!memory.Exists())
    {
        m_window.GetTrace().Fail(node.id,
                                 "loads from or stores to remote memory, and there is none",
                                 "another memory-type than NO_MEMORY_EXPANSION");
    }
    const TimePs now = m_sys.Now();
    After(memory.Access(m_rank, node.tensorBytes, now) - now, node, nullptr);
}

void
ChakraRank::After(TimePs delay, const ChakraNode& node, Processor* processor)
{
    m_sys.CheckDelay(delay, node.name);
    m_sys.Schedule(delay, &ChakraRank::TimerEnded, new Timer{this, &node, m_sys.Now(), processor});
}

void
ChakraRank::TimerEnded(void* argument)
{
    const std::unique_ptr<Timer> timer(static_cast<Timer*>(argument));
    ChakraRank& rank = *timer->rank;
    const uint64_t id = timer->node->id;
    const WorkloadPosition position{ChakraWorkload::LayerOf(*timer->node),
                                    0,
                                    TrainingPhase::Forward};
    if (timer->processor)
    {
        rank.m_sys.get_observer().ComputeEnded(
            {rank.m_sys.get_rank(), timer->node->name, position, timer->start, rank.m_sys.Now()});
        Processor& processor = *timer->processor;
        processor.busy = false;
        if (!processor.waiting.empty())
        {
            const auto next = rank.m_queued.find(processor.waiting.top());
            processor.waiting.pop();
            const ChakraNode& node = *next->second;
            rank.m_queued.erase(next);
            rank.Occupy(processor, node);
        }
    }
    rank.End(id, {});
}

int
ChakraRank::PeerOf(const ChakraNode& node, uint32_t peer, const char* what) const
{
    const int rank = m_workload.NetworkRank(peer);
    if (rank < 0 || peer == m_rank)
    {
        m_window.GetTrace().Fail(node.id,
                                 "has " + std::string(what) + " " + std::to_string(peer),
                                 "another rank below " + std::to_string(m_workload.GetRankCount()));
    }
    return rank;
}

void
ChakraRank::BeginSend(const ChakraNode& node)
{
    const int peer = PeerOf(node, node.destination, "comm_dst");
    ++m_communicating;
    m_sys.SendMessage(peer,
                      std::max<uint64_t>(node.commBytes, 1),
                      node.tag,
                      {ChakraWorkload::LayerOf(node), 0, TrainingPhase::Forward},
                      [this, id = node.id, layer = ChakraWorkload::LayerOf(node)]() {
                          --m_communicating;
                          End(id, {layer, GroupKind::Pp});
                      });
}

void
ChakraRank::BeginReceive(const ChakraNode& node)
{
    const int peer = PeerOf(node, node.source, "comm_src");
    ++m_communicating;
    m_sys.ReceiveMessage(peer,
                         std::max<uint64_t>(node.commBytes, 1),
                         node.tag,
                         [this, id = node.id, layer = ChakraWorkload::LayerOf(node)](TimePs sent) {
                             --m_communicating;
                             End(id, {layer, GroupKind::Pp, sent});
                         });
}

void
ChakraRank::BeginCollective(const ChakraNode& node)
{
    const auto& trace = m_window.GetTrace();
    const CommGroup* group = node.group.empty() && !node.involvedDimensions.empty()
                                 ? &InvolvedGroup(node)
                                 : m_workload.FindGroup(node.group);
    if (!group)
    {
        trace.Fail(node.id,
                   "names the process group '" + node.group + "'",
                   "one of the communicator file or of a metadata node before it");
    }
    if (std::find(group->ranks.begin(), group->ranks.end(), m_sys.get_rank()) == group->ranks.end())
    {
        trace.Fail(node.id,
                   "takes part in process group '" + node.group + "' of other ranks",
                   "a group that rank " + std::to_string(m_rank) + " is in");
    }
    if (node.root >= group->ranks.size())
    {
        trace.Fail(node.id,
                   "has root " + std::to_string(node.root),
                   "an index below " + std::to_string(group->ranks.size()));
    }
    CollectiveRequest request;
    request.op = node.op;
    request.bytes = node.commBytes;
    request.root = static_cast<int>(node.root);
    if (node.op == CollectiveOp::AllGather)
    {
        request.bytes *= group->ranks.size(); // a trace says what each rank brings
    }
    else if (node.op == CollectiveOp::Barrier)
    {
        request.op = CollectiveOp::AllReduce;
        request.bytes = BARRIER_BYTES;
    }
    if (request.bytes == 0)
    {
        After(0, node, nullptr);
        return;
    }
    ++m_communicating;
    m_sys.generate_collective(
        *group,
        request,
        {ChakraWorkload::LayerOf(node), 0, TrainingPhase::Forward},
        node.priority,
        [this, id = node.id, layer = ChakraWorkload::LayerOf(node), kind = group->kind]() {
            --m_communicating;
            End(id, {layer, kind});
        });
}

const CommGroup&
ChakraRank::InvolvedGroup(const ChakraNode& node) const
{
    const auto& topology = m_sys.get_topology();
    const auto& involved = node.involvedDimensions;
    const uint32_t dimensions = topology.GetDimensionCount();
    uint32_t mask = 0;
    for (uint32_t dimension = 0; dimension < dimensions && dimension < involved.size(); ++dimension)
    {
        mask |= involved[dimension] ? 1U << dimension : 0;
    }
    if (involved.size() < dimensions || mask == 0)
    {
        m_window.GetTrace().Fail(node.id,
                                 "has an involved_dim of " + std::to_string(involved.size()) +
                                     (mask == 0 ? " with none of the dimensions" : ""),
                                 "one for each of the " + std::to_string(dimensions) +
                                     " logical dimensions, at least one of them true");
    }
    return topology.GetSubspace(mask, m_rank);
}

void
ChakraRank::TrackMemory(const ChakraNode& node)
{
    const uint64_t bytes = std::max(node.tensorBytes, node.commBytes);
    if (m_sys.get_config().trackLocalMemory && bytes > 0)
    {
        m_tensors[node.id] = bytes;
        m_localMemory += bytes;
        m_sys.get_observer().LocalMemoryChanged(m_sys.get_rank(), m_localMemory, m_sys.Now());
    }
}

void
ChakraRank::End(uint64_t id, const Ended& ended)
{
    if (const auto tensors = m_tensors.find(id); tensors != m_tensors.end())
    {
        m_localMemory -= tensors->second;
        m_tensors.erase(tensors);
        m_sys.get_observer().LocalMemoryChanged(m_sys.get_rank(), m_localMemory, m_sys.Now());
    }
    m_window.Finish(id);
    Run(ended);
}

void
ChakraRank::EndExposed(const Ended& ended)
{
    if (!m_exposed)
    {
        return;
    }
    const TimePs now = m_sys.Now();
    const TimePs underWay = std::clamp(ended.sent, m_exposedSince, now);
    const auto tell = [&](WaitReason reason, TimePs from, TimePs to) {
        if (to > from)
        {
            m_sys.get_observer().WaitEnded({m_sys.get_rank(),
                                            "communication",
                                            {ended.layer, 0, TrainingPhase::Forward},
                                            ended.group,
                                            reason,
                                            from,
                                            to});
        }
    };
    tell(WaitReason::PipelineIdle, m_exposedSince, underWay);
    tell(WaitReason::Collective, underWay, now);
    m_exposed = false;
}

std::vector<std::string>
ChakraRank::DescribeWaits() const
{
    auto lines = m_window.DescribeRunning();
    for (auto& line : lines)
    {
        line += " of " + m_window.GetTrace().GetPath() + " has not ended";
    }
    return lines;
}

} // namespace AstraSim
