/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "astra-frontend/model/flow/flow-level-network.h"

#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

using AstraSim::EventLoop;
using AstraSim::FlowLevelConfig;
using AstraSim::FlowLevelFabric;
using AstraSim::FluidTransfers;
using AstraSim::InNetworkOp;
using AstraSim::MessageInfo;
using AstraSim::TimePs;
using ns3::ClusterTopology;

namespace
{

/// A network on a topology given as text, and when what was asked of it happened.
class FlowLevel : public testing::Test
{
  protected:
    struct Mark
    {
        EventLoop* loop;
        TimePs at{-1};
    };

    void Build(const std::string& text, FlowLevelConfig config = {})
    {
        m_topology = ns3::ReadTopology(text, "test");
        m_config = config;
        config.nvlinkFrames = {1000, 0, 84, 0};
        m_fabric = std::make_unique<FlowLevelFabric>(m_loop, m_topology, config);
    }

    Mark* NewMark()
    {
        m_marks.push_back(std::make_unique<Mark>(Mark{&m_loop}));
        return m_marks.back().get();
    }

    static void Set(void* arg)
    {
        auto* mark = static_cast<Mark*>(arg);
        mark->at = mark->loop->Now();
    }

    /// @return when the message is received
    Mark* Send(int src, int dst, uint64_t bytes, MessageInfo request = {}, int tag = 0)
    {
        Mark* mark = NewMark();
        m_fabric->GetNetwork(src).Send({dst, tag, bytes, &request});
        m_fabric->GetNetwork(dst).Receive({src, tag, bytes, nullptr, &Set, mark});
        return mark;
    }

    Mark* Join(int rank, InNetworkOp op, std::vector<int> members, uint64_t bytes, int root = 0)
    {
        Mark* mark = NewMark();
        MessageInfo request;
        EXPECT_TRUE(
            m_fabric->GetNetwork(rank).Join({op, members, root, 0, bytes, &request, &Set, mark}));
        return mark;
    }

