/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Engines over UDP and TCP: results, times, losses, sessions.
 */
#include "accl-cases.h"
#include "accl-cclo/model/network/cclo-udp-engine.h"
#include "accl-times.h"

#include "ns3/test.h"

#include <fmt/format.h>

using namespace ns3;
using namespace ns3::accl;

namespace
{

const std::string UDP = "ns3::CcloUdpEngine";
const std::string TCP = "ns3::CcloTcpEngine";

// Beside the payload of a frame.
constexpr uint32_t ETHERNET = 14 + 4 + 20;
constexpr uint32_t UDP_FRAME = 8 + 20 + ETHERNET;
constexpr uint32_t TCP_FRAME = 20 + 20 + ETHERNET;

AcclStar::Tune
Over(const std::string& protocol, uint32_t rxBufferSize = 1024)
{
    return [protocol, rxBufferSize](CcloHelper& helper) {
        helper.SetProtocol(protocol);
        helper.SetDriverAttribute("RxBufferSize", UintegerValue(rxBufferSize));
        helper.SetDriverAttribute("MaxEagerSize", UintegerValue(rxBufferSize));
        helper.SetDriverAttribute("MaxRendezvousSize", UintegerValue(1 << 20));
    };
}

} // namespace

/// Results over a protocol without writes.
class EagerOperationsTestCase : public TestCase
{
  public:
    EagerOperationsTestCase(const std::string& protocol, uint32_t ranks)
        : TestCase(fmt::format("{}, {} ranks: every operation that is eager", protocol, ranks)),
          m_protocol(protocol),
          m_ranks(ranks)
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(m_ranks, Over(m_protocol));
        uint32_t turn = m_ranks;
        const uint32_t every = m_ranks > 17 ? 11 : m_ranks > 5 ? 3 : 1;
        for (const CcloOperation operation : COLLECTIVES)
        {
            if (operation == CcloOperation::AllToAll)
            {
                continue;
            }
            for (const uint32_t count : {1U, 129U, 257U, 1001U})
            {
                if (++turn % every != 0)
                {
                    continue;
                }
                const Case c{.operation = operation,
                             .count = count,
                             .type = TYPES[turn % TYPES.size()],
                             .root = turn * 5 % m_ranks,
                             .function =
                                 turn % 2 ? CcloReduceFunction::Sum : CcloReduceFunction::Max};
                NS_TEST_EXPECT_MSG_EQ(Check(star, c), "", "reference");
            }
            if (m_ranks > 17 && turn % 3 != 0)
            {
                continue;
            }
            const Case compressed{.operation = operation,
                                  .count = 300,
                                  .root = turn % m_ranks,
                                  .wire = CcloDataType::Float16};
            NS_TEST_EXPECT_MSG_EQ(Check(star, compressed), "", "compressed on the wire");
        }
    }

    std::string m_protocol;
    uint32_t m_ranks;
};

/// Operations that need writes to a peer's memory.
class NoWritesTestCase : public TestCase
{
  public:
    explicit NoWritesTestCase(const std::string& protocol)
        : TestCase(protocol + ": what has no eager form ends with an error; identity"),
          m_protocol(protocol)
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2, Over(m_protocol));
        for (const uint32_t rank : {0U, 1U})
        {
            const auto a = star.drivers[rank]->Allocate(20, CcloDataType::Float32);
            const auto b = star.drivers[rank]->Allocate(20, CcloDataType::Float32);
            star.Call(rank,
                      {.operation = CcloOperation::AllToAll, .count = 10, .op0 = a, .result = b});
            star.Call(rank, {.operation = CcloOperation::Barrier});
        }
        star.Run();
        for (const uint32_t result : star.lastResults)
        {
            NS_TEST_EXPECT_MSG_EQ(CcloErrorNames(result), "COLLECTIVE_NOT_IMPLEMENTED", "error");
        }
        const uint32_t stack = star.drivers[0]->GetHardwareId() & 3;
        const uint32_t expected = m_protocol == UDP ? 0 : 1;
        NS_TEST_EXPECT_MSG_EQ(stack, expected, "ACCL's bits of the protocol");
    }

    std::string m_protocol;
};

