/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "symbolic-graph.h"

#include "ns3/nvls-graph.h"

#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

/// A chunk's own name: share, tree and number, of a rank's input or of what becomes the result.
SymbolicGraph::Piece
PieceOf(uint32_t share, uint32_t tree, uint64_t chunk, bool result)
{
    return {share * 2 + tree, 2 * chunk + (result ? 1 : 0)};
}

/// Carries out a collective and checks the result of each chunk at each rank with @p check.
template <typename Check>
void
Carry(CollectiveOp op, const GroupShape& shape, uint64_t bytes, uint32_t channels, Check check)
{
    NcclPlan plan;
    plan.channels = channels;
    const NvlsGraph graph(Request(op, bytes), shape, plan, -1);
    const uint32_t trees = shape.GetNodes() > 1 ? 2 : 1;
    const uint32_t lanesPerTree = graph.GetLaneCount() / std::max(1U, trees);
    SymbolicGraph symbols(graph);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> chunks;
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(rank, lane);
            if (out.kind == LaneKind::Copy)
            {
                continue;
            }
            const uint32_t share = graph.GetShareOf(rank, lane);
            for (uint64_t chunk = 0; chunk < out.messages; ++chunk)
            {
                const uint32_t tree = lane / lanesPerTree;
                chunks[{share, tree}] = out.messages;
                if (op != CollectiveOp::AllGather)
                {
                    symbols.At(rank, PieceOf(share, tree, chunk, false)) = {rank};
                }
                else if (graph.GetHeadOf(rank) == share)
                {
                    symbols.At(rank, PieceOf(share, tree, chunk, true)) = {rank};
                }
            }
        }
    }
    ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
        const Lane out = graph.GetOutbound(from, lane);
        const uint32_t tree = lane / lanesPerTree;
        const uint32_t share = graph.GetShareOf(from, lane);
        const auto input = PieceOf(share, tree, message, false);
        const auto result = PieceOf(share, tree, message, true);
        const bool up = lane % lanesPerTree == 0;
        return SymbolicGraph::Move{out.kind == LaneKind::Reduce ? input : result,
                                   out.kind == LaneKind::Reduce || up,
                                   result};
    })) << shape.GetRanks()
        << " ranks wait for ever";
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (const auto& [place, count] : chunks)
        {
            for (uint64_t chunk = 0; chunk < count; ++chunk)
            {
                check(graph,
                      rank,
                      place.first,
                      symbols.At(rank, PieceOf(place.first, place.second, chunk, true)));
            }
        }
    }
    if (shape.GetRanks() == 1)
    {
        EXPECT_EQ(symbols.GetBytesMoved(), 0U);
        return;
    }
    // Of each share: every rank its contribution, every head its result; trees both ways.
    const uint64_t up = op == CollectiveOp::AllGather ? 0 : shape.GetRanks();
    const uint64_t stores = op == CollectiveOp::ReduceScatter ? 0 : shape.GetNodes();
    EXPECT_EQ(symbols.GetBytesMoved(), bytes * (up + stores + 2 * (shape.GetNodes() - 1)));
    const uint64_t sums = op == CollectiveOp::AllGather ? 0 : shape.GetNodes();
    const uint64_t copies = op == CollectiveOp::ReduceScatter ? 0 : shape.GetRanks();
    EXPECT_EQ(symbols.GetBytesFromSwitches(), bytes * (sums + copies));
}

} // namespace

TEST(NvlsGraph, EveryRankEndsWithEveryContributionOnce)
{
    for (const uint32_t gpus : {3U, 8U, 36U})
    {
        for (uint32_t ranks = 1; ranks <= 33; ++ranks)
        {
            for (const uint32_t channels : {1U, 4U})
            {
                std::multiset<uint32_t> all;
                for (uint32_t rank = 0; rank < ranks; ++rank)
                {
                    all.insert(rank);
                }
                Carry(CollectiveOp::AllReduce,
                      MakeShape(ranks, gpus),
                      uint64_t{ranks} * 32768 + 48,
                      channels,
                      [&](const NvlsGraph&, uint32_t rank, uint32_t, const auto& held) {
                          ASSERT_EQ(held, all) << ranks << " ranks, rank " << rank;
                      });
                ASSERT_FALSE(HasFailure()) << ranks << " ranks, nodes of " << gpus;
            }
        }
    }
}

TEST(NvlsGraph, ADomainOf72GpusHasAtMost32Heads)
{
    NcclPlan plan;
    plan.channels = 24;
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(144, 72), plan, -1);
    EXPECT_EQ(graph.GetHeads(), 32U);
    EXPECT_EQ(graph.GetHeadOf(31), 31U);
    EXPECT_FALSE(graph.GetHeadOf(32));
    EXPECT_EQ(graph.GetMemberSets(), 2U);
    EXPECT_EQ(graph.GetMembers(1).front(), 72U);
}

TEST(NvlsGraph, AllGatherMulticastsEachBlockFromItsOwner)
{
    for (uint32_t ranks = 2; ranks <= 32; ++ranks)
    {
        Carry(CollectiveOp::AllGather,
              MakeShape(ranks, 32),
              uint64_t{ranks} * 80000,
              2,
              [&](const NvlsGraph&, uint32_t, uint32_t share, const auto& held) {
                  ASSERT_EQ(held, std::multiset<uint32_t>{share}) << ranks << " ranks";
              });
    }
}

TEST(NvlsGraph, ReduceScatterLeavesEachOwnerTheSumOfAll)
{
    for (uint32_t ranks = 2; ranks <= 32; ++ranks)
    {
        Carry(CollectiveOp::ReduceScatter,
              MakeShape(ranks, 32),
              uint64_t{ranks} * 80000,
              2,
              [&](const NvlsGraph&, uint32_t rank, uint32_t share, const auto& held) {
                  ASSERT_EQ(held.size(), rank == share ? ranks : 0U) << ranks << " ranks";
              });
    }
}

