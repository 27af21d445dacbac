/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/nvls-graph.h"
#include "collectives/model/timing/nvls-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <vector>

namespace AstraSim
{

namespace
{

/// Data that switches add or multicast at a time has a name: share, tree and number, of a
/// rank's input or of what becomes the result.
SymbolicGraph::Piece
PieceOf(uint32_t share, uint32_t tree, uint64_t pass, bool result)
{
    return {share * 2 + tree, 2 * pass + (result ? 1 : 0)};
}

/// Carries out a collective and checks the result of each chunk at each rank with @p check.
template <typename Check>
void
Carry(CollectiveOp op, const GroupShape& shape, uint64_t bytes, uint32_t channels, Check check)
{
    NvlsLayout layout;
    layout.channels = channels;
    const NvlsGraph graph(Request(op, bytes), shape, layout);
    const uint32_t trees = shape.GetNodes() > 1 ? 2 : 1;
    const uint32_t lanesPerTree = graph.GetLaneCount() / std::max(1U, trees);
    SymbolicGraph symbols(graph);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> passes;    // by share and tree
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> passBytes; // of all but the last
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
            const uint32_t tree = lane / lanesPerTree;
            if (out.kind != LaneKind::Message && out.messages > 0)
            {
                passes[{share, tree}] = out.messages;
                passBytes[{share, tree}] = graph.GetBytes(rank, lane, 0);
            }
            for (uint64_t pass = 0; out.kind != LaneKind::Message && pass < out.messages; ++pass)
            {
                if (op != CollectiveOp::AllGather)
                {
                    symbols.At(rank, PieceOf(share, tree, pass, false)) = {rank};
                }
                else if (graph.GetHeadOf(rank) == share)
                {
                    symbols.At(rank, PieceOf(share, tree, pass, true)) = {rank};
                }
            }
        }
    }
    ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
        const Lane out = graph.GetOutbound(from, lane);
        const uint32_t tree = lane / lanesPerTree;
        const uint32_t share = graph.GetShareOf(from, lane);
        if (out.kind != LaneKind::Message)
        {
            // A sum is added to what the head's children have sent.
            const auto result = PieceOf(share, tree, message, true);
            const bool reduces = out.kind == LaneKind::Reduce;
            return SymbolicGraph::Move{reduces ? PieceOf(share, tree, message, false) : result,
                                       reduces,
                                       result};
        }
        // Between nodes a message is a chunk: some whole passes, the last one cut short.
        const uint64_t pass = passBytes[{share, tree}];
        const uint64_t first = message * (graph.GetBytes(from, lane, 0) / pass);
        const auto result = PieceOf(share, tree, first, true);
        const bool up = lane % lanesPerTree == 0;
        const uint64_t count = (graph.GetBytes(from, lane, message) + pass - 1) / pass;
        return SymbolicGraph::Move{result, up, result, count, 2};
    })) << shape.GetRanks()
        << " ranks wait for ever";
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (const auto& [place, count] : passes)
        {
            for (uint64_t pass = 0; pass < count; ++pass)
            {
                check(graph,
                      rank,
                      place.first,
                      symbols.At(rank, PieceOf(place.first, place.second, pass, true)));
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
    NvlsLayout layout;
    layout.channels = 24;
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 20), MakeShape(144, 72), layout);
    EXPECT_EQ(graph.GetHeads(), 32U);
    EXPECT_EQ(graph.GetHeadOf(31), 31U);
    EXPECT_FALSE(graph.GetHeadOf(32));
    EXPECT_EQ(graph.GetMemberSets().size(), 2U);
    EXPECT_EQ(graph.GetMemberSets()[1].front(), 72U);
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
    NvlsLayout layout;
    layout.channels = 16;
    for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter})
    {
        for (const uint64_t bytes : {3122U, 8U * 4096, 5U})
        {
            const NvlsGraph graph(Request(op, bytes), MakeShape(8, 8), layout);
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

TEST(NvlsGraph, AMessageIsAPassOfAChunkInANodeAndAChunkBetweenNodes)
{
    // 128 MiB over two channels of eight heads are enough for chunks of 128 KiB (calcCollChunking).
    // Of five warps that reduce four store, 4 KiB each at a time: a channel's chunk takes 8 passes
    // of 16 KiB. Each of two trees has one of the channels.
    constexpr uint64_t BYTES = 1 << 27;
    constexpr uint64_t SHARE = BYTES / 8;
    constexpr uint64_t CHUNK = 128 << 10;
    constexpr uint64_t PASS = 16 << 10;
    NvlsLayout layout;
    layout.channels = 2;
    for (const uint32_t nodes : {1U, 2U})
    {
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, BYTES),
                              MakeShape(8 * nodes, 8),
                              layout);
        const uint64_t channels = 2 / nodes;
        std::map<LaneKind, uint32_t> lanes;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.messages == 0)
            {
                continue;
            }
            ++lanes[out.kind];
            // Copies take the chunks of all heads.
            const uint64_t message = channels * (out.kind == LaneKind::Copy      ? 8 * CHUNK
                                                 : out.kind == LaneKind::Message ? CHUNK
                                                                                 : PASS);
            const uint64_t all = (out.kind == LaneKind::Copy ? BYTES : SHARE) / nodes;
            EXPECT_EQ(out.messages, all / message) << nodes << " nodes, lane " << lane;
            EXPECT_EQ(graph.GetBytes(0, lane, 0), message);
        }
        EXPECT_EQ(lanes[LaneKind::Message], nodes == 1 ? 0U : 2U) << "up one tree, down the other";
        EXPECT_EQ(lanes[LaneKind::Reduce], nodes * 8);
        EXPECT_EQ(lanes[LaneKind::Copy], nodes * 2);
    }
}

