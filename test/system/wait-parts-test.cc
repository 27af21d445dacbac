/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/wait-parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace AstraSim;
using ::testing::ElementsAre;

namespace
{

/// Tells waits to observers and keeps what they pass on.
class WaitsOfCollectives : public ::testing::Test, public RunObserver
{
  protected:
    void SetUp() override
    {
        m_observers.Add(*this);
    }

    void WaitEnded(const WaitRecord& record) override
    {
        EXPECT_FALSE(record.collective) << "told apart already";
        m_told.push_back(std::to_string(record.rank) +
                         (record.reason == WaitReason::OtherRanks ? " others " : " collective ") +
                         std::to_string(record.start) + "-" + std::to_string(record.end));
    }

    void Wait(int rank, TimePs start, TimePs end, CollectiveKey key)
    {
        m_observers.WaitEnded(
            {rank, "layer", {}, GroupKind::Tp, WaitReason::Collective, start, end, key});
    }

    void End(uint64_t key, CollectiveOp op, TimePs lastStart, TimePs rootStart, TimePs end)
    {
        CollectiveRecord record{1, "layer", {}, &m_group, op, 8, &m_choice, 0, end, lastStart, key};
        record.rootStart = rootStart;
        m_observers.CollectiveEnded(record);
    }

    WaitParts m_observers;
    CommGroup m_group{0, GroupKind::Tp, "TP", {0, 1, 2}};
    CollectiveChoice m_choice;
    std::vector<std::string> m_told;
};

} // namespace

TEST_F(WaitsOfCollectives, AreOfOtherRanksUntilTheLastOneBegins)
{
    Wait(0, 10, 50, 7);
    Wait(1, 20, 55, 7);
    EXPECT_THAT(m_told, ElementsAre()) << "others may still begin";
    End(7, CollectiveOp::AllReduce, 30, 10, 60);
    Wait(2, 30, 60, 7); // told of after the end, at the same time
    EXPECT_THAT(m_told,
                ElementsAre("0 others 10-30",
                            "0 collective 30-50",
                            "1 others 20-30",
                            "1 collective 30-55",
                            "2 collective 30-60"));
}

TEST_F(WaitsOfCollectives, ThatBeginAfterTheLastRankAreOfTheCollective)
{
    Wait(0, 40, 50, 7); // what the rank computed meanwhile hid the rest
    End(7, CollectiveOp::ReduceScatter, 30, 10, 60);
    EXPECT_THAT(m_told, ElementsAre("0 collective 40-50"));
}

TEST_F(WaitsOfCollectives, OfABroadcastAreOfItsRootAlone)
{
    Wait(1, 10, 50, 7);
    Wait(2, 45, 60, 7);
    End(7, CollectiveOp::Broadcast, 45, 20, 60);
    EXPECT_THAT(m_told, ElementsAre("1 others 10-20", "1 collective 20-50", "2 collective 45-60"));
}

TEST_F(WaitsOfCollectives, ThatEndBeforeTheLastRankBeginsDidNotDependOnIt)
{
    Wait(0, 10, 20, 7);
    End(7, CollectiveOp::Reduce, 30, 5, 60);
    EXPECT_THAT(m_told, ElementsAre("0 collective 10-20"));
}

TEST_F(WaitsOfCollectives, ThatNeverEndAreToldOfAtTheEnd)
{
    Wait(0, 10, 20, 7);
    Wait(1, 10, 20, {}); // of a message
    m_observers.Finish();
    m_observers.Finish();
    EXPECT_THAT(m_told, ElementsAre("1 collective 10-20", "0 collective 10-20"));
}
