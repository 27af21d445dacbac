/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/event-loop.h"

#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{
namespace
{

TEST(EventLoop, RunsByTimeAndAtOneTimeInTheOrderOfScheduling)
{
    EventLoop loop;
    std::vector<int> order;
    loop.Schedule(20, [&] { order.push_back(3); });
    loop.Schedule(10, [&] {
        order.push_back(1);
        loop.Schedule(10, [&] { order.push_back(4); });
        loop.Schedule(0, [&] { order.push_back(2); });
    });
    EXPECT_TRUE(loop.Run());
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(loop.Now(), 20);
    EXPECT_EQ(loop.GetEventCount(), 4U);
}

TEST(EventLoop, StopsAtALimitAndGoesOnLater)
{
    EventLoop loop;
    int runs = 0;
    loop.Schedule(10, [&] { ++runs; });
    loop.Schedule(11, [&] { ++runs; });
    EXPECT_FALSE(loop.Run(10));
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(loop.Now(), 10);
    EXPECT_FALSE(loop.IsIdle());
    EXPECT_TRUE(loop.Run());
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(loop.Now(), 11);
    EXPECT_TRUE(loop.IsIdle());
}

} // namespace
} // namespace AstraSim
