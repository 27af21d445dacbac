/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/pair-bytes.h"
#include "collectives/model/graph/pxn-graph.h"
#include "symbolic-graph.h"

#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

namespace AstraSim
{

namespace
{

using Pair = std::pair<uint32_t, uint32_t>;

/// Ranges of bytes [begin, end) that a rank holds of each pair's data.
using Holdings = std::map<Pair, std::map<uint64_t, uint64_t>>;

/// Result of an exchange.
struct Outcome
{
    std::map<ConnType, uint64_t> bytes; ///< that each kind of connection carried
    uint64_t acrossRails{0};            ///< bytes between nodes and between rails
};

/// Carries an exchange out, checks that nobody sends what it does not have and that every pair's
/// data arrives once.
Outcome
Exchange(const CollectiveRequest& request, const GroupShape& shape)
{
    const PxnGraph graph(request, shape);
    const uint32_t ranks = shape.GetRanks();
    SymbolicGraph symbols(graph);
    std::vector<Holdings> holds(ranks);
    Outcome outcome;
    EXPECT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
        const Lane out = graph.GetOutbound(from, lane);
        uint64_t bytes = 0;
        for (const PxnGraph::Item& item : graph.GetItems(from, lane, message))
        {
            bytes += item.bytes;
            if (item.bytes == 0)
            {
                continue;
            }
            if (item.src != from)
            {
                const auto& held = holds[from][{item.src, item.dst}];
                const auto at = held.find(item.begin);
                EXPECT_TRUE(at != held.end() && at->second == item.bytes)
                    << "rank " << from << " passes on what it does not have";
            }
            const Pair pair(item.src, item.dst);
            EXPECT_TRUE(holds[out.peer][pair].emplace(item.begin, item.bytes).second)
                << "arrives twice";
        }
        EXPECT_EQ(bytes, graph.GetBytes(from, lane, message));
        const bool between = shape.NodeOf(from) != shape.NodeOf(out.peer);
        EXPECT_EQ(between, out.type == ConnType::Net);
        outcome.bytes[out.type] += bytes;
        outcome.acrossRails += between && shape.RailOf(from) != shape.RailOf(out.peer) ? bytes : 0;
        return SymbolicGraph::Move{{0, 0}, false};
    })) << ranks
        << " ranks wait for ever";
    for (uint32_t src = 0; src < ranks; ++src)
    {
        for (uint32_t dst = 0; dst < ranks; ++dst)
        {
            uint64_t next = 0;
            for (const auto& [begin, length] : holds[dst][{src, dst}])
            {
                EXPECT_EQ(begin, next);
                next = begin + length;
            }
            EXPECT_EQ(next, src == dst ? 0 : PairBytes(request, ranks, src, dst))
                << src << " to " << dst << " of " << ranks;
        }
    }
    return outcome;
}

GroupShape
ShapeOf(std::vector<int> ranks)
{
    CommGroup group;
    group.ranks = std::move(ranks);
    return {group, MachineModel{}};
}

} // namespace

TEST(PxnGraph, AllToAllGivesEveryPairItsShareOnItsRail)
{
    for (const uint32_t gpus : {1U, 3U, 8U})
    {
        for (uint32_t ranks = 1; ranks <= 33; ++ranks)
        {
            const uint64_t share = 150000;
            const auto outcome =
                Exchange(Request(CollectiveOp::AllToAll, ranks * share), MakeShape(ranks, gpus));
            ASSERT_FALSE(testing::Test::HasFailure()) << ranks << " ranks, nodes of " << gpus;
            ASSERT_EQ(outcome.acrossRails, 0U);
        }
    }
}