// NCCL src/device/all_reduce.h: at the root and in the middle of a tree one pass adds the node's
// own sum to what the children have sent. So the reduction of a chunk waits for that chunk of
// theirs.
TEST(NvlsGraph, ANodeAddsItsOwnSumWhenItsChildrensChunkHasCome)
{
    constexpr uint64_t PASSES = 8; // of a chunk of 128 KiB
    NvlsLayout layout;
    layout.channels = 2;
    const GroupShape shape = MakeShape(32, 8);
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 28), shape, layout);
    uint32_t withChildren = 0;
    for (uint32_t rank = 0; rank < 32; ++rank)
    {
        const uint32_t perTree = graph.GetLaneCount() / 2;
        for (uint32_t tree = 0; tree < 2; ++tree)
        {
            // Inbound lanes from other nodes, but from the parent, which is the first.
            std::set<uint32_t> children;
            for (uint32_t i = 1; i < perTree; ++i)
            {
                const uint32_t lane = tree * perTree + i;
                const Lane in = graph.GetInbound(rank, lane);
                if (in.kind == LaneKind::Message && in.messages > 0)
                {
                    EXPECT_EQ(graph.GetOutbound(in.peer, tree * perTree).peer, rank);
                    children.insert(lane);
                }
            }
            withChildren += !children.empty();
            for (uint32_t i = 0; i < perTree; ++i)
            {
                const uint32_t lane = tree * perTree + i;
                const Lane out = graph.GetOutbound(rank, lane);
                if (out.kind != LaneKind::Reduce || out.messages == 0)
                {
                    continue;
                }
                const auto sources = graph.GetSources(rank, lane);
                EXPECT_EQ(sources.size(), children.size() + 1) << "and the scattered chunk";
                for (const uint32_t source : sources)
                {
                    EXPECT_TRUE(children.contains(source) ||
                                graph.GetInbound(rank, source).kind == LaneKind::Copy);
                    EXPECT_EQ(graph.GetNeeds(rank, lane, PASSES - 1, source), 1U);
                    EXPECT_EQ(graph.GetNeeds(rank, lane, PASSES, source), 2U);
                }
            }
            const Lane up = graph.GetOutbound(rank, tree * perTree);
            if (up.messages > 0)
            {
                const auto sources = graph.GetSources(rank, tree * perTree);
                ASSERT_EQ(sources.size(), 1U) << "the sum has the children's in it";
                EXPECT_EQ(graph.GetNeeds(rank, tree * perTree, 1, sources.front()), 2 * PASSES);
            }
        }
    }
    // In a tree of 4 nodes the root has one child and that has two: half of all places.
    EXPECT_EQ(withChildren, 32U);
}

