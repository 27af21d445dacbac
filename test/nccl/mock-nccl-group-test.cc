/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "collectives/model/nccl/nccl-options.h"

#include "ns3/collective-types.h"

#include <gtest/gtest.h>
#include <numeric>

namespace AstraSim
{

// By SimAI's rules a TP group of 8 Hoppers uses NVLS, and any other group rings, also where both
// are made of the same GPUs, as those of TP and EP often are.
TEST(MockNcclGroup, PlansOfGroupsOfTheSameRanksAreThoseOfTheirKinds)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("H100");
    machine.gpusPerServer = 8;
    machine.nvlinkGBps = 450;
    machine.nicGBps = 50;
    NcclOptions options;
    options.selectByRules = true;
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 1 << 26;
    const auto groupOf = [](GroupKind kind) {
        CommGroup group;
        group.kind = kind;
        group.ranks.resize(8);
        std::iota(group.ranks.begin(), group.ranks.end(), 0);
        return group;
    };
    for (const GroupKind first : {GroupKind::Tp, GroupKind::Ep})
    {
        MockNcclGroup nccl(machine, options);
        nccl.Plan(groupOf(first), request);
        EXPECT_EQ(nccl.Plan(groupOf(GroupKind::Tp), request)->GetChoice().algorithm, "NVLS");
        EXPECT_EQ(nccl.Plan(groupOf(GroupKind::Ep), request)->GetChoice().algorithm, "Ring");
    }
}

// A group took the library of the topology's GPUs, and crashed where AMD's were named instead.
TEST(MockNcclGroup, TheGpuTypeThatTheUserNamesHasItsOwnLibrary)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("H100");
    NcclOptions options;
    options.gpuType = "MI300X";
    CommGroup group;
    group.ranks.resize(8);
    std::iota(group.ranks.begin(), group.ranks.end(), 0);
    MockNcclGroup nccl(machine, options);
    const auto plan = nccl.Plan(group, {CollectiveOp::AllReduce, 4096});
    EXPECT_EQ(plan->GetChoice().algorithm, "AllPairs");
}

} // namespace AstraSim
