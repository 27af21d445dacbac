/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-symmetry.h"

namespace AstraSim
{

namespace
{

/// @return the group's shape on a topology; without one, its ranks on each server, in the group's
/// order
std::vector<uint64_t>
ShapeOf(const CommGroup& group, const MachineModel& machine, const TopologyShapes* shapes)
{
    if (shapes)
    {
        return shapes->Find(group.ranks);
    }
    const GroupShape shape(group, machine);
    std::vector<uint64_t> sizes;
    for (const auto& node : shape.nodes)
    {
        sizes.push_back(node.size());
    }
    return sizes;
}

bool
GroupsAreAlike(const RankLayout& layout,
               GroupKind kind,
               uint32_t begin,
               uint32_t end,
               const MachineModel& machine,
               const TopologyShapes* shapes)
{
    const CommGroup& first = layout.GetGroup(kind, begin);
    const auto shape = ShapeOf(first, machine, shapes);
    for (uint32_t rank = begin + 1; rank < end; ++rank)
    {
        const CommGroup& group = layout.GetGroup(kind, rank);
        // Each group is handled once, at the first of its ranks.
        if (group.ranks.front() == static_cast<int>(rank) && group.id != first.id &&
            ShapeOf(group, machine, shapes) != shape)
        {
            return false;
        }
    }
    return true;
}

bool
NextStageIsAlike(uint32_t begin, uint32_t stageRanks, const MachineModel& machine)
{
    const auto staysWithin = [&](uint32_t rank) {
        return machine.ServerOf(static_cast<int>(rank)) ==
               machine.ServerOf(static_cast<int>(rank + stageRanks));
    };
    for (uint32_t rank = begin + 1; rank < begin + stageRanks; ++rank)
    {
        if (staysWithin(rank) != staysWithin(begin))
        {
            return false;
        }
    }
    return true;
}

} // namespace

std::vector<uint32_t>
FindRepresentatives(const LayerWorkload& workload,
                    uint32_t ranks,
                    const MachineModel& machine,
                    const TopologyShapes* shapes)
{
    const RankLayout& layout = workload.GetLayout();
    const uint32_t stages = layout.GetStageCount();
    const uint32_t stageRanks = layout.GetRanksPerStage();
    std::vector<uint32_t> representatives;
    for (uint32_t stage = 0; stage < stages; ++stage)
    {
        const uint32_t begin = stage * stageRanks;
        for (const auto kind :
             {GroupKind::Tp, GroupKind::Dp, GroupKind::Ep, GroupKind::DpEp, GroupKind::Cp})
        {
            if (!GroupsAreAlike(layout, kind, begin, begin + stageRanks, machine, shapes))
            {
                return {};
            }
        }
        if (stage + 1 < stages && !NextStageIsAlike(begin, stageRanks, machine))
        {
            return {};
        }
        representatives.push_back(begin);
    }
    return stages * stageRanks == ranks ? representatives : std::vector<uint32_t>();
}

} // namespace AstraSim
