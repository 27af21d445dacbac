/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/hccl/hccl-plan.h"
#include "hccl-task.h"

#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{

namespace
{

HcclMethod
MethodOf(const CollectiveTask& task)
{
    return ChooseHccl(task).method;
}

std::vector<HcclKind>
KindsOf(const CollectiveTask& task)
{
    std::vector<HcclKind> kinds;
    for (const HcclPhase& phase : ChooseHccl(task).phases)
    {
        kinds.push_back(phase.kind);
    }
    return kinds;
}

constexpr uint64_t UNPIPELINED = 1024; // no pipeline

} // namespace

TEST(HcclLayout, RanksHaveAServerAndAPlace)
{
    const HcclLayout layout({0, 1, 0, 1, 2, 2});
    EXPECT_EQ(layout.GetServers(), 3U);
    EXPECT_EQ(layout.GetPlaces(), 2U);
    EXPECT_EQ(layout.RankAt(1, 1), 3U);
    EXPECT_EQ(layout.ServerOf(2), 0U);
    EXPECT_EQ(layout.PlaceOf(2), 1U);
}

TEST(HcclLayout, UnevenServersAreOneRankEach)
{
    const HcclLayout layout({0, 0, 1});
    EXPECT_EQ(layout.GetServers(), 3U);
    EXPECT_EQ(layout.GetPlaces(), 1U);
    EXPECT_EQ(layout.RankAt(2, 0), 2U);
}

TEST(HcclPlan, AServersMeshServesAllSizes)
{
    for (const uint64_t bytes : {UNPIPELINED, 1024 * HCCL_MIB})
    {
        EXPECT_EQ(MethodOf(HcclTask(CollectiveOp::AllReduce, bytes, 1, 8)), HcclMethod::Mesh);
        EXPECT_EQ(MethodOf(HcclTask(CollectiveOp::Broadcast, bytes, 1, 8)), HcclMethod::Mesh);
    }
    EXPECT_EQ(KindsOf(HcclTask(CollectiveOp::AllReduce, HCCL_MIB, 1, 8)),
              std::vector<HcclKind>({HcclKind::MeshReduce, HcclKind::MeshGather}));
}

TEST(HcclPlan, BehindSwitchesLongBlocksGoInARing)
{
    for (const auto& [op, most] : {std::pair(CollectiveOp::AllGather, 2 * HCCL_MIB),
                                   std::pair(CollectiveOp::ReduceScatter, 2 * HCCL_MIB),
                                   std::pair(CollectiveOp::AllReduce, HCCL_MIB)})
    {
        EXPECT_EQ(MethodOf(HcclTask(op, 16 * most, 1, 16, true)), HcclMethod::Mesh);
        const HcclPlan ring = ChooseHccl(HcclTask(op, 16 * (most + 1), 1, 16, true));
        EXPECT_EQ(ring.method, HcclMethod::Ring);
        EXPECT_EQ(ring.layout.GetServers(), 16U) << "one rank after the other";
    }
}

TEST(HcclPlan, LongBlocksArePipelinedBetweenMeshes)
{
    for (const auto& [op, least] : {std::pair(CollectiveOp::AllGather, 32 * HCCL_KIB),
                                    std::pair(CollectiveOp::ReduceScatter, 32 * HCCL_KIB),
                                    std::pair(CollectiveOp::AllReduce, HCCL_MIB)})
    {
        EXPECT_EQ(MethodOf(HcclTask(op, 16 * least, 2, 8)), HcclMethod::Pipeline);
        EXPECT_EQ(MethodOf(HcclTask(op, 16 * least - 1, 2, 8)), HcclMethod::Ring);
        EXPECT_EQ(MethodOf(HcclTask(op, 16 * least, 2, 8, true)), HcclMethod::Ring);
        EXPECT_EQ(MethodOf(HcclTask(op, 16 * least, 16, 1)), HcclMethod::Nhr) << "no mesh";
    }
    EXPECT_EQ(MethodOf(HcclTask(CollectiveOp::Broadcast, 1024 * HCCL_MIB, 2, 8)), HcclMethod::Ring);
}

TEST(HcclPlan, FromFourServersOnDistancesDouble)
{
    EXPECT_EQ(MethodOf(HcclTask(CollectiveOp::AllReduce, UNPIPELINED, 3, 8)), HcclMethod::Ring);
    EXPECT_EQ(MethodOf(HcclTask(CollectiveOp::AllReduce, UNPIPELINED, 4, 8)), HcclMethod::Nhr);
}

TEST(HcclPlan, PhasesAreThoseOfTheOperation)
{
    const auto kinds = [](CollectiveOp op) { return KindsOf(HcclTask(op, UNPIPELINED, 2, 8)); };
    using Kinds = std::vector<HcclKind>;
    EXPECT_EQ(kinds(CollectiveOp::AllReduce),
              Kinds({HcclKind::MeshReduce,
                     HcclKind::RingReduce,
                     HcclKind::RingGather,
                     HcclKind::MeshGather}));
    EXPECT_EQ(kinds(CollectiveOp::ReduceScatter),
              Kinds({HcclKind::RingReduce, HcclKind::MeshReduce}));
    EXPECT_EQ(kinds(CollectiveOp::AllGather), Kinds({HcclKind::MeshGather, HcclKind::RingGather}));
    EXPECT_EQ(
        kinds(CollectiveOp::Broadcast),
        Kinds({HcclKind::RootMesh, HcclKind::RootNet, HcclKind::RingGather, HcclKind::MeshGather}));
    EXPECT_EQ(kinds(CollectiveOp::Reduce),
              Kinds({HcclKind::MeshReduce,
                     HcclKind::RingReduce,
                     HcclKind::CollectNet,
                     HcclKind::CollectMesh}));
    EXPECT_EQ(kinds(CollectiveOp::AllToAll),
              Kinds({HcclKind::MeshExchange, HcclKind::NetExchange}));
    EXPECT_EQ(kinds(CollectiveOp::Gather), Kinds({HcclKind::NetExchange}))
        << "straight to the root";
}

TEST(HcclPlan, DoublingTakesALogarithmOfSteps)
{
    EXPECT_EQ(DoublingSteps(2), 1U);
    EXPECT_EQ(DoublingSteps(5), 3U);
    EXPECT_EQ(DoublingSteps(8), 3U);
    EXPECT_EQ(DoublingSteps(9), 4U);
}

} // namespace AstraSim
