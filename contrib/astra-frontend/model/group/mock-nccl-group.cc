/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mock-nccl-group.h"

#include "astra-frontend/model/collective/flow-executor.h"
#include "astra-frontend/model/graph/channel-split.h"
#include "astra-frontend/model/graph/pair-bytes.h"
#include "astra-frontend/model/graph/pxn-graph.h"
#include "astra-frontend/model/nccl/nccl-algorithm.h"
#include "astra-frontend/model/timing/pair-times.h"

#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

using Choice = CollectiveAlgorithm::Choice;

/// Serving has batches of ever new sizes: plans are forgotten beyond so many.
constexpr std::size_t MOST_PLANS = 16384;

/// A plan whose flows are a FlowGraph.
class GraphPlan : public CollectivePlan
{
  public:
    GraphPlan(const CommGroup& group,
              TimedGraph timed,
              TimePs startLatency,
              double wireInflation,
              uint64_t packetBytes,
              CollectiveChoice choice)
        : CollectivePlan(WithFlows(std::move(choice), *timed.graph)),
          m_group(group),
          m_execution(std::move(timed), m_group)
    {
        m_execution.startLatency = startLatency;
        m_execution.wireInflation = wireInflation;
        m_execution.packetBytes = packetBytes;
    }

    TimedGraph GetGraph() const override
    {
        return m_execution;
    }

    std::unique_ptr<RankCollective> CreateRank(uint32_t rankIndex,
                                               RankNetwork& network,
                                               int tagBase,
                                               const MessageInfo& info,
                                               std::function<void()> done) const override
    {
        CheckSwitches(rankIndex, network);
        return std::make_unique<FlowExecutor>(m_execution,
                                              RanksOf(tagBase),
                                              rankIndex,
                                              network,
                                              tagBase,
                                              info,
                                              std::move(done));
    }

  private:
    static CollectiveChoice WithFlows(CollectiveChoice choice, const FlowGraph& graph)
    {
        choice.flows = graph.CountFlows();
        return choice;
    }

    /// @return what the ranks of the instance with these tags share
    std::shared_ptr<FlowRanks> RanksOf(int tagBase) const
    {
        if (auto known = m_instances[tagBase].lock())
        {
            return known;
        }
        std::erase_if(m_instances, [](const auto& instance) { return instance.second.expired(); });
        auto ranks = std::make_shared<FlowRanks>(m_group.ranks.size());
        m_instances[tagBase] = ranks;
        return ranks;
    }

    /// @throw ns3::InputError if the network lacks switches that carry out the rank's operations
    void CheckSwitches(uint32_t rank, const RankNetwork& network) const
    {
        const FlowGraph& graph = *m_execution.graph;
        if (m_execution.memberRanks->empty())
        {
            return;
        }
        for (uint32_t i = 0; i < graph.GetLaneCount(); ++i)
        {
            const Lane lane = graph.GetOutbound(rank, i);
            if (lane.kind == LaneKind::Message || lane.kind == LaneKind::Copy ||
                network.Supports((*m_execution.memberRanks)[lane.members]))
            {
                continue;
            }
            if (lane.type == ConnType::CollNet)
            {
                throw ns3::InputError(
                    "NCCL_COLLNET_ENABLE",
                    0,
                    "the network's switches do not reduce for the ranks of group " + m_group.name,
                    "the packet-level network, IN_NETWORK_REDUCTION 1 in "
                    "its configuration, and links that lose nothing");
            }
            throw ns3::InputError("AS_NVLS_ENABLE",
                                  0,
                                  "no NVSwitch joins the ranks of group " + m_group.name,
                                  "ranks of one server whose links to an NVSwitch are up, or "
                                  "NCCL_NVLS_ENABLE=0");
        }
    }

    CommGroup m_group;
    FlowExecution m_execution;
    mutable std::map<int, std::weak_ptr<FlowRanks>> m_instances; ///< by first tag
};

/// @return the plug-in whose plan it is; null for NCCL's own
const CollectiveAlgorithm*
PlugInOf(const NcclPlan& plan)
{
    return IsPlugIn(plan) ? CollectiveAlgorithm::GetAll()[static_cast<std::size_t>(plan.algorithm) -
                                                          NCCL_ALGORITHMS]
                          : nullptr;
}

