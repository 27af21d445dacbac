/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/chain-graph.h"
#include "collectives/model/graph/direct-graph.h"
#include "collectives/model/timing/pair-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <array>
#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

constexpr PairLayout ALL_CHANNELS{.channels = 32, .perPair = 32};

/// Runs a pairwise collective. @return bytes by source and destination
std::map<std::pair<uint32_t, uint32_t>, uint64_t>
Exchange(const CollectiveRequest& request, uint32_t ranks)
{
    const DirectGraph graph(request, MakeShape(ranks, 8), PairLayout{});
    SymbolicGraph symbols(graph);
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytes;
    EXPECT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
        const uint32_t to = graph.GetOutbound(from, lane).peer;
        bytes[{from, to}] += graph.GetBytes(from, lane, message);
        return SymbolicGraph::Move{{from, to}, false};
    }));
    return bytes;
}

} // namespace

TEST(DirectGraph, AllToAllGivesEveryPairItsShare)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        CollectiveRequest request;
        request.op = CollectiveOp::AllToAll;
        request.bytes = uint64_t{ranks} * 600000; // two messages per pair
        const auto bytes = Exchange(request, ranks);
        ASSERT_EQ(bytes.size(), std::size_t{ranks} * (ranks - 1));
        for (const auto& [pair, sum] : bytes)
        {
            ASSERT_EQ(sum, 600000U) << pair.first << " to " << pair.second;
        }
    }
}

TEST(DirectGraph, PairsOfANodeShareTheRateOfItsBlocks)
{
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAll;
    request.bytes = 64 * 1024;
    PairLayout layout;
    PairSpeeds pairs;
    pairs.rankGBps = 700;
    const DirectGraph graph(request, MakeShape(16, 8), layout);
    const TimedLanes times = TimesOf<DirectTimes>(graph, ChannelSpeeds{}, pairs, std::nullopt);
    uint64_t within = 0;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(3, lane);
        if (out.peer < 8)
        {
            within += times.Out(3, lane).rateCapBps;
        }
        else
        {
            EXPECT_EQ(times.Out(3, lane).rateCapBps, 0U) << "the NIC limits it";
        }
    }
    EXPECT_EQ(within, 700ULL * 8 * 1'000'000'000);
}

// Eight GPUs with 32 channels: 4 for each pair (the own rank counts), parts of 64 KiB to 16 MiB.
// sendrecv_perf on 8 B200 (docs/source/data/measurements) doubles its rate where channels do: 85
// GB/s at 64 MiB, 168 at 128 MiB, 332 at 256 MiB, 627 at 512 MiB.
TEST(DirectGraph, LargePairsGetMoreChannels)
{
    constexpr uint64_t KIB = 1024;
    constexpr uint64_t MIB = KIB * KIB;
    const std::pair<uint64_t, uint32_t> expected[] = {{1, 1},
                                                      {64 * KIB, 1},
                                                      {128 * KIB, 2},
                                                      {256 * KIB, 4},
                                                      {64 * MIB, 4},
                                                      {128 * MIB, 8},
                                                      {256 * MIB, 16},
                                                      {512 * MIB, 32},
                                                      {2048 * MIB, 32}};
    for (const auto& [bytes, channels] : expected)
    {
        EXPECT_EQ(ChannelsOfPair(bytes, ALL_CHANNELS, 8, 1), channels) << bytes;
    }
    const PairLayout between{.channels = 32, .perPair = 32, .step = 128 * KIB};
    // Between nodes parts have 64 to 128 KiB, and 16 ranks leave two channels for each pair, which
    // may be all that it ever has.
    EXPECT_EQ(ChannelsOfPair(64 * KIB, between, 16, 2), 1U);
    EXPECT_EQ(ChannelsOfPair(256 * KIB, between, 16, 2), 2U);
    EXPECT_EQ(ChannelsOfPair(512 * KIB, between, 16, 2), 4U);
    EXPECT_EQ(ChannelsOfPair(64 * MIB, between, 16, 2), 32U);
    const PairLayout few{.channels = 32, .perPair = 2, .step = 128 * KIB};
    EXPECT_EQ(ChannelsOfPair(64 * KIB, few, 16, 2), 1U);
    EXPECT_EQ(ChannelsOfPair(64 * MIB, few, 16, 2), 2U);
}

