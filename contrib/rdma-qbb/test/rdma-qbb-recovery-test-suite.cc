/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-test-support.h"

#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"
#include "ns3/seq-ranges.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t MTU = 1000;
constexpr uint64_t BDP_BYTES = 100'000;

/// Both sides of a connection with IRN, driven by hand: what was sent, what arrives.
class IrnByHand
{
  public:
    explicit IrnByHand(std::initializer_list<uint64_t> messageBytes)
    {
        sender.mtu = MTU;
        for (const uint64_t bytes : messageBytes)
        {
            m_messages.push_back(std::make_unique<RdmaMessage>());
            RdmaMessage& message = *m_messages.back();
            sender.endSeq += bytes;
            message.endSeq = sender.endSeq;
            message.bytes = bytes;
            (sender.firstMessage ? m_messages[m_messages.size() - 2]->next : sender.firstMessage) =
                &message;
        }
        sender.SetSndNxt(sender.endSeq);
        irn = ObjectFactory("ns3::RdmaIrn").Create<RdmaLossRecovery>();
        irn->OnQpInit(sender, BDP_BYTES);
        irn->OnReceiverInit(receiver);
    }

    /// A frame arrives. @return the verdict where it is not the one expected
    RdmaLossRecovery::Verdict Arrive(uint64_t seq, uint16_t bytes = MTU)
    {
        QbbFrame frame{};
        frame.kind = QbbFrameKind::Data;
        frame.seq = seq;
        frame.payloadBytes = bytes;
        if (seq == receiver.expectedSeq)
        {
            receiver.expectedSeq += bytes;
            irn->OnInOrder(receiver, 0);
            return RdmaLossRecovery::Verdict::Ack;
        }
        return irn->OnUnexpected(receiver, frame, 0);
    }

    /// The sender gets the receiver's answer about a frame out of order.
    void Nack(uint64_t seq)
    {
        QbbFrame nack{};
        nack.kind = QbbFrameKind::Nack;
        nack.answerFlags = QBB_ANSWER_SELECTIVE;
        nack.seq = receiver.expectedSeq;
        nack.payloadBytes = static_cast<uint16_t>((seq - receiver.expectedSeq) / MTU);
        Ack();
        irn->OnNack(sender, nack, 0);
    }

    /// The sender gets a cumulative acknowledgement.
    void Ack()
    {
        if (receiver.expectedSeq > sender.sndUna)
        {
            sender.sndUna = receiver.expectedSeq;
            irn->OnAck(sender, 0);
        }
    }

    /// @return the frames that the sender sends again now
    std::vector<uint64_t> Resend()
    {
        std::vector<uint64_t> frames;
        while (irn->HasRetransmission(sender))
        {
            frames.push_back(irn->NextRetransmission(sender, 0));
        }
        return frames;
    }

    RdmaQueuePair sender;
    RdmaRxQueuePair receiver;
    Ptr<RdmaLossRecovery> irn;

  private:
    std::vector<std::unique_ptr<RdmaMessage>> m_messages;
};

using Frames = std::vector<uint64_t>;

} // namespace

/// SeqRanges against a plain set of offsets.
class SeqRangesTestCase : public TestCase
{
  public:
    SeqRangesTestCase()
        : TestCase("SeqRanges is a set: random additions and trims against std::set")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(7);
        SeqRanges ranges;
        std::set<uint64_t> model;
        for (int operation = 0; operation < 3000; ++operation)
        {
            if (random() % 4)
            {
                const uint64_t begin = random() % 200;
                const uint64_t end = begin + 1 + random() % 6;
                ranges.Add(begin, end);
                for (uint64_t i = begin; i < end; ++i)
                {
                    model.insert(i);
                }
            }
            else if (random() % 8 == 0)
            {
                const uint64_t below = random() % 210;
                ranges.TrimBelow(below);
                model.erase(model.begin(), model.lower_bound(below));
            }
            const uint64_t from = random() % 210;
            uint64_t missing = from;
            while (model.count(missing))
            {
                ++missing;
            }
            NS_TEST_ASSERT_MSG_EQ(ranges.FirstMissing(from), missing, "FirstMissing " << from);
            NS_TEST_ASSERT_MSG_EQ(ranges.IsEmpty(), model.empty(), "IsEmpty");
            if (!model.empty())
            {
                uint64_t highest = *model.rbegin();
                while (highest > 0 && model.count(highest - 1))
                {
                    --highest;
                }
                NS_TEST_ASSERT_MSG_EQ(ranges.HighestBegin(), highest, "HighestBegin");
            }
        }
    }
};

/// Two losses: each lost frame is sent again once, and nothing else.
class IrnResendsHolesOnlyTestCase : public TestCase
{
  public:
    IrnResendsHolesOnlyTestCase()
        : TestCase("IRN sends each lost frame again, once, and nothing else")
    {
    }

