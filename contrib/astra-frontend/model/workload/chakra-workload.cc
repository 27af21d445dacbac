/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chakra-workload.h"

#include "astra-frontend/model/chakra/chakra-window.h"
#include "astra-frontend/model/system/logical-topology.h"
#include "astra-frontend/model/system/rank-waits.h"
#include "astra-frontend/model/system/sys.h"
#include "astra-frontend/model/system/workload.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/units.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace AstraSim
{

// ChakraWindow holds the part of a rank's trace that is in memory, and gives out the nodes whose
// dependencies are over. Run() begins all of these; End(), called when a node is over, tells the
// window and calls Run() again. A computation occupies the CPU or the GPU: a busy Processor queues
// the node's id, and TimerEnded() begins the lowest one next. Sends, receives and collectives go to
// Sys. Process groups come from the communicator file or from metadata nodes (DefineGroups). A rank
// waits, for the statistics, while it communicates and neither processor is busy.

/**
 * @ingroup astra-frontend
 * @brief One rank's way through its trace.
 *
 * A node begins when those it depends on are over: one CPU operation at a time, one GPU computation
 * at a time (the lowest id first), any number of messages and collectives.
 */
class ChakraRank : public RankWorkload
{
  public:
    /// @param workload borrowed @param rank of the job @param sys borrowed
    ChakraRank(ChakraWorkload& workload, uint32_t rank, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

  private:
    /// A resource that one node at a time can use.
    struct Processor
    {
        bool busy{false};
        std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> waiting;
    };

    /// A node that takes a known time; the argument of its event.
    struct Timer
    {
        ChakraRank* rank;
        const ChakraNode* node;
        TimePs start;
        Processor* processor; ///< to be freed; null for none
    };

    void Run();
    void Begin(const ChakraNode& node);
    void BeginCompute(const ChakraNode& node);
    void BeginMemory(const ChakraNode& node);
    void BeginSend(const ChakraNode& node);
    void BeginReceive(const ChakraNode& node);
    void BeginCollective(const ChakraNode& node);
    const CommGroup& InvolvedGroup(const ChakraNode& node) const;
    void Occupy(Processor& processor, const ChakraNode& node);
    void After(TimePs delay, const ChakraNode& node, Processor* processor);
    static void TimerEnded(void* timer);
    void BeginCommunication(const ChakraNode& node, GroupKind group);
    void End(uint64_t id);
    void TrackMemory(const ChakraNode& node);
    TimePs ComputeTime(const ChakraNode& node) const;
    TimePs TimeAtMedian(const ChakraNode& node) const;
    int PeerOf(const ChakraNode& node, uint32_t peer, const char* what) const;

    ChakraWorkload& m_workload;
    Sys& m_sys;
    uint32_t m_rank;
    ChakraWindow m_window;
    Processor m_cpu;
    Processor m_gpu;
    std::map<uint64_t, const ChakraNode*> m_queued; ///< nodes that wait for a processor
    RankWaits m_waits;
    uint64_t m_localMemory{0};              ///< bytes of running nodes' tensors
    std::map<uint64_t, uint64_t> m_tensors; ///< of each of them
    bool m_finished{false};
};

namespace
{

constexpr uint32_t COMPUTE_LAYER = 0;
constexpr uint32_t MEMORY_LAYER = 1;
constexpr uint32_t FIRST_COLLECTIVE_LAYER = 1; // CollectiveOp::None has none

/// @return the kind that a name such as TP0 tells, as scripts/workload.py names groups
GroupKind
GroupOfName(const std::string& name)
{
    const auto number = name.find_last_not_of("0123456789") + 1; // 0 if there are digits only
    if (number < name.size())
    {
        for (const auto kind : {GroupKind::Tp,
                                GroupKind::Dp,
                                GroupKind::Ep,
                                GroupKind::DpEp,
                                GroupKind::Pp,
                                GroupKind::Cp})
        {
            if (std::string_view(name).substr(0, number) == ToString(kind))
            {
                return kind;
            }
        }
    }
    return GroupKind::Custom;
}

std::string
TraceOf(const std::string& prefix, uint32_t rank)
{
    return prefix + "." + std::to_string(rank) + ".et";
}

uint32_t
CountTraces(const std::string& prefix)
{
    uint32_t count = 0;
    while (ns3::InputExists(TraceOf(prefix, count)))
    {
        ++count;
    }
    return count;
}

std::vector<std::string>
LayerNames()
{
    std::vector<std::string> names{"compute", "memory"};
    for (uint32_t op = 1; op <= static_cast<uint32_t>(CollectiveOp::Barrier); ++op)
    {
        names.emplace_back(ToString(static_cast<CollectiveOp>(op)));
    }
    return names;
}

} // namespace

ChakraWorkload::ChakraWorkload(const std::string& prefix,
                               std::string communicators,
                               const RemoteMemoryConfig& memory)
    : Workload({.file = prefix, .layers = LayerNames(), .ranks = CountTraces(prefix)}),
      m_communicators(std::move(communicators)),
      m_memoryConfig(memory)
{
    if (GetRankCount() == 0 || HasLaterTrace())
    {
        throw ns3::InputError(PathOf(GetRankCount()),
                              0,
                              "does not exist",
                              "a trace for every rank");
    }
}

bool
ChakraWorkload::HasLaterTrace() const
{
    const std::filesystem::path prefix(GetFileName());
    const auto folder = prefix.has_parent_path() ? prefix.parent_path() : ".";
    const std::string start = prefix.filename().string() + ".";
    constexpr std::string_view END = ".et";
    return std::ranges::any_of(std::filesystem::directory_iterator(folder), [&](const auto& file) {
        const std::string name = file.path().filename().string();
        if (!name.starts_with(start) || !name.ends_with(END) ||
            name.size() <= start.size() + END.size())
        {
            return false;
        }
        const auto rank = ns3::ParseUnsigned(
            std::string_view(name).substr(start.size(), name.size() - start.size() - END.size()));
        return rank && *rank > GetRankCount();
    });
}

std::string
ChakraWorkload::PathOf(uint32_t rank) const
{
    return TraceOf(GetFileName(), rank);
}

void
ChakraWorkload::Bind(const std::vector<int>& ranks)
{
    m_world = {0, GroupKind::Custom, "world", ranks};
    m_memory = std::make_unique<RemoteMemory>(m_memoryConfig, static_cast<uint32_t>(ranks.size()));
    if (m_communicators.empty())
    {
        return;
    }
    for (auto& group : ReadCommunicators(m_communicators, ranks))
    {
        group.id = static_cast<uint32_t>(m_groups.size()) + 1;
        const std::string name = group.name;
        m_groups.emplace(name, std::move(group));
    }
}

std::unique_ptr<RankWorkload>
ChakraWorkload::CreateRank(uint32_t rank, Sys& sys)
{
    return std::make_unique<ChakraRank>(*this, rank, sys);
}

uint32_t
ChakraWorkload::LayerOf(const ChakraNode& node)
{
    const auto collective = [](CollectiveOp op) {
        return FIRST_COLLECTIVE_LAYER + static_cast<uint32_t>(op);
    };
    switch (node.type)
    {
    case ChakraNode::Type::MemLoad:
    case ChakraNode::Type::MemStore:
        return MEMORY_LAYER;
    case ChakraNode::Type::Send:
    case ChakraNode::Type::Receive:
        return collective(CollectiveOp::SendRecv);
    case ChakraNode::Type::Collective:
        return collective(node.op);
    case ChakraNode::Type::Metadata:
    case ChakraNode::Type::Compute:
        break;
    }
    return COMPUTE_LAYER;
}

const CommGroup*
ChakraWorkload::FindGroup(const std::string& name) const
{
    if (name.empty())
    {
        return &m_world;
    }
    const auto found = m_groups.find(name);
    return found == m_groups.end() ? nullptr : &found->second;
}

void
ChakraWorkload::DefineGroups(const ChakraNode& node, const ChakraTrace& trace)
{
    if (node.inputs.find("pg_name") == std::string::npos)
    {
        return;
    }
    using Json = nlohmann::json;
    Json table = Json::parse(node.inputs, nullptr, false);
    // PyTorch wraps the table, as text, in a list.
    if (table.is_array() && table.size() == 1 && table[0].is_string())
    {
        table = Json::parse(table[0].get<std::string>(), nullptr, false);
    }
    if (!table.is_array())
    {
        trace.Fail(node.id, "holds no table of process groups", "a JSON list of {pg_name, ranks}");
    }
    for (const auto& entry : table)
    {
        if (!entry.is_object() || !entry.contains("pg_name") || !entry.contains("ranks") ||
            !entry["ranks"].is_array())
        {
            trace.Fail(node.id, "holds " + entry.dump(), "a process group {pg_name, ranks}");
        }
        const std::string name = entry["pg_name"].is_string() ? entry["pg_name"].get<std::string>()
                                                              : entry["pg_name"].dump();
        CommGroup group{static_cast<uint32_t>(m_groups.size()) + 1, GroupOfName(name), name, {}};
        std::unordered_set<int> members;
        for (const auto& rank : entry["ranks"])
        {
            if (!rank.is_number_unsigned() || rank.get<uint64_t>() >= m_world.ranks.size())
            {
                trace.Fail(node.id,
                           "has rank " + rank.dump() + " in process group " + name,
                           "ranks below " + std::to_string(m_world.ranks.size()));
            }
            group.ranks.push_back(m_world.ranks[rank.get<uint64_t>()]);
            if (!members.insert(group.ranks.back()).second)
            {
                trace.Fail(node.id,
                           "has rank " + rank.dump() + " twice in process group " + name,
                           "each rank once");
            }
        }
        if (group.ranks.empty())
        {
            group.ranks = m_world.ranks; // as PyTorch writes the default group
        }
        const auto [place, isNew] = m_groups.emplace(name, group);
        if (!isNew && place->second.ranks != group.ranks)
        {
            trace.Fail(node.id,
                       "defines process group " + name + " differently from another rank",
                       "the same ranks in every file");
        }
    }
}

namespace
{

/// Bytes of a barrier's AllReduce.
constexpr uint64_t BARRIER_BYTES = 4;

} // namespace

ChakraRank::ChakraRank(ChakraWorkload& workload, uint32_t rank, Sys& sys)
    : m_workload(workload),
      m_sys(sys),
      m_rank(rank),
      m_window(workload.PathOf(rank)),
      m_waits(sys)
{
}

void
ChakraRank::Start()
{
    Run();
}

bool
ChakraRank::Finished() const
{
    return m_finished;
}

void
ChakraRank::Run()
{
    while (const ChakraNode* node = m_window.Next())
    {
        Begin(*node);
    }
    if (m_waits.IsCommunicating() && !m_gpu.busy && !m_cpu.busy)
    {
        m_waits.Idle();
    }
    else
    {
        m_waits.GoOn({}, m_sys.Now()); // the end, or a memory operation
    }
    if (m_window.Done() && !m_finished)
    {
        m_finished = true;
        m_sys.FinishPass(0, true);
    }
}

void
ChakraRank::Begin(const ChakraNode& node)
{
    TrackMemory(node);
    if (m_sys.get_config().replayOnly && node.type != ChakraNode::Type::Metadata)
    {
        After(node.type == ChakraNode::Type::Compute ? ComputeTime(node) : node.duration,
              node,
              nullptr);
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
    return node.isCpuOp ? TimeAtMedian(node) : m_sys.GpuTime(TimeAtMedian(node));
}

TimePs
ChakraRank::TimeAtMedian(const ChakraNode& node) const
{
    const auto& config = m_sys.get_config();
    if (!config.rooflineEnabled || config.replayOnly || node.operations == 0)
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
    m_waits.GoOn(node.dependencies, m_sys.Now());
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
    rank.End(id);
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
    BeginCommunication(node, GroupKind::Pp);
    m_sys.SendMessage(peer,
                      std::max<uint64_t>(node.commBytes, 1),
                      node.tag,
                      {ChakraWorkload::LayerOf(node), 0, TrainingPhase::Forward},
                      [this, id = node.id, sent = m_sys.Now()]() {
                          m_waits.EndMessage(id, sent);
                          End(id);
                      });
}

void
ChakraRank::BeginReceive(const ChakraNode& node)
{
    const int peer = PeerOf(node, node.source, "comm_src");
    BeginCommunication(node, GroupKind::Pp);
    m_sys.ReceiveMessage(peer,
                         std::max<uint64_t>(node.commBytes, 1),
                         node.tag,
                         [this, id = node.id](TimePs sent) {
                             m_waits.EndMessage(id, sent);
                             End(id);
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
    if (std::ranges::find(group->ranks, m_sys.get_rank()) == group->ranks.end())
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
        request.bytes *= group->ranks.size(); // a trace has the bytes of each rank's part
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
    BeginCommunication(node, group->kind);
    m_sys.generate_collective(*group,
                              request,
                              {ChakraWorkload::LayerOf(node), 0, TrainingPhase::Forward},
                              node.priority,
                              [this, id = node.id](CollectiveKey key) {
                                  m_waits.End(id, key);
                                  End(id);
                              });
}

void
ChakraRank::BeginCommunication(const ChakraNode& node, GroupKind group)
{
    m_waits.Begin(node.id,
                  {ChakraWorkload::LayerOf(node), 0, TrainingPhase::Forward},
                  group,
                  node.dependencies);
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
ChakraRank::End(uint64_t id)
{
    if (const auto tensors = m_tensors.find(id); tensors != m_tensors.end())
    {
        m_localMemory -= tensors->second;
        m_tensors.erase(tensors);
        m_sys.get_observer().LocalMemoryChanged(m_sys.get_rank(), m_localMemory, m_sys.Now());
    }
    m_window.Finish(id);
    Run();
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
