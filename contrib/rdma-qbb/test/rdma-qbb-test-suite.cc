/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-test-support.h"

#include "ns3/application-container.h"
#include "ns3/rdma-client-helper.h"
#include "ns3/rdma-client.h"
#include "ns3/test.h"

#include <algorithm>

using namespace ns3;

namespace
{

constexpr int64_t MICROSECOND = 1'000'000;

/// @return picoseconds that bytes take at 100 Gb/s: 80 ps a byte
constexpr int64_t
At100G(uint64_t bytes)
{
    return static_cast<int64_t>(bytes) * 80;
}

} // namespace

/// One message alone: every frame, hop and acknowledgement falls on its exact picosecond.
class IdlePathIsExactTestCase : public TestCase
{
  public:
    IdlePathIsExactTestCase(uint64_t bytes)
        : TestCase("An idle path's FCT is exact to the picosecond: " + std::to_string(bytes) +
                   " bytes"),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        // 0 -- switch 2 -- switch 3 -- 1, all 100 Gb/s and 1 us
        FabricUnderTest test(
            "4 2 3\n2 3\n0 2 100Gbps 1us 0\n2 3 100Gbps 1us 0\n3 1 100Gbps 1us 0\n",
            "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
        test.Build();
        const auto& flow = test.Send(0, 1, m_bytes, 5 * MICROSECOND);
        Simulator::Run();

        const uint64_t frames = (m_bytes + 999) / 1000;
        const uint64_t lastPayload = m_bytes - (frames - 1) * 1000;
        const int64_t full = At100G(1082);
        const int64_t last = At100G(std::max<uint64_t>(lastPayload + 82, 84));
        // Store and forward over 3 links. A short last frame waits at each switch for the full
        // frame before it only as long as that one is still being sent: it follows without a gap.
        int64_t lastOut = static_cast<int64_t>(frames - 1) * full + last;
        int64_t fullOut = static_cast<int64_t>(frames - 1) * full;
        for (int hop = 1; hop < 3; ++hop)
        {
            fullOut += frames > 1 ? full : 0;
            lastOut = std::max(lastOut, fullOut) + last;
        }
        const int64_t delivered = lastOut + 3 * MICROSECOND;
        const int64_t acknowledged = delivered + 3 * (At100G(84) + MICROSECOND);
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs - flow.startPs, delivered, "delivery");
        NS_TEST_ASSERT_MSG_EQ(flow.sentPs - flow.startPs, acknowledged, "last acknowledgement");
    }

    uint64_t m_bytes;
};

/// Sixteen senders at once: PFC holds, nothing is dropped, the bottleneck never idles.
class IncastIsLosslessTestCase : public TestCase
{
  public:
    IncastIsLosslessTestCase(uint32_t senders, uint64_t bytes)
        : TestCase("An incast of " + std::to_string(senders) +
                   " loses nothing and keeps the link busy"),
          m_senders(senders),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(m_senders + 1, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n");
        test.Build();
        int64_t end = 0;
        for (uint32_t i = 1; i <= m_senders; ++i)
        {
            test.Send(i, 0, m_bytes);
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
            end = std::max(end, flow->deliveredPs);
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.bufferDrops, 0, "PFC protects the buffer");
        NS_TEST_ASSERT_MSG_EQ(totals.retransmittedBytes, 0, "nothing is sent twice");
        NS_TEST_ASSERT_MSG_GT(totals.pauses, 0, "PFC was needed");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent, m_senders * m_bytes, "bytes sent");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadReceived, m_senders * m_bytes, "bytes delivered");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        // The last link carries all frames back to back, behind one hop and two delays.
        const int64_t work = At100G(1082) * static_cast<int64_t>(m_senders * m_bytes / 1000);
        const int64_t shortest = work + At100G(1082) + 2 * MICROSECOND;
        NS_TEST_ASSERT_MSG_GT_OR_EQ(end, shortest, "no faster than the bottleneck");
        NS_TEST_ASSERT_MSG_LT(end, shortest + work / 100, "bottleneck busy for over 99%");
        const SwitchMmu& mmu = *test.fabric->GetSwitch(m_senders + 1)->GetMmu();
        NS_TEST_ASSERT_MSG_EQ(mmu.GetCounts().GetTotalBytes(), 0, "the buffer is empty");
        NS_TEST_ASSERT_MSG_EQ(mmu.GetCounts().GetSharedUsed(), 0, "the shared pool is empty");
        for (uint32_t port = 0; port <= m_senders; ++port)
        {
            const auto& device = test.fabric->GetDevice(m_senders + 1, port);
            NS_TEST_ASSERT_MSG_EQ(+device.GetPausingMask(), 0, "every pause was resumed");
        }
    }

    uint32_t m_senders;
    uint64_t m_bytes;
};

