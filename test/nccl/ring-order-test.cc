/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/laned-server.h"
#include "collectives/model/graph/ring-order.h"
#include "symbolic-graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

/// @return ranks 0..ranks-1 in nodes of @p gpus that are linked to each other
GroupShape
MakeMesh(uint32_t ranks, uint32_t gpus)
{
    MachineModel machine;
    machine.gpusPerServer = gpus;
    machine.nvswitchesPerServer = 0;
    machine.isMesh = true;
    return {FirstRanks(ranks), machine};
}

/// How often links between two ranks are used, by direction.
using Uses = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;

/// Expect that all links between @p ranks ranks are used so often in both directions.
void
ExpectEachUsed(const Uses& uses, uint32_t ranks, uint32_t times)
{
    EXPECT_EQ(uses.size(), std::size_t{ranks} * (ranks - 1)) << ranks << " ranks";
    for (const auto& [link, count] : uses)
    {
        EXPECT_EQ(count, times) << ranks << " ranks: " << link.first << " to " << link.second;
    }
}

} // namespace

TEST(RingOrder, RingsOfAMeshUseAllLinksAlike)
{
    for (uint32_t ranks = 2; ranks <= 16; ++ranks)
    {
        const GroupShape shape = MakeMesh(ranks, ranks);
        const uint32_t channels = 2 * (ranks - 1);
        const RingOrders rings(shape, 2 * channels, true);
        Uses uses;
        for (uint32_t channel = 0; channel < 2 * channels; ++channel)
        {
            std::set<uint32_t> seen;
            uint32_t at = 0;
            for (uint32_t i = 0; i < ranks; ++i)
            {
                const uint32_t next = rings.NextOf(at, channel);
                ++uses[{at, next}];
                seen.insert(next);
                at = next;
            }
            EXPECT_EQ(seen.size(), ranks) << "channel " << channel;
        }
        ExpectEachUsed(uses, ranks, 4);
    }
}

TEST(RingOrder, PathsThroughAMeshUseEachLinkOnceAndStayOnTheirRails)
{
    for (const uint32_t gpus : {2, 4, 6, 8, 16})
    {
        const GroupShape shape = MakeMesh(4 * gpus, gpus);
        Uses uses;
        for (uint32_t channel = 0; channel < gpus; ++channel)
        {
            const auto order = RingOrder(shape, channel, true);
            ASSERT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), 4U * gpus);
            for (std::size_t i = 0; i < order.size(); ++i)
            {
                const uint32_t from = order[i];
                const uint32_t to = order[(i + 1) % order.size()];
                if (from / gpus != to / gpus)
                {
                    EXPECT_EQ(from % gpus, to % gpus) << "channel " << channel;
                }
                else if (from < gpus)
                {
                    ++uses[{from, to}];
                }
            }
        }
        ExpectEachUsed(uses, gpus, 1);
    }
}

TEST(RingOrder, RingsOfDiesTakeNoMoreThanTheLanesThatJoinThem)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("MI250X");
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> lanes;
    for (const Lanes& each : MI250X_LANES)
    {
        lanes[{each.a, each.b}] = lanes[{each.b, each.a}] = each.count;
    }
    constexpr uint32_t DISTINCT = 4;
    for (const uint32_t servers : {1U, 2U})
    {
        const GroupShape shape(FirstRanks(8 * servers), machine);
        const RingOrders rings(shape, DISTINCT, false);
        Uses uses;
        for (uint32_t channel = 0; channel < DISTINCT; ++channel)
        {
            std::set<uint32_t> seen;
            uint32_t at = 0;
            for (uint32_t i = 0; i < 8 * servers; ++i)
            {
                const uint32_t next = rings.NextOf(at, channel);
                if (at / 8 == next / 8)
                {
                    ++uses[{at, next}];
                }
                seen.insert(next);
                at = next;
            }
            EXPECT_EQ(seen.size(), 8 * servers);
        }
        for (const auto& [link, count] : uses)
        {
            EXPECT_LE(count, lanes.at({link.first % 8, link.second % 8}))
                << servers << " servers: " << link.first << " to " << link.second;
        }
    }
}

TEST(RingOrder, RingsOfSomeDiesVisitThemInTheServersOrder)
{
    MachineModel machine;
    machine.gpu = FindGpuProfile("MI250X");
    EXPECT_EQ(RingOrder(GroupShape(FirstRanks(4), machine), 0, false),
              (std::vector<uint32_t>{0, 1, 3, 2}));
    CommGroup group;
    group.ranks = {5, 0, 7, 4};
    EXPECT_EQ(RingOrder(GroupShape(group, machine), 0, false), (std::vector<uint32_t>{1, 3, 0, 2}))
        << "indices in the group, of GPUs 0, 4, 5, 7";
}

TEST(RingOrder, WithoutCrossingNicsRingsAreThoseNcclPrints)
{
    // NVIDIA/nccl issue 1453, three servers of eight GPUs: "Channel 05/16 : 0 7 6 13 12 11 ..." and
    // so on. NCCL begins at rank 0; a ring is the same wherever it begins.
    const std::map<uint32_t, std::vector<uint32_t>> printed = {
        {0, {0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9, 16, 23, 22, 21, 20, 19, 18, 17}},
        {1, {0, 7, 6, 5, 4, 3, 2, 9, 8, 15, 14, 13, 12, 11, 10, 17, 16, 23, 22, 21, 20, 19, 18, 1}},
        {5, {0, 7, 6, 13, 12, 11, 10, 9, 8, 15, 14, 21, 20, 19, 18, 17, 16, 23, 22, 5, 4, 3, 2, 1}},
        {6, {0, 7, 14, 13, 12, 11, 10, 9, 8, 15, 22, 21, 20, 19, 18, 17, 16, 23, 6, 5, 4, 3, 2, 1}},
        {7, {0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16, 7, 6, 5, 4, 3, 2, 1}},
    };
    for (const auto& [channel, ring] : printed)
    {
        auto order = RingOrder(MakeShape(24, 8), channel, false);
        std::rotate(order.begin(), std::find(order.begin(), order.end(), 0U), order.end());
        EXPECT_EQ(order, ring) << "channel " << channel;
    }
}

} // namespace AstraSim
