/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/hccl/hccl-times.h"
#include "hccl-task.h"
#include "timed-lanes.h"

#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

TimedLanes
HcclTimesOf(const CollectiveTask& task)
{
    return AstraSim::TimesOf<HcclTimes>(HcclGraph(task.request, ChooseHccl(task)), task);
}

TimePs
EstimateOf(const CollectiveTask& task)
{
    return HcclTimes(std::make_shared<HcclGraph>(task.request, ChooseHccl(task)), task).Estimate();
}

} // namespace

TEST(HcclTimes, ACopyHasAStartAFlagAndTheRateOfALink)
{
    const LaneTimes ofShort =
        HcclTimesOf(HcclTask(CollectiveOp::AllGather, 8 * 512 * HCCL_KIB, 1, 8)).Out(0, 0);
    EXPECT_EQ(ofShort.latency, 1'600'000);
    EXPECT_EQ(ofShort.rateCapBps, 146'400'000'000U);
    EXPECT_EQ(ofShort.slots, 1U) << "one copy after the other";
    const TimedLanes ofLong =
        HcclTimesOf(HcclTask(CollectiveOp::AllGather, 8 * 513 * HCCL_KIB, 1, 8));
    EXPECT_EQ(ofLong.Out(0, 6).latency, 2'500'000);
    EXPECT_EQ(ofLong.In(0, 6).latency, 2'500'000);
}

TEST(HcclTimes, AMessageBetweenServersHasTheNicsRate)
{
    const LaneTimes far = HcclTimesOf(HcclTask(CollectiveOp::AllGather, HCCL_MIB, 2, 1)).Out(0, 0);
    EXPECT_EQ(far.latency, 7'000'000);
    EXPECT_EQ(far.rateCapBps, LaneTimes().rateCapBps);
}

TEST(HcclTimes, TheUsersLatencyStandsForAll)
{
    CollectiveTask task = HcclTask(CollectiveOp::AllGather, 16, 2, 8);
    task.sendLatency = 5;
    const TimedLanes times = HcclTimesOf(task);
    EXPECT_EQ(times.Out(0, 0).latency, 5);
    EXPECT_EQ(times.Out(0, 7).latency, 5) << "between servers";
}

TEST(HcclTimes, AnEstimateIsTheSumOfItsPhases)
{
    // 1 MiB over a link in each phase.
    const auto copy = static_cast<TimePs>(HCCL_MIB * 1000 / 18.3);
    EXPECT_NEAR(EstimateOf(HcclTask(CollectiveOp::AllGather, 8 * HCCL_MIB, 1, 8)),
                2'500'000 + copy,
                2);
    EXPECT_NEAR(EstimateOf(HcclTask(CollectiveOp::AllReduce, 8 * HCCL_MIB, 1, 8)),
                2 * (2'500'000 + copy),
                2);
    // Four servers exchange 2 blocks, then 1; or the ring's three, at 25 GB/s.
    EXPECT_EQ(EstimateOf(HcclTask(CollectiveOp::AllGather, 4000, 4, 1)),
              2 * 7'000'000 + 3 * 1000 * 40);
    EXPECT_EQ(EstimateOf(HcclTask(CollectiveOp::AllGather, 3000, 3, 1)), 2 * (7'000'000 + 40'000));
}

TEST(HcclTimes, AnEstimateCountsWhatARootReceives)
{
    const TimePs copy = 2'500'000 + static_cast<TimePs>(HCCL_MIB * 1000 / 18.3);
    EXPECT_NEAR(EstimateOf(HcclTask(CollectiveOp::Reduce, 8 * HCCL_MIB, 1, 8)), 2 * copy, 2);
    EXPECT_NEAR(EstimateOf(HcclTask(CollectiveOp::Gather, 8 * HCCL_MIB, 1, 8)), copy, 2);
}

TEST(HcclTimes, AnEstimateCountsTheRankThatSendsMost)
{
    CollectiveTask task = HcclTask(CollectiveOp::AllToAllV, 0, 1, 2);
    task.request.bytesPerPair = {0, 0, HCCL_MIB, 0};
    EXPECT_NEAR(EstimateOf(task), 2'500'000 + HCCL_MIB * 1000 / 18.3, 2);
}

TEST(HcclTimes, ASwitchGivesARankOneLinkForAllItsCopies)
{
    const auto all = static_cast<TimePs>(15 * HCCL_MIB * 1000 / 196.0);
    EXPECT_NEAR(EstimateOf(HcclTask(CollectiveOp::AllGather, 16 * HCCL_MIB, 1, 16, true)), all, 2);
}

} // namespace AstraSim
