/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A FastForward beside the same traffic on the network that it saves.
 */
#include "forwarded-messages.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

using AstraSim::Digest;
using AstraSim::FastForwardReport;
using AstraSim::OperationShape;
using AstraSim::PartOperation;
using AstraSim::ShapeFinder;
using AstraSim::TimePs;
using fastforward::ExpectTheSame;
using fastforward::Message;
using fastforward::RandomMessages;
using fastforward::SendForwarded;
using fastforward::SendPlainly;
using fastforward::STAR;
using ns3::ClusterTopology;
using ns3::ReadTopology;

namespace
{

OperationShape
ShapeOfMessage(ShapeFinder& shapes, int src, int dst, uint64_t bytes)
{
    PartOperation what;
    what.isMessage = true;
    what.group.ranks = {src, dst};
    what.request.bytes = bytes;
    return shapes.Find(what, {});
}

} // namespace

TEST(ShapeFinder, KnowsLikePathsWhereverTheyAre)
{
    const ClusterTopology topology = ReadTopology(STAR);
    ShapeFinder shapes(topology, 0, true);
    const auto reference = ShapeOfMessage(shapes, 0, 1, 1000);
    EXPECT_EQ(reference.digest, ShapeOfMessage(shapes, 4, 2, 1000).digest);
    EXPECT_NE(reference.digest, ShapeOfMessage(shapes, 0, 6, 1000).digest) << "a slower link";
    EXPECT_NE(reference.digest, ShapeOfMessage(shapes, 0, 1, 1001).digest) << "another size";
    // Up, down, and the same links the other way for acknowledgements.
    EXPECT_EQ(reference.links.size(), 4U);
}

TEST(ShapeFinder, DoesNotTellApartWhichOfEqualSwitchesWasChosen)
{
    // Two access switches, three switches between them.
    std::string text = "13 1 0 5 20 A100\n8 9 10 11 12\n";
    for (int host = 0; host < 8; ++host)
    {
        text += std::to_string(host) + " " + std::to_string(8 + host / 4) + " 100Gbps 1us 0\n";
    }
    for (int access = 8; access < 10; ++access)
    {
        for (int middle = 10; middle < 13; ++middle)
        {
            text += std::to_string(access) + " " + std::to_string(middle) + " 100Gbps 1us 0\n";
            text += std::to_string(access) + " " + std::to_string(middle) + " 100Gbps 1us 0\n";
        }
    }
    const ClusterTopology topology = ReadTopology(text);
    for (const bool messagesKeepPaths : {false, true})
    {
        ShapeFinder shapes(topology, 0, messagesKeepPaths);
        std::set<Digest> digests;
        for (int src = 0; src < 4; ++src)
        {
            for (int dst = 4; dst < 8; ++dst)
            {
                const OperationShape shape = ShapeOfMessage(shapes, src, dst, 1000);
                digests.insert(shape.digest);
                // Up to a switch and down, and back: by one of two links each, or by all 12.
                EXPECT_EQ(shape.links.size(), messagesKeepPaths ? 8U : 4 + 4 * 6U);
            }
        }
        // Answers come back by the same switch and link, by its other link, or by another switch.
        EXPECT_LE(digests.size(), 5U) << messagesKeepPaths;
    }
}

TEST(LikenessOf, IsThatOfCorrespondingOperationsWhateverTheirOrder)
{
    const ClusterTopology topology = ReadTopology(STAR);
    ShapeFinder shapes(topology, 0, true);
    // Two messages to one host, and one from one of their senders; the same elsewhere.
    const OperationShape a = ShapeOfMessage(shapes, 0, 2, 1000);
    const OperationShape b = ShapeOfMessage(shapes, 1, 2, 1000);
    const OperationShape c = ShapeOfMessage(shapes, 0, 3, 1000);
    const OperationShape d = ShapeOfMessage(shapes, 5, 4, 1000);
    const OperationShape e = ShapeOfMessage(shapes, 3, 4, 1000);
    const OperationShape f = ShapeOfMessage(shapes, 5, 1, 1000);
    const auto here = AstraSim::LikenessOf({&a, &b, &c});
    const auto there = AstraSim::LikenessOf({&f, &e, &d});
    EXPECT_EQ(here[0], there[2]);
    EXPECT_EQ(here[1], there[1]);
    EXPECT_EQ(here[2], there[0]);
    EXPECT_NE(here[0], here[1]);
    EXPECT_NE(here[1], here[2]);
    EXPECT_NE(here[0], here[2]);
}

