/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Times to the cycle, conversions, and what waits for what.
 */
#include "accl-star.h"
#include "accl-times.h"

#include "ns3/cclo-plugins.h"
#include "ns3/test.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace ns3;

namespace
{

/// @return what an engine takes for a call of one local move, without its words
int64_t
LocalMove(int64_t path, int64_t read, int64_t write)
{
    return CALL + ISSUE + DECODE + MOVER + read + SWITCH + path + write + STATUS;
}

/// @return time on a wire of 100 Gb/s of a frame with so many bytes of payload
int64_t
WirePs(uint32_t payload)
{
    return (payload + 82) * 80;
}

} // namespace

/// Every half, and halves between floats.
class HalfTestCase : public TestCase
{
  public:
    HalfTestCase()
        : TestCase("float16 is IEEE 754's binary16, rounded to nearest, ties to even")
    {
    }

  private:
    void DoRun() override
    {
        uint32_t wrong = 0;
        for (uint32_t bits = 0; bits < 0x7C00; ++bits)
        {
            const uint32_t exponent = bits >> 10;
            const uint32_t mantissa = bits & 0x3FF;
            const double value = exponent == 0
                                     ? std::ldexp(mantissa, -24)
                                     : std::ldexp(1024 + mantissa, static_cast<int>(exponent) - 25);
            const auto half = static_cast<uint16_t>(bits);
            wrong += CcloHalfToFloat(half) != value;
            wrong += CcloFloatToHalf(static_cast<float>(value)) != half;
            wrong += CcloFloatToHalf(static_cast<float>(-value)) != (half | 0x8000);
            // Half way to the next: to the even one; a little more or less: to the nearer one.
            const double next = bits == 0x7BFF ? 65536 : CcloHalfToFloat(half + 1);
            const auto middle = static_cast<float>((value + next) / 2);
            const uint16_t even = half & 1 ? half + 1 : half;
            wrong += CcloFloatToHalf(middle) != even;
            wrong += CcloFloatToHalf(std::nextafter(middle, 0.0F)) != half;
            wrong += CcloFloatToHalf(std::nextafter(middle, 1e9F)) != half + 1;
        }
        NS_TEST_EXPECT_MSG_EQ(wrong, 0, "finite halves");
        const float infinity = std::numeric_limits<float>::infinity();
        NS_TEST_EXPECT_MSG_EQ(CcloFloatToHalf(infinity), 0x7C00, "infinity");
        NS_TEST_EXPECT_MSG_EQ(CcloHalfToFloat(0xFC00), -infinity, "minus infinity");
        NS_TEST_EXPECT_MSG_EQ(std::isnan(CcloHalfToFloat(CcloFloatToHalf(std::nanf("")))),
                              true,
                              "not a number");
    }
};

/// One move: words and latencies, no more.
class MoveTimeTestCase : public TestCase
{
  public:
    MoveTimeTestCase()
        : TestCase("A move takes its latencies and a cycle per word, to the cycle")
    {
    }

  private:
    /// @return time from call to end, in the engine alone
    static int64_t TimeOf(AcclStar& star, const CcloRequest& request)
    {
        const int64_t start = Simulator::Now().GetPicoSeconds();
        int64_t end = -1;
        CcloDriver& driver = *star.drivers[0];
        driver.GetEngine()->Call(driver.MakeCall(request),
                                 [&end](uint32_t) { end = Simulator::Now().GetPicoSeconds(); });
        Simulator::Run();
        return end - start;
    }

