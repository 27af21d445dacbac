/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Trace sources of marks, queues, rates, windows, NACKs and failures: each tells what happens, all
 * of it, and when it happens.
 */
#include "fabric-test-support.h"

#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <array>
#include <map>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t INCAST_SENDERS = 4;
constexpr uint32_t INCAST_HUB = INCAST_SENDERS + 1; ///< the switch; host 0 receives
constexpr int64_t TRACED_DELAY_PS = 1'000'000;      ///< of each link
constexpr int64_t SAMPLE_PS = 1'234'567;            ///< so that no sample meets a frame
constexpr const char* CONGESTED = "CC_MODE 1\nKMIN 5000\nKMAX 50000\nPMAX 0.5\n";

/// Four hosts send to one at the same time; the fabric is built before a test connects to it.
class Incast : public FabricUnderTest
{
  public:
    explicit Incast(const std::string& conf)
        : FabricUnderTest(Star(INCAST_HUB, "100Gbps", "1us"), conf)
    {
        Build();
        fabric->AssignStreams(1);
    }

    void Run()
    {
        for (uint32_t host = 1; host < INCAST_HUB; ++host)
        {
            Send(host, 0, 300'000);
        }
        Simulator::Run();
    }

    /// @return the switch's port to the receiver
    QbbNetDevice& Bottleneck()
    {
        return fabric->GetDevice(INCAST_HUB, 0);
    }

    /// @return the receiver's NIC port
    QbbNetDevice& ReceivingPort()
    {
        return fabric->GetDevice(0, 0);
    }
};

} // namespace

/// Frames marked at the switch are those that the receiver gets marked, each at its time.
class MarkIsTracedTestCase : public TestCase
{
  public:
    MarkIsTracedTestCase()
        : TestCase("Mark tells of each frame that is marked, when it begins to be sent")
    {
    }

  private:
    using Times = std::vector<int64_t>;

    static void OnMark(Times* times,
                       Ptr<const SwitchNode> node,
                       uint16_t port,
                       const QbbFrame& frame)
    {
        const int64_t sendPs = node->GetPort(port).GetTxTimePs(frame.wireBytes);
        times->push_back(Simulator::Now().GetTimeStep() + sendPs + TRACED_DELAY_PS);
    }

    static void OnRx(Times* times, Ptr<const QbbNetDevice>, const QbbFrame& frame)
    {
        if (frame.kind == QbbFrameKind::Data && frame.ecn == EcnCodepoint::Ce)
        {
            times->push_back(Simulator::Now().GetTimeStep());
        }
    }

    void DoRun() override
    {
        Times marked;
        Times received;
        {
            Incast incast(CONGESTED);
            incast.fabric->GetSwitch(INCAST_HUB)
                ->TraceConnectWithoutContext("Mark", MakeBoundCallback(&OnMark, &marked));
            incast.Run();
        }
        {
            Incast incast(CONGESTED);
            incast.ReceivingPort().TraceConnectWithoutContext("FrameRx",
                                                              MakeBoundCallback(&OnRx, &received));
            incast.Run();
        }
        NS_TEST_ASSERT_MSG_GT(received.size(), 10, "frames are marked");
        NS_TEST_EXPECT_MSG_EQ((marked == received), true, "at the times at which they arrive");
    }
};

/// A queue's trace has the values that its getters return at any time.
class QueueBytesIsTracedTestCase : public TestCase
{
  public:
    QueueBytesIsTracedTestCase()
        : TestCase("QueueBytes tells of each change of a queue, when it happens")
    {
    }

  private:
    void OnQueue(Ptr<const QbbNetDevice>, uint8_t priority, uint64_t before, uint64_t now)
    {
        NS_TEST_EXPECT_MSG_EQ(before, m_bytes[priority], "changes follow each other");
        NS_TEST_EXPECT_MSG_NE(before, now, "and are changes");
        m_bytes[priority] = now;
    }

    void Sample(const QbbNetDevice* port)
    {
        uint64_t sum = 0;
        for (uint8_t priority = 0; priority < QbbNetDevice::PRIORITIES; ++priority)
        {
            NS_TEST_EXPECT_MSG_EQ(port->GetQueueBytes(priority), m_bytes[priority], "as told");
            sum += m_bytes[priority];
        }
        m_waited |= sum > 0;
        if (m_samples-- > 0)
        {
            Simulator::Schedule(PicoSeconds(SAMPLE_PS),
                                &QueueBytesIsTracedTestCase::Sample,
                                this,
                                port);
        }
    }

    void DoRun() override
    {
        Incast incast(CONGESTED);
        const QbbNetDevice* port = &incast.Bottleneck();
        incast.Bottleneck().TraceConnectWithoutContext(
            "QueueBytes",
            MakeCallback(&QueueBytesIsTracedTestCase::OnQueue, this));
        Simulator::Schedule(PicoSeconds(SAMPLE_PS),
                            &QueueBytesIsTracedTestCase::Sample,
                            this,
                            port);
        incast.Run();
        NS_TEST_EXPECT_MSG_EQ(m_waited, true, "frames wait");
        NS_TEST_EXPECT_MSG_EQ(port->GetQueueBytes(), 0, "and go");
        Sample(port);
    }

    std::array<uint64_t, QbbNetDevice::PRIORITIES> m_bytes{};
    int m_samples{100};
    bool m_waited{false};
};

/// Rate and window of each pair, from its set-up to its end.
class RateAndWindowAreTracedTestCase : public TestCase
{
  public:
    RateAndWindowAreTracedTestCase()
        : TestCase("RateChange and WindowChange tell of each change, from the values at set-up on")
    {
    }