/// Long flows into one link under DCQCN come out within 5% of each other.
class DcqcnIsFairTestCase : public TestCase
{
  public:
    DcqcnIsFairTestCase()
        : TestCase("Two flows on one link get equal shares within 5% under DCQCN")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(3, "100Gbps", "1us"),
                             "CC_MODE 1\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n"
                             "RATE_AI 50Mb/s\nRATE_HAI 100Mb/s\n");
        test.Build();
        constexpr uint64_t BYTES = 40'000'000;
        const auto& a = test.Send(1, 0, BYTES);
        const auto& b = test.Send(2, 0, BYTES);
        Simulator::Run();
        const double ratio =
            static_cast<double>(a.deliveredPs) / static_cast<double>(b.deliveredPs);
        NS_TEST_ASSERT_MSG_EQ_TOL(ratio, 1.0, 0.05, "shares");
    }
};

/// Frames lost at random are sent again until every flow is complete.
class LossesAreRepairedTestCase : public TestCase
{
  public:
    LossesAreRepairedTestCase(const std::string& error, uint32_t seed)
        : TestCase("Go-back-N finishes every flow at error rate " + error),
          m_error(error),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(5, "100Gbps", "1us"),
                             "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n"
                             "ERROR_RATE_PER_LINK " +
                                 m_error + "\n");
        test.Build();
        test.fabric->AssignStreams(1000 * m_seed);
        for (uint32_t i = 0; i < 4; ++i)
        {
            test.Send(i, i + 1, 300'000 + i);
        }
        Simulator::Run();
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
        }
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              totals.dataPayloadReceived + totals.payloadLost,
                              "bytes sent = bytes arrived + bytes lost");
        NS_TEST_ASSERT_MSG_GT(totals.wireLosses, 0, "the test loses frames");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
    }

    std::string m_error;
    uint32_t m_seed;
};

/// Sequence numbers do not wrap at 4 GiB.
class LargeFlowTestCase : public TestCase
{
  public:
    LargeFlowTestCase()
        : TestCase("A flow of more than 4 GiB arrives whole")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test("2 0 1\n\n0 1 400Gbps 100ns 0\n",
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 65000\nL2_ACK_INTERVAL "
                             "10000000\n");
        test.Build();
        constexpr uint64_t BYTES = (UINT64_C(4) << 30) + 65000;
        const auto& flow = test.Send(0, 1, BYTES);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_GT(flow.sentPs, 0, "the flow ends");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().dataPayloadReceived, BYTES, "all bytes");
    }
};

/// NVLS: every member gets the sum; each port carries every byte once in each direction.
class InNetworkReductionTestCase : public TestCase
{
  public:
    InNetworkReductionTestCase()
        : TestCase("An NVSwitch reduces and multicasts in one pass up and one pass down")
    {
    }

  private:
    void DoRun() override
    {
        CarryOut(1);
        CarryOut(1.25);
    }

    /// @param inflation bytes on links per byte
    void CarryOut(double inflation)
    {
        // one server: GPUs 0..3, NVSwitch 4; 800 Gb/s is 10 ps a byte
        FabricUnderTest test("5 4 1 0 4 H100\n4\n0 4 800Gbps 25ns 0\n1 4 800Gbps 25ns 0\n"
                             "2 4 800Gbps 25ns 0\n3 4 800Gbps 25ns 0\n",
                             "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n");
        test.Build();
        InNetworkSpec spec;
        NS_TEST_ASSERT_MSG_EQ(test.fabric->PlanInNetwork({0, 1, 2, 3}, 0, spec),
                              true,
                              "one server");
        spec.kind = InNetworkKind::ReduceMulticast;
        spec.bytes = 100'000;
        spec.wireInflation = inflation;
        InNetworkEngine& engine = test.fabric->GetInNetworkEngine();
        const uint32_t operation = engine.Open(spec);
        std::vector<int64_t> done(4, -1);
        for (uint32_t i = 0; i < 4; ++i)
        {
            // Members arrive one after the other, when the one before has its acknowledgement; the
            // last decides.
            Simulator::Schedule(MicroSeconds(2 * i), [&engine, &done, operation, i] {
                engine.Join(operation, i, [&done, i] { done[i] = Simulator::Now().GetTimeStep(); });
            });
        }
        Simulator::Run();
        // The last member's 100 frames of 1000 bytes take 1 us up (1.25, where each byte counts as
        // much more), a frame later all have the last.
        const auto frame = static_cast<int64_t>(1000 * 10 * inflation);
        const int64_t expected = 6 * MICROSECOND + 100 * frame + 25'000 + frame + 25'000;
        for (uint32_t i = 0; i < 4; ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(done[i], expected, "member " << i);
        }
        NS_TEST_ASSERT_MSG_EQ(engine.GetOpenCount(), 0, "the operation is over");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().framesInUse, 0, "frames given back");
    }
};