TEST(NvlsGraph, TreesBetweenNodesJoinHeadsOfTheSameShare)
{
    NvlsLayout layout;
    layout.channels = 16;
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 24), MakeShape(64, 8), layout);
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
    NvlsLayout layout;
    ChannelSpeeds speeds;
    NvlsSpeeds nvls;
    layout.channels = 16;
    speeds.channelGBps = 20;
    for (const uint32_t nodes : {1U, 2U})
    {
        nvls.inflation = nodes == 1 ? 1 : 1.25;
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 26),
                              MakeShape(8 * nodes, 8),
                              layout);
        const TimedLanes times = TimesOf<NvlsTimes>(graph, speeds, nvls, std::nullopt);
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
            const LaneTimes own = times.Out(0, lane);
            EXPECT_EQ(own.rateCapBps, (nodes == 1 ? 40 : 50) * 8'000'000'000ULL);
            EXPECT_FLOAT_EQ(own.wireInflation, nodes == 1 ? 1 : 1.25);
        }
        EXPECT_EQ(operations, nodes * (8 + 1)) << "a reduction for each head, and its multicast";
    }
}

// NCCL src/device/all_reduce.h: of 20 warps 5 reduce (7 of up to 6 ranks) and, except at a tree's
// root, 4 multicast what comes down; of those that are left the larger half scatters, less the one
// that announces, and the smaller half gathers.
TEST(NvlsGraph, WarpsAreDividedAsTheKernelsDivideThem)
{
    const auto expect =
        [](const NvlsGraph::Warps& warps, uint32_t scatter, uint32_t gather, uint32_t reduce) {
            EXPECT_EQ(warps.scatter, scatter);
            EXPECT_EQ(warps.gather, gather);
            EXPECT_EQ(warps.reduce, reduce);
        };
    expect(NvlsGraph::WarpsOf(CollectiveOp::AllReduce, 8, false), 7, 7, 4);
    expect(NvlsGraph::WarpsOf(CollectiveOp::AllReduce, 4, false), 6, 6, 6);
    expect(NvlsGraph::WarpsOf(CollectiveOp::AllReduce, 16, true), 5, 5, 4);
    expect(NvlsGraph::WarpsOf(CollectiveOp::AllGather, 8, false), 0, 8, 11);
    expect(NvlsGraph::WarpsOf(CollectiveOp::ReduceScatter, 8, false), 7, 0, 12);
}

// A warp copies 4 KiB in an iteration, and the warps begin each head's part together. A chunk of
// 128 KiB is 32 such hunks, so 7 warps take 5 iterations and 5 warps 7; one of 16 KiB takes a
// single one with either. However many heads there are, all of them are copied one after another.
TEST(NvlsGraph, CopiesTakeWholeIterationsOfTheirWarpsForEachHead)
{
    NvlsLayout layout;
    NvlsSpeeds nvls;
    layout.channels = 16;
    nvls.hunkUs = 1.25;
    const auto copiesUs = [&](uint32_t ranks, uint32_t perNode, uint64_t bytes) {
        const NvlsGraph graph(Request(CollectiveOp::AllReduce, bytes),
                              MakeShape(ranks, perNode),
                              layout);
        const TimedLanes lanes = TimesOf<NvlsTimes>(graph, ChannelSpeeds{}, nvls, std::nullopt);
        std::vector<double> times;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.kind == LaneKind::Copy && out.messages > 0)
            {
                const CopyTime time = CopyTimeOf(lanes.Out(0, lane), graph.GetBytes(0, lane, 0), 1);
                times.push_back(static_cast<double>(time.latency + time.duration) / 1e6);
            }
        }
        std::sort(times.begin(), times.end());
        return times;
    };
    using testing::DoubleNear;
    using testing::ElementsAre;
    const auto isAbout = [](double us) { return DoubleNear(us, 1e-3); };
    constexpr uint64_t GIB = 1 << 30;
    EXPECT_THAT(copiesUs(8, 8, GIB), ElementsAre(isAbout(8 * 5 * 1.25), isAbout(8 * 5 * 1.25)));
    EXPECT_THAT(copiesUs(8, 8, 2 << 20), ElementsAre(isAbout(8 * 1.25), isAbout(8 * 1.25)));
    EXPECT_THAT(copiesUs(64, 64, 8 * GIB),
                ElementsAre(isAbout(32 * 5 * 1.25), isAbout(32 * 5 * 1.25)));
    // The root of one tree is a leaf of the other.
    EXPECT_THAT(copiesUs(16, 8, 8 * GIB),
                ElementsAre(isAbout(8 * 5 * 1.25),
                            isAbout(8 * 5 * 1.25),
                            isAbout(8 * 7 * 1.25),
                            isAbout(8 * 7 * 1.25)));
    nvls.hunkUs = 0;
    EXPECT_THAT(copiesUs(8, 8, GIB), ElementsAre(0, 0)) << "no time of its own";
}