  private:
    void DoRun() override
    {
        IrnByHand link{8500}; // frames 0, 1000, ... 7000, and 8000 of 500 bytes
        link.Arrive(0);
        // 1000 is lost
        NS_TEST_ASSERT_MSG_EQ((link.Arrive(2000) == RdmaLossRecovery::Verdict::SelectiveNack),
                              true,
                              "a gap is answered by a selective NACK");
        link.Nack(2000);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{1000}), true, "the frame expected");
        link.Arrive(3000);
        link.Nack(3000);
        NS_TEST_ASSERT_MSG_EQ(link.Resend().empty(), true, "no hole has come up");
        // 4000 and 5000 are lost
        link.Arrive(6000);
        link.Nack(6000);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{4000, 5000}), true, "new holes only");
        link.Arrive(7000);
        link.Nack(7000);
        link.Arrive(8000, 500);
        link.Nack(8000);
        NS_TEST_ASSERT_MSG_EQ(link.Resend().empty(), true, "nothing twice");

        link.Arrive(1000);
        NS_TEST_ASSERT_MSG_EQ(link.receiver.expectedSeq, 4000, "what was kept counts");
        link.Ack();
        link.Arrive(5000);
        link.Nack(5000);
        link.Arrive(4000);
        NS_TEST_ASSERT_MSG_EQ(link.receiver.expectedSeq, 8500, "all has arrived");
        link.Ack();
        NS_TEST_ASSERT_MSG_EQ(link.Resend().empty(), true, "recovery is over");
        NS_TEST_ASSERT_MSG_EQ((link.Arrive(3000) == RdmaLossRecovery::Verdict::Ack),
                              true,
                              "a duplicate is acknowledged again");
    }
};

/// A timeout sends again what is not known to have arrived.
class IrnTimeoutTestCase : public TestCase
{
  public:
    IrnTimeoutTestCase()
        : TestCase("IRN's timeout sends again all that is not known to have arrived")
    {
    }

  private:
    void DoRun() override
    {
        IrnByHand link{6000};
        link.Arrive(0);
        link.Arrive(2000);
        link.Nack(2000);
        link.Resend(); // 1000, lost again; so are 3000 to 5000
        link.irn->OnTimeout(link.sender, 0);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{1000, 3000, 4000, 5000}),
                              true,
                              "2000 has arrived");
    }
};

/// Frames of short messages share a distance in MTUs.
class IrnShortMessagesTestCase : public TestCase
{
  public:
    IrnShortMessagesTestCase()
        : TestCase("IRN never takes a frame for arrived that may not have")
    {
    }

  private:
    void DoRun() override
    {
        IrnByHand link{300, 300, 300, 2500, 1000}; // frames at 0 300 600 900 1900 2900 3400
        // 0 is lost, 300 arrives: 0, 300, 600 and 900 all lie within the first MTU.
        link.Arrive(300, 300);
        link.Nack(300);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{0}), true, "only the expected one is lost");
        // 1900 is alone between 1000 and 2000. Whether 300, 600 and 900 are lost is not known.
        link.Arrive(1900);
        link.Nack(1900);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{300, 600, 900}),
                              true,
                              "below the highest that arrived");
        link.irn->OnTimeout(link.sender, 0);
        NS_TEST_ASSERT_MSG_EQ((link.Resend() == Frames{0, 300, 600, 900, 2900, 3400}),
                              true,
                              "all but 1900");
    }
};

/// Bytes in flight and timeouts follow the path.
class IrnLimitsTestCase : public TestCase
{
  public:
    IrnLimitsTestCase()
        : TestCase("IRN bounds the flight by the bandwidth-delay product and picks its timeout")
    {
    }

