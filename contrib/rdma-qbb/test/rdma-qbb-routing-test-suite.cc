/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Routing per frame and per flowlet, and receivers that put frames in order.
 */
#include "fabric-test-support.h"

#include "ns3/flow-hash.h"
#include "ns3/node.h"
#include "ns3/pointer.h"
#include "ns3/random-variable-stream.h"
#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr int64_t ROUTING_US = 1'000'000;
constexpr int64_t ROUTING_FRAME_PS = 1082 * 80; ///< a full frame at 100 Gb/s
constexpr uint32_t LEAF = 8;                    ///< hosts 0..3 are here, 4..7 at the next
constexpr uint16_t FIRST_UPLINK = 4;            ///< port of a leaf

/// One spine's links to both leaves.
struct Spine
{
    std::string rate{"100Gbps"};
    std::string delay{"1us"};
};

/// @return two leaves of four hosts each at 100 Gb/s and 1 us, with these spines between them
std::string
LeafSpine(const std::vector<Spine>& spines)
{
    const auto count = static_cast<uint32_t>(spines.size());
    std::string text = std::to_string(10 + count) + " " + std::to_string(2 + count) + " " +
                       std::to_string(8 + 2 * count) + "\n8 9";
    for (uint32_t i = 0; i < count; ++i)
    {
        text += " " + std::to_string(10 + i);
    }
    text += "\n";
    for (uint32_t host = 0; host < 8; ++host)
    {
        text += std::to_string(host) + (host < 4 ? " 8" : " 9") + " 100Gbps 1us 0\n";
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        for (const char* leaf : {"8 ", "9 "})
        {
            text += leaf + std::to_string(10 + i) + " " + spines[i].rate + " " + spines[i].delay +
                    " 0\n";
        }
    }
    return text;
}

std::string
RoutingConf(const std::string& routing, const std::string& more = "")
{
    return "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\nROUTING " + routing +
           "\n" + more;
}

/// @return a source port with which the leaf's ECMP hash takes its first uplink
uint16_t
PortForFirstUplink(const FabricUnderTest& test, uint32_t src, uint32_t dst, uint32_t uplinks)
{
    const uint32_t seed = MixBits(1 + test.fabric->GetNode(LEAF)->GetId());
    for (uint16_t sport = 20000;; ++sport)
    {
        if (EcmpChoice(FlowHash(src, dst, sport, 100), seed, uplinks) == 0)
        {
            return sport;
        }
    }
}

int64_t
LastDelivery(const FabricUnderTest& test)
{
    int64_t last = 0;
    for (const auto& flow : test.flows)
    {
        last = std::max(last, flow->deliveredPs);
    }
    return last;
}

} // namespace

/// One flow's frames are shared out among the uplinks.
class SprayIsEvenTestCase : public TestCase
{
  public:
    SprayIsEvenTestCase(const std::string& routing, double slackFrames)
        : TestCase(routing + " gives each uplink the same number of frames"),
          m_routing(routing),
          m_slackFrames(slackFrames)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(LeafSpine(std::vector<Spine>(4)), RoutingConf(m_routing));
        test.Build();
        constexpr uint64_t FRAMES = 2000;
        const auto& flow = test.Send(0, 5, FRAMES * 1000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_GT(flow.sentPs, 0, "the flow ends");
        for (uint16_t port = FIRST_UPLINK; port < FIRST_UPLINK + 4; ++port)
        {
            const double frames =
                static_cast<double>(test.fabric->GetDevice(LEAF, port).GetTxBytes()) / 1082;
            NS_TEST_ASSERT_MSG_EQ_TOL(frames, FRAMES / 4.0, m_slackFrames, "uplink " << port);
        }
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().nacks, 0, "order is no loss");
    }

    std::string m_routing;
    double m_slackFrames;
};

/// Four flows that ECMP puts on one of four uplinks take a fourth of the time when sprayed.
class SprayBeatsCollisionsTestCase : public TestCase
{
  public:
    SprayBeatsCollisionsTestCase(const std::string& routing, double tolerance)
        : TestCase(routing + " undoes a fourfold collision of ECMP"),
          m_routing(routing),
          m_tolerance(tolerance)
    {
    }

