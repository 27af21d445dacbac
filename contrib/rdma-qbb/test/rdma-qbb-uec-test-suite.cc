/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ultra Ethernet: records of packets, closed forms of idle and of shared links, trimming.
 */
#include "rdma-qbb/model/uec/packet-set.h"
#include "rdma-qbb/model/uec/uec-delivery.h"
#include "uec-fabric.h"

#include "ns3/string.h"
#include "ns3/test.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>

using namespace ns3;

/// A receiver's record of packets against a plain set of numbers.
class PacketSetTestCase : public TestCase
{
  public:
    PacketSetTestCase()
        : TestCase("PacketSet is a set: packets in a random order against std::set")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(7);
        PacketSet packets;
        std::set<uint64_t> expected;
        for (int step = 0; step < 20'000; ++step)
        {
            const uint64_t number = packets.GetBound() + random() % 200;
            packets.Add(number);
            expected.insert(number);
            while (packets.Contains(packets.GetBound()))
            {
                packets.Advance();
            }
            const uint64_t asked = packets.GetBound() + random() % 300;
            NS_TEST_ASSERT_MSG_EQ(packets.Contains(asked), expected.contains(asked), "membership");
            const uint64_t bits = packets.Last64(asked);
            for (uint64_t back = 0; back < 64; ++back)
            {
                const bool isIn = asked < back || expected.contains(asked - back);
                NS_TEST_ASSERT_MSG_EQ((bits >> (63 - back) & 1), isIn, "bit " << back);
            }
        }
        NS_TEST_ASSERT_MSG_GT(packets.GetBound(), 1000u, "the bound moves");
    }
};

/// The sender's record: what is in flight, what is lost, what is news.
class UecSenderTestCase : public TestCase
{
  public:
    UecSenderTestCase()
        : TestCase("a sender counts each packet once, however often an answer names it")
    {
    }

  private:
    void DoRun() override
    {
        UecSender sender;
        for (uint64_t number = 0; number < 100; ++number)
        {
            sender.Append(1000 * number, 1000, static_cast<int64_t>(number));
        }
        NS_TEST_ASSERT_MSG_EQ(sender.GetInFlight(), 100'000u, "all");
        // Packets 69 and 6 to 8 have come; an answer has its own packet's bit on top.
        const uint64_t bits = uint64_t{1} << 63 | 7;
        NS_TEST_ASSERT_MSG_EQ(sender.NoteArrived(69, bits), 4000u, "packets 69, 6, 7 and 8");
        NS_TEST_ASSERT_MSG_EQ(sender.NoteArrived(69, bits), 0u, "no news");
        NS_TEST_ASSERT_MSG_EQ(sender.GetInFlight(), 96'000u, "less those four");

        NS_TEST_ASSERT_MSG_EQ(sender.NoteLost(69, 69), false, "it has arrived");
        NS_TEST_ASSERT_MSG_EQ(sender.NoteLost(70, 69), false, "another transmission's NACK");
        NS_TEST_ASSERT_MSG_EQ(sender.NoteLost(70, 70), true, "in flight");
        NS_TEST_ASSERT_MSG_EQ(sender.NoteLost(12, 12), true, "in flight");
        NS_TEST_ASSERT_MSG_EQ(sender.GetResolved(), 6000u, "four arrived, two lost");
        NS_TEST_ASSERT_MSG_EQ(sender.TakeLost(500).seq, 12'000u, "the first one lost");
        NS_TEST_ASSERT_MSG_EQ(sender.NoteLost(12, 12),
                              false,
                              "the NACK of the time before is late");
        NS_TEST_ASSERT_MSG_EQ(sender.TakeLost(501).seq, 70'000u, "the next one");
        NS_TEST_ASSERT_MSG_EQ(sender.HasLost(), false, "no more");

        NS_TEST_ASSERT_MSG_EQ(sender.ForgetBelow(9000), 6000u, "6, 7 and 8 were no news");
        NS_TEST_ASSERT_MSG_EQ(sender.ForgetBelow(100'000), 90'000u, "all but 69");
        NS_TEST_ASSERT_MSG_EQ(sender.GetInFlight() + sender.GetResolved(), 0u, "nothing is left");
    }
};

/// A message on an idle fabric: frame after frame over two links or four.
class UecIdleTestCase : public TestCase
{
  public:
    UecIdleTestCase(uint32_t dst, int64_t links, const std::string& control)
        : TestCase("a message over " + std::to_string(links) +
                   " idle links takes its closed form with " + control),
          m_dst(dst),
          m_links(links),
          m_control(control)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TwoLeaves(4), UecConf("UEC_CC " + m_control + "\n"));
        test.Build();
        const auto& flow = test.Send(0, m_dst, 1'000'000);
        Simulator::Run();
        const int64_t expectedPs = 999 * UEC_FRAME_PS + m_links * (UEC_FRAME_PS + US);
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs, expectedPs, "1000 frames, store and forward");
        const UecTotals totals(test);
        NS_TEST_ASSERT_MSG_EQ(totals.retransmitted, 0u, "nothing is sent twice");
        NS_TEST_ASSERT_MSG_EQ(totals.outOfOrder, 0u, "paths are alike");
    }

    uint32_t m_dst;
    int64_t m_links;
    std::string m_control;
};

/// Many senders to one receiver: trimming instead of drops, the link never idle, fair shares.
class UecIncastTestCase : public TestCase
{
  public:
    explicit UecIncastTestCase(uint32_t senders)
        : TestCase("incast of " + std::to_string(senders) +
                   ": packets are trimmed, none is dropped, shares are fair"),
          m_senders(senders)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 1'000'000;
        FabricUnderTest test(TextFabric::Star(m_senders + 1, "100Gbps", "1us"), UecConf());
        test.Build();
        for (uint32_t sender = 0; sender < m_senders; ++sender)
        {
            test.Send(sender, m_senders, BYTES);
        }
        Simulator::Run();
        const auto frames = static_cast<int64_t>(m_senders * BYTES / 1000);
        const double closedPs = static_cast<double>(frames * UEC_FRAME_PS);
        double lastPs = 0;
        double sum = 0;
        double squares = 0;
        for (const auto& flow : test.flows)
        {
            const auto ps = static_cast<double>(flow->deliveredPs);
            NS_TEST_ASSERT_MSG_GT(ps, 0, "all are delivered");
            lastPs = std::max(lastPs, ps);
            sum += 1 / ps;
            squares += 1 / ps / ps;
        }
        NS_TEST_ASSERT_MSG_GT(lastPs, closedPs, "not faster than the link");
        NS_TEST_ASSERT_MSG_LT(lastPs, 1.05 * closedPs, "nor much slower");
        NS_TEST_ASSERT_MSG_GT(sum * sum / m_senders / squares, 0.9, "Jain's index of the rates");
        const UecTotals totals(test);
        NS_TEST_ASSERT_MSG_GT(totals.nacks, 0u, "some packets are trimmed");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.bufferDrops, 0u, "none is dropped");
        NS_TEST_ASSERT_MSG_EQ(totals.timeouts, 0u, "NACKs repair all");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.payloadLost, totals.retransmitted, "once each");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.ConservesPayload(), true, "each byte has its end");
    }

    uint32_t m_senders;
};

