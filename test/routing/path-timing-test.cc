/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "example-topologies.h"

#include "ns3/path-survey.h"
#include "ns3/path-timing.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace ns3;

namespace
{

PathInfo
MakePath(std::initializer_list<std::pair<uint64_t, int64_t>> rateAndDelay)
{
    PathInfo path;
    path.bottleneckBps = UINT64_MAX;
    for (const auto& [rate, delay] : rateAndDelay)
    {
        path.hops.push_back({0, 0, 0, rate, delay});
        path.delayPs += delay;
        path.bottleneckBps = std::min(path.bottleneckBps, rate);
    }
    return path;
}

/// Sends frame after frame over link after link, each as soon as frame and link are there.
int64_t
SimulatedDelivery(const PathInfo& path, uint64_t bytes, const FrameSizes& sizes)
{
    std::vector<int64_t> freeAt(path.hops.size(), 0);
    int64_t arrival = 0;
    for (uint64_t sent = 0; sent < bytes; sent += sizes.mtuPayload)
    {
        const uint32_t payload = std::min<uint64_t>(sizes.mtuPayload, bytes - sent);
        arrival = 0;
        for (std::size_t i = 0; i < path.hops.size(); ++i)
        {
            const int64_t start = std::max(arrival, freeAt[i]);
            freeAt[i] = start + SerializationPs(sizes.DataWireBytes(payload), path.hops[i].rateBps);
            arrival = freeAt[i] + path.hops[i].delayPs;
        }
    }
    return arrival;
}

} // namespace

TEST(PathTiming, SerializationIsExactAndRoundsUp)
{
    EXPECT_EQ(SerializationPs(64, 400 * GBPS), 1280);
    EXPECT_EQ(SerializationPs(1082, 100 * GBPS), 86'560);
    EXPECT_EQ(SerializationPs(1, 3 * GBPS), 2667) << "8/3 ns";
    EXPECT_EQ(SerializationPs(5'000'000'000'000, GBPS), 40'000'000'000'000'000) << "no overflow";
}

TEST(PathTiming, BaseRttAndBdpOfTwoHops)
{
    const PathInfo path = MakePath({{100 * GBPS, 1'000'000}, {100 * GBPS, 1'000'000}});
    const FrameSizes sizes;
    // Data 2 x (1082 B x 80 ps + 1 us), ACK 2 x (84 B x 80 ps + 1 us).
    EXPECT_EQ(BaseRttPs(path, path, sizes), 2 * (86'560 + 1'000'000) + 2 * (6'720 + 1'000'000));
    EXPECT_EQ(BdpBytes(100 * GBPS, 4'000'000), 50'000u);
}

TEST(PathTiming, MessageBytesOnTheWireCountEveryHeaderAndTheMinimumFrame)
{
    const FrameSizes sizes;
    EXPECT_EQ(MessageWireBytes(1000, sizes), 1082u);
    EXPECT_EQ(MessageWireBytes(2500, sizes), 2 * 1082u + 582);
    EXPECT_EQ(MessageWireBytes(1, sizes), 84u);
}

TEST(PathTiming, OneFrameIsStoredAndForwardedAtEachLink)
{
    const PathInfo path = MakePath({{100 * GBPS, 1000}, {400 * GBPS, 2000}});
    EXPECT_EQ(IdleDeliveryPs(path, 1000, {}), 86'560 + 1000 + 21'640 + 2000);
    EXPECT_EQ(IdleFctPs(path, 1000, {}), 111'200 + 6'720 + 1000 + 1'680 + 2000);
    EXPECT_EQ(IdleDeliveryPs(path, 0, {}), 0);
}

TEST(PathTiming, IdleDeliveryEqualsAFrameByFrameCalculationOnRandomPaths)
{
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i)
    {
        PathInfo path;
        for (uint32_t hops = 1 + random() % 5; hops > 0; --hops)
        {
            path.hops.push_back({0, 0, 0, (1 + random() % 400) * GBPS, int64_t(random() % 1000)});
        }
        FrameSizes sizes;
        sizes.mtuPayload = 100 + random() % 9000;
        const uint64_t bytes = 1 + random() % 100'000;
        ASSERT_EQ(IdleDeliveryPs(path, bytes, sizes), SimulatedDelivery(path, bytes, sizes))
            << "case " << i;
    }
}

TEST(PathTiming, ExtremesAreThoseOfTheFarthestPairInTheNetwork)
{
    const ClusterTopology topology = RailCluster(2, 4, 1, 2);
    const FabricRoutes routes(topology);
    const FrameSizes sizes;
    const FabricExtremes extremes = FindExtremes(PathSurvey(routes, PathUse::Fixed), sizes);
    EXPECT_EQ(extremes.maxBaseRttPs, BaseRttPs(*routes.Path(0, 5), *routes.Path(5, 0), sizes));
    EXPECT_EQ(extremes.maxBdpBytes, BdpBytes(400 * GBPS, extremes.maxBaseRttPs));
}

TEST(PathTiming, ExtremesEqualTheMaximumOverAllPairsOfHosts)
{
    // Racks with links of different rates and delays; one path per pair, so each pair has one RTT.
    std::mt19937 random(11);
    for (int i = 0; i < 20; ++i)
    {
        using Kind = ClusterTopology::NodeKind;
        ClusterTopology topology;
        topology.kind.assign(12, Kind::Host);
        topology.kind.resize(17, Kind::Switch);
        const auto add = [&](uint32_t a, uint32_t b) {
            AddLink(topology, a, b, (1 + random() % 4) * 100 * GBPS, (1 + random() % 9) * 100'000);
        };
        for (uint32_t host = 0; host < 12; ++host)
        {
            add(host, 12 + host / 3);
        }
        for (uint32_t rack = 12; rack < 16; ++rack)
        {
            add(rack, 16);
        }
        topology.Index();
        const FabricRoutes routes(topology);
        FabricExtremes expected;
        for (uint32_t src = 0; src < 12; ++src)
        {
            for (uint32_t dst = 0; dst < 12; ++dst)
            {
                if (src != dst)
                {
                    const PathInfo path = *routes.Path(src, dst);
                    const int64_t rtt = BaseRttPs(path, path, {});
                    expected.maxBaseRttPs = std::max(expected.maxBaseRttPs, rtt);
                    expected.maxBdpBytes =
                        std::max(expected.maxBdpBytes, BdpBytes(path.bottleneckBps, rtt));
                }
            }
        }
        const FabricExtremes found = FindExtremes(PathSurvey(routes, PathUse::Fixed), {});
        ASSERT_EQ(found.maxBaseRttPs, expected.maxBaseRttPs) << "case " << i;
        ASSERT_EQ(found.maxBdpBytes, expected.maxBdpBytes) << "case " << i;
    }
}