TEST(PxnGraph, BytesMatchTheClosedForm)
{
    // 4 nodes of 8: each rank has 7 local peers and 24 others, 3 of them on its own rail.
    const uint64_t share = 700000;
    auto outcome = Exchange(Request(CollectiveOp::AllToAll, 32 * share), MakeShape(32, 8));
    EXPECT_EQ(outcome.bytes[ConnType::P2p], 32 * 7 * share);
    EXPECT_EQ(outcome.bytes[ConnType::PxnInit], 32 * 21 * share);
    EXPECT_EQ(outcome.bytes[ConnType::Net], 32 * 24 * share);
    EXPECT_EQ(outcome.bytes[ConnType::PxnFinal], 0U);
}

TEST(PxnGraph, ARankHasConnectionsToItsRailInsteadOfToAll)
{
    const PxnGraph graph(Request(CollectiveOp::AllToAll, 1 << 20), MakeShape(64, 8));
    uint32_t between = 0;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(5, lane);
        between += out.messages > 0 && out.type == ConnType::Net;
    }
    EXPECT_EQ(between, 7U);
}

TEST(PxnGraph, WhatARankReceivesOnItsRailIsSpreadOverTwoPorts)
{
    const PxnGraph graph(Request(CollectiveOp::AllToAll, 1 << 20), MakeShape(64, 8));
    for (uint32_t rank = 0; rank < 64; ++rank)
    {
        int odd = 0;
        int all = 0;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane in = graph.GetInbound(rank, lane);
            if (in.type == ConnType::Net && in.messages > 0)
            {
                ++all;
                odd += in.channel % 2;
            }
        }
        EXPECT_EQ(all, 7) << rank;
        EXPECT_TRUE(odd == 3 || odd == 4) << rank << ": " << odd;
    }
}

TEST(PxnGraph, MessagesOfANodeForOneRankAreAggregated)
{
    // 8 ranks x 64 KiB for each rank of the other node are 512 KiB: one message.
    const PxnGraph graph(Request(CollectiveOp::AllToAll, 16 * 65536), MakeShape(16, 8));
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(3, lane);
        if (out.type == ConnType::Net && out.messages > 0)
        {
            EXPECT_EQ(out.peer, 11U);
            EXPECT_EQ(out.messages, 1U);
            EXPECT_EQ(graph.GetBytes(3, lane, 0), 8 * 65536U);
        }
    }
}

TEST(PxnGraph, WithoutARankOnTheRailDataIsPassedOnAtTheOtherEnd)
{
    // Node 0 has rails 0 and 1, node 1 rails 0 to 3: nothing of node 0 is on rails 2 and 3.
    const uint64_t share = 100000;
    auto outcome =
        Exchange(Request(CollectiveOp::AllToAll, 6 * share), ShapeOf({0, 1, 8, 9, 10, 11}));
    EXPECT_EQ(outcome.bytes[ConnType::PxnFinal], 4 * share) << "0 and 1 to 10 and 11";
    EXPECT_EQ(outcome.bytes[ConnType::PxnInit], 8 * share)
        << "0 to 9, 1 to 8, and back, 10 and 11 to both";
    EXPECT_EQ(outcome.acrossRails, 0U);
}

TEST(PxnGraph, RanksThatShareNoRailSendAcrossRails)
{
    const uint64_t share = 100000;
    auto outcome = Exchange(Request(CollectiveOp::AllToAll, 4 * share), ShapeOf({0, 1, 10, 11}));
    EXPECT_EQ(outcome.acrossRails, 8 * share);
}

TEST(PxnGraph, AllToAllVMovesWhatEachPairAsksFor)
{
    for (uint32_t ranks = 2; ranks <= 33; ranks += 3)
    {
        CollectiveRequest request = Request(CollectiveOp::AllToAllV, 0);
        for (uint32_t pair = 0; pair < ranks * ranks; ++pair)
        {
            request.bytesPerPair.push_back(pair % 5 == 0 ? 0 : pair * 7919 % 1300000);
        }
        Exchange(request, MakeShape(ranks, 8));
        ASSERT_FALSE(testing::Test::HasFailure()) << ranks << " ranks";
    }
}

} // namespace AstraSim
