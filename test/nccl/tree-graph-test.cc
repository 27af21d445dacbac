/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/double-tree.h"
#include "collectives/model/graph/pat-graph.h"
#include "collectives/model/graph/tree-graph.h"
#include "collectives/model/timing/tree-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

namespace AstraSim
{

namespace
{

/// @return the largest of what @p value says of each lane of a graph
template <typename Function>
uint64_t
LargestOfLanes(const FlowGraph& graph, Function value)
{
    uint64_t largest = 0;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        largest = std::max<uint64_t>(largest, value(lane));
    }
    return largest;
}

/// An arrival wakes only lanes that wait for it: lanes of GetTargets() have it among
/// their GetSources().
void
ExpectNobodyIsWokenInVain(const FlowGraph& graph)
{
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            if (graph.GetInbound(rank, lane).messages == 0)
            {
                continue;
            }
            for (const uint32_t target : graph.GetTargets(rank, lane, 0))
            {
                const auto sources = graph.GetSources(rank, target);
                EXPECT_TRUE(std::find(sources.begin(), sources.end(), lane) != sources.end())
                    << "rank " << rank << " wakes lane " << target << " for lane " << lane;
            }
        }
    }
}

} // namespace

TEST(TreeGraph, NobodyIsWokenInVain)
{
    TreeLayout layout;
    layout.channels = 2;
    ExpectNobodyIsWokenInVain(
        TreeGraph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(24, 4), layout));
}

// src/transport/net.cc: each end of a network's connection has a buffer of 8 slots. Over NVLink the
// sender's block copies one chunk after the other.
TEST(TreeGraph, ChunksAreCopiedOneByOneInANodeAndSixteenMayBeOnANetwork)
{
    TreeLayout layout;
    layout.channels = 1;
    const TreeGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(24, 4), layout);
    const TimedLanes times =
        TimesOf<TreeTimes>(graph, ChannelSpeeds{}, TreeThreads{}, std::nullopt);
    for (uint32_t rank = 0; rank < 24; ++rank)
    {
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(rank, lane);
            if (out.messages > 0)
            {
                EXPECT_EQ(times.Out(rank, lane).slots, out.peer / 4 == rank / 4 ? 1U : 16U);
            }
        }
    }
}

// Where a message keeps its slot for four trips, 8 slots are as good as 2 for one trip each.
TEST(TreeGraph, MessagesThatKeepTheirSlotsLongerAreFewerOnTheNetwork)
{
    TreeLayout layout;
    ChannelSpeeds speeds;
    layout.channels = 1;
    for (const auto& [trips, slots] :
         std::map<uint32_t, uint32_t>{{1, 16}, {2, 4}, {4, 2}, {8, 1}, {9, 1}})
    {
        speeds.net.slotTrips = trips;
        const TreeGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(8, 4), layout);
        const TimedLanes times = TimesOf<TreeTimes>(graph, speeds, TreeThreads{}, std::nullopt);
        for (uint32_t rank = 0; rank < 8; ++rank)
        {
            const Lane out = graph.GetOutbound(rank, 0);
            if (out.messages > 0)
            {
                EXPECT_EQ(times.Out(rank, 0).slots, out.peer / 4 == rank / 4 ? 1U : slots) << trips;
            }
        }
    }
}

TEST(DoubleTree, ParentsAndChildrenFollowTheBits)
{
    // NCCL's own picture of 14 ranks: 8 below 0; 4 and 12 below 8; 2 and 6 below 4; 10 and 13 below
    // 12; odd ones are leaves.
    const uint32_t parents[] = {0, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12};
    for (uint32_t r = 1; r < 14; ++r)
    {
        EXPECT_EQ(BinaryTreeParent(14, r), parents[r]) << r;
    }
    EXPECT_FALSE(BinaryTreeParent(14, 0));
}

