/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: messages that come for the first time run on the network of the run.
 */
#include "forwarded-messages.h"

#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

using AstraSim::FastForwardReport;
using AstraSim::TimePs;
using fastforward::ExpectTheSame;
using fastforward::InPlace;
using fastforward::Message;
using fastforward::SendForwarded;
using fastforward::SendPlainly;
using fastforward::STAR;

namespace
{

constexpr TimePs MS_IN_PS = 1'000'000'000;
constexpr TimePs US_IN_PS = 1'000'000;
constexpr uint64_t MEBIBYTE = 1 << 20;

/// Send @p messages plainly, and forwarded if not new: they arrive at the same time, and the report
/// counts each once.
FastForwardReport
SendBothWays(std::vector<Message> messages)
{
    const ns3::ClusterTopology topology = ns3::ReadTopology(STAR);
    std::vector<Message> plain = messages;
    SendPlainly(topology, plain);
    const FastForwardReport report =
        SendForwarded(topology, messages, {.tail = 0, .tolerance = 0}, InPlace::IfNew);
    ExpectTheSame(messages, plain);
    EXPECT_EQ(report.carried.flows, messages.size());
    EXPECT_EQ(report.simulatedWork - report.repeatedWork + report.reusedWork, messages.size());
    EXPECT_EQ(report.late, 0U);
    return report;
}

/// @return a message, one of another shape that begins at a time, and three more like the first
std::vector<Message>
AnotherShapeAt(TimePs time)
{
    return {{0, 0, 1, MEBIBYTE},
            {time, 2, 3, 2 * MEBIBYTE},
            {2 * MS_IN_PS, 2, 3, MEBIBYTE},
            {3 * MS_IN_PS, 4, 5, MEBIBYTE},
            {4 * MS_IN_PS, 1, 0, MEBIBYTE}};
}

} // namespace

TEST(FastForwardInPlace, WhatDoesNotRepeatCostsWhatItDoesWithout)
{
    std::vector<Message> messages;
    for (uint64_t i = 0; i < 10; ++i)
    {
        // Some overlap with the one before, on links that they share.
        messages.push_back({static_cast<TimePs>(i) * 70 * US_IN_PS,
                            static_cast<int>(i % 2),
                            2,
                            MEBIBYTE + (i << 10)});
    }
    const FastForwardReport report = SendBothWays(messages);
    EXPECT_EQ(report.simulations, 0U);
    EXPECT_EQ(report.inPlace, 10U);
    EXPECT_EQ(report.simulatedWork, 10U);
    EXPECT_EQ(report.inPlaceWork, 10U);
    EXPECT_EQ(report.repeatedWork, 0U);
    EXPECT_EQ(report.reusedWork, 0U);
}

TEST(FastForwardInPlace, WhatWasAloneInPlaceIsReused)
{
    const FastForwardReport report = SendBothWays(AnotherShapeAt(MS_IN_PS));
    EXPECT_EQ(report.inPlace, 2U);
    EXPECT_EQ(report.simulations, 0U);
    EXPECT_EQ(report.reuses, 3U);
}

TEST(FastForwardInPlace, WhatWasNotAloneInPlaceIsSimulatedBesideTheRunOnceAndThenReused)
{
    const FastForwardReport report = SendBothWays(AnotherShapeAt(10 * US_IN_PS));
    EXPECT_EQ(report.inPlace, 2U);
    EXPECT_EQ(report.simulations, 1U);
    EXPECT_EQ(report.reuses, 2U);
}

TEST(FastForwardInPlace, SeveralOfAShapeAtOnceRepeatEachOther)
{
    const FastForwardReport report = SendBothWays(
        {{0, 0, 1, MEBIBYTE}, {0, 2, 3, MEBIBYTE}, {0, 4, 5, MEBIBYTE}, {0, 6, 7, MEBIBYTE}});
    EXPECT_EQ(report.inPlace, 1U) << "the one with slower links";
    EXPECT_EQ(report.simulations, 1U);
    EXPECT_EQ(report.reuses, 2U);
}

