/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/pair-schedule.h"
#include "symbolic-graph.h"

#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace AstraSim
{

namespace
{

/// @return the ranks that a rank sends to, round by round
std::vector<uint32_t>
OrderOf(uint32_t rank, uint32_t ranks, uint32_t gpus)
{
    const PairSchedule schedule(MakeShape(ranks, gpus));
    std::vector<uint32_t> order;
    for (uint32_t round = 0; round + 1 < ranks; ++round)
    {
        order.push_back(schedule.SendsTo(rank, round));
    }
    return order;
}

} // namespace

TEST(PairSchedule, EveryRoundHasOneSenderForEachReceiver)
{
    for (const uint32_t gpus : {1, 2, 3, 4, 8, 12, 16})
    {
        for (uint32_t ranks = 2; ranks <= 40; ++ranks) // the last node has fewer
        {
            const PairSchedule schedule(MakeShape(ranks, gpus));
            std::vector<std::set<uint32_t>> met(ranks);
            for (uint32_t round = 0; round + 1 < ranks; ++round)
            {
                std::set<uint32_t> receivers;
                for (uint32_t rank = 0; rank < ranks; ++rank)
                {
                    const uint32_t to = schedule.SendsTo(rank, round);
                    ASSERT_NE(to, rank);
                    ASSERT_EQ(schedule.ReceivesFrom(to, round), rank);
                    receivers.insert(to);
                    met[rank].insert(to);
                }
                ASSERT_EQ(receivers.size(), ranks);
            }
            for (const auto& others : met)
            {
                ASSERT_EQ(others.size(), ranks - 1);
            }
        }
    }
}

TEST(PairSchedule, NodesComeInTheOrderOfTriangularNumbers)
{
    // Of four nodes: 0, 1, 3, and 6 modulo 4.
    EXPECT_EQ(OrderOf(1, 8, 2), (std::vector<uint32_t>{0, 3, 2, 7, 6, 5, 4}));
    // Of five nodes: 0, 1, 3, 6, 2, 7, 5 and 4, without those that are not there.
    EXPECT_EQ(OrderOf(0, 5, 1), (std::vector<uint32_t>{1, 3, 2, 4}));
}

TEST(PairSchedule, OneNodeIsOneGroup)
{
    EXPECT_EQ(OrderOf(2, 12, 12), (std::vector<uint32_t>{3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1}));
}

TEST(PairSchedule, GroupsHaveTheSizeThatDividesAllNodes)
{
    // Nodes of 8 and 4: three groups of 4, so the second half of the first node comes first.
    EXPECT_EQ(OrderOf(0, 12, 8), (std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    // Nodes of 16: two groups each, of which the order is 0, 1, 3, 2.
    const auto order = OrderOf(0, 32, 16);
    EXPECT_EQ(order[7], 8U);
    EXPECT_EQ(order[15], 24U);
    EXPECT_EQ(order[23], 16U);
}

} // namespace AstraSim