/// @return channels that get data
uint32_t
UsedChannels(const CollectiveRequest& request, const GroupShape& shape, const NcclPlan& plan)
{
    if (IsPlugIn(plan) || NcclTableRow::Of(plan.algorithm).usesAllChannels)
    {
        return plan.channels;
    }
    return ChannelSplit(request.op, plan.protocol, shape.GetRanks(), request.bytes, plan.channels)
        .GetChannels();
}

void
CheckRequest(const CommGroup& group, const CollectiveRequest& request)
{
    const auto ranks = group.ranks.size();
    const auto refuse = [&](const std::string& what, const std::string& expected) {
        throw ns3::InputError("collective",
                              0,
                              std::string(ToString(request.op)) + " on group " + group.name + " " +
                                  what,
                              expected);
    };
    if (ranks == 0)
    {
        refuse("has no ranks", "one rank or more");
    }
    if (request.root < 0 || static_cast<std::size_t>(request.root) >= ranks)
    {
        refuse("has root " + std::to_string(request.root),
               "an index from 0 to " + std::to_string(ranks - 1));
    }
    if (request.op == CollectiveOp::AllToAllV && request.bytesPerPair.size() != ranks * ranks)
    {
        refuse("gives bytes of " + std::to_string(request.bytesPerPair.size()) + " pairs",
               std::to_string(ranks * ranks));
    }
    if (request.op == CollectiveOp::SendRecv && ranks != 2)
    {
        refuse("has " + std::to_string(ranks) + " ranks", "two, the sender first");
    }
}

} // namespace

MockNcclGroup::MockNcclGroup(const MachineModel& machine, const NcclOptions& options)
    : m_machine(ResolveGpu(machine, options)),
      m_options(options),
      m_model(m_machine, m_options)
{
    if (m_options.nvlsRequired && m_machine.gpusPerServer > 1 && !m_model.HasNvls())
    {
        throw ns3::InputError("environment",
                              0,
                              "NCCL_NVLS_ENABLE is '1', but the NVSwitches of this machine do not "
                              "reduce",
                              "0, or 2 for NVLS where the GPUs have it: Hopper and Blackwell with "
                              "an NVSwitch that joins all GPUs of a server");
    }
    if (m_options.engine)
    {
        m_options.engine->RequireFigures(m_machine.gpu.generation);
    }
}

MachineModel
MockNcclGroup::ResolveGpu(MachineModel machine, const NcclOptions& options)
{
    const bool given = !options.gpuType.empty();
    const std::string& type = given ? options.gpuType : machine.gpuType;
    if (options.gpuTable.empty() && (type.empty() || type == machine.gpu.name))
    {
        return machine;
    }
    // A table that is given is read, and refused, also where no type needs it.
    const GpuTable table = options.gpuTable.empty() ? GpuTable() : GpuTable::Read(options.gpuTable);
    if (type.empty())
    {
        return machine;
    }
    const GpuProfile* profile = table.Find(type);
    if (profile)
    {
        machine.gpu = *profile;
        return machine;
    }
    const std::string expected =
        "one of " + table.GetNames() + ", or a type that a file given by --gpu-table adds";
    if (given)
    {
        throw ns3::InputError("environment", 0, "AS_GPU_TYPE is '" + type + "'", expected);
    }
    throw ns3::InputError(machine.source.empty() ? "topology" : machine.source,
                          machine.gpuTypeLine,
                          "'" + type + "' is not a known GPU type",
                          expected);
}

MockNcclGroup::~MockNcclGroup() = default;

NcclPlan
MockNcclGroup::Choose(const CommGroup& group, const CollectiveRequest& request) const
{
    const CollectiveRequest translated = Translate(group, request);
    const GroupShape shape(group, m_machine);
    NcclPlan plan = Decide(group, shape, translated);
    plan.channels = UsedChannels(translated, shape, plan);
    return plan;
}

NcclPlan
MockNcclGroup::Decide(const CommGroup& group,
                      const GroupShape& shape,
                      const CollectiveRequest& request) const
{
    const auto plugIn = FindPlugIn(request, shape);
    if (!plugIn && shape.GetRanks() > 1 && !HasNccl(m_machine.gpu.generation))
    {
        throw ns3::InputError("environment",
                              0,
                              std::string("no algorithm that is left can carry out ") +
                                  ToString(request.op) + " on " + m_machine.gpu.name +
                                  ", which NCCL does not run on",
                              "NCCL_ALGO unset");
    }
    if (IsPairwise(request.op))
    {
        return plugIn ? *plugIn
                      : m_model.EvaluatePairs(request.op,
                                              shape,
                                              MostPairBytes(request, shape.GetRanks()));
    }
    if (plugIn)
    {
        if (PlugInOf(*plugIn)->GetRules().choice != Choice::ByCost)
        {
            return *plugIn;
        }
        const auto own = m_model.ChooseAllowed(request.op, shape, request.bytes);
        return own && own->predicted <= plugIn->predicted ? *own : *plugIn;
    }
    return m_model.Choose(request.op, shape, group.kind, request.bytes);
}