TEST(FastForwardInPlace, AMessageThatMeetsOneInPlaceRunsInPlaceWhateverItsShape)
{
    const FastForwardReport report = SendBothWays({{0, 0, 1, MEBIBYTE},
                                                   {MS_IN_PS, 2, 3, 4 * MEBIBYTE},
                                                   {MS_IN_PS + 50 * US_IN_PS, 4, 3, MEBIBYTE}});
    EXPECT_EQ(report.inPlace, 3U);
    EXPECT_EQ(report.simulations, 0U);
    EXPECT_EQ(report.parts, 2U);
}

TEST(FastForwardInPlace, ANewMessageThatMeetsAForwardedOneIsForwarded)
{
    const FastForwardReport report = SendBothWays({{0, 0, 1, MEBIBYTE},
                                                   {MS_IN_PS, 2, 3, MEBIBYTE},
                                                   {MS_IN_PS + 40 * US_IN_PS, 4, 3, 2 * MEBIBYTE}});
    EXPECT_EQ(report.inPlace, 1U);
    EXPECT_EQ(report.simulations, 1U) << "both together";
    EXPECT_EQ(report.reuses, 1U) << "the forwarded one until then";
    EXPECT_EQ(report.ghosts, 0U);
}

TEST(FastForwardInPlace, OneThatMeetsBothKindsHasTheEndsOfBothForeseen)
{
    const FastForwardReport report = SendBothWays({{0, 0, 1, MEBIBYTE},
                                                   {MS_IN_PS, 2, 3, 4 * MEBIBYTE}, // in place
                                                   {MS_IN_PS + 50 * US_IN_PS, 0, 1, MEBIBYTE},
                                                   {MS_IN_PS + 90 * US_IN_PS, 0, 3, 4 * MEBIBYTE},
                                                   {3 * MS_IN_PS, 4, 5, 3 * MEBIBYTE}});
    EXPECT_EQ(report.inPlace, 3U) << "the last one, too: no ghost is left";
    EXPECT_EQ(report.ghosts, 1U);
    EXPECT_EQ(report.repeatedWork, 2U) << "the ghost, and again to know what it carried";
}

TEST(FastForwardInPlace, NothingRunsInPlaceBesideGhosts)
{
    const FastForwardReport report =
        SendBothWays({{0, 0, 1, MEBIBYTE},
                      {MS_IN_PS, 2, 3, 4 * MEBIBYTE},
                      {MS_IN_PS + 50 * US_IN_PS, 0, 1, MEBIBYTE},
                      {MS_IN_PS + 90 * US_IN_PS, 0, 3, 4 * MEBIBYTE},
                      {MS_IN_PS + 100 * US_IN_PS, 4, 5, 3 * MEBIBYTE}});
    EXPECT_EQ(report.inPlace, 2U);
    EXPECT_EQ(report.ghosts, 1U);
}

namespace
{

/// Messages whose shapes are worked out when they are asked for.
class DeferredMessages
{
  public:
    DeferredMessages()
    {
        m_side.Start();
    }

    /// @param rough the same for messages of the same size, at least
    void Send(TimePs at, int src, int dst, uint64_t bytes, uint64_t rough)
    {
        AstraSim::PartOperation what;
        what.isMessage = true;
        what.group.ranks = {src, dst};
        what.request.bytes = bytes;
        AstraSim::Digest digest;
        digest.Add(rough);
        m_shapes.push_back(std::make_unique<AstraSim::DeferredShape>(digest, [this, what] {
            return m_finder.Find(what, nullptr);
        }));
        m_begins.push_back({this, &m_forward.Open(what, *m_shapes.back(), [](uint32_t) {})});
        m_loop.Schedule(
            at,
            [](void* arg) {
                auto& begin = *static_cast<Beginning*>(arg);
                begin.owner->m_forward.Begin(*begin.operation, 0);
                begin.owner->m_forward.Begin(*begin.operation, 1);
            },
            &m_begins.back());
    }

    FastForwardReport Run()
    {
        m_loop.Run();
        return m_forward.GetReport();
    }

    bool IsKnown(std::size_t message) const
    {
        return m_shapes[message]->IsKnown();
    }

  private:
    struct Beginning
    {
        DeferredMessages* owner;
        AstraSim::FastForward::Operation* operation;
    };