/// One segment on an idle fabric.
class SegmentTimeTestCase : public TestCase
{
  public:
    SegmentTimeTestCase(const std::string& protocol, uint32_t frame)
        : TestCase(protocol + ": a segment takes what the wire and the parts say"),
          m_protocol(protocol),
          m_frame(frame)
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2, Over(m_protocol, 8192));
        star.Run(); // opens the sessions
        // 1000 bytes are 16 words, the last of which UDP sends whole.
        const uint32_t payload = m_protocol == UDP ? 64 + 1024 : 64 + 1000;
        const int64_t words = 16 * CYCLE;
        const int64_t handed = CALL + ISSUE + DECODE + MOVER + HBM + SWITCH + PACKETIZER;
        const auto ends = star.SendTime(250);
        NS_TEST_EXPECT_MSG_EQ(ends[0], handed + words + CYCLE + STATUS, "the sender is free");
        // ns-3's TCP sends what it has been given a time step later.
        const int64_t sent = handed + ENGINE + (m_protocol == UDP ? 0 : 1);
        const int64_t arrived = sent + 2 * (payload + m_frame) * BYTE + FLIGHT + ENGINE;
        const int64_t matched = arrived + 2 * CYCLE + HBM + DECODE + CYCLE;
        NS_TEST_EXPECT_MSG_EQ(ends[1],
                              matched + MOVER + HBM + SWITCH + words + HBM + STATUS,
                              "the receiver has it");

        // Two full packets and one of 64 bytes, which waits behind them in the switch.
        const auto large = star.SendTime(2048);
        const int64_t full = (4096 + m_frame) * BYTE;
        const int64_t rest = (64 + 8192 - 4096 - 4096 + m_frame) * BYTE;
        const int64_t second = sent + full + full + FLIGHT + full + rest + ENGINE;
        const int64_t found = second + 2 * CYCLE + HBM + DECODE + CYCLE;
        NS_TEST_EXPECT_MSG_EQ(large[1],
                              found + MOVER + HBM + SWITCH + 128 * CYCLE + HBM + STATUS,
                              "packets of 4096 bytes, one after the other");
    }

    std::string m_protocol;
    uint32_t m_frame;
};

/// Wire bytes of segments.
class EagerGoodputTestCase : public TestCase
{
  public:
    EagerGoodputTestCase()
        : TestCase("Segments of 1 KiB get 88.7% of the link over UDP, and 87.8% over TCP")
    {
    }

  private:
    /// @return wire bytes of host 0 for 16 segments to the other
    static double WireBytes(const std::string& protocol)
    {
        AcclStar star(2, [&protocol](CcloHelper& helper) {
            helper.SetProtocol(protocol);
            helper.SetDriverAttribute("MaxEagerSize", UintegerValue(16384));
        });
        star.Run();
        const QbbNetDevice& nic = star.fabric->GetDevice(0, 0);
        const uint64_t before = nic.GetTxBytes();
        for (const uint32_t rank : {0U, 1U})
        {
            const auto from = star.drivers[rank]->Allocate(4096, CcloDataType::Float32);
            const auto to = star.drivers[rank]->Allocate(8192, CcloDataType::Float32);
            star.Call(
                rank,
                {.operation = CcloOperation::AllGather, .count = 4096, .op0 = from, .result = to});
        }
        return star.Run() ? static_cast<double>(nic.GetTxBytes() - before) : 0;
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(WireBytes(UDP), 16.0 * (1024 + 64 + UDP_FRAME), "header and frame");
        // Over TCP with an acknowledgement each, of what the other sends.
        NS_TEST_EXPECT_MSG_EQ(WireBytes(TCP),
                              16.0 * (1024 + 64 + TCP_FRAME) + 16 * 84,
                              "header, frame, acknowledgement");
    }
};

/// Nothing repairs a loss over UDP.
class UdpLossTestCase : public TestCase
{
  public:
    UdpLossTestCase()
        : TestCase("A message lost over UDP is missed for ever, and the stall is named")
    {
    }

  private:
    /// Send messages of a size each, one after the other. @return how many receives ended
    uint32_t Exchange(AcclStar& star, uint32_t count, uint32_t messages)
    {
        for (uint32_t i = 0; i < messages; ++i)
        {
            for (const uint32_t rank : {0U, 1U})
            {
                const auto buffer = star.drivers[rank]->Allocate(count, CcloDataType::Float32);
                CcloRequest request{.count = count, .peer = 1 - rank, .tag = i};
                request.operation = rank == 0 ? CcloOperation::Send : CcloOperation::Recv;
                (rank == 0 ? request.op0 : request.result) = buffer;
                star.Call(rank, request);
            }
        }
        const bool all = star.Run();
        NS_TEST_EXPECT_MSG_EQ(all, false, "receives wait");
        // Sends do not wait for anybody.
        const auto ended = static_cast<uint32_t>(
            std::count(star.lastResults.begin(), star.lastResults.end(), CcloError::NONE));
        return ended - messages;
    }