/// CollNet: switches add up the tree, and each link carries every byte once in each direction.
class SwitchTreeReductionTestCase : public TestCase
{
  public:
    SwitchTreeReductionTestCase()
        : TestCase("Network switches reduce up their tree and multicast down it, if they may")
    {
    }

  private:
    void DoRun() override
    {
        // Hosts 0 and 1 at leaf 4, 2 and 3 at leaf 5, spine 6; 800 Gb/s is 10 ps a byte.
        const std::string topology = "7 3 6\n4 5 6\n0 4 800Gbps 25ns 0\n1 4 800Gbps 25ns 0\n"
                                     "2 5 800Gbps 25ns 0\n3 5 800Gbps 25ns 0\n"
                                     "4 6 800Gbps 25ns 0\n5 6 800Gbps 25ns ";
        const std::string conf = "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n";
        InNetworkSpec spec;
        for (const auto& [error, key] : {std::pair("0\n", "IN_NETWORK_REDUCTION 0\n"),
                                         std::pair("0.1\n", "IN_NETWORK_REDUCTION 1\n")})
        {
            FabricUnderTest refusing(topology + error, conf + key);
            refusing.Build();
            NS_TEST_ASSERT_MSG_EQ(refusing.fabric->PlanInNetwork({0, 1, 2, 3}, 0, spec),
                                  false,
                                  "not asked for, or a lossy link");
        }
        for (const InNetworkKind kind :
             {InNetworkKind::ReduceMulticast, InNetworkKind::Reduce, InNetworkKind::Multicast})
        {
            CarryOut(topology + "0\n", conf + "IN_NETWORK_REDUCTION 1\n", kind);
        }
        for (const uint32_t places : {0, 1, 2})
        {
            ShareLeaves(topology + "0\n", conf + "IN_NETWORK_REDUCTION 1\n", places);
        }
    }

    /// Two groups, with a host at each leaf, have one switch of three after the other, or halves.
    void ShareLeaves(const std::string& topology, const std::string& conf, uint32_t places)
    {
        FabricUnderTest test(topology,
                             conf + "IN_NETWORK_OPERATIONS " + std::to_string(places) + "\n");
        test.Build();
        InNetworkEngine& engine = test.fabric->GetInNetworkEngine();
        std::vector<int64_t> done(4, -1);
        for (const uint32_t first : {0, 1})
        {
            InNetworkSpec spec;
            test.fabric->PlanInNetwork({first, first + 2}, 0, spec);
            spec.bytes = 100'000;
            const uint32_t operation = engine.Open(spec);
            for (const uint32_t member : {0, 1})
            {
                engine.Join(operation, member, [&done, host = first + 2 * member] {
                    done[host] = Simulator::Now().GetTimeStep();
                });
            }
        }
        Simulator::Run();
        const int64_t frame = 1082 * 10;
        const int64_t alone = 100 * frame + 3 * frame + 4 * 25'000 + 84 * 10;
        const int64_t shared = alone + 100 * frame;
        const bool inTurn = places == 1;
        const int64_t first = inTurn ? alone : shared;
        const int64_t second = inTurn ? 2 * alone : shared;
        NS_TEST_ASSERT_MSG_EQ_TOL(done[0], first, 4 * frame, "first");
        NS_TEST_ASSERT_MSG_EQ_TOL(done[1], second, 4 * frame, "second");
        NS_TEST_ASSERT_MSG_EQ(engine.GetOpenCount(), 0, "both are over");
    }

