/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Credits on links: closed forms of the rate, no loss, and the law that no credit comes or goes.
 */
#include "uec-fabric.h"

#include "ns3/callback.h"
#include "ns3/fabric-totals.h"
#include "ns3/link-credits.h"
#include "ns3/switch-mmu.h"
#include "ns3/switch-node.h"
#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

using namespace ns3;

namespace
{

constexpr uint8_t PRIORITY = 3;
constexpr int64_t CREDIT_FRAME_BYTES = 1082;                 ///< payload of 1000
constexpr int64_t CREDIT_FRAME_PS = CREDIT_FRAME_BYTES * 80; ///< at 100 Gb/s
constexpr int64_t CREDIT_SET_PS = 8 * 80;                    ///< an ordered set
/// From a frame's start until its credit is back.
constexpr int64_t CREDIT_CYCLE_PS = CREDIT_FRAME_PS + CREDIT_SET_PS + 2 * US;

std::string
CreditConf(int64_t bytes, const std::string& more = "")
{
    return "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\nLINK_CREDITS " + std::to_string(bytes) + "\n" +
           more;
}

} // namespace

/// A buffer of k frames sends k frames per round trip of the link.
class LinkCreditsRateTestCase : public TestCase
{
  public:
    LinkCreditsRateTestCase(int64_t frames)
        : TestCase("credit for " + std::to_string(frames) +
                   " frames bounds the rate by the round trip of the link"),
          m_frames(frames)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(2, "100Gbps", "1us"),
                             CreditConf(m_frames * CREDIT_FRAME_BYTES + CREDIT_FRAME_BYTES / 2,
                                        "CC_MODE 0\nL2_ACK_INTERVAL 1000000000\n"));
        test.Build();
        constexpr int64_t COUNT = 200;
        const auto& flow = test.Send(0, 1, COUNT * 1000);
        Simulator::Run();
        const int64_t cyclePs = std::max(CREDIT_CYCLE_PS, m_frames * CREDIT_FRAME_PS);
        const int64_t lastPs =
            (COUNT - 1) / m_frames * cyclePs + (COUNT - 1) % m_frames * CREDIT_FRAME_PS;
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs,
                              lastPs + 2 * (CREDIT_FRAME_PS + US),
                              "k frames, then the credit of the first of them");
        const QbbPortCounters receiver =
            test.fabric->GetDevice(1, 0).GetCounters(Simulator::Now().GetTimeStep());
        NS_TEST_ASSERT_MSG_EQ(receiver.orderedSets, 200u, "one for each frame");
    }

    int64_t m_frames;
};

/// Many senders, small buffers.
class LinkCreditsIncastTestCase : public TestCase
{
  public:
    LinkCreditsIncastTestCase(const std::string& more)
        : TestCase("an incast fills its link without a loss or a pause" +
                   (more.empty() ? "" : ", " + more.substr(0, more.find('\n')))),
          m_more(more)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(17, "100Gbps", "1us"),
                             CreditConf(60'000, "BUFFER_SIZE 2\nCC_MODE 0\n" + m_more));
        test.Build();
        constexpr int64_t BYTES = 300'000;
        for (uint32_t host = 1; host <= 16; ++host)
        {
            test.Send(host, 0, BYTES);
        }
        Simulator::Run();
        int64_t lastPs = 0;
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "delivered");
            lastPs = std::max(lastPs, flow->deliveredPs);
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.drops + totals.pauses, 0u, "no loss, no pause");
        NS_TEST_ASSERT_MSG_EQ(totals.retransmittedBytes + totals.timeouts, 0u, "nothing again");
        NS_TEST_ASSERT_MSG_EQ(totals.ConservesPayload(), true, "nothing is left");
        const bool isUec = m_more.find("UEC") != std::string::npos;
        const int64_t framePs = isUec ? UEC_FRAME_PS : CREDIT_FRAME_PS;
        const int64_t idealPs = 16 * BYTES / 1000 * framePs + 2 * US + framePs;
        NS_TEST_ASSERT_MSG_GT_OR_EQ(lastPs, idealPs, "the link's rate");
        NS_TEST_ASSERT_MSG_LT(lastPs, idealPs + idealPs / 20, "and hardly less");
    }

    std::string m_more;
};

/// Credit = available + on the wire + in the buffer + on its way back, at any moment.
class LinkCreditsLawTestCase : public TestCase
{
  public:
    LinkCreditsLawTestCase(uint32_t seed, const std::string& more)
        : TestCase("no credit comes or goes, seed " + std::to_string(seed) + ": " +
                   more.substr(0, more.find('\n'))),
          m_random(seed),
          m_more(more)
    {
    }

  private:
    using Ends = std::map<const QbbNetDevice*, uint64_t>;