TEST(FastForward, OperationsOfAPartMayBeginInAnyOrder)
{
    const ClusterTopology topology = ReadTopology(STAR);
    // Messages of two sizes meet at a host; later they begin in the other order, within 0.2% of
    // the time that the shorter one takes.
    std::vector<Message> plain = {{0, 0, 2, 1 << 20},
                                  {10'000, 1, 2, 2 << 20},
                                  {1'000'000'000, 5, 4, 2 << 20},
                                  {1'000'010'000, 3, 4, 1 << 20}};
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report =
        SendForwarded(topology, forwarded, {.tail = 0, .tolerance = 2e-3});
    EXPECT_EQ(report.simulations, 2U) << "the first message alone, and both";
    EXPECT_EQ(report.reuses, 1U);
    for (std::size_t i = 0; i < plain.size(); ++i)
    {
        EXPECT_NEAR(static_cast<double>(forwarded[i].arrived),
                    static_cast<double>(plain[i].arrived),
                    2 * 20'000);
    }
}

TEST(FastForward, ReusesAMessageElsewhereAndLater)
{
    const ClusterTopology topology = ReadTopology(STAR);
    std::vector<Message> plain = {{0, 0, 1, 1 << 20},
                                  {0, 2, 3, 1 << 20},
                                  {1'000'000'000, 4, 5, 1 << 20},
                                  {2'000'000'000, 6, 7, 1 << 20}};
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report = SendForwarded(topology, forwarded);
    ExpectTheSame(forwarded, plain);
    EXPECT_EQ(report.parts, 4U);
    EXPECT_EQ(report.simulations, 2U) << "the fourth has slower links";
    EXPECT_EQ(report.reuses, 2U);
    EXPECT_EQ(report.carried.flows, 4U);
    EXPECT_EQ(report.simulatedWork, 2U);
    EXPECT_EQ(report.reusedWork, 2U);
}

TEST(FastForward, AMessageThatBeginsInAPartEndsItsReuse)
{
    const ClusterTopology topology = ReadTopology(STAR);
    // Alone 1 MiB takes about 85 us; the third is on the second's way after half of that.
    std::vector<Message> plain = {{0, 0, 1, 1 << 20},
                                  {200'000'000, 2, 3, 1 << 20},
                                  {240'000'000, 4, 3, 1 << 20}};
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report = SendForwarded(topology, forwarded);
    ExpectTheSame(forwarded, plain);
    EXPECT_GT(plain[1].arrived - plain[1].at, plain[0].arrived + 30'000'000);
    EXPECT_EQ(report.parts, 2U);
    EXPECT_EQ(report.reuses, 1U) << "the second is as the first until the third begins";
    EXPECT_EQ(report.simulations, 2U);
}

TEST(FastForward, AMessageThatJoinsTwoPartsMakesThemOne)
{
    const ClusterTopology topology = ReadTopology(STAR);
    std::vector<Message> plain = {{0, 0, 1, 4 << 20},
                                  {10'000'000, 2, 3, 4 << 20},
                                  {50'000'000, 0, 3, 4 << 20},
                                  {60'000'000, 4, 5, 4 << 20}};
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report = SendForwarded(topology, forwarded);
    ExpectTheSame(forwarded, plain);
    EXPECT_EQ(report.parts, 2U);
}

TEST(FastForward, RandomTrafficIsThatOfTheNetworkItself)
{
    const ClusterTopology topology = ReadTopology(STAR);
    for (uint32_t seed = 1; seed <= 20; ++seed)
    {
        std::vector<Message> plain = RandomMessages(seed, 30);
        std::vector<Message> forwarded = plain;
        SendPlainly(topology, plain);
        SendForwarded(topology, forwarded);
        SCOPED_TRACE("seed " + std::to_string(seed));
        ExpectTheSame(forwarded, plain);
    }
}

TEST(FastForward, VerifyingSimulatesTheFirstSecondAndFourthReuse)
{
    const ClusterTopology topology = ReadTopology(STAR);
    std::vector<Message> messages;
    for (TimePs i = 0; i < 6; ++i)
    {
        messages.push_back({i * 1'000'000'000, 0, 1, 1 << 16});
    }
    const FastForwardReport report =
        SendForwarded(topology, messages, {.verifies = true, .tail = 0, .tolerance = 0});
    EXPECT_EQ(report.reuses, 5U);
    EXPECT_EQ(report.verified, 2U * 3U) << "two ends each";
    EXPECT_EQ(report.largestError, 0);
}

TEST(FastForward, ABoundOnMemoryCostsSimulationsOnly)
{
    const ClusterTopology topology = ReadTopology(STAR);
    std::vector<Message> plain;
    for (TimePs i = 0; i < 12; ++i)
    {
        plain.push_back({i * 1'000'000'000, 0, 1, uint64_t{1} << (14 + i % 3)});
    }
    std::vector<Message> forwarded = plain;
    SendPlainly(topology, plain);
    const FastForwardReport report =
        SendForwarded(topology, forwarded, {.tail = 0, .tolerance = 0, .memoryBytes = 1});
    ExpectTheSame(forwarded, plain);
    EXPECT_EQ(report.simulations, 12U);
    EXPECT_EQ(report.storedPatterns, 1U);
}