TEST(DoubleTree, BothTreesReachAllNodesAndNoNodeIsInnerInBothForEvenNumbers)
{
    for (uint32_t n = 2; n <= 64; ++n)
    {
        std::vector<uint32_t> children[2] = {std::vector<uint32_t>(n), std::vector<uint32_t>(n)};
        for (const bool second : {false, true})
        {
            uint32_t roots = 0;
            for (uint32_t r = 0; r < n; ++r)
            {
                const auto parent = DoubleTreeParent(n, r, second);
                roots += !parent;
                if (parent)
                {
                    ++children[second][*parent];
                }
                uint32_t steps = 0;
                for (auto up = parent; up; up = DoubleTreeParent(n, *up, second))
                {
                    ASSERT_LE(++steps, 7U) << "a path of " << n << " nodes does not end";
                }
            }
            ASSERT_EQ(roots, 1U);
            ASSERT_LE(*std::max_element(children[second].begin(), children[second].end()), 2U);
            // Half of the nodes, the root among them, are inner.
            const auto inner = std::count_if(children[second].begin(),
                                             children[second].end(),
                                             [](uint32_t c) { return c > 0; });
            ASSERT_EQ(inner, (n + 1) / 2) << n;
        }
        for (uint32_t r = 0; n % 2 == 0 && r < n; ++r)
        {
            EXPECT_FALSE(children[0][r] > 0 && children[1][r] > 0) << n << " nodes, node " << r;
        }
    }
}

TEST(TreeGraph, EveryRankEndsWithEveryContributionOnce)
{
    for (uint32_t ranks = 1; ranks <= 33; ++ranks)
    {
        for (const uint32_t gpus : {1U, 4U, 8U})
        {
            TreeLayout layout;
            layout.channels = 4;
            const uint64_t bytes = 4 * 3 * 524288 + 16;
            const TreeGraph graph(Request(CollectiveOp::AllReduce, bytes),
                                  MakeShape(ranks, gpus),
                                  layout);
            SymbolicGraph symbols(graph);
            // A chunk of a channel starts as each rank's own contribution. Up: added; down: copied.
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t channel = 0; channel < 4; ++channel)
                {
                    for (uint64_t chunk = 0; chunk < 32; ++chunk)
                    {
                        symbols.At(rank, {channel, chunk}) = {rank};
                    }
                }
            }
            ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
                const Lane out = graph.GetOutbound(from, lane);
                const bool up = graph.GetParent(from, out.channel) == out.peer;
                return SymbolicGraph::Move{{out.channel, message}, up};
            })) << ranks
                << " ranks wait for ever";
            std::multiset<uint32_t> all;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                all.insert(rank);
            }
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
                {
                    const Lane in = graph.GetInbound(rank, lane);
                    for (uint64_t chunk = 0; chunk < in.messages; ++chunk)
                    {
                        ASSERT_EQ(symbols.At(rank, {in.channel, chunk}), all)
                            << ranks << " ranks, rank " << rank;
                    }
                }
            }
            // Each of the n - 1 edges carries everything twice.
            EXPECT_EQ(symbols.GetBytesMoved(), 2ULL * (ranks - 1) * bytes);
        }
    }
}

TEST(TreeGraph, ANodesRanksAreAChainBelowTheOneOnTheRail)
{
    TreeLayout layout;
    layout.channels = 2; // one for each of the two trees
    const TreeGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(8, 4), layout);
    for (uint32_t channel = 0; channel < 2; ++channel)
    {
        // Rank 0 of a node is on the rail; the others follow against their order, 3 first.
        for (const uint32_t node : {0U, 4U})
        {
            EXPECT_EQ(graph.GetParent(node + 3, channel), node);
            EXPECT_EQ(graph.GetParent(node + 2, channel), node + 3);
            EXPECT_EQ(graph.GetParent(node + 1, channel), node + 2);
        }
        // The trees have different roots.
        EXPECT_EQ(graph.GetParent(0, channel), channel ? std::optional(4U) : std::nullopt);
        EXPECT_EQ(graph.GetParent(4, channel), channel ? std::nullopt : std::optional(0U));
    }
}

TEST(TreeGraph, TrafficBetweenNodesStaysOnItsRail)
{
    TreeLayout layout;
    layout.channels = 16;
    const TreeGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(64, 8), layout);
    for (uint32_t rank = 0; rank < 64; ++rank)
    {
        for (uint32_t channel = 0; channel < 16; ++channel)
        {
            const auto parent = graph.GetParent(rank, channel);
            if (parent && *parent / 8 != rank / 8)
            {
                EXPECT_EQ(*parent % 8, rank % 8);
                EXPECT_EQ(rank % 8, channel % 8);
            }
        }
    }
}

