/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "hccl-plan.h"

#include "collectives/model/graph/pair-bytes.h"
#include "hccl-constants.h"

#include <bit>
#include <utility>

namespace AstraSim
{

namespace
{

HcclMethod
MethodOf(const CollectiveTask& task, const HcclLayout& layout)
{
    const CollectiveOp op = task.request.op;
    const bool isAllReduce = op == CollectiveOp::AllReduce;
    const uint64_t block = task.request.bytes / layout.GetRanks();
    const uint32_t servers = layout.GetServers();
    if (IsPairwise(op))
    {
        return HcclMethod::Pairs;
    }
    if (servers == 1)
    {
        const uint64_t most =
            isAllReduce ? HCCL_SWITCHED_MESH_ALL_REDUCE_BYTES : HCCL_SWITCHED_MESH_BYTES;
        return task.hasNvSwitch && block > most ? HcclMethod::Ring : HcclMethod::Mesh;
    }
    const bool isRooted = op == CollectiveOp::Broadcast || op == CollectiveOp::Reduce;
    if (layout.GetPlaces() > 1 && !isRooted && !task.hasNvSwitch &&
        block >= (isAllReduce ? HCCL_PIPELINE_ALL_REDUCE_BYTES : HCCL_PIPELINE_BYTES))
    {
        return HcclMethod::Pipeline;
    }
    // Both move the same bytes; of two that take as many steps, HCCL takes the ring.
    return DoublingSteps(servers) < servers - 1 ? HcclMethod::Nhr : HcclMethod::Ring;
}

/// Add a phase within servers and one between them, as far as the layout has both levels.
void
AddLevels(HcclPlan& plan, HcclPhase within, HcclPhase between, bool betweenFirst)
{
    const bool hasNet = plan.layout.GetServers() > 1;
    if (hasNet && betweenFirst)
    {
        plan.phases.push_back(between);
    }
    if (plan.layout.GetPlaces() > 1)
    {
        plan.phases.push_back(within);
    }
    if (hasNet && !betweenFirst)
    {
        plan.phases.push_back(between);
    }
}

/// Add phases that leave each rank the sum of its block or, for AllReduce, of its part of the data.
/// ReduceScatter adds between servers first, so that they exchange contiguous data.
void
AddReduction(HcclPlan& plan, bool ofBlocks)
{
    const bool doubles = plan.method == HcclMethod::Nhr;
    AddLevels(plan,
              {HcclKind::MeshReduce, !ofBlocks},
              {doubles ? HcclKind::NhrReduce : HcclKind::RingReduce, ofBlocks},
              ofBlocks);
}

/// Add phases that give each rank the blocks, or for AllReduce the parts, of all ranks.
void
AddGathering(HcclPlan& plan, bool ofBlocks)
{
    const bool doubles = plan.method == HcclMethod::Nhr;
    AddLevels(plan,
              {HcclKind::MeshGather, !ofBlocks},
              {doubles ? HcclKind::NhrGather : HcclKind::RingGather, ofBlocks},
              !ofBlocks);
}

void
AddIf(HcclPlan& plan, bool condition, HcclKind kind)
{
    if (condition)
    {
        plan.phases.push_back({kind});
    }
}

void
AddPhases(HcclPlan& plan, CollectiveOp op)
{
    const bool hasMesh = plan.layout.GetPlaces() > 1;
    const bool hasNet = plan.layout.GetServers() > 1;
    const bool pipelined = plan.method == HcclMethod::Pipeline;
    const bool reduces = op == CollectiveOp::AllReduce || op == CollectiveOp::ReduceScatter;
    const bool gathers = op == CollectiveOp::AllReduce || op == CollectiveOp::AllGather;
    if (plan.method == HcclMethod::Pairs)
    {
        AddIf(plan, hasMesh, HcclKind::MeshExchange);
        AddIf(plan, hasNet, HcclKind::NetExchange);
    }
    else if (pipelined)
    {
        AddIf(plan, reduces, HcclKind::PipelineReduce);
        AddIf(plan, gathers, HcclKind::PipelineGather);
    }
    else if (op == CollectiveOp::Broadcast)
    {
        AddIf(plan, hasMesh, HcclKind::RootMesh);
        AddIf(plan, hasNet, HcclKind::RootNet);
        AddGathering(plan, false);
    }
    else if (op == CollectiveOp::Reduce)
    {
        AddReduction(plan, false);
        AddIf(plan, hasNet, HcclKind::CollectNet);
        AddIf(plan, hasMesh, HcclKind::CollectMesh);
    }
    else
    {
        if (reduces)
        {
            AddReduction(plan, !gathers);
        }
        if (gathers)
        {
            AddGathering(plan, !reduces);
        }
    }
}

} // namespace

HcclPlan
ChooseHccl(const CollectiveTask& task)
{
    const CollectiveOp op = task.request.op;
    HcclLayout layout(task.servers);
    const HcclMethod method = MethodOf(task, layout);
    const bool isOneRing = method == HcclMethod::Ring && layout.GetServers() == 1;
    if (isOneRing || (method == HcclMethod::Pairs && !IsExchange(op)))
    {
        layout = HcclLayout::Flat(layout.GetRanks());
    }
    HcclPlan plan{method, std::move(layout), {}};
    AddPhases(plan, op);
    return plan;
}

bool
IsExchange(CollectiveOp op)
{
    return op == CollectiveOp::AllToAll || op == CollectiveOp::AllToAllV;
}

uint32_t
DoublingSteps(uint32_t count)
{
    return static_cast<uint32_t>(std::bit_width(count - 1));
}

} // namespace AstraSim