  private:
    static int64_t RunCollision(const std::string& routing)
    {
        FabricUnderTest test(LeafSpine(std::vector<Spine>(4)), RoutingConf(routing));
        test.Build();
        for (uint32_t host = 0; host < 4; ++host)
        {
            RdmaConnectionOptions options;
            options.sport = PortForFirstUplink(test, host, host + 4, 4);
            options.dport = 100;
            test.Send(host, host + 4, FRAMES * 1000, 0, options);
        }
        Simulator::Run();
        return LastDelivery(test);
    }

    void DoRun() override
    {
        // Behind the last frame's departure from the host: three more links, four delays.
        const int64_t path = 3 * ROUTING_FRAME_PS + 4 * ROUTING_US;
        const int64_t alone = FRAMES * ROUTING_FRAME_PS + path;
        const int64_t collided = 4 * FRAMES * ROUTING_FRAME_PS + path;
        NS_TEST_ASSERT_MSG_EQ_TOL(RunCollision("ecmp"), collided, collided / 1000, "ECMP");
        const int64_t sprayed = RunCollision(m_routing);
        NS_TEST_ASSERT_MSG_GT_OR_EQ(sprayed, alone, "no faster than the links");
        NS_TEST_ASSERT_MSG_LT_OR_EQ(static_cast<double>(sprayed),
                                    static_cast<double>(alone) * (1 + m_tolerance),
                                    "all uplinks busy");
    }

    static constexpr int64_t FRAMES = 2000;
    std::string m_routing;
    double m_tolerance;
};

/// Adaptive routing loads each uplink by its rate; spraying is held back by the slowest.
class AdaptiveFollowsRatesTestCase : public TestCase
{
  public:
    AdaptiveFollowsRatesTestCase()
        : TestCase("Adaptive routing loads uplinks of 100G and 25G four to one")
    {
    }

  private:
    static constexpr int64_t FRAMES = 4000;

    static int64_t RunUneven(const std::string& routing, double& share)
    {
        FabricUnderTest test(LeafSpine({{"100Gbps", "1us"}, {"25Gbps", "1us"}}),
                             RoutingConf(routing));
        test.Build();
        test.Send(0, 4, FRAMES * 1000);
        test.Send(1, 5, FRAMES * 1000);
        Simulator::Run();
        const double slow = test.fabric->GetDevice(LEAF, FIRST_UPLINK + 1).GetTxBytes();
        share = slow / (2.0 * FRAMES * 1082);
        return LastDelivery(test);
    }

    void DoRun() override
    {
        double share = 0;
        // 200 Gb/s into 125: both uplinks stay busy and end together.
        const double work = 2.0 * FRAMES * ROUTING_FRAME_PS;
        const double adaptive = static_cast<double>(RunUneven("adaptive", share));
        NS_TEST_ASSERT_MSG_EQ_TOL(share, 0.2, 0.01, "share of the slow uplink");
        NS_TEST_ASSERT_MSG_EQ_TOL(adaptive, work / 1.25, work * 0.02, "adaptive");
        // In turn, half of the frames go by the slow one.
        const double sprayed = static_cast<double>(RunUneven("spray", share));
        NS_TEST_ASSERT_MSG_EQ_TOL(share, 0.5, 0.001, "share of the slow uplink");
        NS_TEST_ASSERT_MSG_EQ_TOL(sprayed, work / 0.5, work * 0.02, "spray");
    }
};

