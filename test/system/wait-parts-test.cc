/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/wait-parts.h"

#include <algorithm>
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
        m_told.push_back(std::to_string(record.rank) + " " + std::string(record.layer) +
                         (record.reason == WaitReason::OtherRanks ? " others " : " collective ") +
                         std::to_string(record.start) + "-" + std::to_string(record.end));
    }

    /// @param awaited collectives and the ends of the rank's part
    void Wait(int rank,
              TimePs start,
              TimePs end,
              const std::vector<AwaitedCollective>& awaited,
              TimePs sent = 0)
    {
        const std::string layer = "L"; // gone when a wait that was held is told of
        m_observers.AwaitEnded({rank, layer, {}, GroupKind::Tp, start, end, sent, awaited});
    }

    void End(uint64_t key, CollectiveOp op, TimePs lastJoin, TimePs rootJoin, TimePs end)
    {
        CollectiveRecord record{1, "layer", {}, &m_group, op, 8, &m_choice, 0, end, lastJoin, key};
        record.lastJoin = lastJoin;
        record.rootJoin = rootJoin;
        record.members = 3;
        m_observers.CollectiveEnded(record);
    }

    WaitParts m_observers;
    CommGroup m_group{0, GroupKind::Tp, "TP", {0, 1, 2}};
    CollectiveChoice m_choice;
    std::vector<std::string> m_told;
};

} // namespace

TEST_F(WaitsOfCollectives, AreOfOtherRanksUntilTheLastOneReachesIt)
{
    Wait(0, 10, 50, {{7, 50}});
    Wait(1, 20, 55, {{7, 55}});
    EXPECT_THAT(m_told, ElementsAre()) << "others may still come";
    End(7, CollectiveOp::AllReduce, 30, 10, 60);
    Wait(2, 30, 60, {{7, 60}}); // told of after the end, at the same time
    EXPECT_THAT(m_told,
                ElementsAre("0 L others 10-30",
                            "0 L collective 30-50",
                            "1 L others 20-30",
                            "1 L collective 30-55",
                            "2 L collective 30-60"));
}

TEST_F(WaitsOfCollectives, ThatBeginAfterTheLastRankAreOfTheCollective)
{
    Wait(0, 40, 50, {{7, 50}}); // what the rank computed meanwhile hid the rest
    End(7, CollectiveOp::ReduceScatter, 30, 10, 60);
    EXPECT_THAT(m_told, ElementsAre("0 L collective 40-50"));
}

TEST_F(WaitsOfCollectives, OfABroadcastAreOfItsRootAlone)
{
    Wait(1, 10, 50, {{7, 50}});
    Wait(2, 45, 60, {{7, 60}});
    End(7, CollectiveOp::Broadcast, 45, 20, 60);
    EXPECT_THAT(m_told,
                ElementsAre("1 L others 10-20", "1 L collective 20-50", "2 L collective 45-60"));
}

TEST_F(WaitsOfCollectives, ThatEndBeforeTheLastRankBeginsDidNotDependOnIt)
{
    Wait(0, 10, 20, {{7, 20}});
    End(7, CollectiveOp::Reduce, 30, 5, 60);
    EXPECT_THAT(m_told, ElementsAre("0 L collective 10-20"));
}

TEST_F(WaitsOfCollectives, OfSeveralAtOnceAreOfTheRankThatComesLastToAny)
{
    // In whatever order they end, and the messages that were waited for leave.
    const auto each = [this](uint64_t first, uint64_t second) {
        Wait(0, 10, 90, {{7, 40}, {8, 90}, {9, 60}}, 25);
        End(first, CollectiveOp::AllReduce, first == 9 ? 50 : 20, 0, 60);
        EXPECT_THAT(m_told, ElementsAre()) << "one may be reached later";
        End(second, CollectiveOp::AllReduce, second == 9 ? 50 : 20, 0, 60);
        End(8, CollectiveOp::AllReduce, 15, 0, 95);
        EXPECT_THAT(m_told, ElementsAre("0 L others 10-50", "0 L collective 50-90"));
    };
    each(7, 9);
    m_told.clear();
    m_observers = WaitParts();
    m_observers.Add(*this);
    each(9, 7);
}

TEST_F(WaitsOfCollectives, ThatNeverEndAreToldOfAtTheEnd)
{
    Wait(0, 10, 20, {{7, 20}});
    Wait(1, 10, 20, {}, 15); // of a message
    m_observers.Finish();
    m_observers.Finish();
    EXPECT_THAT(m_told,
                ElementsAre("1 L others 10-15", "1 L collective 15-20", "0 L collective 10-20"));
}

TEST_F(WaitsOfCollectives, AreToldOfHoweverLongAfterTheirEnd)
{
    // Ranks 0 and 1 compute after each collective; rank 2 tells of all its waits after a while.
    constexpr TimePs COUNT = 10'000;
    std::size_t most = 0;
    for (TimePs i = 1; i <= COUNT; ++i)
    {
        End(static_cast<uint64_t>(i), CollectiveOp::AllReduce, 100 * i, 0, 100 * i + 10);
        m_observers.ComputeEnded({0, "", {}, 100 * i + 10, 100 * i + 20});
        m_observers.ComputeEnded({1, "", {}, 100 * i + 10, 100 * i + 20});
        if (i % 3000 == 0)
        {
            m_told.clear();
            const auto first = static_cast<uint64_t>(i - 2000);
            const TimePs joined = 100 * (i - 2000);
            Wait(2, joined - 5, joined + 10, {{first, joined + 10}});
            EXPECT_THAT(m_told,
                        ElementsAre("2 L others " + std::to_string(joined - 5) + "-" +
                                        std::to_string(joined),
                                    "2 L collective " + std::to_string(joined) + "-" +
                                        std::to_string(joined + 10)));
            m_observers.ComputeEnded({2, "", {}, 100 * i + 10, 100 * i + 20});
        }
        most = std::max(most, m_observers.GetRemembered());
    }
    EXPECT_LT(most, 7000U) << "those of which all ranks have told are forgotten";
    m_observers.RankFinished(2, 100 * COUNT + 20);
}