TEST(TreeGraph, ChunksOfSimpleFollowTheDepthWhereTheReleaseCutsThem)
{
    // NCCL 2.18, computeColl: two nodes of 8 have depth 8. Chunks are halved from 512 KiB down to
    // 128 KiB where there are fewer than 64 of them in a channel, to 64 KiB where fewer than 32,
    // and to 32 KiB where fewer than 8.
    const std::map<uint64_t, uint64_t> chunkOfChannel = {
        {131072, 32768},    // 2 of 64 KiB are too few
        {524288, 65536},    // 8 of 64 KiB
        {2097152, 65536},   // 16 of 128 KiB are too few
        {4194304, 131072},  // 32 of 128 KiB
        {16777216, 262144}, // 32 of 512 KiB are too few, 64 of 256 KiB are not
        {33554432, 524288}, // 64 of 512 KiB
    };
    for (const auto& [bytes, chunk] : chunkOfChannel)
    {
        TreeLayout layout;
        layout.channels = 2;
        const auto messages = [&] {
            const TreeGraph graph(Request(CollectiveOp::AllReduce, 2 * bytes),
                                  MakeShape(16, 8),
                                  layout);
            return LargestOfLanes(graph, [&graph](uint32_t lane) {
                return graph.GetOutbound(0, lane).messages;
            });
        };
        layout.cutsChunks = true;
        EXPECT_EQ(messages(), bytes / chunk) << bytes;
        layout.cutsChunks = false;
        EXPECT_EQ(messages(), (bytes + 524287) / 524288) << bytes << ", from 2.20 on";
    }
}

// NCCL src/enqueue.cc, calcCollChunking: halved while a channel has fewer chunks than 64 steps,
// then than 16 steps, with 1 + log2(2) + 0.1 steps for two nodes of one GPU: 134.4 and 33.6 chunks.
TEST(TreeGraph, ChunksOfLl128HalveWhileThereAreFew)
{
    TreeLayout layout;
    layout.protocol = NcclProtocol::Ll128;
    layout.channels = 1;
    const auto chunk = [&](uint64_t bytes) {
        const TreeGraph graph(Request(CollectiveOp::AllReduce, bytes), MakeShape(2, 1), layout);
        return LargestOfLanes(graph, [&graph](uint32_t lane) {
            return graph.GetOutbound(1, lane).messages ? graph.GetBytes(1, lane, 0) : 0;
        });
    };
    EXPECT_EQ(chunk(135 * 576000), 576000U);
    EXPECT_EQ(chunk(134 * 576000), 288000U) << "134 are fewer than 134.4";
    EXPECT_EQ(chunk(134 * 144000), 72000U) << "not halved again: 268 chunks";
    EXPECT_EQ(chunk(34 * 72000), 72000U);
    EXPECT_EQ(chunk(33 * 72000), 36000U) << "33 are fewer than 33.6";
    EXPECT_EQ(chunk(33 * 36000), 18000U);
    EXPECT_EQ(chunk(20000), 18000U) << "no less";
}

// A block has only one direction to serve until its first chunk is back from the root. In two nodes
// of eight GPUs an average rank is 3.5 links from its chain's head and half a link from the tree's
// root: 8 there and back, and its own chunk is the ninth. The plan's rate is that of blocks that
// serve both directions.
TEST(TreeGraph, BlocksAreTwiceAsFastUntilChunksComeBackFromTheRoot)
{
    TreeLayout layout;
    ChannelSpeeds speeds;
    layout.channels = 1;
    speeds.channelGBps = 7;
    layout.cutsChunks = false;
    const auto rate = [&](uint64_t chunks) {
        const TreeGraph graph(Request(CollectiveOp::AllReduce, chunks * 524288),
                              MakeShape(16, 8),
                              layout);
        const TimedLanes times = TimesOf<TreeTimes>(graph, speeds, TreeThreads{}, std::nullopt);
        return static_cast<double>(LargestOfLanes(graph, [&](uint32_t lane) {
            return graph.GetOutbound(0, lane).messages ? times.Out(0, lane).rateCapBps : 0;
        }));
    };
    EXPECT_NEAR(rate(9), 2 * 56e9, 1);
    EXPECT_NEAR(rate(36), 2 * 56e9 / (1 + 27.0 / 36), 1) << "27 of 36 chunks with both directions";
}