/// Frames wait for those they overtook, as far as the paths' delays differ.
class ReorderDepthTestCase : public TestCase
{
  public:
    ReorderDepthTestCase()
        : TestCase("The reorder depth is the difference of delays times the rate")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t FRAMES = 4000;
        const std::string topology = LeafSpine({{"100Gbps", "1us"}, {"100Gbps", "51us"}});
        {
            FabricUnderTest test(topology, RoutingConf("spray"));
            test.Build();
            const auto& flow = test.Send(0, 4, FRAMES * 1000);
            Simulator::Run();
            const FabricTotals totals = test.fabric->GetTotals();
            // While a frame is 100 us behind, the fast path brings what is sent in that time.
            const double ahead = 100.0 * ROUTING_US / ROUTING_FRAME_PS * 1000;
            NS_TEST_ASSERT_MSG_EQ_TOL(static_cast<double>(totals.reorderBytes),
                                      ahead,
                                      3000.0,
                                      "depth");
            NS_TEST_ASSERT_MSG_EQ(totals.nacks, 0, "nothing is asked for");
            NS_TEST_ASSERT_MSG_EQ(totals.retransmittedBytes, 0, "nothing is sent twice");
            // The last frames by the slow path: four links, two of 51 us.
            const int64_t expected =
                FRAMES * ROUTING_FRAME_PS + 3 * ROUTING_FRAME_PS + 104 * ROUTING_US;
            NS_TEST_ASSERT_MSG_EQ_TOL(flow.deliveredPs, expected, 2 * ROUTING_FRAME_PS, "time");
        }
        {
            FabricUnderTest test(topology, RoutingConf("spray", "REORDER_FRAMES 64\n"));
            test.Build();
            const auto& flow = test.Send(0, 4, FRAMES * 1000);
            Simulator::Run();
            const FabricTotals totals = test.fabric->GetTotals();
            NS_TEST_ASSERT_MSG_GT(flow.sentPs, 0, "a small buffer still ends");
            NS_TEST_ASSERT_MSG_GT(totals.nacks, 0, "what does not fit is asked for again");
            NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        }
    }
};

/// Random traffic with a policy, a recovery and an error rate.
struct RoutedCase
{
    std::string routing;
    std::string recovery;
    std::string error;
    uint32_t seed;
};

/// Every flow ends; in a fabric that loses nothing, nothing is dropped, asked for or sent twice.
class RoutedTrafficTestCase : public TestCase
{
  public:
    RoutedTrafficTestCase(const RoutedCase& routed)
        : TestCase("Random traffic by " + routed.routing + " with " + routed.recovery +
                   " at error rate " + routed.error + " ends, seed " + std::to_string(routed.seed)),
          m_case(routed)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(LeafSpine(std::vector<Spine>(4)),
                             "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 16\nROUTING " +
                                 m_case.routing + "\nLOSS_RECOVERY " + m_case.recovery +
                                 "\nERROR_RATE_PER_LINK " + m_case.error + "\n");
        test.Build();
        test.fabric->AssignStreams(1000 * m_case.seed);
        Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
        random->SetStream(77 + m_case.seed);
        uint64_t posted = 0;
        for (uint32_t i = 0; i < 16; ++i)
        {
            const uint32_t src = random->GetInteger(0, 7);
            const uint32_t dst = (src + random->GetInteger(1, 7)) % 8;
            const uint64_t bytes = random->GetInteger(1, 200'000);
            test.Send(src, dst, bytes, random->GetInteger(0, 50) * ROUTING_US);
            posted += bytes;
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
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        NS_TEST_ASSERT_MSG_EQ(totals.bufferDrops, 0, "PFC protects the buffer");
        if (m_case.error == "0")
        {
            NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent, posted, "each byte is sent once");
            NS_TEST_ASSERT_MSG_EQ(totals.nacks, 0, "nothing is asked for");
            NS_TEST_ASSERT_MSG_EQ(totals.timeouts, 0, "no timer runs out");
            NS_TEST_ASSERT_MSG_GT(totals.outOfOrderPackets, 0, "the test reorders");
        }
        else
        {
            NS_TEST_ASSERT_MSG_GT(totals.wireLosses, 0, "the test loses frames");
        }
    }

    RoutedCase m_case;
};

/// Where frames overtake each other and get lost, IRN still sends again the holes only.
class SprayedIrnResendsHolesTestCase : public TestCase
{
  public:
    SprayedIrnResendsHolesTestCase()
        : TestCase("A sprayed IRN flow sends again what was lost, not what was overtaken")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(
            LeafSpine({{"100Gbps", "1us"}, {"100Gbps", "2us"}, {"100Gbps", "3us"}}),
            RoutingConf(
                "spray",
                "LOSS_RECOVERY irn\nERROR_RATE_PER_LINK 0.0005\nREORDER_TIME 20\nRTO 2000\n"));
        test.Build();
        test.fabric->AssignStreams(4711);
        const auto& flow = test.Send(0, 4, 4'000'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_GT(flow.sentPs, 0, "the flow ends");
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_GT(totals.payloadLost, 2000, "the test loses frames");
        NS_TEST_ASSERT_MSG_GT(totals.outOfOrderPackets, 1000, "the test reorders");
        NS_TEST_ASSERT_MSG_EQ(totals.timeouts, 0, "the receiver asks in time");
        NS_TEST_ASSERT_MSG_EQ(totals.retransmittedBytes, totals.payloadLost, "holes only");
    }
};