TEST(DirectGraph, APairHasTheRateOfItsChannels)
{
    constexpr uint64_t BYTES = 64ULL << 20;
    constexpr uint32_t RANKS = 8;
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAllV;
    request.bytesPerPair.resize(RANKS * RANKS);
    for (uint32_t rank = 0; rank < RANKS; ++rank)
    {
        request.bytesPerPair[rank * RANKS + (rank + 1) % RANKS] = BYTES;
    }
    PairLayout layout;
    PairSpeeds pairs;
    pairs.rankGBps = 640;
    layout.channels = 32;
    layout.perPair = 32;
    pairs.blockGBps = 20;
    const DirectGraph neighbours(request, MakeShape(RANKS, RANKS), layout);
    // 4 of 32 channels, each with messages of a chunk.
    EXPECT_EQ(
        TimesOf<DirectTimes>(neighbours, ChannelSpeeds{}, pairs, std::nullopt).Out(0, 0).rateCapBps,
        80ULL * 8'000'000'000);
    EXPECT_EQ(neighbours.GetOutbound(0, 0).messages, BYTES / (4 * layout.chunk));
    EXPECT_EQ(neighbours.GetOutbound(0, 1).messages, 0U);

    request.op = CollectiveOp::AllToAll;
    request.bytes = RANKS * (BYTES << 4);
    const DirectGraph all(request, MakeShape(RANKS, RANKS), layout);
    // Each pair could have all channels: they share them.
    EXPECT_EQ(TimesOf<DirectTimes>(all, ChannelSpeeds{}, pairs, std::nullopt).Out(0, 0).rateCapBps,
              static_cast<uint64_t>(640e9 * 8 / 7));
}

// A part is at least an eighth of a chunk within a node, at most 32 chunks; between nodes half of
// one, and one.
TEST(DirectGraph, ChannelsOfAPairChangeAtTheByte)
{
    constexpr uint64_t KIB = 1024;
    constexpr uint64_t MIB = KIB * KIB;
    const auto simple = [](uint64_t bytes, uint32_t ranks, uint32_t nodes) {
        PairLayout layout = ALL_CHANNELS;
        layout.step = nodes > 1 ? 128 * KIB : 512 * KIB;
        return ChannelsOfPair(bytes, layout, ranks, nodes);
    };
    EXPECT_EQ(simple(64 * KIB + 1, 8, 1), 2U);
    EXPECT_EQ(simple(64 * MIB + 1, 8, 1), 8U);
    EXPECT_EQ(simple(64 * KIB + 1, 16, 2), 2U);
    EXPECT_EQ(simple(256 * KIB + 1, 16, 2), 4U);
    EXPECT_EQ(simple(64 * KIB + 1, 64, 8), 1U) << "no channel of its own for each pair";
    EXPECT_EQ(simple(64 * KIB + 1, 32, 4), 1U);
    EXPECT_EQ(simple(64 * KIB + 1, 17, 3), 1U);
    // With LL a chunk has 64 KiB in both cases.
    const auto ll = [](uint64_t bytes, uint32_t ranks, uint32_t nodes) {
        PairLayout layout = ALL_CHANNELS;
        layout.step = PAIR_LL_STEP;
        return ChannelsOfPair(bytes, layout, ranks, nodes);
    };
    EXPECT_EQ(ll(8 * KIB, 8, 1), 1U);
    EXPECT_EQ(ll(8 * KIB + 1, 8, 1), 2U);
    EXPECT_EQ(ll(8 * MIB, 8, 1), 4U);
    EXPECT_EQ(ll(8 * MIB + 1, 8, 1), 8U);
    EXPECT_EQ(ll(32 * KIB, 16, 2), 1U);
    EXPECT_EQ(ll(128 * KIB, 16, 2), 2U);
    EXPECT_EQ(ll(128 * KIB + 1, 16, 2), 4U);
}

// NCCL src/enqueue.cc, addP2pToPlan: a quarter of a step below one, half of one below eight.
TEST(DirectGraph, MessagesBetweenNodesAreSmallerWhereAPairHasLittle)
{
    constexpr uint64_t KIB = 1024;
    const auto messages = [](uint64_t bytes, uint64_t step) {
        CollectiveRequest request;
        request.op = CollectiveOp::AllToAll;
        request.bytes = 4 * bytes;
        PairLayout layout;
        layout.chunk = step;
        const DirectGraph graph(request, MakeShape(4, 1), layout);
        const uint64_t count = graph.GetOutbound(0, 0).messages;
        uint64_t sum = 0;
        for (uint64_t message = 0; message < count; ++message)
        {
            sum += graph.GetBytes(0, 0, message);
        }
        EXPECT_EQ(sum, bytes);
        return count;
    };
    EXPECT_EQ(messages(32 * KIB, 128 * KIB), 1U);
    EXPECT_EQ(messages(128 * KIB - 1, 128 * KIB), 4U);
    EXPECT_EQ(messages(128 * KIB, 128 * KIB), 2U);
    EXPECT_EQ(messages(1024 * KIB - 1, 128 * KIB), 16U);
    EXPECT_EQ(messages(1024 * KIB, 128 * KIB), 8U);
    EXPECT_EQ(messages(4096 * KIB, 512 * KIB), 8U);
}

TEST(DirectGraph, LanesHaveTheLatencyOfWhereTheyGo)
{
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAll;
    request.bytes = 4 * 4096;
    PairLayout layout;
    ChannelSpeeds speeds;
    PairSpeeds pairs;
    speeds.intraLatency = 1000;
    speeds.net.latency = 5000;
    pairs.rankGBps = 300;
    speeds.net.slowStarts[0].latency = 7;
    // Ranks 0 and 1 are one node, 2 and 3 the other. Rank 0 sends to 1, 2, 3, and receives from
    // them in this order.
    const DirectGraph graph(request, MakeShape(4, 2), layout);
    const TimedLanes times = TimesOf<DirectTimes>(graph, speeds, pairs, std::nullopt);
    EXPECT_EQ(graph.GetOutbound(0, 0).peer, 1U);
    EXPECT_EQ(times.Out(0, 0).latency, 1000);
    EXPECT_EQ(times.Out(0, 0).slowStarts[0].latency, 0);
    EXPECT_EQ(times.Out(0, 0).rateCapBps, 300ULL * 8'000'000'000) << "no other pair in its node";
    EXPECT_EQ(graph.GetOutbound(0, 1).peer, 2U);
    EXPECT_EQ(times.Out(0, 1).latency, 5000);
    EXPECT_EQ(times.Out(0, 1).slowStarts[0].latency, 7);
    EXPECT_EQ(times.Out(0, 1).rateCapBps, 0U);
    EXPECT_EQ(graph.GetInbound(0, 2).peer, 3U);
    EXPECT_EQ(times.In(0, 2).latency, 5000);
    EXPECT_EQ(graph.GetInbound(0, 0).peer, 1U);
    EXPECT_EQ(times.In(0, 0).latency, 0) << "copied out of its slot at once";
    EXPECT_EQ(graph.GetOwnCopy(0, 0, 0), 0U);
    EXPECT_FALSE(graph.GetOwnCopy(0, 2, 0)) << "the NIC has put it there";

    // A latency from outside stands for all of that, also one of zero.
    for (const TimePs latency : {0, 9})
    {
        PairLayout whole = layout;
        whole.byBlocks = false;
        const DirectGraph given(request, MakeShape(4, 2), whole);
        const TimedLanes givenTimes = TimesOf<DirectTimes>(given, speeds, pairs, latency);
        for (uint32_t lane = 0; lane < 3; ++lane)
        {
            EXPECT_EQ(givenTimes.Out(0, lane).latency, latency);
            EXPECT_EQ(givenTimes.In(0, lane).latency, latency);
            EXPECT_EQ(givenTimes.Out(0, lane).rateCapBps, 0U);
            EXPECT_FALSE(given.GetOwnCopy(0, lane, 0));
        }
    }
    layout.protocol = NcclProtocol::Ll;
    EXPECT_FALSE(DirectGraph(request, MakeShape(4, 2), layout).GetOwnCopy(0, 0, 0));
}

TEST(DirectGraph, APairsRateIsThatOfItsBusierEnd)
{
    constexpr uint32_t RANKS = 5;
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAllV;
    request.bytesPerPair.resize(RANKS * RANKS);
    const auto send = [&](uint32_t from, uint32_t to) {
        request.bytesPerPair[from * RANKS + to] = 100'000;
    };
    send(0, 0); // not over the network
    send(0, 1);
    send(0, 2);
    send(3, 2);
    send(4, 2);
    PairLayout layout;
    PairSpeeds pairs;
    pairs.rankGBps = 600;
    const DirectGraph graph(request, MakeShape(RANKS, RANKS), layout);
    const TimedLanes times = TimesOf<DirectTimes>(graph, ChannelSpeeds{}, pairs, std::nullopt);
    const auto rate = [&](uint32_t from, uint32_t to) {
        const uint32_t lane = (to + RANKS - from) % RANKS - 1;
        return static_cast<double>(times.Out(from, lane).rateCapBps) / 8e9;
    };
    EXPECT_EQ(rate(0, 1), 300) << "rank 0 sends to two";
    EXPECT_EQ(rate(0, 2), 200) << "rank 2 receives from three";
    EXPECT_EQ(rate(3, 2), 200);
    EXPECT_EQ(graph.GetOutbound(1, 0).messages, 0U) << "nothing to send";
}

// NCCL src/include/channel.h, ncclP2pChannelBaseForRound: between nodes the channels of a round go
// by the receiver's group of the schedule, so the pairs of a rank with a node have the same ones.
// Each has its share of a block's warps, which write one chunk after the other and wait for the
// slot of each. Two nodes of two GPUs: two pairs share two blocks.
TEST(DirectGraph, PairsWithTheRanksOfANodeShareBlocks)
{
    constexpr uint64_t CHUNK = 131072;
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAll;
    request.bytes = 4 * 64 * CHUNK;
    const PairLayout layout{.channels = 4, .perPair = 2, .chunk = CHUNK, .step = CHUNK};
    const PairSpeeds pairs{.rankGBps = 333,
                           .blockGBps = 100,
                           .sharedBlockGBps = 22.5,
                           .chunkLatency = 3'400'000};
    const DirectGraph graph(request, MakeShape(4, 2), layout);
    const TimedLanes times = TimesOf<DirectTimes>(graph, ChannelSpeeds{}, pairs, std::nullopt);
    ASSERT_EQ(graph.GetOutbound(0, 1).peer, 2U);
    EXPECT_EQ(graph.PairsOfBlock(0, 2), 2U);
    // A chunk takes 2 x 5.8 + 3.4 us. Two blocks write one each in this time: 17.4 GB/s for a pair.
    const double chunkPs = 2 * CHUNK / 22.5 * 1000 + 3'400'000;
    EXPECT_NEAR(times.Out(0, 1).psPerAccess, chunkPs / CHUNK / 2, 1e-9);
    EXPECT_EQ(times.Get().gpu->GetSendAccesses(0, 1, 0), 1U);
    EXPECT_EQ(times.In(0, 1).psPerAccess, 0) << "the sender's blocks set the pace";
    // The pair in the node has the blocks with the rank's copy to itself.
    EXPECT_EQ(graph.PairsOfBlock(0, 1), 2U);
    EXPECT_NEAR(static_cast<double>(times.Out(0, 0).rateCapBps), 2 * CHUNK * 8e12 / chunkPs, 1);
    // With a single node each round has channels of its own.
    PairSpeeds alone = pairs;
    alone.sharedBlockGBps = 0;
    const DirectGraph one(request, MakeShape(4, 4), layout);
    EXPECT_EQ(TimesOf<DirectTimes>(one, ChannelSpeeds{}, alone, std::nullopt).Out(0, 0).rateCapBps,
              111ULL * 8'000'000'000);
}

// A receiver's warps are divided as well: eight ranks of a node send to one of the next.
TEST(DirectGraph, AReceiverSharesItsBlocksAmongSenders)
{
    CollectiveRequest request;
    request.op = CollectiveOp::Gather;
    request.bytes = 16 << 20;
    request.root = 0;
    const DirectGraph graph(request, MakeShape(16, 8), ALL_CHANNELS);
    EXPECT_EQ(graph.PairsOfBlock(9, 0), 8U);
    request.op = CollectiveOp::SendRecv;
    EXPECT_EQ(DirectGraph(request, MakeShape(2, 1), ALL_CHANNELS).PairsOfBlock(0, 1), 1U);
}

TEST(DirectGraph, MessagesWithLlAreHalfOfItsSteps)
{
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAll;
    request.bytes = 2 * (2 * 32768 + 5);
    PairLayout layout;
    layout.protocol = NcclProtocol::Ll;
    const DirectGraph graph(request, MakeShape(2, 2), layout);
    EXPECT_EQ(graph.GetOutbound(0, 0).messages, 3U);
    EXPECT_EQ(graph.GetBytes(0, 0, 0), 32768U);
    EXPECT_EQ(graph.GetBytes(0, 0, 1), 32768U);
    EXPECT_EQ(graph.GetBytes(0, 0, 2), 5U);
}

TEST(DirectGraph, WhatARankSendsAndReceivesIsSpreadOverTwoPorts)
{
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAll;
    request.bytes = 64 * 1024;
    const DirectGraph graph(request, MakeShape(64, 8), PairLayout{});
    for (uint32_t rank = 0; rank < 64; ++rank)
    {
        std::array<int, 2> sent{};
        std::array<int, 2> received{};
        for (uint32_t lane = 0; lane < 63; ++lane)
        {
            const Lane out = graph.GetOutbound(rank, lane);
            const Lane in = graph.GetInbound(rank, lane);
            sent[out.channel % 2] += out.peer / 8 != rank / 8;
            received[in.channel % 2] += in.peer / 8 != rank / 8;
        }
        // 56 ranks are on other nodes.
        EXPECT_EQ(sent[0], 28) << rank;
        EXPECT_EQ(received[0], 28) << rank;
    }
}

TEST(DirectGraph, AllToAllVSendsWhatEachPairAsksForAndNothingForZero)
{
    CollectiveRequest request;
    request.op = CollectiveOp::AllToAllV;
    request.bytesPerPair = {5, 0, 700000, 1, 9, 2, 3, 4, 8};
    const auto bytes = Exchange(request, 3);
    const std::map<std::pair<uint32_t, uint32_t>, uint64_t> expected = {{{0, 2}, 700000},
                                                                        {{1, 0}, 1},
                                                                        {{1, 2}, 2},
                                                                        {{2, 0}, 3},
                                                                        {{2, 1}, 4}};
    EXPECT_EQ(bytes, expected);
}

TEST(DirectGraph, GatherAndScatterMoveDataToAndFromTheRootOnly)
{
    CollectiveRequest request;
    request.bytes = 4000;
    request.root = 2;
    for (const CollectiveOp op : {CollectiveOp::Gather, CollectiveOp::Scatter})
    {
        request.op = op;
        const auto bytes = Exchange(request, 4);
        ASSERT_EQ(bytes.size(), 3U);
        for (const auto& [pair, sum] : bytes)
        {
            EXPECT_EQ(op == CollectiveOp::Gather ? pair.second : pair.first, 2U);
            EXPECT_EQ(sum, 1000U);
        }
    }
}

// A pass of LL128 is 640 threads' 64 bytes, 15/16 of them data; a step's buffer holds 15.
TEST(ChainGraph, WithLl128PassesGoOnInAServerAndWholeChunksBetween)
{
    constexpr uint64_t PASSES = 40;
    CollectiveRequest request;
    request.op = CollectiveOp::Broadcast;
    request.bytes = PASSES * 38400 - 1;
    ChainLayout layout;
    layout.protocol = NcclProtocol::Ll128;
    layout.channels = 1;
    layout.passBytes = 38400;
    const ChainGraph graph(request, MakeShape(8, 4), layout);
    EXPECT_EQ(graph.GetOutbound(0, 0).messages, PASSES);
    EXPECT_EQ(graph.GetBytes(1, 0, PASSES - 1), 38399U);
    for (uint32_t rank = graph.GetOutbound(0, 0).peer; rank != 0;
         rank = graph.GetOutbound(rank, 0).peer)
    {
        const bool leaves = graph.GetOutbound(rank, 0).peer / 4 != rank / 4;
        for (uint64_t pass = 0; pass < PASSES; ++pass)
        {
            const uint64_t chunk = pass < 15 ? 15 : pass < 30 ? 30 : PASSES;
            EXPECT_EQ(graph.GetNeeds(rank, 0, pass, 0), leaves ? chunk : pass + 1);
        }
    }
    EXPECT_EQ(graph.GetNeeds(0, 0, PASSES - 1, 0), 0U) << "the root has all";
}

class ChainGraphOf : public testing::TestWithParam<NcclProtocol>
{
};

INSTANTIATE_TEST_SUITE_P(All,
                         ChainGraphOf,
                         testing::Values(NcclProtocol::Simple,
                                         NcclProtocol::Ll,
                                         NcclProtocol::Ll128));

TEST_P(ChainGraphOf, BroadcastCopiesFromAnyRootAndReduceSumsAtIt)
{
    for (uint32_t ranks = 2; ranks <= 33; ++ranks)
    {
        CollectiveRequest request;
        request.bytes = 2 * 600000;
        request.root = static_cast<int>(ranks / 2);
        for (const bool reduces : {false, true})
        {
            request.op = reduces ? CollectiveOp::Reduce : CollectiveOp::Broadcast;
            ChainLayout layout;
            layout.channels = 2;
            layout.protocol = GetParam();
            layout.passBytes = 38400;
            const std::map<NcclProtocol, uint64_t> lasts{{NcclProtocol::Simple, 1},
                                                         {NcclProtocol::Ll, 18},
                                                         {NcclProtocol::Ll128, 15}};
            const uint64_t last = lasts.at(layout.protocol);
            const ChainGraph graph(request, MakeShape(ranks, 8), layout);
            SymbolicGraph symbols(graph);
            std::multiset<uint32_t> all;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                all.insert(rank);
                for (uint64_t channel = 0; channel < 2; ++channel)
                {
                    for (uint64_t message = 0; message <= last; ++message)
                    {
                        symbols.At(rank, {channel, message}) = {rank};
                    }
                }
            }
            ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
                return SymbolicGraph::Move{{graph.GetOutbound(from, lane).channel, message},
                                           reduces};
            }));
            const uint32_t root = ranks / 2;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                if (reduces && rank != root)
                {
                    continue;
                }
                ASSERT_EQ(symbols.At(rank, {1, last}),
                          reduces ? all : std::multiset<uint32_t>{root});
            }
            EXPECT_EQ(symbols.GetBytesMoved(), (ranks - 1) * request.bytes);
        }
    }
}

} // namespace AstraSim
