/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "mock-nccl-group.h"

#include "collectives/model/collective/graph-plan.h"
#include "collectives/model/nccl/nccl-algorithm.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <set>
#include <utility>

namespace AstraSim
{

namespace
{

/// Serving has batches of ever new sizes: plans are forgotten beyond so many.
constexpr std::size_t MOST_PLANS = 16384;

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

/// @return the sets of ranks whose data network switches add, by channel; none if NVSwitches do
std::vector<ReducingGroup>
ReducingGroupsOf(const FlowGraph& graph, const CommGroup& group)
{
    const auto sets = graph.GetMemberSets();
    std::set<std::pair<uint32_t, uint32_t>> found; // set and channel
    for (uint32_t rank = 0; !sets.empty() && rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            const Lane lane = graph.GetOutbound(rank, index);
            if (lane.type == ConnType::CollNet && lane.kind == LaneKind::ReduceMulticast)
            {
                found.emplace(lane.members, lane.channel);
            }
        }
    }
    std::vector<ReducingGroup> groups;
    for (const auto& [set, channel] : found)
    {
        ReducingGroup& each = groups.emplace_back(ReducingGroup{{}, channel});
        for (const uint32_t member : sets[set])
        {
            each.ranks.push_back(group.ranks[member]);
        }
    }
    return groups;
}

} // namespace

MockNcclGroup::MockNcclGroup(const MachineModel& machine, const NcclOptions& options)
    : m_machine(ResolveGpu(machine, options)),
      m_options(options),
      m_libraries(CollectiveLibrary::OpenAll({m_machine, m_options, m_options}))
{
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
    // Read the table even if no type needs it, so that a wrong one is refused.
    const GpuTable table = GpuTable::Read(options.gpuTable);
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
    const std::string expected = table.Expected(type);
    if (given)
    {
        throw ns3::InputError("environment", 0, "AS_GPU_TYPE is '" + type + "'", expected);
    }
    throw ns3::InputError(machine.source.empty() ? "topology" : machine.source,
                          machine.gpuTypeLine,
                          "'" + type + "' is not a known GPU type",
                          expected);
}

CollectiveOffer
MockNcclGroup::Choose(const CommGroup& group, const CollectiveRequest& original) const
{
    CheckRequest(group, original);
    const CollectiveRequest request = Translate(group, original);
    const GroupShape shape(group, m_machine);
    const CollectiveTask task = MakeTask(request, shape);
    std::optional<CollectiveOffer> best;
    for (const auto& library : m_libraries)
    {
        auto offer = library->Offer({group, shape, task});
        const bool isBetter = offer && (!best || offer->rank > best->rank ||
                                        (offer->rank == best->rank && offer->cost < best->cost));
        if (isBetter)
        {
            best = std::move(offer);
        }
    }
    if (!best)
    {
        Refuse(request, shape);
    }
    return std::move(*best);
}

void
MockNcclGroup::Refuse(const CollectiveRequest& request, const GroupShape& shape) const
{
    const std::string op = ToString(request.op);
    if (!HasNccl(m_machine.gpu.generation))
    {
        throw ns3::InputError("environment",
                              0,
                              "no algorithm that is left can carry out " + op + " on " +
                                  m_machine.gpu.name + ", which NCCL does not run on",
                              "NCCL_ALGO unset");
    }
    throw ns3::InputError("environment",
                          0,
                          "NCCL_ALGO and NCCL_PROTO leave no way to carry out " + op + " on " +
                              std::to_string(shape.GetRanks()) + " ranks",
                          "an algorithm that supports it, such as Ring");
}

CollectiveTask
MockNcclGroup::MakeTask(const CollectiveRequest& request, const GroupShape& shape) const
{
    CollectiveTask task{request,
                        shape.GetServers(),
                        m_machine.nvlinkGBps,
                        m_machine.nicGBps * shape.GetNicShare(),
                        m_options.sendLatency};
    task.nics = shape.GetNics();
    task.generation = ToString(m_machine.gpu.generation);
    task.linkGBps = m_machine.gpu.channelGBps;
    task.hasNvSwitch = m_machine.nvswitchesPerServer > 0;
    for (const auto& library : m_libraries)
    {
        library->Describe(task, shape);
    }
    return task;
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

std::vector<SingleFlow>
MockNcclGroup::GetSingleFlows(const CommGroup& group,
                              const CollectiveRequest& request,
                              uint64_t limit) const
{
    const CollectiveOffer offer = Choose(group, request);
    const TimedGraph timed = offer.make(Translate(group, request), GroupShape(group, m_machine));
    if (const uint64_t flows = timed.graph->CountFlows(); flows > limit)
    {
        throw ns3::InputError("collective",
                              0,
                              "has " + std::to_string(flows) + " flows",
                              "at most " + std::to_string(limit) + " to write out");
    }
    return BuildSingleFlows(*timed.graph, group.ranks);
}

std::shared_ptr<const CollectivePlan>
MockNcclGroup::Plan(const CommGroup& group, const CollectiveRequest& request)
{
    CheckRequest(group, request);
    Key key(group.ranks, group.kind, request.op, request.bytes, request.root, request.bytesPerPair);
    const auto known = m_plans.find(key);
    if (known != m_plans.end())
    {
        return known->second;
    }
    auto made = PlanAs(group, request, Choose(group, request));
    if (m_keepTrees && !m_keepTrees(ReducingGroupsOf(*made->GetGraph().graph, group)))
    {
        made = PlanWithoutTrees(group, request);
    }
    if (m_plans.size() >= MOST_PLANS)
    {
        m_plans.clear(); // those in use live on
    }
    m_plans.emplace(std::move(key), made);
    return made;
}

std::shared_ptr<const CollectivePlan>
MockNcclGroup::PlanWithoutTrees(const CommGroup& group, const CollectiveRequest& request)
{
    if (!m_withoutTrees)
    {
        NcclOptions options = m_options;
        options.collNetEnable = false;
        const NcclAlgorithm* others[] = {&NcclAlgorithm::Ring,
                                         &NcclAlgorithm::Tree,
                                         &NcclAlgorithm::Nvls,
                                         &NcclAlgorithm::NvlsTree};
        // NCCL src/graph/tuning.cc: without CollNet it ignores an NCCL_ALGO that asks for that.
        if (std::ranges::none_of(others, [&options](const NcclAlgorithm* other) {
                return options.algorithms.Allow(CollectiveOp::AllReduce, other);
            }))
        {
            options.algorithms = {};
        }
        m_withoutTrees = std::make_unique<MockNcclGroup>(m_machine, options);
    }
    return m_withoutTrees->Plan(group, request);
}

std::shared_ptr<const CollectivePlan>
MockNcclGroup::PlanAs(const CommGroup& group,
                      const CollectiveRequest& request,
                      const CollectiveOffer& offer) const
{
    return std::make_shared<GraphPlan>(
        group,
        offer.make(Translate(group, request), GroupShape(group, m_machine)),
        offer.choice,
        offer.start,
        offer.wireInflation,
        m_machine.packetBytes);
}

} // namespace AstraSim