    void DoRun() override
    {
        AcclStar star(2);
        star.Run();
        CcloDriver& driver = *star.drivers[0];
        const auto hbm = driver.Allocate(1 << 20, CcloDataType::Float32);
        const auto other = driver.Allocate(1 << 20, CcloDataType::Float32);
        const auto half = driver.Allocate(1 << 20, CcloDataType::Float16);
        const auto ddr = driver.Allocate(1 << 20, CcloDataType::Float32, CcloMemoryKind::Ddr);
        const auto host = driver.Allocate(1 << 20, CcloDataType::Float32, CcloMemoryKind::Host);
        CcloRequest copy{.operation = CcloOperation::Copy, .count = 1, .op0 = hbm, .result = other};
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy), LocalMove(0, HBM, HBM) + CYCLE, "one word");
        copy.count = 16;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy), LocalMove(0, HBM, HBM) + CYCLE, "still one");
        copy.count = 17;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy), LocalMove(0, HBM, HBM) + 2 * CYCLE, "two");
        copy.count = 1 << 20;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy),
                              LocalMove(0, HBM, HBM) + 65536 * CYCLE,
                              "4 MiB at 16 GB/s");
        copy.op0 = ddr;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy),
                              LocalMove(0, DDR, HBM) + 65536 * CYCLE,
                              "DDR is fast enough for one stream");
        copy.result = ddr;
        // 8 MiB at 19.2 GB/s, rounded up to a picosecond.
        const int64_t both = ((int64_t{8} << 20) * 10'000 + 191) / 192;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy), LocalMove(0, DDR, DDR) + both, "not for two");
        copy.result = host;
        // 4 MiB at 14.4 GB/s.
        const int64_t pcie = ((int64_t{4} << 20) * 10'000 + 143) / 144;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, copy), LocalMove(0, DDR, HOST) + pcie, "PCIe");

        CcloRequest sum{.operation = CcloOperation::Combine,
                        .count = 1000,
                        .op0 = hbm,
                        .op1 = other,
                        .result = hbm};
        const int64_t words = (4000 + 63) / 64 * CYCLE;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, sum),
                              LocalMove(SWITCH + ADDER, HBM, HBM) + words,
                              "through the arithmetic unit");
        // float32 with float16 is computed as float16: operands and result pass a lane each.
        sum.op1 = half;
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, sum),
                              LocalMove(2 * (SWITCH + LANE) + SWITCH + ADDER, HBM, HBM) + words,
                              "and through two lanes after each other");
        CcloRequest convert{.operation = CcloOperation::Copy,
                            .count = 1000,
                            .op0 = hbm,
                            .result = half};
        NS_TEST_EXPECT_MSG_EQ(TimeOf(star, convert),
                              LocalMove(SWITCH + LANE, HBM, HBM) + words,
                              "the larger side counts");
    }
};

/// Messages over an idle fabric.
class MessageTimeTestCase : public TestCase
{
  public:
    MessageTimeTestCase()
        : TestCase("A segment, and a rendezvous of S bytes, take what the wire and the parts say")
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2);
        star.Run();

        // Eager: 1 KiB, one message of 64 + 1024 bytes in one frame.
        const int64_t words = 16 * CYCLE;
        const int64_t handed =
            CALL + ISSUE + DECODE + MOVER + HBM + SWITCH + PACKETIZER; // first word at the engine
        const auto eager = star.SendTime(256);
        NS_TEST_EXPECT_MSG_EQ(eager[0], handed + words + CYCLE + STATUS, "the sender is free");
        const int64_t arrived = handed + ENGINE + 2 * WirePs(64 + 1024) + FLIGHT + ENGINE;
        const int64_t stored = arrived + 2 * CYCLE + HBM;
        const int64_t matched = stored + DECODE + CYCLE; // one message looked at
        NS_TEST_EXPECT_MSG_EQ(eager[1],
                              matched + MOVER + HBM + SWITCH + words + HBM + STATUS,
                              "the receiver has it");

        // Rendezvous: the receiver's address, the data in frames of 4096 bytes, its completion.
        const uint32_t frames = 16;
        const auto rendezvous = star.SendTime(frames * 1024);
        const int64_t asked = CALL + NOTIFICATION;
        const int64_t told = asked + ENGINE + 2 * WirePs(64) + FLIGHT + ENGINE + 2 * CYCLE;
        // The sender has looked in vain before, and is called again.
        const int64_t retried = told + CALL + NOTIFICATION;
        const int64_t begun = retried + ISSUE + DECODE + MOVER + HBM + SWITCH + PACKETIZER + ENGINE;
        // Data of 64 KiB leave more slowly (12.3 GB/s) than they come (16 GB/s), so the wire is
        // busy from the first byte to the completion, which is one frame more.
        const int64_t leaves = begun + frames * WirePs(4096) + WirePs(64);
        const int64_t written = leaves + WirePs(64) + FLIGHT + ENGINE + 2 * CYCLE;
        const int64_t behind =
            WirePs(4096) - WirePs(64); // the last full frame is still in the switch
        NS_TEST_EXPECT_MSG_EQ(rendezvous[1],
                              written + behind + CALL + NOTIFICATION,
                              "the receiver knows");
    }
};

/// Frames sent one after the other, as fast as the wire takes them.
class GoodputTestCase : public TestCase
{
  public:
    GoodputTestCase()
        : TestCase("Segments of 1 KiB get 87.5% of the link, rendezvous 98%")
    {
    }

