/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ultra Ethernet: credits of receivers (RCCC).
 */
#include "rdma-qbb/model/uec/uec-credit.h"
#include "uec-fabric.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/input-error.h"
#include "ns3/test.h"

#include <algorithm>
#include <string>

using namespace ns3;

/// A sender's account: unsolicited credit first, then grants; the target is what is missing.
class UecCreditAccountTestCase : public TestCase
{
  public:
    UecCreditAccountTestCase()
        : TestCase("a sender asks for what its credit does not cover")
    {
    }

  private:
    void DoRun() override
    {
        UecCreditAccount account({.unsolicited = 3000, .mostWanted = 6000, .frame = 1000});
        NS_TEST_ASSERT_MSG_EQ(account.MaySend(), false, "nothing posted, no credit");
        account.Post(10'000, true, 0);
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(0), 3000, "6000 at a time, less 3000 at hand");
        NS_TEST_ASSERT_MSG_EQ(account.Spend(1000, false), true, "unsolicited");
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(0), 4000, "6000 of 9000, less 2000");
        NS_TEST_ASSERT_MSG_EQ(account.Withdraw(), true, "2000 are left");
        NS_TEST_ASSERT_MSG_EQ(account.Withdraw(), false, "and are gone");
        NS_TEST_ASSERT_MSG_EQ(account.MaySend(), false, "no grant yet");
        account.Grant(4500, 1);
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(0), 6000, "4500 granted and unspent, 1500 more");
        for (int frame = 0; frame < 5; ++frame)
        {
            NS_TEST_ASSERT_MSG_EQ(account.MaySend(), true, "some credit is enough");
            NS_TEST_ASSERT_MSG_EQ(account.Spend(1000, false), false, "of grants");
        }
        NS_TEST_ASSERT_MSG_EQ(account.MaySend(), false, "500 below 0");
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(0), 9000, "4000 left and the 500");
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(2), 11'000, "and two lost frames");
        account.NoteTrimmed();
        NS_TEST_ASSERT_MSG_EQ(account.GetTarget(2), 10'000, "of which the receiver counts one");
        account.Grant(4500, 2);
        NS_TEST_ASSERT_MSG_EQ(account.MaySend(), false, "a grant counts once");
    }
};

/// A lost grant: the sender asks later and later, from the pace of grants on.
class UecCreditPatienceTestCase : public TestCase
{
  public:
    UecCreditPatienceTestCase()
        : TestCase("a sender without credit asks after twice the time between grants")
    {
    }

  private:
    void DoRun() override
    {
        UecCreditAccount account({.unsolicited = 1, .mostWanted = 6000, .frame = 1000});
        account.Post(10'000, true, 0);
        account.Grant(1000, 100);
        account.Grant(2000, 150);
        NS_TEST_ASSERT_MSG_EQ(account.IsOverdue(249), false, "twice 50 after 150");
        NS_TEST_ASSERT_MSG_EQ(account.IsOverdue(250), true, "now");
        NS_TEST_ASSERT_MSG_EQ(account.IsOverdue(449), false, "twice as long");
        NS_TEST_ASSERT_MSG_EQ(account.IsOverdue(450), true, "now");
    }
};

/// Many senders to one receiver: one burst, and then a link that is full and has no queue.
class UecCreditIncastTestCase : public TestCase
{
  public:
    UecCreditIncastTestCase(uint32_t senders, const std::string& control)
        : TestCase("incast of " + std::to_string(senders) + " with " + control +
                   ": full rate, equal shares, and trimming in the first window only"),
          m_senders(senders),
          m_control(control)
    {
    }

