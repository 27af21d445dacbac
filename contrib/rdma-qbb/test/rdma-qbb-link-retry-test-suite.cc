/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Link-level retry: closed forms of its overhead, its replay buffer and its replays.
 */
#include "fabric-test-support.h"

#include "ns3/fabric-totals.h"
#include "ns3/rdma-hw.h"
#include "ns3/test.h"

#include <algorithm>
#include <string>

using namespace ns3;

namespace
{

constexpr int64_t RETRY_FRAME_BYTES = 1082;                ///< payload of 1000
constexpr int64_t RETRY_FRAME_PS = RETRY_FRAME_BYTES * 80; ///< at 100 Gb/s
constexpr int64_t RETRY_SET_PS = 8 * 80;                   ///< an ordered set
constexpr int64_t RETRY_CYCLE_PS =
    RETRY_FRAME_PS + RETRY_SET_PS + 2 * US; ///< from a frame's start to its answer

/// Hosts 0 and 1 on one switch, links of 1 us; the first loses frames.
std::string
TwoRetryHosts(const std::string& errorRate = "0")
{
    return "3 1 2\n2\n2 0 100Gbps 1us " + errorRate + "\n2 1 100Gbps 1us 0\n";
}

/// One acknowledgement at the end of a message, and no window.
const std::string BARE_RETRY = "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 0\nHAS_WIN 0\nL2_ACK_INTERVAL "
                               "1000000000\nLINK_RETRY 1\n";

QbbPortCounters
RetryPortOf(const FabricUnderTest& test, uint32_t host)
{
    return test.fabric->GetDevice(host, 0).GetCounters(Simulator::Now().GetTimeStep());
}

} // namespace

/// Ordered sets take the other direction's time alone.
class LinkRetryIdleTestCase : public TestCase
{
  public:
    LinkRetryIdleTestCase()
        : TestCase("without losses, a message takes its closed form and each frame 8 bytes back")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TwoRetryHosts(), BARE_RETRY);
        test.Build();
        const auto& flow = test.Send(0, 1, 1'000'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs,
                              999 * RETRY_FRAME_PS + 2 * (RETRY_FRAME_PS + US),
                              "as without a retry");
        const QbbPortCounters receiver = RetryPortOf(test, 1);
        NS_TEST_ASSERT_MSG_EQ(receiver.orderedSets, 1000u, "one answer for each frame");
        NS_TEST_ASSERT_MSG_EQ(receiver.GetWireBytes(), 1000u * 8 + 84, "and the acknowledgement");
        NS_TEST_ASSERT_MSG_EQ(RetryPortOf(test, 0).replayedFrames, 0u, "nothing again");
    }
};

/// A replay buffer of k frames sends k frames per round trip of the link.
class LinkRetryBufferTestCase : public TestCase
{
  public:
    LinkRetryBufferTestCase(int64_t frames)
        : TestCase("a replay buffer of " + std::to_string(frames) +
                   " frames bounds the rate by the round trip of the link"),
          m_frames(frames)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(
            TwoRetryHosts(),
            BARE_RETRY + "LINK_RETRY_BUFFER " +
                std::to_string(m_frames * RETRY_FRAME_BYTES + RETRY_FRAME_BYTES / 2) + "\n");
        test.Build();
        constexpr int64_t COUNT = 200;
        const auto& flow = test.Send(0, 1, COUNT * 1000);
        Simulator::Run();
        const int64_t cyclePs = std::max(RETRY_CYCLE_PS, m_frames * RETRY_FRAME_PS);
        const int64_t lastPs =
            (COUNT - 1) / m_frames * cyclePs + (COUNT - 1) % m_frames * RETRY_FRAME_PS;
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs,
                              lastPs + 2 * (RETRY_FRAME_PS + US),
                              "k frames, then the answer to the first of them");
    }

    int64_t m_frames;
};

/// Go-back-N on the link: the port sends without a break, and each loss costs a round trip.
class LinkRetryLossTestCase : public TestCase
{
  public:
    LinkRetryLossTestCase()
        : TestCase("each loss costs the frames of one round trip of the link, and hosts see none")
    {
    }