  private:
    void DoRun() override
    {
        IrnByHand link{100000};
        link.sender.baseRttPs = 8'000'000;
        NS_TEST_ASSERT_MSG_EQ(link.irn->GetFlightLimit(link.sender), BDP_BYTES, "of all paths");
        link.sender.sndUna = 97'000;
        NS_TEST_ASSERT_MSG_EQ(link.irn->GetTimeoutPs(link.sender), 100'000'000, "three frames");
        link.sender.sndUna = 96'000;
        NS_TEST_ASSERT_MSG_EQ(link.irn->GetTimeoutPs(link.sender), 320'000'000, "four frames");
        link.sender.baseRttPs = 1'000'000'000;
        NS_TEST_ASSERT_MSG_EQ(link.irn->GetTimeoutPs(link.sender), 2'000'000'000, "a long path");
    }
};

/// Parameters of a fabric of the property tests.
struct LossyCase
{
    std::string recovery; ///< LOSS_RECOVERY
    std::string error;    ///< ERROR_RATE_PER_LINK
    bool pfc;
    uint32_t seed;
};

/// Random flows end under random losses, and every byte is accounted for.
class EveryFlowEndsTestCase : public TestCase
{
  public:
    EveryFlowEndsTestCase(const LossyCase& lossy)
        : TestCase(lossy.recovery + " finishes every flow at error rate " + lossy.error +
                   (lossy.pfc ? ", PFC on" : ", PFC off") + ", seed " + std::to_string(lossy.seed)),
          m_case(lossy)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t HOSTS = 9;
        FabricUnderTest test(FabricUnderTest::Star(HOSTS, "100Gbps", "1us"),
                             "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 2\nLOSS_RECOVERY " +
                                 m_case.recovery + "\nERROR_RATE_PER_LINK " + m_case.error + "\n");
        test.Set("ns3::SwitchMmu::LosslessMask", UintegerValue(m_case.pfc ? 1 << 3 : 0));
        test.Build();
        test.fabric->AssignStreams(1000 * m_case.seed);
        std::mt19937 random(m_case.seed);
        uint64_t posted = 0;
        for (int flow = 0; flow < 40; ++flow)
        {
            // Half of them go to host 0.
            const uint32_t src = 1 + random() % (HOSTS - 1);
            const uint32_t dst = flow % 2 ? 0 : 1 + (src + random() % (HOSTS - 2)) % (HOSTS - 1);
            const uint64_t bytes = random() % 4 ? 1 + random() % 5000 : 1 + random() % 200'000;
            test.Send(src, dst, bytes, random() % 20'000'000);
            posted += bytes;
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->deliveredPs, 0, "every flow is delivered");
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, flow->deliveredPs, "and then acknowledged");
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              totals.dataPayloadReceived + totals.payloadLost,
                              "bytes sent = bytes arrived + bytes lost");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              posted + totals.retransmittedBytes,
                              "bytes sent = bytes posted + bytes sent again");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        if (m_case.error != "0")
        {
            NS_TEST_ASSERT_MSG_GT(totals.wireLosses, 0, "the test loses frames");
        }
        if (m_case.pfc)
        {
            NS_TEST_ASSERT_MSG_EQ(totals.bufferDrops, 0, "PFC protects the buffer");
        }
    }

    LossyCase m_case;
};

/// Selective repeat sends again about what was lost; go-back-N a window for each loss.
class IrnResendsLessTestCase : public TestCase
{
  public:
    IrnResendsLessTestCase()
        : TestCase("IRN sends again about what was lost, go-back-N many times that")
    {
    }

  private:
    /// @return totals of one long flow
    static FabricTotals Run(const std::string& recovery)
    {
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "5us"),
                             "CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n"
                             "ERROR_RATE_PER_LINK 0.002\nLOSS_RECOVERY " +
                                 recovery + "\n");
        test.Build();
        test.fabric->AssignStreams(1);
        test.Send(0, 1, 5'000'000);
        Simulator::Run();
        return test.fabric->GetTotals();
    }

    void DoRun() override
    {
        const FabricTotals irn = Run("irn");
        const FabricTotals goBackN = Run("gbn");
        // 5,000 frames over two links at 0.2%: about 20 losses.
        NS_TEST_ASSERT_MSG_GT(irn.payloadLost, 5'000, "losses");
        NS_TEST_ASSERT_MSG_GT_OR_EQ(irn.retransmittedBytes,
                                    irn.payloadLost,
                                    "all lost is sent again");
        NS_TEST_ASSERT_MSG_LT(irn.retransmittedBytes, 4 * irn.payloadLost, "little else");
        NS_TEST_ASSERT_MSG_GT(goBackN.retransmittedBytes,
                              10 * goBackN.payloadLost,
                              "go-back-N sends a window again");
    }
};

/// Without PFC an incast overflows the buffer; what it drops is sent again.
class IncastWithoutPfcTestCase : public TestCase
{
  public:
    IncastWithoutPfcTestCase(const std::string& recovery)
        : TestCase(recovery + " repairs what an incast without PFC overflows"),
          m_recovery(recovery)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t SENDERS = 24;
        constexpr uint64_t BYTES = 400'000;
        FabricUnderTest test(FabricUnderTest::Star(SENDERS + 1, "100Gbps", "1us"),
                             "CC_MODE 1\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 1\n"
                             "LOSS_RECOVERY " +
                                 m_recovery + "\n");
        test.Set("ns3::SwitchMmu::LosslessMask", UintegerValue(0));
        test.Build();
        for (uint32_t sender = 1; sender <= SENDERS; ++sender)
        {
            test.Send(sender, 0, BYTES);
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_GT(totals.bufferDrops, 0, "the buffer overflows");
        NS_TEST_ASSERT_MSG_EQ(totals.pauses, 0, "nobody is paused");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              totals.dataPayloadReceived + totals.payloadLost,
                              "bytes sent = bytes arrived + bytes lost");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
    }

    std::string m_recovery;
};