  private:
    static constexpr uint64_t BYTES = 1'000'000;

    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(m_senders + 1, "100Gbps", "1us"),
                             UecConf("UEC_CC " + m_control + "\n"));
        test.Build();
        int64_t lastNackPs = 0;
        for (uint32_t sender = 0; sender < m_senders; ++sender)
        {
            test.fabric->GetHw(sender).TraceConnectWithoutContext(
                "NackReceived",
                Callback<void, const RdmaQueuePair&>([&lastNackPs](const RdmaQueuePair&) {
                    lastNackPs = Simulator::Now().GetTimeStep();
                }));
            test.Send(sender, m_senders, BYTES);
        }
        Simulator::Run();
        const UecTotals totals(test);
        const auto senders = static_cast<int64_t>(m_senders);
        // All frames and the headers of trimmed ones, of 84 bytes, over the last link.
        const int64_t headersPs = static_cast<int64_t>(totals.nacks) * 84 * 80;
        const int64_t closedPs = senders * 1000 * UEC_FRAME_PS + headersPs + 2 * US + UEC_FRAME_PS;
        double sum = 0;
        double squares = 0;
        int64_t lastPs = 0;
        for (const auto& flow : test.flows)
        {
            const auto ps = static_cast<double>(flow->deliveredPs);
            lastPs = std::max(lastPs, flow->deliveredPs);
            sum += 1 / ps;
            squares += 1 / ps / ps;
        }
        NS_TEST_ASSERT_MSG_GT_OR_EQ(lastPs, closedPs - headersPs, "not faster than the link");
        // A round trip, in which the first grants are under way, and a grant to each.
        const int64_t rttPs = 4 * US + 2 * UEC_FRAME_PS + 2 * 110 * 80;
        NS_TEST_ASSERT_MSG_LT(lastPs, closedPs + rttPs + senders * 4 * 84 * 80, "nor slower");
        NS_TEST_ASSERT_MSG_GT(sum * sum / m_senders / squares, 0.9999, "Jain's index of the rates");
        // The first windows last a round trip, and a queue of 100 kB behind them.
        NS_TEST_ASSERT_MSG_LT(lastNackPs, 3 * rttPs + headersPs, "no later frame is trimmed");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.bufferDrops + totals.timeouts, 0u, "no loss");
        NS_TEST_ASSERT_MSG_EQ(totals.fabric.ConservesPayload(), true, "each byte has its end");
    }

    uint32_t m_senders;
    std::string m_control;
};

/// The rate of grants on an oversubscribed fabric, step by step.
class UecCreditRateTestCase : public TestCase
{
  public:
    UecCreditRateTestCase()
        : TestCase("a receiver grants less after trimmed and marked frames, and more after none")
    {
    }

  private:
    static constexpr int64_t RTT_PS = 1000;

    /// Let a period pass, whatever it lasts. @return the rate after it
    static double RateAfter(UecCreditRate& rate, int64_t& nowPs, int whole, int marked, int trimmed)
    {
        QbbFrame frame{};
        frame.kind = QbbFrameKind::Data;
        for (int each = 0; each < whole + trimmed; ++each)
        {
            frame.payloadBytes = each < whole ? 1000 : 0;
            frame.ecn = each < marked ? EcnCodepoint::Ce : EcnCodepoint::Ect0;
            rate.OnFrame(frame, nowPs);
        }
        const double before = rate.Get(nowPs);
        double after = before;
        for (int64_t endPs = nowPs + 19 * RTT_PS / 10; after == before && nowPs < endPs;)
        {
            after = rate.Get(++nowPs);
        }
        return after;
    }

    void DoRun() override
    {
        UecCreditRate rate(0.1, RTT_PS, 1);
        int64_t nowPs = 0;
        NS_TEST_ASSERT_MSG_EQ(rate.Get(nowPs), 1, "all of the link at first");
        const auto expect = [&](int whole, int marked, int trimmed, double expected) {
            const double after = RateAfter(rate, nowPs, whole, marked, trimmed);
            NS_TEST_ASSERT_MSG_EQ_TOL(after, expected, 1e-9, "of the link");
        };
        expect(60, 0, 40, 0.6);   // less 40 of 100
        expect(100, 0, 0, 0.61);  // a step
        expect(100, 0, 0, 0.63);  // two
        expect(100, 20, 0, 0.64); // with a mark, one
        // The average of marks is 0.1 * 0.5 + 0.8 * 0.5 = 0.45: half of the excess over 0.3.
        expect(100, 80, 0, 0.64 * (1 - 0.5 * 0.15));
        expect(1, 0, 99, 0.1); // the least
        NS_TEST_ASSERT_MSG_EQ(rate.Get(nowPs + 1000 * RTT_PS), 1, "all of the link after a pause");
    }
};

/// A permutation of hosts that share uplinks: a spine carries an eighth of all NICs.
class UecCreditUplinkTestCase : public TestCase
{
  public:
    UecCreditUplinkTestCase()
        : TestCase("receivers behind a shared uplink find its rate by themselves")
    {
    }

  private:
    static constexpr uint64_t BYTES = 4'000'000;

    struct Outcome
    {
        int64_t lastPs{0};
        uint64_t trims{0};
    };