CollectiveTask
MockNcclGroup::MakeTask(const CollectiveRequest& request, const GroupShape& shape) const
{
    CollectiveTask task{request,
                        {},
                        m_machine.nvlinkGBps,
                        m_machine.nicGBps * shape.GetNicShare(),
                        m_options.sendLatency};
    if (HasNccl(m_machine.gpu.generation))
    {
        task.blocks = m_model.BlocksOf(shape);
    }
    for (uint32_t rank = 0; rank < shape.GetRanks(); ++rank)
    {
        task.servers.push_back(shape.NodeOf(rank));
        task.nics.push_back(shape.NicOf(rank));
    }
    task.generation = ToString(m_machine.gpu.generation);
    task.linkGBps = m_machine.gpu.channelGBps;
    task.hasNvSwitch = m_machine.nvswitchesPerServer > 0;
    if (m_options.engine && request.op == CollectiveOp::AllReduce && shape.GetNodes() == 1)
    {
        task.engine =
            m_options.engine->Choose(m_machine.gpu.generation, shape.GetRanks(), request.bytes);
    }
    return task;
}

std::optional<NcclPlan>
MockNcclGroup::FindPlugIn(const CollectiveRequest& request, const GroupShape& shape) const
{
    const auto& all = CollectiveAlgorithm::GetAll();
    std::optional<NcclPlan> best;
    Choice bestChoice = Choice::ByCost;
    if (all.empty() || shape.GetRanks() < 2)
    {
        return best;
    }
    std::optional<CollectiveTask> task; // seldom needed
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        const CollectiveAlgorithm::Rules& rules = all[i]->GetRules();
        const auto number = static_cast<NcclAlgorithm>(NCCL_ALGORITHMS + i);
        const bool isLeftOut = rules.choice == Choice::ByCost && m_options.selectByRules;
        const bool isAllowed = rules.choice == Choice::Apart
                                   ? m_options.engine != nullptr
                                   : m_options.algorithms.Allow(request.op, number);
        if (isLeftOut || !isAllowed)
        {
            continue;
        }
        if (!task)
        {
            task = MakeTask(request, shape);
        }
        if (!rules.can(*task))
        {
            continue;
        }
        const TimePs cost = rules.cost(*task);
        if (!best || rules.choice > bestChoice ||
            (rules.choice == bestChoice && cost < best->predicted))
        {
            bestChoice = rules.choice;
            best = NcclPlan();
            best->algorithm = number;
            best->predicted = cost;
            best->speeds.baseLatency = rules.start ? rules.start(*task) : rules.startLatency;
            best->wireInflation = rules.wireInflation;
        }
    }
    return best;
}

CollectiveChoice
MockNcclGroup::Describe(const CommGroup& group, const CollectiveRequest& request) const
{
    CheckRequest(group, request);
    const CollectiveRequest translated = Translate(group, request);
    const GroupShape shape(group, m_machine);
    return NameChoice(translated, shape, Decide(group, shape, translated));
}

CollectiveChoice
MockNcclGroup::NameChoice(const CollectiveRequest& request,
                          const GroupShape& shape,
                          const NcclPlan& plan) const
{
    CollectiveChoice choice;
    choice.algorithm = ToString(plan.algorithm);
    choice.predicted = plan.predicted;
    choice.by = plan.tuner ? plan.tuner->source : "";
    if (IsPlugIn(plan))
    {
        choice.protocol = "-";
        return choice;
    }
    choice.protocol = ToString(plan.protocol);
    choice.channels = UsedChannels(request, shape, plan);
    if (IsPairwise(request.op))
    {
        choice.algorithm = UsesPxn(request.op, shape) ? "PXN" : "Direct";
        choice.channels = 1;
        choice.predicted = 0;
    }
    return choice;
}

bool
MockNcclGroup::UsesPxn(CollectiveOp op, const GroupShape& shape) const
{
    return m_options.pxnEnable.value_or(m_machine.isRailOnly) && shape.GetNodes() > 1 &&
           shape.GetRanksPerNode() > 1 &&
           (op == CollectiveOp::AllToAll || op == CollectiveOp::AllToAllV);
}