// A block's threads are divided: some work upwards, others downwards, but for the root's, which do
// both. Two nodes of four GPUs, one channel: its tree's root is the first GPU of one node.
TEST(TreeGraph, ThreadsThatWorkUpwardsAndDownwardsHaveLimitsOfTheirOwn)
{
    TreeLayout layout;
    ChannelSpeeds speeds;
    TreeThreads threads;
    layout.channels = 1;
    speeds.channelGBps = 10; // 20 for a single chunk
    threads.upGBps = 14;
    threads.downGBps = 9;
    const TreeGraph graph(Request(CollectiveOp::AllReduce, 524288), MakeShape(8, 4), layout);
    const TimedLanes times = TimesOf<TreeTimes>(graph, speeds, threads, std::nullopt);
    uint32_t fromRoot = 0;
    for (uint32_t rank = 0; rank < 8; ++rank)
    {
        const bool isRoot = graph.GetOutbound(rank, 0).messages == 0;
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            const Lane lane = graph.GetOutbound(rank, index);
            if (lane.messages && lane.peer / 4 == rank / 4)
            {
                const double expected = isRoot ? 20 : index == 0 ? 14 : 9;
                const auto rate = static_cast<double>(times.Out(rank, index).rateCapBps);
                EXPECT_NEAR(rate, expected * 8e9, 1) << rank;
                fromRoot += isRoot;
            }
        }
    }
    EXPECT_EQ(fromRoot, 1U);
}

// 16 KiB of LL at 2 GB/s of data take 8.2 us, of which a step's 0.6 us are a part. They are paid
// where data enter a node: by the leaf of its chain, and by the head that has a chunk from another
// node. All others pass words on as they arrive and add a step each. A single node's root passes on
// the words of its chain, too.
TEST(TreeGraph, WordsOfLlArePaidOnceInANode)
{
    struct Case
    {
        uint32_t nodes, whole, passing;
    };

    constexpr uint64_t BYTES = 16384;
    constexpr uint32_t INFLATION = 2;
    ChannelSpeeds speeds{.channelGBps = INFLATION, .intraLatency = 600'000};
    speeds.passes.hiddenBytes = 1200; // 0.6 us
    TreeLayout layout;
    layout.protocol = NcclProtocol::Ll;
    layout.channels = 1;
    for (const auto& [nodes, whole, passing] : {Case{1, 1, 5}, Case{2, 4, 8}})
    {
        const TreeGraph graph(Request(CollectiveOp::AllReduce, BYTES),
                              MakeShape(4 * nodes, 4),
                              layout);
        const TimedLanes times = TimesOf<TreeTimes>(graph, speeds, TreeThreads{}, std::nullopt);
        std::map<TimePs, uint32_t> lanes;
        for (uint32_t rank = 0; rank < 4 * nodes; ++rank)
        {
            for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
            {
                const Lane lane = graph.GetOutbound(rank, index);
                if (lane.messages && lane.peer / 4 == rank / 4)
                {
                    const CopyTime copy = CopyTimeOf(times.Out(rank, index), BYTES, INFLATION);
                    ++lanes[(copy.latency + copy.duration + 500) / 1000]; // in ns
                }
            }
        }
        EXPECT_EQ(lanes[600], passing) << nodes;
        EXPECT_EQ(lanes[8192], whole) << nodes;
        EXPECT_EQ(lanes.size(), 2U) << nodes;
    }
}

// A head sends words of its own server as they come, but sums of other servers' slots once its
// block has written them.
TEST(TreeGraph, WordsOfOtherServersArePaidBeforeTheyLeave)
{
    const ChannelSpeeds speeds{.channelGBps = 2};
    TreeLayout layout;
    layout.protocol = NcclProtocol::Ll;
    layout.channels = 1;
    const TreeGraph graph(Request(CollectiveOp::AllReduce, 16384), MakeShape(16, 4), layout);
    const TimedLanes times = TimesOf<TreeTimes>(graph, speeds, TreeThreads{}, std::nullopt);
    uint32_t passing = 0;
    uint32_t whole = 0;
    for (uint32_t rank = 0; rank < 16; ++rank)
    {
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            const Lane lane = graph.GetOutbound(rank, index);
            if (lane.messages && lane.peer / 4 != rank / 4)
            {
                const double psPerByte = times.Out(rank, index).psPerAccess;
                EXPECT_EQ(psPerByte > 0, !graph.ForwardsWithinNode(rank, index));
                ++(psPerByte > 0 ? whole : passing);
            }
        }
    }
    // 4 servers: 0 above 2 above 1 and 3. The leaves 1 and 3 pass on words of their own.
    EXPECT_EQ(passing, 2U);
    EXPECT_EQ(whole, 4U) << "one upwards, three downwards";
}