TEST(NvlsGraph, BlocksOfRanksAreEqualToAByte)
{
    NcclPlan plan;
    plan.channels = 16;
    for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
    {
        for (const uint64_t bytes : {3122U, 8U * 4096, 5U})
        {
            const NvlsGraph graph(Request(op, bytes), MakeShape(8, 8), plan, -1);
            uint64_t sum = 0;
            for (uint32_t head = 0; head < 8; ++head)
            {
                EXPECT_EQ(graph.GetShareBytes(head, 0), bytes / 8 + (head < bytes % 8 ? 1 : 0));
                sum += graph.GetShareBytes(head, 0);
            }
            EXPECT_EQ(sum, bytes);
        }
    }
}

TEST(NvlsGraph, AMessageIsAPassOfAChunkInANodeAndAChunkInTrees)
{
    // 128 MiB over two channels of eight heads are enough for chunks of 128 KiB (calcCollChunking).
    // A channel's chunk takes 13 passes of 10,240 bytes: 10,083 each, in units of 16 bytes 10,096.
    // Each tree has one of the channels.
    constexpr uint64_t BYTES = 1 << 27;
    constexpr uint64_t SHARE = BYTES / 8;
    NcclPlan plan;
    plan.channels = 2;
    for (const uint32_t nodes : {1U, 2U})
    {
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, BYTES),
                              MakeShape(8 * nodes, 8),
                              plan,
                              -1);
        const uint64_t message = nodes == 1 ? 2 * 10096 : 131072;
        const uint64_t messages = (SHARE / nodes + message - 1) / message;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.messages == 0)
            {
                continue;
            }
            // Copies take whole chunks: 256 KiB of both channels, or 128 KiB of half the share.
            const bool copies = out.kind == LaneKind::Copy;
            EXPECT_EQ(out.messages, copies ? 64 : messages) << nodes << " nodes, lane " << lane;
            EXPECT_EQ(graph.GetBytes(0, lane, 0),
                      copies ? 8 * message * (nodes == 1 ? 13 : 1) : message);
        }
    }
}

TEST(NvlsGraph, TreesBetweenNodesJoinHeadsOfTheSameShare)
{
    NcclPlan plan;
    plan.channels = 16;
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 24), MakeShape(64, 8), plan, -1);
    uint32_t between = 0;
    for (uint32_t rank = 0; rank < 64; ++rank)
    {
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(rank, lane);
            if (out.messages > 0 && out.kind == LaneKind::Message)
            {
                EXPECT_EQ(out.peer % 8, rank % 8) << "stays on its rail";
                EXPECT_NE(out.peer / 8, rank / 8);
                ++between;
            }
        }
    }
    EXPECT_EQ(between, 2 * 8 * 2 * 7U)
        << "two trees per rail, each with 7 edges in both directions";
}

// A head's part of what the GPUs' links carry is the same whether one tree works or two: while one
// waits for the network, the other may have all of it. Only the links, on which each byte counts
// for more, hold back both at once.
TEST(NvlsGraph, TreesShareTheLinksInsteadOfHalvingThem)
{
    NcclPlan plan;
    plan.channels = 16;
    plan.channelGBps = 20;
    for (const uint32_t nodes : {1U, 2U})
    {
        plan.nvlsInflation = nodes == 1 ? 1 : 1.25;
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 26),
                              MakeShape(8 * nodes, 8),
                              plan,
                              -1);
        uint32_t operations = 0;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.messages == 0 || out.kind == LaneKind::Copy || out.kind == LaneKind::Message)
            {
                continue;
            }
            ++operations;
            // 320 GB/s in all, 40 for each head; on the wire 50 where bytes count a quarter more.
            EXPECT_EQ(out.rateCapBps, (nodes == 1 ? 40 : 50) * 8'000'000'000ULL);
            EXPECT_FLOAT_EQ(out.wireInflation, nodes == 1 ? 1 : 1.25);
        }
        EXPECT_EQ(operations, nodes * (8 + 1)) << "a reduction for each head, and its multicast";
    }
}

// NCCL src/device/all_reduce.h: of 20 warps 5 reduce and, except at a tree's root, 4 multicast what
// comes down; of the 15 or 11 that are left 8 or 6 scatter, and 7 or 5 gather. Each of two trees
// has 8 of 16 channels.
TEST(NvlsGraph, WarpsThatScatterAndGatherHaveALimitOfTheirOwn)
{
    NcclPlan plan;
    plan.channels = 16;
    plan.channelGBps = 1000;
    plan.nvlsWarpGBps = 3;
    const auto ratesOf = [&](uint32_t ranks) {
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 26),
                              MakeShape(ranks, 8),
                              plan,
                              -1);
        std::multiset<uint64_t> rates;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.kind == LaneKind::Copy && out.messages > 0)
            {
                rates.insert(out.rateCapBps / (3 * 8'000'000'000));
            }
        }
        return rates;
    };
    EXPECT_EQ(ratesOf(8), (std::multiset<uint64_t>{7 * 16, 8 * 16})) << "one node";
    EXPECT_EQ(ratesOf(16), (std::multiset<uint64_t>{5 * 8, 6 * 8, 7 * 8, 8 * 8}))
        << "a root of one tree only";
    plan.nvlsWarpGBps = 0;
    EXPECT_EQ(ratesOf(16).count(1000 * 16 / 2 / 3), 4U) << "no limit but the plan's";
}

} // namespace AstraSim