/// Where frames may be lost, the fabric's attribute stands for the receivers' where these have
/// none.
class LossTimeTestCase : public TestCase
{
  public:
    LossTimeTestCase()
        : TestCase("LossTime is how long receivers wait where frames may be lost")
    {
    }

  private:
    /// @return when a sprayed flow that loses frames is delivered
    static int64_t DeliveryOf(const std::string& keys, Time lossTime)
    {
        FabricUnderTest test(LeafSpine({{"100Gbps", "1us"}, {"100Gbps", "3us"}}),
                             RoutingConf("spray", "ERROR_RATE_PER_LINK 0.0005\n" + keys));
        test.fabric->SetAttribute("LossTime", TimeValue(lossTime));
        test.Build();
        test.fabric->AssignStreams(4711);
        const auto& flow = test.Send(0, 4, 4'000'000);
        Simulator::Run();
        return flow.deliveredPs;
    }

    void DoRun() override
    {
        const int64_t patient = DeliveryOf("", MicroSeconds(100));
        const int64_t quick = DeliveryOf("", MicroSeconds(20));
        NS_TEST_ASSERT_MSG_GT(patient, quick, "gaps last longer");
        NS_TEST_ASSERT_MSG_EQ(DeliveryOf("REORDER_TIME 20\n", MicroSeconds(100)), quick, "20 us");
    }
};

/// The conf says which switch chooses how, and the attribute tells.
class RoutingPerSwitchTestCase : public TestCase
{
  public:
    RoutingPerSwitchTestCase()
        : TestCase("ROUTING_AT gives switches policies of their own")
    {
    }

  private:
    static Ptr<RoutingPolicy> PolicyOf(const FabricUnderTest& test, uint32_t node)
    {
        PointerValue policy;
        test.fabric->GetNode(node)->GetAttribute("RoutingPolicy", policy);
        return policy.Get<RoutingPolicy>();
    }

    static std::string TypeAt(const FabricUnderTest& test, uint32_t node)
    {
        const Ptr<RoutingPolicy> policy = PolicyOf(test, node);
        return policy ? policy->GetInstanceTypeId().GetName() : "none";
    }

    void DoRun() override
    {
        FabricUnderTest test(
            LeafSpine(std::vector<Spine>(4)),
            RoutingConf("flowlet",
                        "ROUTING_AT ecmp psw\nROUTING_AT spray 8 11-12\nROUTING_AT adaptive 12"));
        test.Build();
        NS_TEST_ASSERT_MSG_EQ(TypeAt(test, 8), "ns3::SprayRouting", "by id");
        NS_TEST_ASSERT_MSG_EQ(TypeAt(test, 9), "ns3::FlowletRouting", "default");
        NS_TEST_ASSERT_MSG_EQ(PolicyOf(test, 10), nullptr, "a layer");
        NS_TEST_ASSERT_MSG_EQ(TypeAt(test, 11), "ns3::SprayRouting", "a range");
        NS_TEST_ASSERT_MSG_EQ(TypeAt(test, 12), "ns3::AdaptiveRouting", "the last line counts");
        // A leaf that sprays and one that does not: traffic of the first alone is reordered.
        test.Send(0, 4, 400'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().nacks, 0, "receivers put in order");
    }
};

/// A flow keeps its path within a burst.
class FlowletsKeepOrderTestCase : public TestCase
{
  public:
    FlowletsKeepOrderTestCase(const std::string& routing)
        : TestCase(routing + " routing neither loses nor reorders frames of busy flows"),
          m_routing(routing)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(LeafSpine(std::vector<Spine>(4)),
                             "CC_MODE 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\nROUTING " +
                                 m_routing + "\n");
        test.Build();
        for (uint32_t host = 0; host < 4; ++host)
        {
            // Starts are staggered, so that each flow finds the queues of those before it.
            test.Send(host, host + 4, 2'000'000, host * 20 * ROUTING_US);
        }
        Simulator::Run();
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.retransmittedBytes, 0, "frames stay in order");
        NS_TEST_ASSERT_MSG_EQ(totals.outOfOrderPackets, 0, "frames stay in order");
        uint64_t sent = 0;
        for (uint16_t port = FIRST_UPLINK; port < FIRST_UPLINK + 4; ++port)
        {
            sent += test.fabric->GetDevice(LEAF, port).GetTxBytes();
        }
        NS_TEST_ASSERT_MSG_EQ(sent, 4 * 2000 * 1082, "all data crosses the spines once");
        for (const auto& flow : test.flows)
        {
            NS_TEST_ASSERT_MSG_GT(flow->sentPs, 0, "every flow ends");
        }
    }

    std::string m_routing;
};