TEST(PatGraph, NobodyIsWokenInVain)
{
    ChannelLayout layout;
    layout.channels = 2;
    for (const auto op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
    {
        ExpectNobodyIsWokenInVain(PatGraph(Request(op, 1 << 20), MakeShape(8, 1), layout));
    }
}

TEST(PatGraph, AllGatherBringsEachBlockToEveryRankOnce)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        ChannelLayout layout;
        layout.channels = 2;
        const uint64_t bytes = uint64_t{ranks} * (4 * 524288 + 32);
        const PatGraph graph(Request(CollectiveOp::AllGather, bytes), MakeShape(ranks, 1), layout);
        SymbolicGraph symbols(graph);
        const uint32_t channels = graph.GetSplit().GetChannels();
        const uint64_t pieces = graph.PiecesOf(0);
        ASSERT_GT(pieces, 1U);
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint64_t piece = 0; piece < channels * pieces; ++piece)
            {
                symbols.At(rank, {rank, piece}) = {rank};
            }
        }
        ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
            const uint32_t block = graph.BlockOf(from, lane, message);
            const uint32_t channel = graph.GetOutbound(from, lane).channel;
            const uint64_t piece = channel * pieces + message % graph.PiecesOf(channel);
            EXPECT_EQ(symbols.At(from, {block, piece}), std::multiset<uint32_t>{block})
                << "sends what it does not have";
            return SymbolicGraph::Move{{block, piece}, true};
        }));
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint32_t block = 0; block < ranks; ++block)
            {
                for (uint64_t piece = 0; piece < graph.PiecesOf(0); ++piece)
                {
                    ASSERT_EQ(symbols.At(rank, {block, piece}), std::multiset<uint32_t>{block});
                }
            }
        }
        EXPECT_EQ(symbols.GetBytesMoved(), (ranks - 1) * bytes);
    }
}

TEST(PatGraph, ABlockWaitsForAllThatCameOverLongerDistancesBefore)
{
    ChannelLayout layout;
    layout.channels = 1;
    // Eight ranks over the distances 1, 2 and 4; a block is two pieces of 64 KiB.
    const PatGraph graph(Request(CollectiveOp::AllGather, 8 * 131072), MakeShape(8, 1), layout);
    ASSERT_EQ(graph.PiecesOf(0), 2U);
    EXPECT_EQ(graph.GetOutbound(0, 0).messages, 4U * 2);
    // Over distance 1 leave the blocks at 0, 2, 4 and 6; the one at 4 came over distance 4, those
    // at 2 and 6 over distance 2, and the own one from nowhere.
    const auto needs = [&](uint64_t number, uint32_t inbound) {
        return std::pair(graph.GetNeeds(0, 0, 2 * number, inbound),
                         graph.GetNeeds(0, 0, 2 * number + 1, inbound));
    };
    using Pair = std::pair<uint64_t, uint64_t>;
    EXPECT_EQ(needs(0, 1), Pair(0, 0));
    EXPECT_EQ(needs(0, 2), Pair(0, 0));
    EXPECT_EQ(needs(1, 1), Pair(1, 2)) << "the same piece of its block";
    EXPECT_EQ(needs(1, 2), Pair(0, 0));
    EXPECT_EQ(needs(2, 1), Pair(2, 2)) << "all of the block at 2";
    EXPECT_EQ(needs(2, 2), Pair(1, 2));
    EXPECT_EQ(needs(3, 1), Pair(3, 4));
    EXPECT_EQ(needs(3, 2), Pair(2, 2)) << "all of the block at 4";
}

TEST(PatGraph, ReduceScatterLeavesEachOwnerTheSumOfAll)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        ChannelLayout layout;
        const uint64_t bytes = uint64_t{ranks} * (524288 + 16);
        const PatGraph graph(Request(CollectiveOp::ReduceScatter, bytes),
                             MakeShape(ranks, 1),
                             layout);
        SymbolicGraph symbols(graph);
        std::multiset<uint32_t> all;
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            all.insert(rank);
            for (uint32_t block = 0; block < ranks; ++block)
            {
                for (uint64_t piece = 0; piece < graph.PiecesOf(0); ++piece)
                {
                    symbols.At(rank, {block, piece}) = {rank};
                }
            }
        }
        ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
            return SymbolicGraph::Move{
                {graph.BlockOf(from, lane, message), message % graph.PiecesOf(0)},
                true};
        }));
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            for (uint64_t piece = 0; piece < graph.PiecesOf(0); ++piece)
            {
                ASSERT_EQ(symbols.At(rank, {rank, piece}), all) << ranks << " ranks, rank " << rank;
            }
        }
        EXPECT_EQ(symbols.GetBytesMoved(), (ranks - 1) * bytes);
    }
}

} // namespace AstraSim