  private:
    void DoRun() override
    {
        // 16 segments in one move: as many as there are rx buffers.
        Config::SetDefault("ns3::CcloDriver::MaxEagerSize", UintegerValue(16384));
        std::array<double, 2> goodput;
        for (const uint32_t which : {0U, 1U})
        {
            AcclStar star(2);
            star.Run();
            const uint32_t count = which == 0 ? 4096 : 8192;
            for (const uint32_t rank : {0U, 1U})
            {
                const auto from = star.drivers[rank]->Allocate(count, CcloDataType::Float32);
                const auto to = star.drivers[rank]->Allocate(count * 2, CcloDataType::Float32);
                star.Call(rank,
                          {.operation = CcloOperation::AllGather,
                           .count = count,
                           .op0 = from,
                           .result = to});
            }
            NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "ends");
            const RdmaHwCounters counters = star.fabric->GetHw(1).GetCounters();
            const QbbNetDevice& nic = star.fabric->GetDevice(0, 0);
            NS_TEST_EXPECT_MSG_GT(counters.deliveredBytes, count * 4, "delivered");
            const double payload = count * 4.0;
            const double wire = static_cast<double>(nic.GetTxBytes());
            goodput[which] = payload / wire;
        }
        Config::SetDefault("ns3::CcloDriver::MaxEagerSize", UintegerValue(1024));
        // Host 0 also sends acknowledgements, 84 bytes per frame it receives.
        NS_TEST_EXPECT_MSG_EQ_TOL(goodput[0],
                                  1024.0 / (1024 + 64 + 82 + 84),
                                  1e-9,
                                  "header, frame, acknowledgement");
        const double control = 2 * (64 + 82) + 2 * 84; // address and completion, acknowledged
        NS_TEST_EXPECT_MSG_EQ_TOL(goodput[1],
                                  32768.0 / (32768 + 8 * (82 + 84) + control),
                                  1e-9,
                                  "frames of 4096");
    }
};

/// Nobody asks for what is sent.
class StallTestCase : public TestCase
{
  public:
    StallTestCase()
        : TestCase("Unclaimed messages stay, an eager sender stalls without buffers, and says so")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::CcloRdmaEngine::EagerWindow", UintegerValue(4096));
        AcclStar star(2);
        Config::SetDefault("ns3::CcloRdmaEngine::EagerWindow", UintegerValue(65536));
        uint32_t stalls = 0;
        star.drivers[1]->GetEngine()->TraceConnectWithoutContext(
            "RxBufferStall",
            Callback<void, uint32_t, const CcloHeader&>(
                [&stalls](uint32_t, const CcloHeader&) { ++stalls; }));
        const uint32_t messages = 24;
        std::vector<CcloBuffer> sent;
        std::vector<CcloBuffer> received;
        for (uint32_t i = 0; i < messages; ++i)
        {
            sent.push_back(star.drivers[0]->Allocate(256, CcloDataType::Int32));
            received.push_back(star.drivers[1]->Allocate(256, CcloDataType::Int32));
            star.Fill(0, sent[i], [i](uint64_t j) { return static_cast<double>(1000 * i + j); });
            star.Call(0,
                      {.operation = CcloOperation::Send,
                       .count = 256,
                       .peer = 1,
                       .tag = i,
                       .op0 = sent[i]});
        }
        NS_TEST_EXPECT_MSG_EQ(star.Run(), false, "not all can be sent");
        // 16 in rx buffers, 4 of 1 KiB in front of them, one in the packetizer.
        NS_TEST_EXPECT_MSG_EQ(stalls, 1, "the first message without a buffer");
        NS_TEST_EXPECT_MSG_EQ(std::count(star.lastResults.begin(), star.lastResults.end(), 0U),
                              20,
                              "sends that have ended");
        const std::string waits = star.Waits();
        for (const std::string part :
             {"rank 0: Send of 256 elements waits for 1 moves to end",
              "rank 0: the packetizer waits with 1024 bytes for rank 1: host 1 has yet to put 4096 "
              "bytes of eager data into rx buffers",
              "rank 1: 4 messages wait in front of the rx buffers, all 16 of which are full; the "
              "first is of rank 0, sequence 16",
              "rank 1: rx buffer 3 holds 1024 bytes of rank 0, tag 3, sequence 3"})
        {
            NS_TEST_EXPECT_MSG_NE(waits.find(part), std::string::npos, part << " in " << waits);
        }
        for (uint32_t i = 0; i < messages; ++i)
        {
            star.Call(1,
                      {.operation = CcloOperation::Recv,
                       .count = 256,
                       .peer = 0,
                       .tag = i,
                       .result = received[i]});
        }
        NS_TEST_EXPECT_MSG_EQ(star.Run(), true, "now they are asked for");
        NS_TEST_EXPECT_MSG_EQ(star.Waits(), "", "nothing waits");
        for (uint32_t i = 0; i < messages; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(
                star.Differences(1,
                                 received[i],
                                 [i](uint64_t j) { return static_cast<double>(1000 * i + j); }),
                0,
                "message " << i);
        }
    }
};

