/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "example-topologies.h"

#include "ns3/ideal-fct.h"
#include "ns3/path-survey.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

using namespace ns3;

namespace
{

constexpr int64_t US = 1'000'000;
const FrameSizes SIZES;

/// Time of a full frame and its acknowledgement to cross a link there and back.
int64_t
RoundTripPs(uint64_t rateBps, int64_t delayPs)
{
    return SerializationPs(1082, rateBps) + SerializationPs(84, rateBps) + 2 * delayPs;
}

/// A link's rate, Gb/s, and delay.
using Speed = std::pair<uint64_t, int64_t>;

/// Two hosts, each with an access switch; between these a spine with two like links for each speed.
ClusterTopology
Spines(const Speed& host, const std::vector<Speed>& spines)
{
    using Kind = ClusterTopology::NodeKind;
    ClusterTopology topology;
    topology.kind.assign(2, Kind::Host);
    topology.kind.resize(4 + spines.size(), Kind::Switch);
    AddLink(topology, 0, 2, host.first * GBPS, host.second);
    AddLink(topology, 1, 3, host.first * GBPS, host.second);
    for (const uint32_t leaf : {2U, 3U})
    {
        for (uint32_t i = 0; i < spines.size(); ++i)
        {
            AddLink(topology, leaf, 4 + i, spines[i].first * GBPS, spines[i].second);
        }
    }
    topology.Index();
    return topology;
}

/// Two hosts of 400 Gb/s; between their access switches two spines of 100 Gb/s, 1 us, and 200, 3.
ClusterTopology
TwoSpines()
{
    return Spines({400, US}, {{100, 1 * US}, {200, 3 * US}});
}

/// A frame on its way: when its last bit is there, and its size.
using Arrival = std::pair<int64_t, uint32_t>;

/// @return when frames are at the far end of a link that sends them as they come, one at a time
std::vector<Arrival>
Cross(std::vector<Arrival> frames, const Speed& link)
{
    std::ranges::sort(frames);
    int64_t freePs = 0;
    for (auto& [timePs, wire] : frames)
    {
        freePs = std::max(freePs, timePs) + SerializationPs(wire, link.first * GBPS);
        timePs = freePs + link.second;
    }
    return frames;
}

/// @return when the last frame is there if each takes the spine that the digits of a number say
int64_t
DeliverPs(const Speed& host, const std::vector<Speed>& spines, uint64_t bytes, uint64_t choice)
{
    std::vector<std::vector<Arrival>> bySpine(spines.size());
    int64_t sentPs = 0;
    for (; bytes > 0; choice /= spines.size())
    {
        const auto payload = static_cast<uint32_t>(std::min<uint64_t>(bytes, SIZES.mtuPayload));
        bytes -= payload;
        const uint32_t wire = SIZES.DataWireBytes(payload);
        sentPs += SerializationPs(wire, host.first * GBPS);
        bySpine[choice % spines.size()].emplace_back(sentPs + host.second, wire);
    }
    std::vector<Arrival> last;
    for (std::size_t i = 0; i < spines.size(); ++i)
    {
        for (const Arrival& frame : Cross(Cross(bySpine[i], spines[i]), spines[i]))
        {
            last.push_back(frame);
        }
    }
    return Cross(last, host).back().first;
}

/// @return the least time until the acknowledgement is back, whichever spine each frame takes
int64_t
LeastFctPs(const Speed& host, const std::vector<Speed>& spines, uint64_t bytes)
{
    uint64_t choices = 1;
    for (uint64_t sent = 0; sent < bytes; sent += SIZES.mtuPayload)
    {
        choices *= spines.size();
    }
    int64_t therePs = INT64_MAX;
    for (uint64_t choice = 0; choice < choices; ++choice)
    {
        therePs = std::min(therePs, DeliverPs(host, spines, bytes, choice));
    }
    int64_t backPs = INT64_MAX;
    for (const auto& [gbps, delayPs] : spines)
    {
        backPs = std::min(backPs, 2 * (SerializationPs(84, gbps * GBPS) + delayPs));
    }
    return therePs + backPs + 2 * (SerializationPs(84, host.first * GBPS) + host.second);
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
    EXPECT_EQ(all.slowestBps, 100 * GBPS);
    const PathLimits inTurn = PathSurvey(routes, PathUse::InTurn).FindLimits(0, 1, SIZES);
    EXPECT_EQ(inTurn.rateBps, 200 * GBPS) << "the best of the paths";
    EXPECT_EQ(inTurn.rttPs, rttPs);
    EXPECT_TRUE(PathSurvey(routes, PathUse::Fixed).DependsOnHash());
    EXPECT_FALSE(PathSurvey(routes, PathUse::All).DependsOnHash());
}

TEST(PathSurvey, AFrameIsOvertakenByNoMoreThanPathsDiffer)
{
    const ClusterTopology topology = TwoSpines();
    const FabricRoutes routes(topology);
    // A full frame by 5, 2 x 3 us; the shortest by 4, 2 x 1 us, which is slower and still sooner.
    const int64_t spreadPs =
        2 * (SerializationPs(1082, 400 * GBPS) + SerializationPs(1082, 200 * GBPS) + 4 * US) -
        2 * (SerializationPs(84, 400 * GBPS) + SerializationPs(84, 100 * GBPS) + 2 * US);
    for (const PathUse use : {PathUse::InTurn, PathUse::All})
    {
        const PathSurvey survey(routes, use);
        EXPECT_EQ(survey.FindLimits(0, 1, SIZES).spreadPs, spreadPs);
        EXPECT_EQ(FindExtremes(survey, SIZES).maxSpreadPs, spreadPs);
    }
    EXPECT_EQ(PathSurvey(routes, PathUse::Fixed).FindLimits(0, 1, SIZES).spreadPs, 0)
        << "frames on one path keep their order";
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

TEST(PathSurvey, AShortLastFrameOvertakesTheOneBefore)
{
    // 1428 bytes over two spines of 200 Gb/s: the last frame, of 510 bytes on the wire, is with the
    // far access switch and sent on before the first, of 1082, is there. So the first never waits.
    const ClusterTopology topology = Spines({200, 100'000}, {{200, 100'000}, {200, 100'000}});
    const int64_t firstPs = 43'280; // 1082 x 8 / 200
    const int64_t lastPs = 20'400;  // 510 x 8 / 200
    const int64_t ackPs = 3'360;    // 84 x 8 / 200
    ASSERT_LT(firstPs + 4 * lastPs, 3 * firstPs);
    const FabricRoutes routes(topology);
    for (const PathUse use : {PathUse::InTurn, PathUse::All})
    {
        const PathSurvey survey(routes, use);
        IdealFct ideal(survey);
        EXPECT_EQ(ideal.Of(ideal.KindOf(0, 1), 1428, SIZES),
                  4 * (firstPs + 100'000) + 4 * (ackPs + 100'000));
    }
}

TEST(PathSurvey, NoChoiceOfPathsIsFasterThanTheIdealTime)
{
    constexpr int64_t NS100 = 100'000;
    const Speed host(200, NS100);
    const std::vector<std::pair<std::vector<Speed>, bool>> cases{
        // spines, and whether the best choice takes the ideal time
        {{{200, NS100}}, true},
        {{{100, NS100}}, true},
        {{{400, NS100}}, true},
        {{{200, NS100}, {200, NS100}}, true},
        {{{400, NS100}, {400, NS100}, {400, NS100}}, true},
        {{{100, NS100}, {100, NS100}}, false},
        {{{100, NS100}, {100, NS100}, {100, NS100}}, false},
        {{{200, NS100}, {200, 2 * NS100}}, false},
        {{{100, NS100}, {400, 3 * NS100}}, false},
        {{{10, NS100}, {200, NS100}, {50, 1000}}, false},
    };
    for (const auto& [spines, exact] : cases)
    {
        const ClusterTopology topology = Spines(host, spines);
        const FabricRoutes routes(topology);
        for (const PathUse use : {PathUse::Fixed, PathUse::InTurn, PathUse::All})
        {
            const PathSurvey survey(routes, use);
            IdealFct ideal(survey);
            const uint32_t kind = ideal.KindOf(0, 1);
            for (const uint64_t bytes :
                 {1U, 29U, 999U, 1000U, 1001U, 1428U, 2000U, 2029U, 2700U, 3001U, 5029U, 6000U})
            {
                int64_t leastPs = LeastFctPs(host, spines, bytes);
                if (use == PathUse::Fixed)
                {
                    leastPs = INT64_MAX;
                    for (const Speed& spine : spines)
                    {
                        leastPs = std::min(leastPs, LeastFctPs(host, {spine}, bytes));
                    }
                }
                const int64_t idealPs = ideal.Of(kind, bytes, SIZES);
                EXPECT_LE(idealPs, leastPs) << bytes << " bytes over " << spines.size();
                if (exact)
                {
                    EXPECT_EQ(idealPs, leastPs) << bytes << " bytes over " << spines.size();
                }
            }
        }
    }
}
