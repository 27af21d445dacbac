/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * HCCL's algorithms as groups of Ascend's NPUs choose them.
 */
#include "collectives/model/group/mock-nccl-group.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace AstraSim
{

namespace
{

class HcclGroups : public testing::Test
{
  protected:
    HcclGroups()
    {
        m_machine.gpuType = "Ascend910B";
        m_machine.SetServersOf(FindGpuProfile(m_machine.gpuType));
        m_machine.nvlinkGBps = 7 * 28;
        m_machine.nicGBps = 25;
    }

    CollectiveChoice Choose(CollectiveOp op, uint64_t bytes, uint32_t ranks) const
    {
        CommGroup group;
        group.ranks.resize(ranks);
        std::iota(group.ranks.begin(), group.ranks.end(), 0);
        MockNcclGroup groups(m_machine, m_options);
        return groups.Plan(group, {op, bytes})->GetChoice();
    }

    MachineModel m_machine;
    NcclOptions m_options;
};

} // namespace

TEST_F(HcclGroups, HaveHcclsAlgorithms)
{
    constexpr uint64_t LARGE = 1 << 30;
    EXPECT_EQ(Choose(CollectiveOp::AllReduce, LARGE, 8).algorithm, "HcclMesh");
    EXPECT_EQ(Choose(CollectiveOp::AllReduce, LARGE, 16).algorithm, "HcclPipeline");
    EXPECT_EQ(Choose(CollectiveOp::AllReduce, 1000, 16).algorithm, "HcclRing");
    EXPECT_EQ(Choose(CollectiveOp::AllReduce, 1000, 32).algorithm, "HcclNHR");
    EXPECT_EQ(Choose(CollectiveOp::SendRecv, 1000, 2).algorithm, "HcclPairs");
    EXPECT_EQ(Choose(CollectiveOp::Barrier, 0, 8).algorithm, "HcclMesh");
    EXPECT_GT(Choose(CollectiveOp::AllReduce, LARGE, 8).predicted, 2 * LARGE / 8 * 1000 / 20);
}

TEST_F(HcclGroups, OtherGpusHaveNone)
{
    m_machine.gpuType = "MI300X";
    EXPECT_EQ(Choose(CollectiveOp::AllGather, 1 << 30, 8).algorithm, "Ring");
}

TEST_F(HcclGroups, NcclsAlgorithmsDoNotTakeTheirPlace)
{
    m_options = NcclOptions::FromEnvironment([](const std::string& name) {
        return name == "NCCL_ALGO" ? std::optional<std::string>("Ring") : std::nullopt;
    });
    try
    {
        Choose(CollectiveOp::AllReduce, 1000, 8);
        FAIL() << "chosen";
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_STREQ(error.what(),
                     "environment: no algorithm that is left can carry out AllReduce on "
                     "Ascend910B, which NCCL does not run on; expected NCCL_ALGO unset");
    }
}

} // namespace AstraSim