// Nothing else loads the memory while the first chunk is scattered and the last one is gathered.
TEST(NvlsGraph, TheFirstScatterAndTheLastGatherAreAlone)
{
    NvlsLayout layout;
    NvlsSpeeds nvls;
    layout.channels = 16;
    nvls.hunkUs = 1.2;
    nvls.aloneUs = 0.6;
    const NvlsGraph graph(Request(CollectiveOp::AllReduce, 1 << 28), MakeShape(16, 8), layout);
    const TimedLanes lanes = TimesOf<NvlsTimes>(graph, ChannelSpeeds{}, nvls, std::nullopt);
    std::multiset<std::pair<bool, bool>> fast; // whether the first and the last are
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(0, lane);
        if (out.messages == 0)
        {
            continue;
        }
        ASSERT_GT(out.messages, 2U);
        const LaneTimes times = lanes.Out(0, lane);
        const auto speed = [&](uint64_t message) { return times.SpeedOf(message, out.messages); };
        EXPECT_EQ(speed(1), 1);
        if (out.kind == LaneKind::Copy)
        {
            EXPECT_FLOAT_EQ(times.aloneSpeed, 2);
            fast.emplace(speed(0) > 1, speed(out.messages - 1) > 1);
        }
        else
        {
            EXPECT_EQ(speed(0), 1);
        }
    }
    using Ends = std::pair<bool, bool>;
    EXPECT_EQ(fast,
              (std::multiset<Ends>{{false, true}, {false, true}, {true, false}, {true, false}}))
        << "two trees";
}

// A chunk is announced once it is stored: its passes share that time, and follow one another.
TEST(NvlsGraph, AHeadAnnouncesEachChunkOnce)
{
    NvlsLayout layout;
    ChannelSpeeds speeds;
    layout.channels = 2;
    speeds.intraLatency = 4'000'000;
    for (const CollectiveOp op : {CollectiveOp::AllReduce, CollectiveOp::AllGather})
    {
        const NvlsGraph graph(Request(op, 1 << 27), MakeShape(8, 8), layout);
        const TimedLanes lanes = TimesOf<NvlsTimes>(graph, speeds, NvlsSpeeds{}, std::nullopt);
        const LaneKind announced =
            op == CollectiveOp::AllGather ? LaneKind::Multicast : LaneKind::Reduce;
        // 8 passes of 4 warps, or 3 of 11.
        const TimePs passes = op == CollectiveOp::AllGather ? 3 : 8;
        for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
        {
            const Lane out = graph.GetOutbound(0, lane);
            if (out.messages > 0)
            {
                const LaneTimes times = lanes.Out(0, lane);
                EXPECT_EQ(times.latency, out.kind == announced ? 4'000'000 / passes : 0);
                EXPECT_TRUE(out.kind != announced || times.slots == 1);
            }
        }
    }
}

} // namespace AstraSim
