/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/idle-workload.h"
#include "simulator/records/merged-records.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace AstraSim
{
namespace
{

using testing::ElementsAre;
using testing::IsEmpty;

/// Two parts of a job: ranks 0 and 1, and ranks 2 and 3.
class MergedParts : public ::testing::Test, protected RunObserver
{
  protected:
    MergedParts()
        : m_group{1, GroupKind::Dp, "DP0", {0, 1, 2, 3}}
    {
        merged.SetWorkload(m_workload);
    }

    CollectiveRecord Record(uint64_t id, TimePs start, TimePs lastStart, TimePs end) const
    {
        return {id,
                "layer",
                {},
                &m_group,
                CollectiveOp::AllReduce,
                100,
                &m_choice,
                start,
                end,
                lastStart,
                KEY};
    }

    void CollectiveStarted(const CollectiveRecord& record) override
    {
        told.push_back("start " + std::to_string(record.id));
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        told.push_back((record.isMessage ? "message " : "end ") + std::to_string(record.id) + ": " +
                       std::to_string(record.start) + " " + std::to_string(record.lastStart) + " " +
                       std::to_string(record.end) + " " + record.choice->algorithm);
    }

    void FlowEnded(const FlowRecord& record) override
    {
        told.push_back("flow of " + std::to_string(record.collective));
    }

    static constexpr uint64_t KEY = uint64_t{1} << 32 | 5;

    MergedRecords merged{*this};
    RunObserver& left{merged.AddPart({0, 1})};
    RunObserver& right{merged.AddPart({2, 3})};
    std::vector<std::string> told;

  private:
    IdleWorkload m_workload{"w.txt"};
    CommGroup m_group;
    CollectiveChoice m_choice{"Ring", "LL", 1, 1, 0};
};

} // namespace

TEST_F(MergedParts, ACollectiveBeginsWithItsFirstRankAndEndsWithItsLast)
{
    right.CollectiveStarted(Record(3, 20, 0, 0));
    left.CollectiveStarted(Record(8, 30, 0, 0));
    EXPECT_THAT(
        merged.DescribeMissingRanks([](uint64_t) { return 3; }),
        ElementsAre("collective 1 (AllReduce of 100 bytes, layer layer, group DP0): 3 of 4 ranks "
                    "have begun it"));
    left.FlowEnded({.src = 0, .dst = 2, .bytes = 1, .collective = 8, .start = 0, .end = 9});
    left.FlowEnded({.src = 0, .dst = 2, .bytes = 1, .collective = 0, .start = 0, .end = 9});
    left.CollectiveEnded(Record(8, 25, 40, 90));
    EXPECT_THAT(merged.DescribeMissingRanks([](uint64_t) { return 2; }), IsEmpty());
    EXPECT_EQ(merged.GetCollectivesEnded(), 0U);
    right.CollectiveEnded(Record(3, 22, 35, 70));
    EXPECT_THAT(told, ElementsAre("start 1", "flow of 1", "flow of 0", "end 1: 22 40 90 Ring"));
    EXPECT_EQ(merged.GetCollectivesEnded(), 1U);
}

TEST_F(MergedParts, PartsThatDisagreeAreRefused)
{
    left.CollectiveStarted(Record(1, 20, 0, 0));
    CollectiveRecord other = Record(1, 30, 0, 0);
    other.bytes = 200;
    try
    {
        right.CollectiveStarted(other);
        FAIL();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_STREQ(
            error.what(),
            "w.txt: ranks of group DP0 take part in its collective 6 with AllReduce of 200 bytes "
            "(layer); expected AllReduce of 100 bytes, as the ranks before them (layer)");
    }
}

TEST_F(MergedParts, MessagesArriveInTheOrderInWhichTheyLeft)
{
    left.MessageLeft({0, 2, 7, 10, {}, 100});
    left.MessageLeft({0, 2, 7, 20, {}, 110});
    left.MessageLeft({1, 2, 7, 30, {}, 105});
    right.MessageCame({0, 2, 7, 10, {}, 200});
    EXPECT_THAT(
        merged.DescribeMessages(),
        ElementsAre("a message of 20 bytes from rank 0 to rank 2 has been sent and not received",
                    "a message of 30 bytes from rank 1 to rank 2 has been sent and not received"));
    EXPECT_THROW(right.MessageCame({0, 2, 7, 21, {}, 210}), ns3::InputError);
    right.MessageCame({1, 2, 7, 30, {}, 220});
    EXPECT_THAT(told, ElementsAre("message 1: 100 100 200 P2P", "message 3: 105 105 220 P2P"));
}

} // namespace AstraSim