/// Links go down and come back at random; flows outlive it.
class LinkFlapsTestCase : public TestCase
{
  public:
    LinkFlapsTestCase(const std::string& recovery, uint32_t seed)
        : TestCase(recovery + " finishes every flow while links flap, seed " +
                   std::to_string(seed)),
          m_recovery(recovery),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        // Hosts 0..3, two leaves (4, 5) of two hosts each, two spines (6, 7).
        FabricUnderTest test("8 4 8\n4 5 6 7\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n"
                             "2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 6 100Gbps 1us 0\n"
                             "4 7 100Gbps 1us 0\n5 6 100Gbps 1us 0\n5 7 100Gbps 1us 0\n",
                             "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\nLOSS_RECOVERY " +
                                 m_recovery + "\n");
        test.Build();
        test.fabric->AssignStreams(1000 * m_seed);
        std::mt19937 random(m_seed);
        for (uint32_t flow = 0; flow < 12; ++flow)
        {
            const uint32_t src = flow % 4;
            test.Send(src, (src + 1 + random() % 3) % 4, 200'000 + flow, random() % 10'000'000);
        }
        for (int flap = 0; flap < 20; ++flap)
        {
            const uint32_t link = random() % 8;
            const Time down = NanoSeconds(random() % 150'000);
            const Time up = down + NanoSeconds(1 + random() % 20'000);
            Simulator::Schedule(down,
                                &RdmaFabric::SetLinkUp,
                                PeekPointer(test.fabric),
                                link,
                                false);
            Simulator::Schedule(up, &RdmaFabric::SetLinkUp, PeekPointer(test.fabric), link, true);
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_GT(totals.wireLosses + totals.routeDrops, 0, "the test loses frames");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              totals.dataPayloadReceived + totals.payloadLost,
                              "bytes sent = bytes arrived + bytes lost");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
    }

    std::string m_recovery;
    uint32_t m_seed;
};

/// Tests of loss recovery.
/// A sender whose window is full asks for an answer, whatever the interval of acknowledgements.
class LongAckIntervalTestCase : public TestCase
{
  public:
    LongAckIntervalTestCase(const std::string& recovery)
        : TestCase("An acknowledgement interval beyond the window stalls nobody: " + recovery),
          m_recovery(recovery)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 1\nPACKET_PAYLOAD_SIZE 1000\nLOSS_RECOVERY " +
                                 m_recovery + "\nL2_ACK_INTERVAL 10000000\n");
        test.Build();
        const auto& flow = test.Send(0, 1, 1'000'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_GT(flow.sentPs, 0, "the flow ends");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().timeouts, 0, "no timer runs out");
        // A full frame over two links of 1 us, and an acknowledgement back: 4 us and 186.56 ns.
        const int64_t rttPs = 4'000'000 + 2 * 1082 * 80 + 2 * 84 * 80;
        // Begun frames of the bytes that fill the path, with a frame before the ACK on each link.
        const int64_t windowFrames = (rttPs + 2 * 1082 * 80) / 80 / 1000 + 1;
        // Window by window: its frames, and for the last of them a round trip.
        const int64_t windows = (1000 + windowFrames - 1) / windowFrames;
        const int64_t expected = 1000 * 1082 * 80 + windows * (rttPs - 1082 * 80);
        NS_TEST_ASSERT_MSG_EQ_TOL(flow.sentPs, expected, expected / 20, "one round trip a window");
    }

    std::string m_recovery;
};

class RecoveryTestSuite : public TestSuite
{
  public:
    RecoveryTestSuite()
        : TestSuite("rdma-qbb-recovery")
    {
        AddTestCase(new SeqRangesTestCase);
        AddTestCase(new IrnResendsHolesOnlyTestCase);
        AddTestCase(new IrnTimeoutTestCase);
        AddTestCase(new IrnShortMessagesTestCase);
        AddTestCase(new IrnLimitsTestCase);
        AddTestCase(new IrnResendsLessTestCase);
        for (const std::string recovery : {"gbn", "irn"})
        {
            AddTestCase(new IncastWithoutPfcTestCase(recovery));
            AddTestCase(new LongAckIntervalTestCase(recovery));
            for (uint32_t seed = 1; seed <= 3; ++seed)
            {
                for (const std::string error : {"0", "0.001", "0.01"})
                {
                    AddTestCase(new EveryFlowEndsTestCase({recovery, error, true, seed}));
                    AddTestCase(new EveryFlowEndsTestCase({recovery, error, false, seed}));
                }
                AddTestCase(new LinkFlapsTestCase(recovery, seed));
            }
        }
    }
};

static RecoveryTestSuite g_recoveryTestSuite; //!< registers the suite