    AstraSim::EventLoop m_loop;
    ns3::ClusterTopology m_topology{ns3::ReadTopology(STAR)};
    AstraSim::FlowLevelFabric m_fabric{m_loop, m_topology, AstraSim::FlowLevelConfig{}};
    std::function<AstraSim::RankNetwork&(int)> m_network{
        [this](int rank) -> AstraSim::RankNetwork& { return m_fabric.GetNetwork(rank); }};
    std::function<ns3::CarriedTraffic()> m_carried{
        [this] { return ns3::CarriedTraffic{.flows = m_fabric.GetDelivered()}; }};
    AstraSim::ShapeFinder m_finder{m_topology, 0, true};
    AstraSim::SideSimulation m_side{{m_network, nullptr, [this] { m_loop.Run(); }, m_carried}};
    AstraSim::PlainSimulation m_own{m_network, nullptr, m_carried};
    std::vector<std::unique_ptr<AstraSim::DeferredShape>> m_shapes;
    std::deque<Beginning> m_begins;
    AstraSim::FastForward m_forward{{.tail = 0, .tolerance = 0},
                                    m_fabric.GetNetwork(0),
                                    m_finder,
                                    m_side,
                                    &m_own};
};

} // namespace

TEST(FastForwardInPlace, NobodyAsksForTheShapeOfWhatIsNewAndAlone)
{
    DeferredMessages messages;
    messages.Send(0, 0, 1, MEBIBYTE, 1);
    messages.Send(MS_IN_PS, 2, 3, 2 * MEBIBYTE, 2);
    const FastForwardReport report = messages.Run();
    EXPECT_EQ(report.inPlace, 2U);
    EXPECT_EQ(report.storedPatterns, 2U);
    EXPECT_FALSE(messages.IsKnown(0));
    EXPECT_FALSE(messages.IsKnown(1));
}

TEST(FastForwardInPlace, WhatWasAloneIsReusedThoughItsShapeIsWorkedOutLater)
{
    DeferredMessages messages;
    messages.Send(0, 0, 1, MEBIBYTE, 1);
    messages.Send(MS_IN_PS, 6, 7, MEBIBYTE, 1); // by slower links: another shape
    messages.Send(2 * MS_IN_PS, 2, 3, MEBIBYTE, 1);
    messages.Send(3 * MS_IN_PS, 7, 6, MEBIBYTE, 1);
    const FastForwardReport report = messages.Run();
    EXPECT_EQ(report.inPlace, 2U);
    EXPECT_EQ(report.reuses, 2U);
    EXPECT_EQ(report.simulatedWork, 2U);
    EXPECT_EQ(report.carried.flows, 4U);
}

TEST(FastForwardInPlace, TheLoneOneIsMetByWhatSharesItsLinks)
{
    DeferredMessages messages;
    messages.Send(0, 0, 1, MEBIBYTE, 1);
    messages.Send(10 * US_IN_PS, 2, 1, 2 * MEBIBYTE, 2);
    messages.Send(20 * US_IN_PS, 4, 5, 3 * MEBIBYTE, 3);
    const FastForwardReport report = messages.Run();
    EXPECT_EQ(report.inPlace, 3U);
    EXPECT_EQ(report.parts, 2U);
}

TEST(FastForwardInPlace, RandomTrafficIsThatOfTheNetworkItself)
{
    uint64_t inPlace = 0;
    uint64_t ghosts = 0;
    uint64_t reuses = 0;
    for (uint32_t seed = 1; seed <= 6; ++seed)
    {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        std::vector<Message> messages;
        for (int i = 0; i < 30; ++i)
        {
            const int src = static_cast<int>(random() % 8);
            const int dst = (src + 1 + static_cast<int>(random() % 7)) % 8;
            const auto at = static_cast<TimePs>(random() % 4000) * US_IN_PS;
            messages.push_back({at, src, dst, uint64_t{1 + random() % 3} << 19});
        }
        const FastForwardReport report = SendBothWays(messages);
        inPlace += report.inPlace;
        ghosts += report.ghosts;
        reuses += report.reuses;
    }
    EXPECT_GT(inPlace, 10U);
    EXPECT_GT(ghosts, 1U) << inPlace << " in place, " << reuses << " reused";
    EXPECT_GT(reuses, 20U);
}
