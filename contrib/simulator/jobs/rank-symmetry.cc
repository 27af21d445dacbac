/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-symmetry.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

/// @return ranks on each server that a group is on, in the group's order
std::vector<std::size_t>
NodeSizes(const CommGroup& group, const MachineModel& machine)
{
    const GroupShape shape(group, machine);
    std::vector<std::size_t> sizes;
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
               const MachineModel& machine)
{
    const CommGroup& first = layout.GetGroup(kind, begin);
    const auto sizes = NodeSizes(first, machine);
    for (uint32_t rank = begin + 1; rank < end; ++rank)
    {
        const CommGroup& group = layout.GetGroup(kind, rank);
        // A group is looked at once, at the first of its ranks.
        if (group.ranks.front() == static_cast<int>(rank) && group.id != first.id &&
            NodeSizes(group, machine) != sizes)
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
FindRepresentatives(const LayerWorkload& workload, uint32_t ranks, const MachineModel& machine)
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
            if (!GroupsAreAlike(layout, kind, begin, begin + stageRanks, machine))
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