    void Expect(const AcclStar& star, const std::string& part)
    {
        const std::string waits = star.Waits();
        NS_TEST_EXPECT_MSG_NE(waits.find(part), std::string::npos, part << " in " << waits);
    }

    void DoRun() override
    {
        {
            AcclStar star(2, Over(UDP), 0.1);
            const uint32_t received = Exchange(star, 256, 32);
            NS_TEST_EXPECT_MSG_GT(star.fabric->GetTotals().wireLosses, 0, "something is lost");
            NS_TEST_EXPECT_MSG_LT(received, 32, "so the receives do not all end");
            Expect(star,
                   fmt::format("rank 1: a move waits for 1024 bytes from rank 0, tag {}, sequence "
                               "{}",
                               received,
                               received));
            Expect(star, "rank 1: UDP session 0 with 11.0.0.1: ");
            Expect(star, " messages were lost");
            Expect(star,
                   fmt::format("of rank 0, tag {}, sequence {}, that no call has asked for",
                               received + 2,
                               received + 2));
        }
        {
            // Five packets each.
            AcclStar star(2, Over(UDP, 16384), 0.05);
            const uint32_t received = Exchange(star, 4096, 16);
            Expect(star,
                   fmt::format("rank 1: UDP session 0 with 11.0.0.1: a packet of message {} was "
                               "lost, so nothing after it can be told apart",
                               received));
        }
    }
};

/// Nobody waits for a receiver over UDP.
class UdpOverflowTestCase : public TestCase
{
  public:
    UdpOverflowTestCase()
        : TestCase("Over UDP what finds rx buffers and receive buffer full is lost, and counted")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::CcloSocketEngine::ReceiveBufferSize", UintegerValue(4096));
        AcclStar star(2, Over(UDP));
        Config::SetDefault("ns3::CcloSocketEngine::ReceiveBufferSize", UintegerValue(65536));
        for (uint32_t i = 0; i < 24; ++i)
        {
            star.CallSend(0, 1, i, 256);
        }
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "the sender does not know");
        // 16 in rx buffers; a packet of 1088 bytes fits in front while 3008 or fewer wait.
        Ptr<CcloUdpEngine> engine =
            DynamicCast<CcloUdpEngine>(star.drivers[1]->GetEngine()->GetProtocolEngine());
        NS_TEST_EXPECT_MSG_EQ(engine->GetDropped(), 24 - 16 - 3, "lost");
        const std::string waits = star.Waits();
        for (const std::string part :
             {"rank 1: 3 messages wait in front of the rx buffers, all 16 of which are full",
              "rank 1: 5 packets were lost in front of full rx buffers (ReceiveBufferSize is 4096 "
              "bytes)"})
        {
            NS_TEST_EXPECT_MSG_NE(waits.find(part), std::string::npos, part << " in " << waits);
        }
    }
};

/// TCP repairs losses, and holds the sender back.
class TcpSessionsTestCase : public TestCase
{
  public:
    TcpSessionsTestCase()
        : TestCase("TCP: sessions open first, losses are repaired, a slow receiver holds up")
    {
    }

  private:
    void CheckOpening()
    {
        AcclStar star(2, Over(TCP));
        Time first;
        star.drivers[0]->GetEngine()->GetFirmware()->TraceConnectWithoutContext(
            "CallStart",
            Callback<void, const CcloCall&>([&first](const CcloCall& call) {
                if (call.operation == CcloOperation::Nop)
                {
                    first = Simulator::Now();
                }
            }));
        star.Call(0, {.operation = CcloOperation::Nop});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "ends");
        // SYN, SYN and ACK: two links each way, then the host's way and the call.
        const Time handshake = PicoSeconds(2 * FLIGHT + 4 * 84 * BYTE);
        NS_TEST_EXPECT_MSG_GT(first, handshake + MicroSeconds(2), "not before the sessions");
        NS_TEST_EXPECT_MSG_LT(first, handshake + MicroSeconds(3), "but then");

