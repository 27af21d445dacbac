/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which messages of rings and chains of Simple wait for the latency of a step.
 */
#include "collectives/model/graph/chain-graph.h"
#include "collectives/model/graph/ring-graph.h"
#include "collectives/model/timing/chain-times.h"
#include "collectives/model/timing/ring-times.h"
#include "symbolic-graph.h"
#include "timed-lanes.h"

#include "ns3/collective-types.h"

#include <gtest/gtest.h>

namespace AstraSim
{

namespace
{

constexpr uint64_t CHUNK = 2097152; // of a ring of Simple: 4 of 8 buffers of 512 KiB

constexpr ChannelSpeeds SPEEDS{.channelGBps = 20, .intraLatency = 3400};

template <typename Layout>
Layout
OneChannel(NcclProtocol protocol, std::optional<TimePs> latency = {})
{
    Layout layout;
    layout.protocol = protocol;
    layout.byBlocks = !latency;
    return layout;
}

} // namespace

// nccl-tests on 8 A100, 4 GB200 and 8 B200 (docs/source/data/measurements): from a few rounds of
// chunks on, rings move what NCCL counts for the NVLinks, less their last copy, so no round adds
// latencies.
TEST(HiddenLatency, OfARingInAServerCountsUntilDataHaveGoneAroundOnce)
{
    CollectiveRequest request;
    const auto withLatency = [&](uint64_t bytes,
                                 NcclProtocol protocol = NcclProtocol::Simple,
                                 uint32_t gpusPerServer = 4,
                                 std::optional<TimePs> latency = {}) {
        request.bytes = bytes;
        const RingGraph ring(request,
                             MakeShape(4, gpusPerServer),
                             OneChannel<RingLayout>(protocol, latency));
        return TimesOf<RingTimes>(ring, SPEEDS, latency).Out(0, 0).withLatency;
    };
    request.op = CollectiveOp::AllReduce;
    constexpr uint32_t SLICES = 2; // of a chunk
    EXPECT_EQ(withLatency(5 * 4 * CHUNK), 2 * (4 - 1) * SLICES);
    EXPECT_EQ(withLatency(4 * CHUNK + 1), 2 * (4 - 1) * SLICES);
    EXPECT_EQ(withLatency(4 * CHUNK), LaneTimes::NONE) << "a single round";
    request.op = CollectiveOp::AllGather;
    EXPECT_EQ(withLatency(5 * 4 * CHUNK), (4 - 1) * SLICES);
    EXPECT_EQ(withLatency(5 * 4 * CHUNK, NcclProtocol::Ll128), LaneTimes::NONE)
        << "flags in the data";
    EXPECT_EQ(withLatency(5 * 4 * CHUNK, NcclProtocol::Simple, 2), LaneTimes::NONE)
        << "two servers";
    EXPECT_EQ(withLatency(5 * 4 * CHUNK, NcclProtocol::Simple, 4, 3000), LaneTimes::NONE)
        << "AS_SEND_LAT is that of every chunk";
}

// Broadcast on 8 H800: from 16 MiB on, each chunk of 512 KiB adds what copying it takes.
TEST(HiddenLatency, OfAChainInAServerCountsForTheFirstChunk)
{
    CollectiveRequest request;
    request.op = CollectiveOp::Broadcast;
    request.bytes = 16 * CHUNK;
    const auto withLatency =
        [&](NcclProtocol protocol, uint32_t gpusPerServer, std::optional<TimePs> latency) {
            const ChainGraph chain(request,
                                   MakeShape(4, gpusPerServer),
                                   OneChannel<ChainLayout>(protocol, latency));
            return TimesOf<ChainTimes>(chain, SPEEDS, latency).Out(0, 0).withLatency;
        };
    EXPECT_EQ(withLatency(NcclProtocol::Simple, 4, {}), 1U);
    EXPECT_EQ(withLatency(NcclProtocol::Ll, 4, {}), 1U);
    EXPECT_EQ(withLatency(NcclProtocol::Ll, 2, {}), 1U) << "in servers, flags are in the data";
    EXPECT_EQ(withLatency(NcclProtocol::Ll, 1, {}), LaneTimes::NONE);
    EXPECT_EQ(withLatency(NcclProtocol::Simple, 2, {}), LaneTimes::NONE);
    EXPECT_EQ(withLatency(NcclProtocol::Simple, 4, 3000), LaneTimes::NONE);
}

// 32 KiB of LL at 4 GB/s of data take 8.2 us, which the first GPU of a server pays. The next ones
// pass words on as they arrive and add a step of 0.6 us.
TEST(HiddenLatency, HidesDataOfLlThatAChainPassesOnInAServer)
{
    constexpr uint64_t MESSAGE = 32768;
    CollectiveRequest request;
    request.op = CollectiveOp::Broadcast;
    request.bytes = 4 * MESSAGE;
    const ChannelSpeeds speeds{.channelGBps = 8, .intraLatency = 600'000};
    const auto time = [&](uint32_t rank, uint64_t message) {
        const ChainGraph graph(request, MakeShape(4, 4), OneChannel<ChainLayout>(NcclProtocol::Ll));
        const LaneTimes times = TimesOf<ChainTimes>(graph, speeds, std::nullopt).Out(rank, 0);
        const CopyTime copy = CopyTimeOf(times, MESSAGE, 2, message);
        return static_cast<double>(copy.latency + copy.duration);
    };
    EXPECT_NEAR(time(0, 0), 600'000 + 8'192'000, 1);
    EXPECT_NEAR(time(0, 1), 8'192'000, 1);
    for (const uint32_t rank : {1, 2})
    {
        EXPECT_NEAR(time(rank, 0), 600'000, 1);
        EXPECT_LE(time(rank, 1), 600'001) << "its predecessor sets the pace";
    }
}

TEST(HiddenLatency, OfAChainOfLl128CountsForItsFirstWordsUnlessABlockWaitsInEachPass)
{
    CollectiveRequest request;
    request.op = CollectiveOp::Reduce;
    request.bytes = CHUNK;
    auto layout = OneChannel<ChainLayout>(NcclProtocol::Ll128);
    layout.passBytes = 38400;
    ChannelSpeeds speeds = SPEEDS;
    const auto withLatency = [&](uint32_t gpusPerServer) {
        const ChainGraph graph(request, MakeShape(4, gpusPerServer), layout);
        return TimesOf<ChainTimes>(graph, speeds, std::nullopt).Out(1, 0).withLatency;
    };
    EXPECT_EQ(withLatency(4), 1U);
    EXPECT_EQ(withLatency(1), LaneTimes::NONE) << "the network's, which counts for each message";
    speeds.passes.waitsEach = true;
    EXPECT_EQ(withLatency(4), LaneTimes::NONE);
}

} // namespace AstraSim
