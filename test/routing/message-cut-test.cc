/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MessageCut: the parts of messages over several NICs or NVLinks.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"

#include "ns3/connection-planner.h"
#include "ns3/message-cut.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

namespace ns3
{
namespace
{

/// Two servers of a GPU with NICs of 400, 200 and 200 Gb/s, each to a switch.
ClusterTopology
UnevenNics()
{
    return ReadTopology("5 1 0 3 6 H100\n2 3 4\n"
                        "0 2 400Gbps 1us 0\n0 3 200Gbps 1us 0\n0 4 200Gbps 1us 0\n"
                        "1 2 400Gbps 1us 0\n1 3 200Gbps 1us 0\n1 4 200Gbps 1us 0\n");
}

/// A server of two GPUs with links to three NVSwitches, the first of them @p first.
ClusterTopology
NvSwitches(const std::string& first)
{
    return ReadTopology("5 2 3 0 6 H100\n2 3 4\n"
                        "0 2 " +
                        first + " 1us 0\n0 3 800Gbps 1us 0\n0 4 800Gbps 1us 0\n1 2 " + first +
                        " 1us 0\n1 3 800Gbps 1us 0\n1 4 800Gbps 1us 0\n");
}

std::vector<uint64_t>
BytesOf(const MessageCut::Parts& parts)
{
    std::vector<uint64_t> bytes;
    for (const MessagePart& part : parts)
    {
        bytes.push_back(part.bytes);
    }
    return bytes;
}

TEST(MessageCut, NicsTakePartsInProportionToTheirRates)
{
    const MessageCut cut(UnevenNics(), 0, {0, 1, 2}, 1);
    const auto parts = cut.Divide(40'000, 1000, 0);
    EXPECT_EQ(BytesOf(parts), (std::vector<uint64_t>{20'000, 10'000, 10'000}));
    EXPECT_EQ(parts[0].share, 0.5);
    EXPECT_EQ(parts[2].share, 0.25);
}

TEST(MessageCut, EachNicHasAsManyQueuePairsAsAreAskedFor)
{
    const MessageCut cut(UnevenNics(), 0, {0, 1, 2}, 2);
    const auto parts = cut.Divide(80'000, 1000, 0);
    ASSERT_EQ(parts.size(), 6);
    EXPECT_EQ(parts[0].bytes + parts[3].bytes, 40'000);
    EXPECT_EQ(parts[0].port % 3, parts[3].port % 3);
}

TEST(MessageCut, AMessageOfFewFramesHasAPartForEachAndBeginsWithItsChannelsNic)
{
    const MessageCut cut(UnevenNics(), 0, {0, 1, 2}, 1);
    EXPECT_EQ(cut.Divide(1000, 1000, 1)[0].port, 1);
    const auto parts = cut.Divide(1001, 1000, 1);
    EXPECT_EQ(BytesOf(parts), (std::vector<uint64_t>{500, 501}));
    EXPECT_EQ(parts[1].port, 2);
}

TEST(MessageCut, AllBytesAreInSomePart)
{
    const MessageCut cut(UnevenNics(), 0, {0, 1, 2}, 3);
    for (uint64_t bytes = 1; bytes < 20'000; bytes += 37)
    {
        const auto parts = BytesOf(cut.Divide(bytes, 1000, 5));
        EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), uint64_t{0}), bytes);
        EXPECT_EQ(std::count(parts.begin(), parts.end(), 0), 0);
    }
}

TEST(MessageCut, APlaneKeepsAMessageWhole)
{
    const MessageCut cut(UnevenNics(), 0, {0, 1, 2}, 1);
    const auto parts = cut.Divide(40'000, 1000, 0, 2);
    ASSERT_EQ(parts.size(), 1);
    EXPECT_EQ(parts[0].port, 2);
}

TEST(MessageCut, ChannelsTakeEqualNvLinksInTurnAndUnequalOnesTogether)
{
    const MessageCut even(NvSwitches("800Gbps"), 0, {0, 1, 2}, 4);
    ASSERT_EQ(even.Divide(40'000, 1000, 5).size(), 1);
    EXPECT_EQ(even.Divide(40'000, 1000, 5)[0].port, 5);
    const MessageCut uneven(NvSwitches("1600Gbps"), 0, {0, 1, 2}, 4);
    EXPECT_EQ(BytesOf(uneven.Divide(40'000, 1000, 0)),
              (std::vector<uint64_t>{20'000, 10'000, 10'000}));
}

TEST(MessageCut, PartsOfAStreamHaveSourcePortsOfTheirOwn)
{
    EXPECT_EQ(ConnectionPlanner::SourcePortOf(10'000, 0), 10'000);
    EXPECT_EQ(ConnectionPlanner::SourcePortOf(UINT16_MAX, 0), UINT16_MAX);
    EXPECT_NE(ConnectionPlanner::SourcePortOf(10'000, 1),
              ConnectionPlanner::SourcePortOf(10'000, 2));
    EXPECT_GE(ConnectionPlanner::SourcePortOf(UINT16_MAX, 1), 10'000);
}

} // namespace
} // namespace ns3