/// A permutation over as many spines as there are senders: paths by packets share well.
class UecPermutationTestCase : public TestCase
{
  public:
    explicit UecPermutationTestCase(const std::string& spreading)
        : TestCase("a permutation spread by " + spreading + " comes near line rate"),
          m_spreading(spreading)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TwoLeaves(4), UecConf("UEC_SPREADING " + m_spreading + "\n"));
        test.Build();
        for (uint32_t host = 0; host < 8; ++host)
        {
            test.Send(host, (host + 4) % 8, 4'000'000);
        }
        Simulator::Run();
        const auto closedPs = static_cast<double>(3999 * UEC_FRAME_PS + 4 * (UEC_FRAME_PS + US));
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "all are delivered");
            NS_TEST_ASSERT_MSG_LT(static_cast<double>(flow->deliveredPs),
                                  1.5 * closedPs,
                                  "where ECMP puts two flows on a link and takes twice as long");
        }
        const UecTotals totals(test);
        NS_TEST_ASSERT_MSG_GT(totals.outOfOrder, 0u, "packets overtake each other");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.bufferDrops + totals.timeouts, 0u, "none is dropped");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.ConservesPayload(), true, "each byte has its end");
    }

    std::string m_spreading;
};

/// Losses without a NACK: the timeout repairs them, and each packet comes to its message.
class UecLossTestCase : public TestCase
{
  public:
    explicit UecLossTestCase(const std::string& more)
        : TestCase("links that lose packets: all is delivered, " + more),
          m_more(more)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TwoLeaves(4), UecConf("ERROR_RATE_PER_LINK 0.01\n" + m_more + "\n"));
        test.Build();
        for (uint32_t host = 0; host < 8; ++host)
        {
            for (uint64_t bytes : {1ULL, 999ULL, 123'457ULL, 400'000ULL})
            {
                test.Send(host, (host + 3) % 8, bytes);
            }
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "delivered");
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, flow->deliveredPs, "and acknowledged");
        }
        const UecTotals totals(test);
        NS_TEST_ASSERT_MSG_GT(totals.timeouts, 0u, "some were lost");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.ConservesPayload(), true, "each byte has its end");
    }

    std::string m_more;
};