    void DoRun() override
    {
        const int64_t bytes = 2000 + static_cast<int64_t>(m_random() % 40'000);
        FabricUnderTest test(TwoLeaves(1 + m_random() % 3), CreditConf(bytes, m_more));
        test.Build();
        m_isLossy = m_more.find("ERROR") != std::string::npos;
        ForEach(test, [this](QbbNetDevice& device, const SwitchNode*) {
            device.TraceConnectWithoutContext(
                "FrameTx",
                MakeCallback(&LinkCreditsLawTestCase::Count, this).Bind(&m_sent));
            device.TraceConnectWithoutContext(
                "FrameRx",
                MakeCallback(&LinkCreditsLawTestCase::Count, this).Bind(&m_received));
        });
        for (int flow = 0; flow < 20; ++flow)
        {
            const uint32_t src = m_random() % 8;
            const uint32_t dst = (src + 1 + m_random() % 7) % 8;
            test.Send(src, dst, 1 + m_random() % 100'000, m_random() % (20 * US));
        }
        for (int look = 0; look < 50; ++look)
        {
            Simulator::Schedule(PicoSeconds(m_random() % (100 * US)), [this, &test] {
                ForEach(test, [this](QbbNetDevice& device, const SwitchNode* at) {
                    Look(device, at, false);
                });
            });
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "delivered");
        }
        ForEach(test,
                [this](QbbNetDevice& device, const SwitchNode* at) { Look(device, at, true); });
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().pauses, 0u, "no PFC");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().bufferDrops, 0u, "no drop");
    }

    template <typename Function>
    void ForEach(FabricUnderTest& test, Function f)
    {
        for (uint32_t node = 0; node < test.topology.nodeCount; ++node)
        {
            for (uint16_t port = 0; port < test.topology.Ports(node).size(); ++port)
            {
                f(test.fabric->GetDevice(node, port), test.fabric->GetSwitch(node));
            }
        }
    }

    void Count(Ends* of, Ptr<const QbbNetDevice> device, const QbbFrame& frame)
    {
        if (frame.priority == PRIORITY && frame.kind != QbbFrameKind::Pfc)
        {
            (*of)[PeekPointer(device)] += frame.wireBytes;
        }
    }

    /// The law for the frames that @p device receives.
    void Look(const QbbNetDevice& device, const SwitchNode* at, bool isEnd)
    {
        const QbbNetDevice& sender = *device.GetPeer();
        const LinkCredits::Counts there = sender.GetCredits()->GetCounts(PRIORITY);
        const LinkCredits::Counts here = device.GetCredits()->GetCounts(PRIORITY);
        const uint64_t buffer = device.GetCredits()->GetBufferBytes();
        const uint64_t held =
            at ? at->GetMmu()->GetCounts().GetIngressBytes(device.GetPort(), PRIORITY) +
                     at->GetMmu()->GetCounts().GetHeadroomBytes(device.GetPort(), PRIORITY)
               : 0;
        NS_TEST_ASSERT_MSG_EQ(there.sent, m_sent[&sender], "sent");
        NS_TEST_ASSERT_MSG_EQ(here.received - here.freed, held, "in the buffer");
        NS_TEST_ASSERT_MSG_EQ((there.sent - there.returned <= buffer),
                              true,
                              "never more than that");
        const uint64_t available = buffer - (there.sent - there.returned);
        const uint64_t back = here.freed - there.returned;
        if (!m_isLossy)
        {
            const uint64_t onWire = m_sent[&sender] - m_received[&device];
            NS_TEST_ASSERT_MSG_EQ(available + onWire + held + back, buffer, "the law");
        }
        if (isEnd && !m_isLossy)
        {
            NS_TEST_ASSERT_MSG_EQ(available, buffer, "all is back");
        }
    }

    std::mt19937 m_random;
    std::string m_more;
    bool m_isLossy{false};
    Ends m_sent;
    Ends m_received;
};

/// @brief Credits on links.
class LinkCreditsTestSuite : public TestSuite
{
  public:
    LinkCreditsTestSuite()
        : TestSuite("rdma-qbb-link-credits", Type::UNIT)
    {
        for (const int64_t frames : {1, 2, 7, 24, 25, 40})
        {
            AddTestCase(new LinkCreditsRateTestCase(frames));
        }
        AddTestCase(new LinkCreditsIncastTestCase(""));
        AddTestCase(new LinkCreditsIncastTestCase("LINK_RETRY 1\nERROR_RATE_PER_LINK 0.0002\n"));
        AddTestCase(new LinkCreditsIncastTestCase("TRANSPORT UEC\nENABLE_PFC 1\n"));
        for (uint32_t seed = 1; seed <= 4; ++seed)
        {
            AddTestCase(new LinkCreditsLawTestCase(seed, "CC_MODE 0\n"));
            AddTestCase(new LinkCreditsLawTestCase(seed, "CC_MODE 1\nROUTING spray\n"));
            AddTestCase(new LinkCreditsLawTestCase(seed, "TRANSPORT UEC\nENABLE_PFC 1\n"));
            AddTestCase(new LinkCreditsLawTestCase(seed, "ERROR_RATE_PER_LINK 0.01\n"));
            AddTestCase(
                new LinkCreditsLawTestCase(seed, "LINK_RETRY 1\nERROR_RATE_PER_LINK 0.01\n"));
        }
    }
};

static LinkCreditsTestSuite g_linkCreditsTestSuite; //!< registers the suite
