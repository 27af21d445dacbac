/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/formula/ana-sim.h"
#include "astra-frontend/model/formula/topology-paths.h"

#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace AstraSim
{
namespace
{

// One switch, hosts at 100 Gb/s with 1 us of cable each: a byte lasts 80 ps, a full frame of
// 1000 + 82 bytes 86560 ps, an acknowledgement of 84 bytes 6720 ps.
constexpr TimePs BYTE = 80;
constexpr TimePs FRAME = 1082 * BYTE;
constexpr TimePs ACK = 84 * BYTE;
constexpr TimePs CABLE = 1'000'000;

// n full frames alone: they leave one after the other, the last crosses one more link.
constexpr TimePs
Alone(TimePs frames)
{
    return frames * FRAME + FRAME + 2 * CABLE;
}

ns3::ClusterTopology
Star(int hosts)
{
    std::ostringstream text;
    text << hosts + 1 << " 1 " << hosts << "\n" << hosts << "\n";
    for (int host = 0; host < hosts; ++host)
    {
        text << hosts << " " << host << " 100Gbps 1us 0\n";
    }
    std::istringstream input(text.str());
    return ns3::ClusterTopology::Read(input, "star");
}

/// Four GPUs and an NVSwitch at 800 Gb/s without delay; NICs to a switch.
ns3::ClusterTopology
Server()
{
    std::istringstream input("6 4 1 1 8 H100\n4 5\n"
                             "0 4 800Gbps 0ns 0\n1 4 800Gbps 0ns 0\n"
                             "2 4 800Gbps 0ns 0\n3 4 800Gbps 0ns 0\n"
                             "0 5 100Gbps 1us 0\n1 5 100Gbps 1us 0\n"
                             "2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n");
    return ns3::ClusterTopology::Read(input, "server");
}

class AnaSimTest : public testing::Test
{
  protected:
    void Use(ns3::ClusterTopology topology, uint32_t parts = 1)
    {
        m_topology = std::move(topology);
        TopologyPaths::Sizes sizes;
        sizes.nvlink.dataOverhead = 0;
        sizes.nvlink.minWireBytes = 0;
        sizes.queuePairs = parts;
        m_network = std::make_unique<AnaSim>(std::make_unique<TopologyPaths>(m_topology, sizes));
    }

    /// A message or an operation with the times its handlers ran.
    struct Ends
    {
        EventLoop* loop;
        TimePs sent{-1};
        TimePs received{-1};
    };

    Ends& Send(int src, int dst, uint64_t bytes, MessageInfo request = {}, int tag = 1)
    {
        Ends& ends = *m_ends.emplace_back(std::make_unique<Ends>(Ends{&m_network->GetLoop()}));
        m_network->GetNetwork(src).Send({dst, tag, bytes, &request, &Sent, &ends});
        m_network->GetNetwork(dst).Receive({src, tag, bytes, &request, &Received, &ends});
        return ends;
    }

    void Run()
    {
        m_network->GetLoop().Run();
    }

    static void Sent(void* arg)
    {
        auto* ends = static_cast<Ends*>(arg);
        ends->sent = ends->loop->Now();
    }

    static void Received(void* arg)
    {
        auto* ends = static_cast<Ends*>(arg);
        ends->received = ends->loop->Now();
    }

    ns3::ClusterTopology m_topology;
    std::unique_ptr<AnaSim> m_network;
    std::vector<std::unique_ptr<Ends>> m_ends;
};

TEST_F(AnaSimTest, AMessageAloneTakesTheTimeOfItsFrames)
{
    Use(Star(3));
    const Ends& ends = Send(0, 1, 100'000);
    Run();
    EXPECT_EQ(ends.received, Alone(100));
    EXPECT_EQ(ends.sent, Alone(100) + 2 * (ACK + CABLE));
    EXPECT_EQ(m_network->GetDelivered(), 1U);
}

TEST_F(AnaSimTest, AMessageToItselfAndAnEmptyOneTakeNoTimeButAnEvent)
{
    Use(Star(2));
    const Ends& self = Send(0, 0, 1 << 20);
    const Ends& empty = Send(0, 1, 0, {}, 2);
    EXPECT_EQ(self.received, -1);
    Run();
    EXPECT_EQ(self.received, 0);
    EXPECT_EQ(empty.received, 0);
    EXPECT_EQ(self.sent, 0);
}

TEST_F(AnaSimTest, LatencyAndInflationCount)
{
    Use(Star(2));
    MessageInfo request;
    request.sendLatency = 5'000'000;
    request.wireInflation = 2;
    const Ends& ends = Send(0, 1, 50'000, request);
    Run();
    EXPECT_EQ(ends.received, 5'000'000 + Alone(100));
}

TEST_F(AnaSimTest, ASpeedLimitSpacesAllFramesButTheLast)
{
    Use(Star(2));
    MessageInfo request;
    request.rateCapBps = 25'000'000'000; // a frame every 4 frame times
    const Ends& ends = Send(0, 1, 100'000, request);
    Run();
    EXPECT_EQ(ends.received, Alone(1) + 99 * 4 * FRAME);
}

TEST_F(AnaSimTest, LimitedChannelsFillAPortSideBySide)
{
    Use(Star(2));
    std::vector<const Ends*> all;
    for (uint32_t channel = 0; channel < 4; ++channel)
    {
        MessageInfo request;
        request.rateCapBps = 25'000'000'000;
        request.channel = channel;
        all.push_back(&Send(0, 1, 100'000, request, static_cast<int>(channel)));
    }
    Run();
    // Together they need the port for 400 frames.
    for (const Ends* ends : all)
    {
        EXPECT_GE(ends->received, Alone(1) + 99 * 4 * FRAME);
        EXPECT_LE(ends->received, Alone(400));
    }
}

TEST_F(AnaSimTest, MessagesOfOneLimitedChannelFollowEachOther)
{
    Use(Star(2));
    MessageInfo request;
    request.rateCapBps = 25'000'000'000;
    const Ends& first = Send(0, 1, 100'000, request, 1);
    const Ends& second = Send(0, 1, 100'000, request, 2);
    Run();
    EXPECT_EQ(first.received, Alone(1) + 99 * 4 * FRAME);
    // The first occupies the channel for 99 turns and one frame.
    EXPECT_EQ(second.received, first.received + 99 * 4 * FRAME + FRAME);
}

TEST_F(AnaSimTest, SendersToOneRankShareItsPortFromTheStart)
{
    Use(Star(4));
    const Ends& a = Send(0, 3, 100'000);
    const Ends& b = Send(1, 3, 100'000);
    const Ends& c = Send(2, 3, 100'000);
    Run();
    EXPECT_EQ(a.received, Alone(300));
    EXPECT_EQ(b.received, Alone(300));
    EXPECT_EQ(c.received, Alone(300));
}

TEST_F(AnaSimTest, ShorterMessagesAreThroughBeforeLongerOnes)
{
    Use(Star(4));
    const Ends& longest = Send(0, 3, 300'000);
    const Ends& shortest = Send(1, 3, 100'000);
    const Ends& middle = Send(2, 3, 200'000);
    Run();
    // All three until each has had 100 frames, then two until each has had 200.
    EXPECT_EQ(shortest.received, Alone(300));
    EXPECT_EQ(middle.received, Alone(500));
    EXPECT_EQ(longest.received, Alone(600));
}

TEST_F(AnaSimTest, MessagesOfAConnectionFollowEachOtherBesideThoseOfOthers)
{
    Use(Star(4));
    const Ends& first = Send(0, 3, 100'000, {}, 1);
    const Ends& second = Send(0, 3, 100'000, {}, 2);
    const Ends& third = Send(0, 3, 200'000, {}, 3);
    const Ends& other = Send(1, 3, 150'000);
    Run();
    // Two connections share until the other one has had its 150 frames.
    EXPECT_EQ(first.received, Alone(200));
    EXPECT_EQ(other.received, Alone(300));
    EXPECT_EQ(second.received, Alone(350));
    EXPECT_EQ(third.received, Alone(550));
}

TEST_F(AnaSimTest, WhatIsSentLaterTakesItsTurn)
{
    Use(Star(3));
    const Ends& first = Send(0, 2, 100'000);
    const Ends* second = nullptr;
    m_network->GetLoop().Schedule(1000, [&] { second = &Send(1, 2, 100'000); });
    Run();
    EXPECT_EQ(first.received, Alone(100));
    EXPECT_EQ(second->received, Alone(200));
}

TEST_F(AnaSimTest, ReceiversOfOneRankShareItsPort)
{
    Use(Star(3));
    const Ends& first = Send(0, 1, 100'000);
    const Ends& second = Send(0, 2, 100'000);
    Run();
    EXPECT_EQ(first.received, Alone(200));
    EXPECT_EQ(second.received, Alone(200));
}

TEST_F(AnaSimTest, AllToAllLoadsEveryPortEvenlyWhateverTheOrderOfSends)
{
    constexpr int RANKS = 8;
    Use(Star(RANKS));
    TimePs last = 0;
    for (int src = 0; src < RANKS; ++src)
    {
        for (int dst = 0; dst < RANKS; ++dst)
        {
            if (src != dst)
            {
                Send(src, dst, 100'000);
            }
        }
    }
    Run();
    for (const auto& ends : m_ends)
    {
        last = std::max(last, ends->received);
    }
    EXPECT_EQ(last, Alone(100 * (RANKS - 1)));
}

TEST_F(AnaSimTest, NvlinkAndNicAreDifferentPorts)
{
    std::istringstream input("7 2 2 1 8 H100\n4 5 6\n"
                             "0 4 800Gbps 0ns 0\n1 4 800Gbps 0ns 0\n"
                             "2 5 800Gbps 0ns 0\n3 5 800Gbps 0ns 0\n"
                             "0 6 100Gbps 1us 0\n1 6 100Gbps 1us 0\n"
                             "2 6 100Gbps 1us 0\n3 6 100Gbps 1us 0\n");
    Use(ns3::ClusterTopology::Read(input, "two servers"));
    const Ends& inside = Send(0, 1, 100'000);
    const Ends& outside = Send(0, 2, 100'000);
    Run();
    // 1000 bytes last 10 ns on NVLink, which adds no header.
    EXPECT_EQ(inside.received, 101 * 10'000);
    EXPECT_EQ(outside.received, Alone(100));
}

TEST_F(AnaSimTest, APartOfAMessageGoesOverEachNic)
{
    // Both ranks have a link to each of two switches.
    std::istringstream input("4 2 4\n2 3\n2 0 100Gbps 1us 0\n3 0 100Gbps 1us 0\n"
                             "2 1 100Gbps 1us 0\n3 1 100Gbps 1us 0\n");
    Use(ns3::ClusterTopology::Read(input, "dual"), 2);
    const Ends& ends = Send(0, 1, 100'000);
    Run();
    EXPECT_EQ(ends.received, Alone(50));
}

TEST_F(AnaSimTest, ASwitchReducesWhenTheLastMemberHasJoined)
{
    Use(Server());
    const std::vector<int> members{0, 1, 2, 3};
    ASSERT_TRUE(m_network->GetNetwork(0).Supports(members));
    MessageInfo request;
    Ends root{&m_network->GetLoop()};
    const auto join = [&](int rank, Ends* ends) {
        m_network->GetNetwork(rank).Join({.op = InNetworkOp::Reduce,
                                          .members = members,
                                          .root = 2,
                                          .tag = 9,
                                          .bytes = 100'000,
                                          .info = &request,
                                          .handler = ends ? &Received : nullptr,
                                          .arg = ends});
    };
    join(0, nullptr);
    join(2, &root);
    join(3, nullptr);
    m_network->GetLoop().Schedule(7'000'000, [&] { join(1, nullptr); });
    Run();
    // A frame's time up, a pass of 100 frames down.
    EXPECT_EQ(root.received, 7'000'000 + 101 * 10'000);
}

TEST_F(AnaSimTest, RanksOfDifferentServersHaveNoReducingSwitch)
{
    Use(Star(2));
    const std::vector<int> members{0, 1};
    EXPECT_FALSE(m_network->GetNetwork(0).Supports(members));
    EXPECT_FALSE(m_network->GetNetwork(0).Join({InNetworkOp::Reduce, members, 0, 1, 8}));
}

TEST_F(AnaSimTest, TellsWhoWaits)
{
    Use(Star(2));
    m_network->GetNetwork(1).Receive({0, 1, 8});
    Run();
    ASSERT_EQ(m_network->DescribeWaits(10).size(), 1U);
    EXPECT_NE(m_network->DescribeWaits(10)[0].find("rank 1"), std::string::npos);
}

} // namespace
} // namespace AstraSim