/// Bursts with gaps between them spread over the uplinks.
class FlowletsSpreadTestCase : public TestCase
{
  public:
    FlowletsSpreadTestCase(const std::string& routing)
        : TestCase(routing + " routing sends bursts of one flow by several paths"),
          m_routing(routing)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(LeafSpine(std::vector<Spine>(4)), RoutingConf(m_routing));
        test.Build();
        RdmaConnectionOptions options;
        options.sport = 4242;
        RdmaQueuePair* qp = test.fabric->GetDriver(0)->Connect(4, options);
        // Bursts 100 us apart; a flowlet ends after 50. Another flow fills a path meanwhile.
        for (int burst = 0; burst < 64; ++burst)
        {
            Simulator::Schedule(MicroSeconds(100 * burst), [&test, qp] {
                test.fabric->GetHw(0).PostMessage(*qp, 10'000, nullptr, nullptr);
            });
            test.Send(1, 5, 10'000, 100 * burst * ROUTING_US);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().outOfOrderPackets, 0, "bursts keep order");
        int used = 0;
        for (uint16_t port = FIRST_UPLINK; port < FIRST_UPLINK + 4; ++port)
        {
            used += test.fabric->GetDevice(LEAF, port).GetTxBytes() >= 11 * 1082;
        }
        NS_TEST_ASSERT_MSG_GT_OR_EQ(used, 2, "paths");
    }

    std::string m_routing;
};

class RoutingTestSuite : public TestSuite
{
  public:
    RoutingTestSuite()
        : TestSuite("rdma-qbb-routing", Type::UNIT)
    {
        AddTestCase(new SprayIsEvenTestCase("spray", 0.5));
        AddTestCase(new SprayIsEvenTestCase("adaptive", 2));
        // Five standard deviations of 2000 draws with probability 1/4.
        AddTestCase(new SprayIsEvenTestCase("random-spray", 5 * std::sqrt(2000 * 0.25 * 0.75)));
        AddTestCase(new SprayBeatsCollisionsTestCase("spray", 0.03));
        AddTestCase(new SprayBeatsCollisionsTestCase("adaptive", 0.03));
        AddTestCase(new SprayBeatsCollisionsTestCase("random-spray", 0.06));
        AddTestCase(new AdaptiveFollowsRatesTestCase);
        AddTestCase(new ReorderDepthTestCase);
        AddTestCase(new SprayedIrnResendsHolesTestCase);
        AddTestCase(new LossTimeTestCase);
        AddTestCase(new RoutingPerSwitchTestCase);
        for (const char* routing : {"flowlet", "adaptive-flowlet"})
        {
            AddTestCase(new FlowletsKeepOrderTestCase(routing));
            AddTestCase(new FlowletsSpreadTestCase(routing));
        }
        for (const char* routing : {"spray", "random-spray", "adaptive"})
        {
            for (const char* recovery : {"gbn", "irn"})
            {
                for (uint32_t seed = 1; seed <= 3; ++seed)
                {
                    AddTestCase(new RoutedTrafficTestCase({routing, recovery, "0", seed}));
                    AddTestCase(new RoutedTrafficTestCase({routing, recovery, "0.01", seed}));
                }
            }
        }
    }
};

static RoutingTestSuite g_routingTestSuite; //!< registers the suite