        star.drivers[0]->Deinitialize();
        star.drivers[1]->Deinitialize();
        star.Run();
        const CcloHelper helper(star.fabric);
        const std::vector<CcloRank> ranks = {helper.MakeRank(0), helper.MakeRank(1)};
        star.drivers[0]->Initialize(ranks, 0);
        star.drivers[1]->Initialize(ranks, 1);
        const std::string wrong =
            Check(star, {.operation = CcloOperation::AllReduce, .count = 100});
        NS_TEST_EXPECT_MSG_EQ(wrong, "", "closed and opened again");
    }

    void CheckLoss()
    {
        AcclStar star(4, Over(TCP), 0.02);
        for (const uint32_t count : {100U, 1001U})
        {
            for (const auto operation : {CcloOperation::AllReduce, CcloOperation::Bcast})
            {
                const std::string wrong = Check(star, {.operation = operation, .count = count});
                NS_TEST_EXPECT_MSG_EQ(wrong, "", "in spite of losses");
            }
        }
        NS_TEST_EXPECT_MSG_GT(star.fabric->GetTotals().wireLosses, 0, "frames were lost");
    }

    void CheckStall()
    {
        Config::SetDefault("ns3::CcloSocketEngine::ReceiveBufferSize", UintegerValue(4096));
        AcclStar star(2, Over(TCP));
        Config::SetDefault("ns3::CcloSocketEngine::ReceiveBufferSize", UintegerValue(65536));
        for (const bool sends : {true, false})
        {
            for (uint32_t i = 0; i < 24; ++i)
            {
                const uint32_t rank = sends ? 0 : 1;
                const auto buffer = star.drivers[rank]->Allocate(256, CcloDataType::Float32);
                CcloRequest request{.count = 256, .peer = 1 - rank, .tag = i};
                request.operation = sends ? CcloOperation::Send : CcloOperation::Recv;
                (sends ? request.op0 : request.result) = buffer;
                star.Call(rank, request);
            }
            NS_TEST_EXPECT_MSG_EQ(star.Run(), !sends, "waits for buffers, then ends");
            const std::string waits = star.Waits();
            const std::string part = "rank 0: the packetizer waits with 1024 bytes for rank 1: the "
                                     "peer has yet to put 4096 bytes into rx buffers";
            NS_TEST_EXPECT_MSG_EQ((waits.find(part) != std::string::npos), sends, waits);
        }
        NS_TEST_EXPECT_MSG_EQ(star.Waits(), "", "nothing waits");
    }

    void CheckAbsent()
    {
        AcclStar star(3, Over(TCP));
        Ptr<CcloDriver> driver = star.drivers[0];
        driver->Deinitialize();
        star.Run();
        const CcloHelper helper(star.fabric);
        CcloRank absent = helper.MakeRank(2);
        absent.port = 5501;
        driver->Initialize({helper.MakeRank(0), absent}, 0);
        star.Call(0, {.operation = CcloOperation::Nop});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), false, "nobody listens");
        NS_TEST_EXPECT_MSG_EQ(star.Waits(),
                              "rank 0: TCP session 1 with 11.0.2.1:5501 is refused\n",
                              "and it is said");
    }

    void DoRun() override
    {
        CheckOpening();
        CheckLoss();
        CheckStall();
        CheckAbsent();
    }
};

/// Tests of engines over the Internet stack.
class AcclCcloProtocolsTestSuite : public TestSuite
{
  public:
    AcclCcloProtocolsTestSuite()
        : TestSuite("accl-cclo-protocols", Type::UNIT)
    {
        for (const std::string& protocol : {UDP, TCP})
        {
            for (uint32_t ranks = 1; ranks <= 33; ++ranks)
            {
                AddTestCase(new EagerOperationsTestCase(protocol, ranks));
            }
            AddTestCase(new NoWritesTestCase(protocol));
        }
        AddTestCase(new SegmentTimeTestCase(UDP, UDP_FRAME));
        AddTestCase(new SegmentTimeTestCase(TCP, TCP_FRAME));
        AddTestCase(new EagerGoodputTestCase);
        AddTestCase(new UdpLossTestCase);
        AddTestCase(new UdpOverflowTestCase);
        AddTestCase(new TcpSessionsTestCase);
    }
};

static AcclCcloProtocolsTestSuite g_acclCcloProtocolsTestSuite; //!< registers the suite