/// ROD: one path, so order stays.
class UecOrderedTestCase : public TestCase
{
  public:
    UecOrderedTestCase()
        : TestCase("ROD keeps a connection on one path")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TwoLeaves(4), UecConf("UEC_DELIVERY rod\n"));
        test.Build();
        const auto& flow = test.Send(0, 4, 1'000'000);
        test.Send(1, 5, 1'000'000);
        Simulator::Run();
        const int64_t expectedPs = 999 * UEC_FRAME_PS + 4 * (UEC_FRAME_PS + US);
        NS_TEST_ASSERT_MSG_GT_OR_EQ(flow.deliveredPs, expectedPs, "delivered");
        NS_TEST_ASSERT_MSG_EQ(UecTotals(test).outOfOrder, 0u, "in order");
    }
};

/// RUDI: answers are about one packet each, and nothing makes up for one that is lost.
class UecIdempotentTestCase : public TestCase
{
  public:
    UecIdempotentTestCase()
        : TestCase("RUDI has shorter headers, and sends again what has no answer of its own")
    {
    }

  private:
    static constexpr uint64_t BYTES = 20'000'000;

    /// @return bytes sent again on links that lose every 500th packet
    static uint64_t SentAgain(const std::string& delivery)
    {
        FabricUnderTest test(TextFabric::Star(2, "100Gbps", "1us"),
                             UecConf("ERROR_RATE_PER_LINK 0.002\nUEC_DELIVERY " + delivery + "\n"));
        test.Build();
        test.Send(0, 1, BYTES);
        Simulator::Run();
        const UecTotals totals(test);
        return test.flows[0]->deliveredPs > 0 && totals.fabric.ConservesPayload()
                   ? totals.retransmitted
                   : 0;
    }

    void DoRun() override
    {
        FabricUnderTest test(TwoLeaves(4), UecConf("UEC_DELIVERY rudi\n"));
        test.Build();
        const auto& flow = test.Send(0, 4, 1'000'000);
        Simulator::Run();
        const int64_t framePs = UEC_FRAME_PS - 4 * 80;
        const int64_t answerPs = (110 - 24) * 80;
        const int64_t expectedPs = 999 * framePs + 4 * (framePs + US);
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs, expectedPs, "headers of 8 bytes");
        NS_TEST_ASSERT_MSG_EQ(flow.sentPs, expectedPs + 4 * (answerPs + US), "of answers, too");
        // A packet crosses two links, and so does its answer: 0.4% and 0.8% have no answer.
        const auto rud = static_cast<double>(SentAgain("rud"));
        const auto rudi = static_cast<double>(SentAgain("rudi"));
        NS_TEST_ASSERT_MSG_EQ_TOL(rud, 0.004 * BYTES, 0.001 * BYTES, "packets that were lost");
        NS_TEST_ASSERT_MSG_EQ_TOL(rudi, 0.008 * BYTES, 0.0014 * BYTES, "and answers");
    }
};

/// @brief Ultra Ethernet.
class UecTestSuite : public TestSuite
{
  public:
    UecTestSuite()
        : TestSuite("rdma-qbb-uec", Type::UNIT)
    {
        AddTestCase(new PacketSetTestCase);
        AddTestCase(new UecSenderTestCase);
        for (const char* control : {"nscc", "rccc", "both"})
        {
            AddTestCase(new UecIdleTestCase(1, 2, control));
            AddTestCase(new UecIdleTestCase(4, 4, control));
        }
        for (const uint32_t senders : {8, 16, 32})
        {
            AddTestCase(new UecIncastTestCase(senders));
        }
        for (const char* spreading : {"oblivious", "avoid", "reps"})
        {
            AddTestCase(new UecPermutationTestCase(spreading));
        }
        AddTestCase(new UecLossTestCase("UEC_DELIVERY rud"));
        AddTestCase(new UecLossTestCase("UEC_DELIVERY rod"));
        AddTestCase(new UecLossTestCase("L2_ACK_INTERVAL 8000"));
        AddTestCase(new UecLossTestCase("ENABLE_PFC 1"));
        AddTestCase(new UecLossTestCase("UEC_CC rccc"));
        AddTestCase(new UecLossTestCase("UEC_CC both"));
        AddTestCase(new UecLossTestCase("UEC_DELIVERY rudi"));
        AddTestCase(new UecOrderedTestCase);
        AddTestCase(new UecIdempotentTestCase);
    }
};

static UecTestSuite g_uecTestSuite; //!< registers the suite