    EventLoop m_loop;
    ClusterTopology m_topology;
    FlowLevelConfig m_config;
    std::unique_ptr<FlowLevelFabric> m_fabric;
    std::vector<std::unique_ptr<Mark>> m_marks;
};

/// Hosts 0 to 3 around switch 4, 100 Gb/s, 1 us.
const std::string STAR = "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n"
                         "3 4 100Gbps 1us 0\n";

/// Two servers of two GPUs: 0 and 1 at NVSwitch 4, 2 and 3 at 5, all at switch 6.
const std::string SERVERS = "7 2 2 1 8 H100\n4 5 6\n0 4 800Gbps 100ns 0\n1 4 800Gbps 100ns 0\n"
                            "2 5 800Gbps 100ns 0\n3 5 800Gbps 100ns 0\n0 6 100Gbps 1us 0\n"
                            "1 6 100Gbps 1us 0\n2 6 100Gbps 1us 0\n3 6 100Gbps 1us 0\n";

// 1082 bytes at 100 Gb/s are 86.56 ns.
constexpr TimePs FRAME = 86'560;
constexpr TimePs DELAY = 1'000'000;

TEST_F(FlowLevel, AMessageAloneTakesWhatItsFramesTake)
{
    Build(STAR);
    const Mark* received = Send(0, 1, 1'000'000);
    m_loop.Run();
    // A thousand frames leave; the last crosses the second link; two delays.
    EXPECT_EQ(received->at, 1000 * FRAME + FRAME + 2 * DELAY);
}

TEST_F(FlowLevel, TwoSendersShareTheReceiversLink)
{
    Build(STAR);
    const Mark* shorter = Send(0, 2, 1'000'000);
    const Mark* longer = Send(1, 2, 2'000'000);
    m_loop.Run();
    // Halves until the shorter is through, then the longer alone.
    EXPECT_NEAR(shorter->at, 2000 * FRAME + FRAME + 2 * DELAY, 2);
    EXPECT_NEAR(longer->at, 3000 * FRAME + FRAME + 2 * DELAY, 2);
}

/// A message to be sent at a time in frames.
struct Sent
{
    double at;
    uint64_t bytes;
};

/**
 * Frame by frame: a queue pair with more to send goes to the end of the round as its frame begins,
 * one that begins joins the round at its end.
 * @param sent by rising time
 * @return when the last frame of each has left, in frames
 */
std::vector<double>
EndsOfRoundRobin(const std::vector<Sent>& sent)
{
    std::vector<double> ends(sent.size());
    std::vector<uint64_t> left;
    std::deque<std::size_t> round;
    double now = 0;
    while (!round.empty() || left.size() < sent.size())
    {
        if (round.empty())
        {
            now = std::max(now, sent[left.size()].at);
            round.push_back(left.size());
            left.push_back(sent[left.size()].bytes);
        }
        const std::size_t served = round.front();
        round.pop_front();
        const uint64_t bytes = std::min<uint64_t>(1000, left[served]);
        left[served] -= bytes;
        if (left[served] > 0)
        {
            round.push_back(served);
        }
        now += (static_cast<double>(bytes) + 82) / 1082;
        for (; left.size() < sent.size() && sent[left.size()].at < now;)
        {
            round.push_back(left.size());
            left.push_back(sent[left.size()].bytes);
        }
        ends[served] = now;
    }
    return ends;
}

TEST_F(FlowLevel, MessagesThatBeginTogetherTakeTurnsFrameByFrame)
{
    for (const bool samePath : {true, false})
    {
        for (const uint64_t bytes : {600, 1'000, 2'000, 7'300, 1'000'000})
        {
            for (const int count : {2, 3, 4, 8})
            {
                Build(STAR);
                const TimePs begin = m_loop.Now();
                std::vector<const Mark*> marks;
                for (int tag = 0; tag < count; ++tag)
                {
                    marks.push_back(Send(0, samePath ? 1 : 1 + tag % 3, bytes, {}, tag));
                }
                m_loop.Run();
                // The first finds the NIC idle: 0 0 1 2 0 1 2 ... 1 2.
                const auto ends = EndsOfRoundRobin(std::vector<Sent>(count, {0, bytes}));
                // The last frame follows the one before it over the second link. If frames to
                // others came between, a shorter one need not wait there; messages do as if alone.
                const uint64_t last = (bytes - 1) % 1000 + 1;
                const double lastFrame = (static_cast<double>(last) + 82) / 1082 * FRAME;
                const double slack = samePath ? 0 : FRAME - lastFrame;
                const double tail = (bytes < 1000 ? lastFrame : FRAME) + 2 * DELAY;
                for (int i = 0; i < count; ++i)
                {
                    const double expected = ends[i] * FRAME + tail;
                    EXPECT_LE(marks[i]->at - begin, expected + 3);
                    EXPECT_GE(marks[i]->at - begin, expected - slack - 3)
                        << "message " << i << " of " << count << " of " << bytes << " bytes";
                }
            }
        }
    }
}

TEST_F(FlowLevel, AMessageThatBeginsLaterWaitsForTheFrameInServiceAndTheNext)
{
    const std::vector<std::vector<Sent>> cases = {{{0, 1'000'000}, {10.25, 1'000'000}},
                                                  {{0, 10'000}, {3.5, 10'000}},
                                                  {{0, 10'000}, {9.5, 10'000}},
                                                  {{0, 100'000}, {3.5, 10'000}},
                                                  {{0, 10'000}, {3.5, 10'000}, {3.75, 10'000}}};
    for (const auto& sent : cases)
    {
        Build(STAR);
        const TimePs begin = m_loop.Now();
        std::vector<const Mark*> marks(sent.size());
        for (std::size_t i = 0; i < sent.size(); ++i)
        {
            m_loop.Schedule(static_cast<TimePs>(sent[i].at * FRAME),
                            [&, i] { marks[i] = Send(0, 1 + static_cast<int>(i), sent[i].bytes); });
        }
        m_loop.Run();
        const auto ends = EndsOfRoundRobin(sent);
        for (std::size_t i = 0; i < sent.size(); ++i)
        {
            EXPECT_NEAR(marks[i]->at - begin, ends[i] * FRAME + FRAME + 2 * DELAY, 3)
                << "message " << i << " of " << sent.size();
        }
    }
}

TEST_F(FlowLevel, MessagesThatComeAtAnyTimeEndWithinAFewFramesOfTheirTurns)
{
    std::mt19937 random(7);
    for (int run = 0; run < 50; ++run)
    {
        std::vector<Sent> sent(2 + random() % 7);
        for (Sent& each : sent)
        {
            each = {static_cast<double>(random() % 200'000) / 1000, 1000 * (1 + random() % 200)};
        }
        std::ranges::sort(sent, {}, &Sent::at);
        Build(STAR);
        const TimePs begin = m_loop.Now();
        std::vector<const Mark*> marks(sent.size());
        for (std::size_t i = 0; i < sent.size(); ++i)
        {
            m_loop.Schedule(static_cast<TimePs>(sent[i].at * FRAME), [&, i] {
                marks[i] = Send(0, 1 + static_cast<int>(i % 3), sent[i].bytes, {}, i);
            });
        }
        m_loop.Run();
        const auto ends = EndsOfRoundRobin(sent);
        for (std::size_t i = 0; i < sent.size(); ++i)
        {
            const double off = (marks[i]->at - begin - 2 * DELAY) / static_cast<double>(FRAME) - 1;
            EXPECT_NEAR(off, ends[i], 1e-3) << "message " << i << " of " << sent.size();
        }
    }
}

TEST_F(FlowLevel, NoMessageIsFasterThanAloneWhereOthersBegin)
{
    // Host 3's link is four times slower.
    std::string slow = STAR;
    slow.replace(slow.rfind("100Gbps"), 7, "25Gbps");
    for (const uint64_t frames : {1, 2, 5})
    {
        SCOPED_TRACE(frames);
        Build(slow);
        const TimePs start = m_loop.Now();
        const Mark* slower = Send(0, 3, frames * 1000);
        const Mark* faster = Send(0, 1, frames * 1000);
        m_loop.Run();
        EXPECT_GE(slower->at - start, FRAME + static_cast<TimePs>(frames) * 4 * FRAME + 2 * DELAY);
        EXPECT_GE(faster->at - start, static_cast<TimePs>(frames) * FRAME + FRAME + 2 * DELAY);
    }
}

// Host 1 sends to two others what fills its link, by which it acknowledges what host 0 sends.
TEST_F(FlowLevel, AcknowledgementsAreNotHeldUpByWhatTheyShareALinkWith)
{
    Build(STAR);
    const Mark* received = Send(0, 1, 10'000'000);
    Send(1, 2, 10'000'000);
    Send(1, 3, 10'000'000);
    m_loop.Run();
    // On host 1's link from the switch are those that answer what it sends: 84 bytes for each 1082.
    const double slower = 1 + 84.0 / 1082;
    EXPECT_NEAR(received->at, 10'000 * FRAME * slower + FRAME + 2 * DELAY, 2 * FRAME);
}

TEST_F(FlowLevel, AcknowledgementsTakeTheirPartOfTheWayBack)
{
    Build(STAR);
    const Mark* there = Send(0, 1, 10'000'000);
    const Mark* back = Send(1, 0, 10'000'000);
    m_loop.Run();
    // 84 bytes answer each 1082.
    const double slower = 1 + 84.0 / 1082;
    EXPECT_NEAR(there->at, 10'000 * FRAME * slower + FRAME + 2 * DELAY, FRAME);
    EXPECT_NEAR(there->at, back->at, FRAME);
}

TEST_F(FlowLevel, SendLatencyAndInflationCount)
{
    Build(STAR);
    MessageInfo request;
    request.sendLatency = 5'000'000;
    request.wireInflation = 2;
    const Mark* received = Send(0, 1, 500'000, request);
    m_loop.Run();
    EXPECT_EQ(received->at, 5'000'000 + 1000 * FRAME + FRAME + 2 * DELAY);
}

TEST_F(FlowLevel, AChannelsLimitSpacesFrames)
{
    Build(SERVERS);
    MessageInfo request;
    request.rateCapBps = 80'000'000'000;
    const Mark* received = Send(0, 1, 10'000, request);
    const Mark* next = Send(0, 1, 1000, request);
    m_loop.Run();
    // Nine gaps of 100 ns, then the last frame over two links: 10 ns each, and 100 ns of delay.
    EXPECT_EQ(received->at, 9 * 100'000 + 2 * 110'000);
    EXPECT_EQ(next->at, 10 * 100'000 + 2 * 110'000);
}

TEST_F(FlowLevel, MessagesOfAConnectionFollowEachOther)
{
    Build(SERVERS);
    const Mark* first = Send(0, 1, 1'000'000);
    const Mark* second = Send(0, 1, 1'000'000);
    m_loop.Run();
    EXPECT_EQ(first->at, 10'000'000 + 10'000 + 200'000);
    EXPECT_EQ(second->at, 20'000'000 + 10'000 + 200'000);
}

TEST_F(FlowLevel, ReceivesMayComeFirstAndSplitMessages)
{
    Build(STAR);
    Mark* first = NewMark();
    Mark* second = NewMark();
    auto& receiver = m_fabric->GetNetwork(1);
    receiver.Receive({0, 7, 400, nullptr, &Set, first});
    receiver.Receive({0, 7, 600, nullptr, &Set, second});
    MessageInfo request;
    m_fabric->GetNetwork(0).Send({1, 7, 1000, &request});
    EXPECT_EQ(first->at, -1);
    m_loop.Run();
    EXPECT_EQ(first->at, 2 * FRAME + 2 * DELAY);
    EXPECT_EQ(second->at, first->at);
}

TEST_F(FlowLevel, AMessageFollowsThoseOfItsStreamThatHaveNotLeft)
{
    Build(STAR);
    MessageInfo request;
    request.collective = 1;
    const Mark* first = Send(0, 1, 1'000'000, request);
    const Mark* second = Send(0, 1, 1'000'000, request);
    const Mark* other = Send(0, 2, 1'000'000, request, 1);
    m_loop.Run();
    // The second keeps the first one's turn: 0 0 1 0 1 ... 0 1 0 1 0 0 0.
    EXPECT_NEAR(first->at, 1998 * FRAME + FRAME + 2 * DELAY, 3);
    EXPECT_NEAR(other->at, 2001 * FRAME + FRAME + 2 * DELAY, 3);
    EXPECT_NEAR(second->at, 3000 * FRAME + FRAME + 2 * DELAY, 3);

    // One that comes when all has left waits for nobody.
    const TimePs start = m_loop.Now();
    const Mark* late = Send(0, 1, 1'000'000, request);
    m_loop.Run();
    EXPECT_EQ(late->at - start, 1000 * FRAME + FRAME + 2 * DELAY);
}

TEST_F(FlowLevel, AMessageToOneselfTakesNoTimeButIsNotInsideTheCall)
{
    Build(STAR);
    const Mark* received = Send(2, 2, 1 << 20);
    EXPECT_EQ(received->at, -1);
    m_loop.Run();
    EXPECT_EQ(received->at, 0);
}

TEST_F(FlowLevel, LinksCountTheirBytesHeadersAndAcknowledgementsIncluded)
{
    Build(STAR);
    Send(0, 1, 1'000'000);
    m_loop.Run();
    auto& transfers = m_fabric->GetTransfers();
    transfers.UpdateCarried();
    // Link 0 joins host 0 and the switch, link 1 host 1 and the switch.
    EXPECT_NEAR(transfers.GetCarried(0), 1'082'000, 1);
    EXPECT_NEAR(transfers.GetCarried(3), 1'082'000, 1);
    EXPECT_NEAR(transfers.GetCarried(2), 84'000, 1);
    EXPECT_NEAR(transfers.GetCarried(1), 84'000, 1);
}

TEST_F(FlowLevel, SpreadingSwitchesUseAllPathsEvenly)
{
    // Hosts 0 and 1 at switch 4, hosts 2 and 3 at switch 5, switches 6 and 7 between.
    FlowLevelConfig config;
    config.spreading.assign(8, true);
    Build("8 4 8\n4 5 6 7\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n"
          "3 5 100Gbps 1us 0\n4 6 100Gbps 1us 0\n4 7 100Gbps 1us 0\n5 6 100Gbps 1us 0\n"
          "5 7 100Gbps 1us 0\n",
          config);
    const Mark* first = Send(0, 2, 1'000'000);
    const Mark* second = Send(1, 3, 1'000'000);
    m_loop.Run();
    // Half of each on each of the two ways: both have the rate of their NIC.
    EXPECT_NEAR(first->at, 1000 * FRAME + 3 * FRAME + 4 * DELAY, 2);
    EXPECT_NEAR(second->at, 1000 * FRAME + 3 * FRAME + 4 * DELAY, 2);
    auto& transfers = m_fabric->GetTransfers();
    transfers.UpdateCarried();
    for (const uint32_t uplink : {4, 5})
    {
        EXPECT_NEAR(transfers.GetCarried(2 * uplink), 1'082'000, 1);
    }
}

TEST_F(FlowLevel, ACutLinkStopsAMessageUntilRoutesChange)
{
    // Hosts 0 and 1 with two switches between them: a second path.
    FlowLevelConfig config;
    config.linkChanges = {{20'000'000, {0, 1}, false}, {30'000'000, {1}, true}};
    Build("4 2 4\n2 3\n0 2 100Gbps 1us 0\n0 3 100Gbps 1us 0\n1 2 100Gbps 1us 0\n"
          "1 3 100Gbps 1us 0\n",
          config);
    const Mark* received = Send(0, 1, 1'000'000);
    m_loop.Run();
    // Half of it goes each way; both are cut after 20 us. The half over switch 3 goes on after 30
    // us and is there before the other, for which routes lead over switch 3 from 120 us on.
    EXPECT_NEAR(received->at, 100'000'000 + 500 * FRAME + FRAME + 2 * DELAY, 2);
    EXPECT_TRUE(m_fabric->DescribeCutOff(10).empty());
}

TEST_F(FlowLevel, ASlowedLinkCarriesTheRestAtItsNewRate)
{
    // A quarter of the rate from 20 us on, half of it from 60 us on. At 40 us it fails for 10 us.
    FlowLevelConfig config;
    config.routeUpdateDelay = 1;
    config.linkChanges = {{20'000'000, {0}, false, 25'000'000'000},
                          {40'000'000, {0}, false},
                          {50'000'000, {0}, true},
                          {60'000'000, {0}, false, 50'000'000'000}};
    Build(STAR, config);
    const Mark* received = Send(0, 1, 1'000'000);
    m_loop.Run();
    // By then, 20 + 20 / 4 + 10 / 4 us of its 1000 frames' time are over; half the rate for the
    // rest.
    const TimePs left = 1000 * FRAME - 27'500'000;
    EXPECT_NEAR(received->at, 60'000'000 + 2 * left + FRAME + 2 * DELAY, 2);
}

TEST_F(FlowLevel, SaysWhatHasNoPath)
{
    FlowLevelConfig config;
    config.linkChanges = {{1000, {0}, false}};
    Build(STAR, config);
    m_loop.Run();
    Send(0, 1, 1000);
    m_loop.Run();
    const auto lines = m_fabric->DescribeCutOff(10);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0], "rank 0 has 1000 bytes for rank 1 and no path");
    EXPECT_EQ(m_fabric->DescribeReceives(10).size(), 1U);
}

TEST_F(FlowLevel, AReductionAndMulticastStreamsThroughTheSwitch)
{
    Build(SERVERS);
    const Mark* first = Join(0, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
    const Mark* second = Join(1, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
    m_loop.Run();
    // 1000 frames of 10 ns up; the last goes down a frame and two delays later.
    EXPECT_NEAR(first->at, 10'000'000 + 10'000 + 200'000, 2);
    EXPECT_EQ(first->at, second->at);
}

TEST_F(FlowLevel, OperationsWhoseBytesCountMoreShareLinksAccordingly)
{
    Build(SERVERS);
    MessageInfo request;
    request.wireInflation = 1.5;
    const std::vector<int> members{0, 1};
    std::vector<const Mark*> received;
    for (const int tag : {0, 1})
    {
        for (const int rank : members)
        {
            Mark* mark = NewMark();
            ASSERT_TRUE(m_fabric->GetNetwork(rank).Join(
                {InNetworkOp::Reduce, members, 1, tag, 1'000'000, &request, &Set, mark}));
            received.push_back(mark);
        }
    }
    m_loop.Run();
    // Twice 1000 frames of 1500 bytes go up each link in 30 us, 0 0 1 0 1 ... 0 1 1, and a frame
    // and two delays later rank 1 has the last.
    EXPECT_NEAR(received[1]->at, 1998 * 15'000 + 15'000 + 200'000, 3);
    EXPECT_NEAR(received[3]->at, 2000 * 15'000 + 15'000 + 200'000, 3);
}

/// Members that join at one time contribute in one transfer, and receive in one. Each of their
/// links carries what it would with a transfer of its own.
TEST_F(FlowLevel, MembersThatJoinTogetherAreOneTransfer)
{
    Build(SERVERS);
    const auto countTransfers = [this] {
        uint32_t count = 0;
        m_fabric->GetTransfers().ForEach([&count](const auto&) { ++count; });
        return count;
    };
    std::vector<uint32_t> underWay;
    m_loop.Schedule(1'000'000, [&] { underWay.push_back(countTransfers()); });
    m_loop.Schedule(21'000'000, [&] { underWay.push_back(countTransfers()); });
    for (const int rank : {0, 1})
    {
        Join(rank, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
        m_loop.Schedule(20'000'000 + rank * 500'000, [this, rank] {
            Join(rank, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
        });
    }
    m_loop.Run();
    EXPECT_EQ(underWay, (std::vector<uint32_t>{2, 3})); // up and down; two up and one down
    auto& transfers = m_fabric->GetTransfers();
    transfers.UpdateCarried();
    for (const uint32_t link : {0, 1, 2, 3})
    {
        EXPECT_NEAR(transfers.GetCarried(link), 2 * 1'000'000, 1) << link;
    }
}

/// A member whose link others use holds up the rest of its operation, and nobody else.
TEST_F(FlowLevel, AnOperationHasTheRateOfItsSlowestMember)
{
    Build(SERVERS);
    const Mark* reduced = Join(0, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
    Join(1, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
    const Mark* other = Join(0, InNetworkOp::Multicast, {0, 1}, 1'000'000, 0);
    Join(1, InNetworkOp::Multicast, {0, 1}, 1'000'000, 0);
    m_loop.Run();
    // Both leave rank 0 in turns, 0 0 1 0 1 ... 0 1 1, and the frames of the switch follow.
    EXPECT_NEAR(reduced->at, 1998 * 10'000 + 10'000 + 200'000, 20'000);
    EXPECT_NEAR(other->at, 2000 * 10'000 + 10'000 + 200'000, 20'000);
}

TEST_F(FlowLevel, MembersMayAskOneAfterTheOtherInOnePicosecond)
{
    Build(SERVERS);
    Join(0, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
    Mark* second = nullptr;
    m_loop.Schedule(0, [&] {
        m_loop.Schedule(0, [&] {
            second = Join(1, InNetworkOp::ReduceMulticast, {0, 1}, 1'000'000);
        });
    });
    m_loop.Run();
    EXPECT_NEAR(second->at, 10'000'000 + 10'000 + 200'000, 2);
}

/// The root's contribution to one reduction arrives after the reduction is over, and says nothing
/// to the next ones, which have its memory.
TEST_F(FlowLevel, ReductionsWhoseRootJoinsLastFollowEachOther)
{
    Build(SERVERS);
    std::vector<const Mark*> ends;
    for (int i = 0; i < 20; ++i)
    {
        m_loop.Schedule(i * 400'000, [&] { Join(0, InNetworkOp::Reduce, {0, 1}, 1000, 1); });
        m_loop.Schedule(i * 400'000 + 150'000, [&] {
            ends.push_back(Join(1, InNetworkOp::Reduce, {0, 1}, 1000, 1));
        });
    }
    m_loop.Run();
    ASSERT_EQ(ends.size(), 20U);
    for (int i = 0; i < 20; ++i)
    {
        // A frame up, and one down.
        EXPECT_NEAR(ends[i]->at, i * 400'000 + 150'000 + 2 * 10'000 + 200'000, 3) << i;
    }
}

TEST_F(FlowLevel, AReductionWaitsForItsLastMember)
{
    Build(SERVERS);
    const Mark* early = Join(0, InNetworkOp::Reduce, {0, 1}, 1'000'000, 1);
    Mark* late = nullptr;
    m_loop.Schedule(50'000'000, [&] { late = Join(1, InNetworkOp::Reduce, {0, 1}, 1'000'000, 1); });
    m_loop.Run();
    EXPECT_EQ(early->at, 10'000'000 + 100'000 + 100'840); // acknowledged by the switch
    EXPECT_NEAR(late->at, 50'000'000 + 10'000'000 + 10'000 + 200'000, 2);
}

TEST_F(FlowLevel, AMulticastReachesMembersThatJoinAfterIt)
{
    Build(SERVERS);
    Join(0, InNetworkOp::Multicast, {0, 1}, 1'000'000, 0);
    Mark* late = nullptr;
    m_loop.Schedule(50'000'000, [&] { late = Join(1, InNetworkOp::Multicast, {0, 1}, 1'000'000); });
    m_loop.Run();
    EXPECT_EQ(late->at, 50'000'000);
    const std::vector<int> apart{0, 2};
    EXPECT_FALSE(m_fabric->GetNetwork(0).Supports(apart));
}

/// Hosts 0 and 1 at leaf 4, 2 and 3 at leaf 5, both leaves at spine 6; 100 Gb/s, 1 us.
const std::string TREE = "7 3 6\n4 5 6\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 5 100Gbps 1us 0\n"
                         "3 5 100Gbps 1us 0\n4 6 100Gbps 1us 0\n5 6 100Gbps 1us 0\n";

/// @param places of each switch for operations; 0: any number
FlowLevelConfig
WithReductions(uint32_t places = 0)
{
    FlowLevelConfig config;
    config.inNetwork.reduces = true;
    config.inNetworkOperations = places;
    return config;
}

TEST_F(FlowLevel, NetworkSwitchesReduceUpTheirTreeAndMulticastDownIt)
{
    Build(TREE);
    EXPECT_FALSE(m_fabric->GetNetwork(0).Supports(std::vector<int>{0, 1, 2, 3})) << "not asked for";
    for (const bool joinAtOnce : {true, false})
    {
        Build(TREE, WithReductions());
        const TimePs begin = m_loop.Now();
        std::vector<const Mark*> marks(4);
        for (int rank = 0; rank < 4; ++rank)
        {
            m_loop.Schedule(joinAtOnce ? 0 : rank * 200'000'000, [&, rank] {
                marks[rank] = Join(rank, InNetworkOp::ReduceMulticast, {0, 1, 2, 3}, 1'000'000);
            });
        }
        m_loop.Run();
        // A thousand frames leave; the last crosses three more links; four delays. The last member
        // decides.
        const TimePs last = joinAtOnce ? 0 : 600'000'000;
        for (const Mark* mark : marks)
        {
            EXPECT_NEAR(mark->at - begin, last + 1003 * FRAME + 4 * DELAY, 2);
        }
        // Each of the six links carries the data once in each direction.
        FluidTransfers& transfers = m_fabric->GetTransfers();
        transfers.UpdateCarried();
        for (uint32_t link = 0; link < 12; ++link)
        {
            EXPECT_NEAR(transfers.GetCarried(link), 1000 * 1082, 1) << link;
        }
    }
}

TEST_F(FlowLevel, AnOperationSharesTheLinksOfItsTreeWithMessages)
{
    Build(TREE, WithReductions());
    std::vector<const Mark*> marks;
    for (const int rank : {0, 2})
    {
        marks.push_back(Join(rank, InNetworkOp::ReduceMulticast, {0, 2}, 1'000'000));
    }
    const Mark* message = Send(1, 3, 1'000'000);
    m_loop.Run();
    // Both cross the link from leaf 4 to the spine, and that from the spine to leaf 5, with halves.
    // Contributions and results begin up to two delays apart.
    EXPECT_NEAR(message->at, 2000 * FRAME + 3 * FRAME + 4 * DELAY, 2 * FRAME);
    for (const Mark* mark : marks)
    {
        EXPECT_NEAR(mark->at, 2000 * FRAME + 3 * FRAME + 4 * DELAY, 2 * DELAY);
    }
}

TEST_F(FlowLevel, OperationsWaitForPlacesAtTheirSwitches)
{
    // With a place for one, two jobs that share the leaves follow each other: the first ends as
    // alone. Without a limit both end when both are through.
    for (const uint32_t places : {0, 1, 2})
    {
        Build(TREE, WithReductions(places));
        const TimePs begin = m_loop.Now();
        std::vector<const Mark*> marks;
        for (const int rank : {0, 2, 1, 3})
        {
            const std::vector<int> members{rank % 2, rank % 2 + 2};
            marks.push_back(
                Join(rank, InNetworkOp::ReduceMulticast, members, 1'000'000, members[0]));
        }
        m_loop.Run();
        const TimePs alone = 1003 * FRAME + 4 * DELAY;
        const TimePs shared = alone + 1000 * FRAME;
        EXPECT_NEAR(marks[0]->at - begin, places == 1 ? alone : shared, 2 * DELAY) << places;
        EXPECT_NEAR(marks[2]->at - begin, places == 1 ? 2 * alone : shared, 2 * DELAY) << places;
    }
}

} // namespace
