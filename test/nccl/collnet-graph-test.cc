/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/collnet-chain-graph.h"
#include "collectives/model/graph/collnet-direct-graph.h"
#include "collectives/model/timing/collnet-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

std::multiset<uint32_t>
AllOf(uint32_t ranks)
{
    std::multiset<uint32_t> all;
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        all.insert(rank);
    }
    return all;
}

ChannelLayout
LayoutOf(uint32_t channels)
{
    ChannelLayout layout;
    layout.channels = channels;
    return layout;
}

} // namespace

TEST(CollNetDirectGraph, EveryRankEndsWithEveryContributionOnce)
{
    for (const uint32_t gpus : {1U, 3U, 8U})
    {
        for (uint32_t ranks = 2; ranks <= 33; ++ranks)
        {
            const auto shape = MakeShape(ranks, gpus);
            const uint64_t bytes = uint64_t{ranks} * 65536 + 48;
            const CollNetDirectGraph graph(Request(CollectiveOp::AllReduce, bytes),
                                           shape,
                                           LayoutOf(2));
            SymbolicGraph symbols(graph);
            const uint32_t heads = graph.GetHeads();
            constexpr uint64_t CHUNKS = 64;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint64_t piece = 0; piece < heads * CHUNKS; ++piece)
                {
                    symbols.At(rank, {piece / CHUNKS, piece % CHUNKS}) = {rank};
                }
            }
            const uint32_t back = graph.GetLaneCount() / 2;
            std::map<uint32_t, uint64_t> chunks;
            ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
                const uint32_t share = *graph.GetShareOf(from, lane);
                chunks[share] = std::max(chunks[share], message + 1);
                EXPECT_EQ(graph.GetOutbound(from, lane).type, ConnType::CollNet);
                return SymbolicGraph::Move{{share, message}, lane < back};
            })) << ranks
                << " ranks wait for ever";
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (const auto& [share, count] : chunks)
                {
                    ASSERT_LE(count, CHUNKS);
                    for (uint64_t chunk = 0; chunk < count; ++chunk)
                    {
                        ASSERT_EQ(symbols.At(rank, {share, chunk}), AllOf(ranks))
                            << ranks << " ranks, rank " << rank << ", nodes of " << gpus;
                    }
                }
            }
            // All ranks but the head send it its share and get the sum; heads use the switches.
            EXPECT_EQ(symbols.GetBytesMoved(),
                      bytes * (2 * (ranks - shape.GetNodes()) + shape.GetNodes()));
            EXPECT_EQ(symbols.GetBytesFromSwitches(), bytes * shape.GetNodes());
        }
    }
}

TEST(CollNetDirectGraph, HeadsShareWhatChannelsCopyAndSwitchesAddAtTheRateOfLinks)
{
    // Two channels of 10 GB/s for the shares of eight heads.
    const CollNetDirectGraph graph(Request(CollectiveOp::AllReduce, 1 << 20),
                                   MakeShape(16, 8),
                                   LayoutOf(2));
    const TimedLanes times =
        TimesOf<CollNetDirectTimes>(graph, ChannelSpeeds{.channelGBps = 10}, std::nullopt);
    uint32_t toSwitches = 0;
    for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
    {
        const Lane out = graph.GetOutbound(0, lane);
        if (out.messages > 0)
        {
            const bool toSwitch = out.kind == LaneKind::ReduceMulticast;
            EXPECT_EQ(times.Out(0, lane).rateCapBps, toSwitch ? 0 : 80000000000 * 2 / 8) << lane;
            toSwitches += toSwitch;
        }
    }
    EXPECT_EQ(toSwitches, 1U);
}

TEST(CollNetChainGraph, EveryRankEndsWithEveryContributionOnce)
{
    for (const uint32_t gpus : {1U, 3U, 8U})
    {
        for (uint32_t ranks = 2; ranks <= 33; ++ranks)
        {
            const auto shape = MakeShape(ranks, gpus);
            const uint64_t bytes = 3 * 1048576 + 48;
            const CollNetChainGraph graph(Request(CollectiveOp::AllReduce, bytes),
                                          shape,
                                          LayoutOf(3));
            SymbolicGraph symbols(graph);
            constexpr uint64_t CHUNKS = 64;
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint64_t piece = 0; piece < 3 * CHUNKS; ++piece)
                {
                    symbols.At(rank, {piece / CHUNKS, piece % CHUNKS}) = {rank};
                }
            }
            ASSERT_TRUE(symbols.Run([&](uint32_t from, uint32_t lane, uint64_t message) {
                return SymbolicGraph::Move{{lane / 3, message}, lane % 3 == 0};
            })) << ranks
                << " ranks wait for ever";
            for (uint32_t rank = 0; rank < ranks; ++rank)
            {
                for (uint32_t lane = 0; lane < graph.GetLaneCount(); ++lane)
                {
                    const Lane in = graph.GetInbound(rank, lane);
                    ASSERT_LE(in.messages, CHUNKS);
                    for (uint64_t chunk = 0; chunk < in.messages; ++chunk)
                    {
                        ASSERT_EQ(symbols.At(rank, {in.channel, chunk}), AllOf(ranks))
                            << ranks << " ranks, rank " << rank << ", nodes of " << gpus;
                    }
                }
            }
            EXPECT_EQ(symbols.GetBytesMoved(),
                      bytes * (2 * (ranks - shape.GetNodes()) + shape.GetNodes()));
            EXPECT_EQ(symbols.GetBytesFromSwitches(), bytes * shape.GetNodes());
        }
    }
}

TEST(CollNetChainGraph, ChannelsSpreadTheirHeadsOverRails)
{
    const CollNetChainGraph graph(Request(CollectiveOp::AllReduce, 64 << 20),
                                  MakeShape(16, 8),
                                  LayoutOf(8));
    const auto sets = graph.GetMemberSets();
    ASSERT_EQ(sets.size(), 8U);
    for (uint32_t channel = 0; channel < 8; ++channel)
    {
        EXPECT_EQ(sets[channel], (std::vector<uint32_t>{channel, channel + 8}));
    }
}

} // namespace AstraSim
