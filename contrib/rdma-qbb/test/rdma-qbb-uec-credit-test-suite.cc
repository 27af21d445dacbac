/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ultra Ethernet: credits of receivers (RCCC).
 */
#include "rdma-qbb/model/uec/uec-credit.h"
#include "uec-fabric.h"

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
    UecCreditOrderedTestCase()
        : TestCase("credits with ordered delivery are refused")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(2, "100Gbps", "1us"),
                             UecConf("UEC_CC rccc\nUEC_DELIVERY rod\n"));
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
        AddTestCase(new UecCreditSharesTestCase);
        AddTestCase(new UecCreditOrderedTestCase);
    }
};

static UecCreditTestSuite g_uecCreditTestSuite; //!< registers the suite