CollectiveRequest
MockNcclGroup::Translate(const CommGroup& group, const CollectiveRequest& request)
{
    CollectiveRequest result = request;
    if (result.op == CollectiveOp::Barrier)
    {
        result.op = CollectiveOp::AllReduce;
        result.bytes = 4 * group.ranks.size();
    }
    return result;
}

TimedGraph
MockNcclGroup::MakeGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const NcclPlan& plan) const
{
    if (const CollectiveAlgorithm* plugIn = PlugInOf(plan))
    {
        const CollectiveTask task = MakeTask(request, shape);
        const CollectiveAlgorithm::Rules& rules = plugIn->GetRules();
        auto graph = rules.graph(task);
        if (graph->GetRanks() != shape.GetRanks())
        {
            throw ns3::InputError(plugIn->GetName(),
                                  0,
                                  "made a graph of " + std::to_string(graph->GetRanks()) + " ranks",
                                  "the group's " + std::to_string(shape.GetRanks()));
        }
        return {std::move(graph), rules.gpu ? rules.gpu(task) : std::make_shared<UniformGpu>()};
    }
    // A latency the user gives stands for all of NCCL's.
    const auto& latency = m_options.sendLatency;
    if (UsesPxn(request.op, shape))
    {
        return {std::make_shared<PxnGraph>(request, shape),
                std::make_shared<PxnTimes>(plan.speeds, latency)};
    }
    if (IsPairwise(request.op))
    {
        const auto& own = plan.Of<PairPlan>();
        PairLayout layout = own.layout;
        layout.protocol = plan.protocol;
        layout.byBlocks = !latency;
        auto graph = std::make_shared<const DirectGraph>(request, shape, layout);
        return {graph, std::make_shared<DirectTimes>(graph, plan.speeds, own.speeds, latency)};
    }
    return NcclTableRow::Of(plan.algorithm).graph(m_options, request, shape, plan);
}

std::vector<SingleFlow>
MockNcclGroup::GetSingleFlows(const CommGroup& group,
                              const CollectiveRequest& original,
                              uint64_t limit) const
{
    CheckRequest(group, original);
    const CollectiveRequest request = Translate(group, original);
    const GroupShape shape(group, m_machine);
    const NcclPlan plan = Decide(group, shape, request);
    const TimedGraph timed = MakeGraph(request, shape, plan);
    if (const uint64_t flows = timed.graph->CountFlows(); flows > limit)
    {
        throw ns3::InputError("collective",
                              0,
                              "has " + std::to_string(flows) + " flows",
                              "at most " + std::to_string(limit) + " to write out");
    }
    return BuildSingleFlows(timed, group.ranks);
}

std::shared_ptr<const CollectivePlan>
MockNcclGroup::Plan(const CommGroup& group, const CollectiveRequest& original)
{
    CheckRequest(group, original);
    Key key(group.ranks,
            group.kind,
            original.op,
            original.bytes,
            original.root,
            original.bytesPerPair);
    const auto known = m_plans.find(key);
    if (known != m_plans.end())
    {
        return known->second;
    }
    const CollectiveRequest request = Translate(group, original);
    const auto made = PlanAs(group, original, Decide(group, GroupShape(group, m_machine), request));
    if (m_plans.size() >= MOST_PLANS)
    {
        m_plans.clear(); // those in use live on
    }
    m_plans.emplace(std::move(key), made);
    return made;
}

std::shared_ptr<const CollectivePlan>
MockNcclGroup::PlanAs(const CommGroup& group,
                      const CollectiveRequest& original,
                      const NcclPlan& plan) const
{
    const CollectiveRequest request = Translate(group, original);
    const GroupShape shape(group, m_machine);
    // Without steps, a latency that the user gives counts once.
    const bool once = !IsPlugIn(plan) && !NcclTableRow::Of(plan.algorithm).hasSteps;
    const TimePs userLatency = once ? m_options.sendLatency.value_or(0) : 0;
    return std::make_shared<GraphPlan>(group,
                                       MakeGraph(request, shape, plan),
                                       m_options.sendLatency ? userLatency
                                                             : plan.speeds.baseLatency,
                                       plan.wireInflation,
                                       m_machine.packetBytes,
                                       NameChoice(request, shape, plan));
}

} // namespace AstraSim