    static Outcome Run(bool adapts)
    {
        // Hosts of a leaf send to those of the other, four at once through one uplink.
        FabricUnderTest test(TwoLeaves(1), UecConf("UEC_CC rccc\n"));
        Config::SetDefault("ns3::UecTransport::CreditAdapts", BooleanValue(adapts));
        test.Build();
        for (uint32_t host = 0; host < 8; ++host)
        {
            test.Send(host, (host + 4) % 8, BYTES);
        }
        Simulator::Run();
        Outcome outcome;
        for (const auto& flow : test.flows)
        {
            outcome.lastPs = std::max(outcome.lastPs, flow->deliveredPs);
        }
        outcome.trims = UecTotals(test).nacks;
        return outcome;
    }

    void DoRun() override
    {
        const int64_t uplinkPs = 4 * static_cast<int64_t>(BYTES / 1000) * UEC_FRAME_PS;
        const Outcome adapted = Run(true);
        const Outcome greedy = Run(false);
        // Headers and NACKs of three trimmed packets for one that passes, each way.
        NS_TEST_ASSERT_MSG_GT(greedy.lastPs, 12 * uplinkPs / 10, "trimmed packets fill the uplink");
        NS_TEST_ASSERT_MSG_LT(adapted.trims, greedy.trims / 3, "few packets are trimmed");
        NS_TEST_ASSERT_MSG_LT(adapted.lastPs, greedy.lastPs, "and all ends sooner");
        NS_TEST_ASSERT_MSG_GT_OR_EQ(adapted.lastPs, uplinkPs, "not faster than the uplink");
    }
};

/// Connections share a receiver, not hosts: two of one sender get two shares.
class UecCreditSharesTestCase : public TestCase
{
  public:
    UecCreditSharesTestCase()
        : TestCase("a receiver grants to its connections in turn, whoever sends")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(3, "100Gbps", "1us"), UecConf("UEC_CC rccc\n"));
        test.Build();
        test.Send(0, 2, 1'000'000);
        test.Send(0, 2, 1'000'000);
        test.Send(1, 2, 1'000'000);
        const auto& late = test.Send(1, 2, 1'000, 100 * US);
        Simulator::Run();
        for (int flow = 0; flow < 3; ++flow)
        {
            const auto us = static_cast<double>(test.flows[flow]->deliveredPs) / US;
            const double closedUs = static_cast<double>(3001 * UEC_FRAME_PS) / US + 2;
            NS_TEST_ASSERT_MSG_EQ_TOL(us, closedUs, 0.02 * closedUs, "the end of all three");
        }
        // It needs no grant, and no queue is before it but the frames of a few grants.
        NS_TEST_ASSERT_MSG_LT(late.deliveredPs - late.startPs,
                              2 * US + 14 * UEC_FRAME_PS,
                              "a small message passes");
    }
};

/// The order of packets is not the receiver's to grant.
class UecCreditOrderedTestCase : public TestCase
{
  public:
    UecCreditOrderedTestCase(const std::string& delivery)
        : TestCase("credits are refused with delivery " + delivery),
          m_delivery(delivery)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(2, "100Gbps", "1us"),
                             UecConf("UEC_CC rccc\nUEC_DELIVERY " + m_delivery + "\n"));
        test.Build();
        bool isRefused = false;
        try
        {
            test.fabric->GetDriver(0)->Connect(1, {});
        }
        catch (const InputError&)
        {
            isRefused = true;
        }
        NS_TEST_ASSERT_MSG_EQ(isRefused, true, "refused");
    }

    std::string m_delivery;
};

/// @brief Ultra Ethernet, receivers' credits.
class UecCreditTestSuite : public TestSuite
{
  public:
    UecCreditTestSuite()
        : TestSuite("rdma-qbb-uec-credit", Type::UNIT)
    {
        AddTestCase(new UecCreditAccountTestCase);
        AddTestCase(new UecCreditPatienceTestCase);
        for (const uint32_t senders : {2, 8, 32})
        {
            AddTestCase(new UecCreditIncastTestCase(senders, "rccc"));
        }
        AddTestCase(new UecCreditIncastTestCase(16, "both"));
        AddTestCase(new UecCreditRateTestCase);
        AddTestCase(new UecCreditUplinkTestCase);
        AddTestCase(new UecCreditSharesTestCase);
        AddTestCase(new UecCreditOrderedTestCase("rod"));
        AddTestCase(new UecCreditOrderedTestCase("rudi"));
    }
};

static UecCreditTestSuite g_uecCreditTestSuite; //!< registers the suite