    void CarryOut(const std::string& topology, const std::string& conf, InNetworkKind kind)
    {
        FabricUnderTest test(topology, conf);
        test.Build();
        InNetworkSpec spec;
        NS_TEST_ASSERT_MSG_EQ(test.fabric->PlanInNetwork({0, 1, 2, 3}, 0, spec), true, "a tree");
        NS_TEST_ASSERT_MSG_EQ(spec.switches.size(), 3, "two leaves and the spine");
        spec.kind = kind;
        spec.bytes = 100'000;
        spec.root = 2;
        InNetworkEngine& engine = test.fabric->GetInNetworkEngine();
        const uint32_t operation = engine.Open(spec);
        std::vector<int64_t> done(4, -1);
        for (uint32_t i = 0; i < 4; ++i)
        {
            engine.Join(operation, i, [&done, i] { done[i] = Simulator::Now().GetTimeStep(); });
        }
        Simulator::Run();
        // 100 frames of 1000 bytes and 82 of headers; the last is sent on three times. A leaf
        // acknowledges a contribution, with 84 bytes, while results stream down to its member.
        const int64_t frame = 1082 * 10;
        const int64_t streamed = 100 * frame + 3 * frame + 4 * 25'000;
        for (uint32_t i = 0; i < 4; ++i)
        {
            if (kind != InNetworkKind::Reduce || i == spec.root)
            {
                const bool sent = kind != InNetworkKind::Multicast || i == spec.root;
                NS_TEST_ASSERT_MSG_EQ(done[i], streamed + (sent ? 84 * 10 : 0), "member " << i);
            }
            NS_TEST_ASSERT_MSG_GT(done[i], 0, "member " << i);
        }
        NS_TEST_ASSERT_MSG_EQ(engine.GetOpenCount(), 0, "the operation is over");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().framesInUse, 0, "frames given back");
    }
};

/// The application starts when it is told and measures what the closed form says.
class RdmaClientTestCase : public TestCase
{
  public:
    RdmaClientTestCase()
        : TestCase("RdmaClient sends its message from its start time on")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
        test.Build();
        RdmaClientHelper helper(1, 5000);
        ApplicationContainer clients = helper.Install(test.fabric->GetNode(0));
        clients.Start(MicroSeconds(7));
        Time duration;
        clients.Get(0)->TraceConnectWithoutContext(
            "Complete",
            Callback<void, uint64_t, Time>([&duration](uint64_t, Time took) { duration = took; }));
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(DynamicCast<RdmaClient>(clients.Get(0))->IsComplete(), true, "done");
        // Five frames and one hop behind the last, then an acknowledgement, over two links each
        // way.
        const int64_t expected =
            5 * At100G(1082) + At100G(1082) + 2 * MICROSECOND + 2 * (At100G(84) + MICROSECOND);
        NS_TEST_ASSERT_MSG_EQ(duration.GetTimeStep(), expected, "time");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetHw(0).GetCounters().acknowledgedBytes, 5000, "bytes");
    }
};

/// Its message waits until routes follow a link that comes up, and its time counts from the start.
class RdmaClientWaitsTestCase : public TestCase
{
  public:
    RdmaClientWaitsTestCase()
        : TestCase("RdmaClient waits for a path")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n"
                             "LINK_DOWN 10 0 2\nLINK_UP 500 0 2\n");
        test.Build();
        RdmaClientHelper helper(1, 5000);
        ApplicationContainer clients = helper.Install(test.fabric->GetNode(0));
        clients.Start(MicroSeconds(300));
        Time duration;
        clients.Get(0)->TraceConnectWithoutContext(
            "Complete",
            Callback<void, uint64_t, Time>([&duration](uint64_t, Time took) { duration = took; }));
        Simulator::Run();
        // Routes follow a link 100 us later; then the message is alone.
        const int64_t alone =
            5 * At100G(1082) + At100G(1082) + 2 * MICROSECOND + 2 * (At100G(84) + MICROSECOND);
        NS_TEST_ASSERT_MSG_EQ(duration.GetTimeStep(),
                              (500 + 100 - 300) * MICROSECOND + alone,
                              "time");
    }
};

/// The model's own suite; algorithms have suites of their own.
class RdmaQbbTestSuite : public TestSuite
{
  public:
    RdmaQbbTestSuite()
        : TestSuite("rdma-qbb", Type::UNIT)
    {
        for (const uint64_t bytes : {1ULL, 999ULL, 1000ULL, 1001ULL, 1'000'000ULL, 1'000'137ULL})
        {
            AddTestCase(new IdlePathIsExactTestCase(bytes));
        }
        AddTestCase(new IncastIsLosslessTestCase(16, 2'000'000));
        AddTestCase(new IncastIsLosslessTestCase(64, 2'000'000));
        AddTestCase(new IncastIsLosslessTestCase(256, 300'000));
        AddTestCase(new DcqcnIsFairTestCase);
        for (uint32_t seed = 1; seed <= 5; ++seed)
        {
            AddTestCase(new LossesAreRepairedTestCase("0.001", seed));
            AddTestCase(new LossesAreRepairedTestCase("0.01", seed));
        }
        AddTestCase(new LargeFlowTestCase);
        AddTestCase(new InNetworkReductionTestCase);
        AddTestCase(new SwitchTreeReductionTestCase);
        AddTestCase(new RdmaClientTestCase);
        AddTestCase(new RdmaClientWaitsTestCase);
    }
};

static RdmaQbbTestSuite g_rdmaQbbTestSuite; //!< registers the suite