  private:
    void DoRun() override
    {
        constexpr double LOSS = 0.002;
        FabricUnderTest test(TwoRetryHosts(std::to_string(LOSS)), BARE_RETRY);
        test.Build();
        constexpr int64_t COUNT = 20'000;
        const auto& flow = test.Send(0, 1, COUNT * 1000);
        Simulator::Run();
        const RdmaHwCounters sender = test.fabric->GetHw(0).GetCounters();
        const RdmaHwCounters receiver = test.fabric->GetHw(1).GetCounters();
        NS_TEST_ASSERT_MSG_EQ(sender.retransmitted + sender.timeouts, 0u, "no loss at the sender");
        NS_TEST_ASSERT_MSG_EQ(receiver.nacksSent + receiver.outOfOrderFrames, 0u, "nor here");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().drops, 0u, "nothing is dropped");

        // Frames that begin from the corrupted one's start until its NACK is here.
        constexpr int64_t AGAIN = (RETRY_CYCLE_PS + RETRY_FRAME_PS - 1) / RETRY_FRAME_PS;
        const auto replays = static_cast<double>(RetryPortOf(test, 0).replayedFrames);
        const double expected = COUNT * LOSS / (1 - LOSS) * AGAIN;
        NS_TEST_ASSERT_MSG_EQ_TOL(replays, expected, 0.45 * expected, "40 losses, 3 sigma");
        const double sentPs = (COUNT - 1 + replays) * RETRY_FRAME_PS + 2 * (RETRY_FRAME_PS + US);
        NS_TEST_ASSERT_MSG_EQ_TOL(static_cast<double>(flow.deliveredPs),
                                  sentPs,
                                  0.005 * sentPs,
                                  "no pause but for NACKs that are lost, too");
    }
};

/// Frames of all kinds over links that lose many, with all recoveries; one link fails.
class LinkRetryTransportTestCase : public TestCase
{
  public:
    LinkRetryTransportTestCase(const std::string& name, const std::string& conf)
        : TestCase("hosts see no loss with " + name),
          m_conf(conf)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(TextFabric::Star(6, "100Gbps", "1us"),
                             "PACKET_PAYLOAD_SIZE 1000\nERROR_RATE_PER_LINK 0.02\nLINK_RETRY 1\n" +
                                 m_conf);
        test.Build();
        for (uint32_t host = 0; host < 6; ++host)
        {
            test.Send(host, (host + 1) % 6, 300'000 + 100 * host);
            test.Send(host, (host + 2) % 6, 1 + 77 * host, host * US);
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "delivered");
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.ConservesPayload(), true, "nothing is left");
        NS_TEST_ASSERT_MSG_GT(totals.replays, 100u, "links replay");
        const bool mayFail = m_conf.find("LINK_DOWN") != std::string::npos;
        NS_TEST_ASSERT_MSG_EQ((totals.retransmittedBytes > 0), mayFail, "no loss but by a failure");
        NS_TEST_ASSERT_MSG_EQ(totals.outOfOrderPackets, 0u, "in order");
    }

    std::string m_conf;
};

/// @brief Link-level retry.
class LinkRetryTestSuite : public TestSuite
{
  public:
    LinkRetryTestSuite()
        : TestSuite("rdma-qbb-link-retry", Type::UNIT)
    {
        AddTestCase(new LinkRetryIdleTestCase);
        for (const int64_t frames : {1, 2, 7, 24, 25, 40})
        {
            AddTestCase(new LinkRetryBufferTestCase(frames));
        }
        AddTestCase(new LinkRetryLossTestCase);
        AddTestCase(new LinkRetryTransportTestCase("go-back-N", "CC_MODE 1\n"));
        AddTestCase(new LinkRetryTransportTestCase("IRN", "CC_MODE 3\nLOSS_RECOVERY irn\n"));
        AddTestCase(new LinkRetryTransportTestCase("Ultra Ethernet", "TRANSPORT UEC\n"));
        AddTestCase(new LinkRetryTransportTestCase(
            "go-back-N but those of a link that fails",
            "CC_MODE 1\nLINK_DOWN 10 6 2\nLINK_UP 30 6 2\nL2_ACK_INTERVAL 4000\n"));
    }
};

static LinkRetryTestSuite g_linkRetryTestSuite; //!< registers the suite