/// A message in the way of another.
class WrongTagTestCase : public TestCase
{
  public:
    WrongTagTestCase()
        : TestCase("A receive with another tag waits, and says for what")
    {
    }

  private:
    void DoRun() override
    {
        AcclStar star(2);
        const auto a = star.drivers[0]->Allocate(10, CcloDataType::Float32);
        const auto b = star.drivers[1]->Allocate(10, CcloDataType::Float32);
        star.Call(0,
                  {.operation = CcloOperation::Send, .count = 10, .peer = 1, .tag = 7, .op0 = a});
        star.Call(
            1,
            {.operation = CcloOperation::Recv, .count = 10, .peer = 0, .tag = 8, .result = b});
        NS_TEST_EXPECT_MSG_EQ(star.Run(), false, "no match");
        const std::string waits = star.Waits();
        NS_TEST_EXPECT_MSG_NE(waits.find("waits for 40 bytes from rank 0, tag 8, sequence 0"),
                              std::string::npos,
                              waits);
        NS_TEST_EXPECT_MSG_NE(waits.find("holds 40 bytes of rank 0, tag 7, sequence 0"),
                              std::string::npos,
                              waits);
    }
};

/// Moves that need the same unit.
class SharedUnitTestCase : public TestCase
{
  public:
    SharedUnitTestCase()
        : TestCase("Two moves that need the same unit take turns, two that do not overlap")
    {
    }

  private:
    struct Nobody : CcloDataPlane::Listener
    {
        void OnRetired(uint32_t) override
        {
            ends.push_back(Simulator::Now().GetPicoSeconds());
        }

        void OnDecoded() override
        {
        }

        std::vector<int64_t> ends;
    };

    void DoRun() override
    {
        AcclStar star(1);
        star.Run();
        CcloDriver& driver = *star.drivers[0];
        CcloEngine& engine = *driver.GetEngine();
        const auto a = driver.Allocate(16 * 100, CcloDataType::Float32);
        const auto b = driver.Allocate(16 * 100, CcloDataType::Float32);
        const auto c = driver.Allocate(16 * 100, CcloDataType::Float32);
        CcloRxBuffers unused(engine.GetExchangeMemory(), engine.GetMemory());
        Ptr<CcloDataPlane> plane = CreateObject<CcloDataPlane>();
        Nobody listener;
        plane->Install(engine.GetExchangeMemory(),
                       engine.GetMemory(),
                       unused,
                       *engine.GetProtocolEngine(),
                       listener);
        const uint32_t type = driver.MakeCall({.count = 1, .op0 = a}).arithmeticConfig;
        const auto move = [&](const CcloBuffer& from, const CcloBuffer& to) {
            CcloMove result;
            result.op0 = result.result = CcloOperand::Immediate;
            result.op0Address = from.address;
            result.resultAddress = to.address;
            result.count = 16 * 100;
            result.arithmeticConfig = type;
            return result;
        };
        const int64_t start = Simulator::Now().GetPicoSeconds();
        const int64_t alone = DECODE + MOVER + HBM + SWITCH + HBM + 100 * CYCLE;
        plane->Issue(move(a, b));
        plane->Issue(move(a, c)); // the same channels: when 100 words have passed
        plane->Issue(move(c, a)); // reads what the second writes: when that has ended
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(listener.ends.size(), 3, "all end");
        NS_TEST_EXPECT_MSG_EQ(listener.ends[0] - start, alone, "alone");
        NS_TEST_EXPECT_MSG_EQ(listener.ends[1] - start, alone + 100 * CYCLE, "after its words");
        NS_TEST_EXPECT_MSG_EQ(listener.ends[2] - start,
                              alone + 100 * CYCLE + alone - DECODE,
                              "after its result");
        plane->Dispose();
    }
};

/// Tests of the data plane.
class AcclCcloDataPlaneTestSuite : public TestSuite
{
  public:
    AcclCcloDataPlaneTestSuite()
        : TestSuite("accl-cclo-data-plane", Type::UNIT)
    {
        AddTestCase(new HalfTestCase);
        AddTestCase(new MoveTimeTestCase);
        AddTestCase(new MessageTimeTestCase);
        AddTestCase(new GoodputTestCase);
        AddTestCase(new StallTestCase);
        AddTestCase(new WrongTagTestCase);
        AddTestCase(new SharedUnitTestCase);
    }
};

static AcclCcloDataPlaneTestSuite g_acclCcloDataPlaneTestSuite; //!< registers the suite