  private:
    struct Told
    {
        uint64_t rateBps;
        uint64_t windowBytes;
    };

    void OnOpen(const RdmaQueuePair& qp)
    {
        m_told[qp.src] = {qp.GetRate(), qp.GetEffectiveWindow()};
    }

    void OnRate(const RdmaQueuePair& qp, uint64_t before, uint64_t now)
    {
        NS_TEST_EXPECT_MSG_EQ(before, m_told[qp.src].rateBps, "changes follow each other");
        NS_TEST_EXPECT_MSG_EQ(now, qp.GetRate(), "and have been made");
        m_told[qp.src].rateBps = now;
        ++m_rates;
    }

    void OnWindow(const RdmaQueuePair& qp, uint64_t before, uint64_t now)
    {
        NS_TEST_EXPECT_MSG_EQ(before, m_told[qp.src].windowBytes, "changes follow each other");
        NS_TEST_EXPECT_MSG_EQ(now, qp.GetEffectiveWindow(), "and have been made");
        m_told[qp.src].windowBytes = now;
        ++m_windows;
    }

    void OnClose(const RdmaQueuePair& qp)
    {
        NS_TEST_EXPECT_MSG_EQ(qp.GetRate(), m_told[qp.src].rateBps, "all changes were told");
        NS_TEST_EXPECT_MSG_EQ(qp.GetEffectiveWindow(), m_told[qp.src].windowBytes, "of both");
    }

    void DoRun() override
    {
        using Self = RateAndWindowAreTracedTestCase;
        Incast incast(std::string(CONGESTED) + "HAS_WIN 1\nVAR_WIN 1\n");
        for (uint32_t host = 1; host < INCAST_HUB; ++host)
        {
            RdmaHw& hw = incast.fabric->GetHw(host);
            hw.TraceConnectWithoutContext("QpOpen", MakeCallback(&Self::OnOpen, this));
            hw.TraceConnectWithoutContext("QpClose", MakeCallback(&Self::OnClose, this));
            hw.TraceConnectWithoutContext("RateChange", MakeCallback(&Self::OnRate, this));
            hw.TraceConnectWithoutContext("WindowChange", MakeCallback(&Self::OnWindow, this));
        }
        incast.Run();
        NS_TEST_EXPECT_MSG_GT(m_rates, INCAST_SENDERS, "each pair slows down and speeds up");
        NS_TEST_EXPECT_MSG_EQ(m_windows, m_rates, "the window follows the rate");
    }

    std::map<uint32_t, Told> m_told; ///< by sender
    uint32_t m_rates{0};
    uint32_t m_windows{0};
};

/// Lost frames are asked for again; a link that stays down uses up the retries.
class NackAndFailureAreTracedTestCase : public TestCase
{
  public:
    NackAndFailureAreTracedTestCase()
        : TestCase("NackReceived and QpFailed tell of what a lossy and a dead link lead to")
    {
    }

  private:
    static void Count(uint32_t* count, const RdmaQueuePair&)
    {
        ++*count;
    }

    static void CountNacks(uint32_t* count, Ptr<const QbbNetDevice>, const QbbFrame& frame)
    {
        *count += frame.kind == QbbFrameKind::Nack;
    }

    void CheckNacks()
    {
        FabricUnderTest test("3 1 2\n2\n0 2 100Gbps 1us 0.02\n1 2 100Gbps 1us 0\n", "CC_MODE 0\n");
        test.Build();
        test.fabric->AssignStreams(1);
        uint32_t told = 0;
        uint32_t arrived = 0;
        test.fabric->GetHw(0).TraceConnectWithoutContext("NackReceived",
                                                         MakeBoundCallback(&Count, &told));
        test.fabric->GetDevice(0, 0).TraceConnectWithoutContext(
            "FrameRx",
            MakeBoundCallback(&CountNacks, &arrived));
        test.Send(0, 1, 500'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(arrived, 0, "frames are lost");
        NS_TEST_EXPECT_MSG_EQ(told, arrived, "each NACK is told of");
    }

    void CheckFailure()
    {
        FabricUnderTest test("3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 100Gbps 1us 0\n",
                             "CC_MODE 0\nLINK_DOWN 5 1 2\n");
        test.Build();
        RdmaHw& sender = test.fabric->GetHw(0);
        sender.SetAttribute("MaxRetries", UintegerValue(3));
        uint32_t timeouts = 0;
        uint32_t failures = 0;
        sender.TraceConnectWithoutContext("Timeout", MakeBoundCallback(&Count, &timeouts));
        sender.TraceConnectWithoutContext("QpFailed", MakeBoundCallback(&Count, &failures));
        test.Send(0, 1, 500'000);
        Simulator::Stop(Seconds(2));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(timeouts, 3, "as many as MaxRetries");
        NS_TEST_EXPECT_MSG_EQ(failures, 1, "and then the pair gives up");
    }

    void DoRun() override
    {
        CheckNacks();
        CheckFailure();
    }
};

class RdmaQbbTraceTestSuite : public TestSuite
{
  public:
    RdmaQbbTraceTestSuite()
        : TestSuite("rdma-qbb-trace", Type::UNIT)
    {
        AddTestCase(new MarkIsTracedTestCase);
        AddTestCase(new QueueBytesIsTracedTestCase);
        AddTestCase(new RateAndWindowAreTracedTestCase);
        AddTestCase(new NackAndFailureAreTracedTestCase);
    }
};

static RdmaQbbTraceTestSuite g_rdmaQbbTraceTestSuite; //!< registers the suite
