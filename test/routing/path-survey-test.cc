/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "example-topologies.h"

#include "ns3/ideal-fct.h"
#include "ns3/path-survey.h"

#include <gtest/gtest.h>

using namespace ns3;

namespace
{

constexpr int64_t US = 1'000'000;
const FrameSizes SIZES;

/// What a full frame and its acknowledgement take to cross a link there and back.
int64_t
RoundTripPs(uint64_t rateBps, int64_t delayPs)
{
    return SerializationPs(1082, rateBps) + SerializationPs(84, rateBps) + 2 * delayPs;
}

/// Two hosts of 400 Gb/s; between their access switches two spines of 100 Gb/s, 1 us, and 200, 3.
ClusterTopology
TwoSpines()
{
    using Kind = ClusterTopology::NodeKind;
    ClusterTopology topology;
    topology.kind.assign(2, Kind::Host);
    topology.kind.resize(6, Kind::Switch);
    AddLink(topology, 0, 2, 400 * GBPS, US);
    AddLink(topology, 1, 3, 400 * GBPS, US);
    for (const uint32_t leaf : {2U, 3U})
    {
        AddLink(topology, leaf, 4, 100 * GBPS, 1 * US);
        AddLink(topology, leaf, 5, 200 * GBPS, 3 * US);
    }
    topology.Index();
    return topology;
}

} // namespace

TEST(PathSurvey, FramesThatPartHaveTheRateOfAllPathsAndTheRoundTripOfTheSlowest)
{
    const ClusterTopology topology = TwoSpines();
    const FabricRoutes routes(topology);
    // By 5 it is 2 x 3 us there; by 4 a full frame takes longer, but less than the delays differ.
    const int64_t rttPs = 2 * RoundTripPs(400 * GBPS, US) + 2 * RoundTripPs(200 * GBPS, 3 * US);
    const PathLimits all = PathSurvey(routes, PathUse::All).FindLimits(0, 1, SIZES);
    EXPECT_EQ(all.rateBps, 300 * GBPS);
    EXPECT_EQ(all.rttPs, rttPs);
    EXPECT_EQ(all.BdpBytes(), BdpBytes(300 * GBPS, rttPs));
    const PathLimits inTurn = PathSurvey(routes, PathUse::InTurn).FindLimits(0, 1, SIZES);
    EXPECT_EQ(inTurn.rateBps, 200 * GBPS) << "the best of the paths";
    EXPECT_EQ(inTurn.rttPs, rttPs);
    EXPECT_TRUE(PathSurvey(routes, PathUse::Fixed).DependsOnHash());
    EXPECT_FALSE(PathSurvey(routes, PathUse::All).DependsOnHash());
}

TEST(PathSurvey, TheNicLimitsWhatManyPathsCarry)
{
    const ClusterTopology topology = RailCluster(2, 2, 1, 4);
    const FabricRoutes routes(topology);
    for (const PathUse use : {PathUse::Fixed, PathUse::InTurn, PathUse::All})
    {
        const PathSurvey survey(routes, use);
        EXPECT_FALSE(survey.DependsOnHash()) << "all paths are alike";
        const PathLimits limits = survey.FindLimits(0, 3, SIZES);
        EXPECT_EQ(limits.rateBps, 400 * GBPS);
        EXPECT_EQ(limits.rttPs, BaseRttPs(*routes.Path(0, 3), *routes.Path(3, 0), SIZES));
        EXPECT_EQ(survey.FindLimits(0, 1, SIZES).rateBps, 2880 * GBPS) << "over NVLink";
    }
    EXPECT_EQ(PathSurvey(routes, PathUse::All).FindLevels(0, 3),
              (std::vector<uint64_t>{400 * GBPS, 1600 * GBPS, 1600 * GBPS, 400 * GBPS}));
}

TEST(PathSurvey, TheIdealTimeIsThatOfAllLinksAtOneDistance)
{
    const ClusterTopology topology = TwoSpines();
    const FabricRoutes routes(topology);
    const PathSurvey survey(routes, PathUse::All);
    IdealFct ideal(survey);
    // 300 frames at 300 Gb/s, begun when the first has come by the NIC's link; the last goes on by
    // the faster spine, with its shorter delay counted, and the acknowledgement comes back so.
    const int64_t bytesPs = SerializationPs(300 * 1082, 300 * GBPS);
    const int64_t firstPs = SerializationPs(1082, 400 * GBPS) + US;
    const int64_t viaFourPs = SerializationPs(1082, 100 * GBPS) + 1 * US;
    const int64_t viaFivePs = SerializationPs(1082, 200 * GBPS) + 3 * US;
    const int64_t lastPs = SerializationPs(1082, 400 * GBPS) + US;
    const int64_t backPs =
        2 * (SerializationPs(84, 400 * GBPS) + US) + 2 * (SerializationPs(84, 100 * GBPS) + US);
    ASSERT_LT(viaFourPs, viaFivePs);
    EXPECT_EQ(ideal.Of(ideal.KindOf(0, 1), 300'000, SIZES),
              firstPs + bytesPs + 1 * US + viaFourPs + lastPs + backPs);
}
