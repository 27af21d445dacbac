/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Pauses: who pauses whom, storms, deadlocks, and what the watchdog does about them.
 */
#include "fabric-test-support.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"
#include "rdma-qbb/model/switch/buffer-deadlock.h"

#include "ns3/map-scheduler.h"
#include "ns3/object-factory.h"
#include "ns3/random-variable-stream.h"
#include "ns3/test.h"

#include <algorithm>
#include <string>

using namespace ns3;

namespace
{

constexpr uint32_t RING = 5;

/**
 * Five switches in a ring, a host at each. Two steps on is shorter than three steps back, so a flow
 * from each host to the one two switches on goes through the switch between, and the buffers of
 * the ring depend on each other in a circle.
 */
std::string
Ring()
{
    std::string text = "10 5 10\n5 6 7 8 9\n";
    for (uint32_t i = 0; i < RING; ++i)
    {
        text += std::to_string(i) + " " + std::to_string(RING + i) + " 100Gbps 1us 0\n";
        text += std::to_string(RING + i) + " " + std::to_string(RING + (i + 1) % RING) +
                " 100Gbps 1us 0\n";
    }
    return text;
}

/// @return a configuration with little buffer and nothing but PFC to hold senders back
std::string
Conf(const std::string& more)
{
    return "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 200000\n" + more;
}

bool
AllSent(const FabricUnderTest& test)
{
    return std::all_of(test.flows.begin(), test.flows.end(), [](const auto& flow) {
        return flow->sentPs > 0;
    });
}

} // namespace

/// A circle of buffers comes to a standstill; the run ends and names the circle.
class DeadlockIsNamedTestCase : public TestCase
{
  public:
    DeadlockIsNamedTestCase()
        : TestCase("A PFC deadlock ends the run, and the report names its circle")
    {
    }

  private:
    static void SendAround(FabricUnderTest& test, uint32_t flows)
    {
        for (uint32_t i = 0; i < flows; ++i)
        {
            test.Send(i, (i + 2) % RING, 5'000'000);
        }
    }

    /// Without the watchdog nothing more arrives, however long one waits.
    void ItIsOne()
    {
        FabricUnderTest test(Ring(), Conf("PFC_WATCHDOG 0\n"));
        test.Build();
        SendAround(test, RING);
        uint64_t early = 0;
        Simulator::Schedule(MilliSeconds(3),
                            [&] { early = test.fabric->GetTotals().dataPayloadReceived; });
        Simulator::Stop(MilliSeconds(30));
        Simulator::Run();
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), false, "the test deadlocks");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadReceived, early, "nothing moves any more");
        NS_TEST_ASSERT_MSG_GT(early, 0, "before it did");
    }

    void ItIsNamed()
    {
        FabricUnderTest test(Ring(), Conf("PFC_WATCHDOG 1000\n"));
        test.Build();
        SendAround(test, RING);
        Simulator::Run();
        const PfcWatchdog& watchdog = test.fabric->GetPfcWatchdog();
        NS_TEST_ASSERT_MSG_EQ(watchdog.HasStoppedRun(), true, "the run ends");
        NS_TEST_ASSERT_MSG_LT(Simulator::Now(), MilliSeconds(3), "soon");
        const auto circle = FindBufferDeadlock(test.fabric->GetSwitches());
        NS_TEST_ASSERT_MSG_EQ(circle.size(), RING, "the whole ring");
        const auto lines = watchdog.Describe(0);
        NS_TEST_ASSERT_MSG_NE(lines.front().find("5 queues wait for each other in a circle"),
                              std::string::npos,
                              lines.front());
        for (std::size_t i = 0; i < circle.size(); ++i)
        {
            const BufferWait& wait = circle[i];
            NS_TEST_ASSERT_MSG_EQ(wait.pausedBy, circle[(i + 1) % RING].node, "a circle");
            NS_TEST_ASSERT_MSG_EQ(wait.pausedBy, RING + (wait.node - RING + 1) % RING, "around");
            NS_TEST_ASSERT_MSG_GT(wait.bytes, 0, "it holds frames");
            const std::string name = "node " + std::to_string(wait.node) + " port";
            NS_TEST_ASSERT_MSG_EQ(
                std::count_if(lines.begin(),
                              lines.end(),
                              [&](const auto& line) { return line.find(name) == 2; }),
                1,
                name);
        }
    }

    /// One flow less and there is no circle: the same load ends.
    void WithoutACircleThereIsNone()
    {
        FabricUnderTest test(Ring(), Conf("PFC_WATCHDOG 20\n"));
        test.Build();
        SendAround(test, RING - 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), true, "every flow ends");
        NS_TEST_ASSERT_MSG_GT(test.fabric->GetTotals().pauses, 0, "there were pauses");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetPfcWatchdog().GetDeadlocks(), 0, "no deadlock");
    }

    void DoRun() override
    {
        ItIsOne();
        ItIsNamed();
        WithoutACircleThereIsNone();
    }
};

/// A circle of links without credit ends the run, even where senders ask for credit again and
/// again.
class CreditDeadlockIsNamedTestCase : public TestCase
{
  public:
    CreditDeadlockIsNamedTestCase(const std::string& more)
        : TestCase("A deadlock of credits ends the run, and the report names its circle: " + more),
          m_more(more)
    {
    }

  private:
    static constexpr uint64_t BUFFER = 20'000;

    void DoRun() override
    {
        const std::string conf = "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nLINK_CREDITS " +
                                 std::to_string(BUFFER) + "\n" + m_more + "\n";
        RunAround(conf, RING, true);
        RunAround(conf, RING - 1, false);
    }

    void RunAround(const std::string& conf, uint32_t flows, bool isCircle)
    {
        FabricUnderTest test(Ring(), conf);
        test.Build();
        for (uint32_t i = 0; i < flows; ++i)
        {
            test.Send(i, (i + 2) % RING, 2'000'000);
        }
        Simulator::Run();
        const PfcWatchdog& watchdog = test.fabric->GetPfcWatchdog();
        NS_TEST_ASSERT_MSG_EQ(watchdog.HasStoppedRun(), isCircle, "ends by a deadlock");
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), !isCircle, "one flow less has no circle");
        NS_TEST_ASSERT_MSG_LT(Simulator::Now(), Seconds(2), "soon");
        const auto circle = FindBufferDeadlock(test.fabric->GetSwitches());
        const std::size_t expected = isCircle ? RING : 0;
        NS_TEST_ASSERT_MSG_EQ(circle.size(), expected, "the whole ring, or none");
        for (std::size_t i = 0; i < circle.size(); ++i)
        {
            const BufferWait& wait = circle[i];
            NS_TEST_ASSERT_MSG_EQ(wait.needsCredit, true, "waits for credit");
            NS_TEST_ASSERT_MSG_EQ(wait.pausedBy, circle[(i + 1) % RING].node, "a circle");
            // Frames of 1082 bytes: the buffer of the next link has no room for another.
            NS_TEST_ASSERT_MSG_GT(wait.bytes + 1082, BUFFER - 1082, "its frames fill a buffer");
        }
        const auto lines = watchdog.Describe(0);
        if (isCircle)
        {
            NS_TEST_ASSERT_MSG_EQ(lines.size(), 1 + RING, "a line for each port");
            NS_TEST_ASSERT_MSG_EQ(lines[0].find("Credit deadlock found at"), 0u, lines[0]);
            NS_TEST_ASSERT_MSG_NE(lines[1].find("without credit of node"),
                                  std::string::npos,
                                  lines[1]);
        }
    }

    std::string m_more;
};

/// Watchdogs of switches end a deadlock, at the price of losses.
class WatchdogBreaksDeadlockTestCase : public TestCase
{
  public:
    WatchdogBreaksDeadlockTestCase(const std::string& action)
        : TestCase("The PFC watchdog breaks a deadlock: " + action),
          m_action(action)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(Ring(),
                             Conf("PFC_WATCHDOG 500\nPFC_WATCHDOG_ACTION " + m_action + "\n"));
        test.Build();
        for (uint32_t i = 0; i < RING; ++i)
        {
            test.Send(i, (i + 2) % RING, 1'000'000);
        }
        Simulator::Run();
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_GT(test.fabric->GetPfcWatchdog().GetDeadlocks(), 0, "it was one");
        NS_TEST_ASSERT_MSG_GT(test.fabric->GetPfcWatchdog().GetStorms(), 0, "storms");
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), true, "every flow ends");
        NS_TEST_ASSERT_MSG_EQ((totals.flushed > 0), (m_action == "drop"), "queues are dropped");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadSent,
                              totals.dataPayloadReceived + totals.payloadLost,
                              "bytes sent = bytes arrived + bytes lost");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        for (uint32_t node = RING; node < 2 * RING; ++node)
        {
            NS_TEST_ASSERT_MSG_EQ(
                test.fabric->GetSwitch(node)->GetMmu()->GetCounts().GetTotalBytes(),
                0,
                "the buffer is empty");
        }
    }

    std::string m_action;
};

/// Pauses injected at the NICs hold frames for their time, to the picosecond.
class NicPauseTestCase : public TestCase
{
  public:
    NicPauseTestCase()
        : TestCase("NIC_TOTAL_PAUSE_TIME holds what arrives until it is over")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n"
                             "NIC_TOTAL_PAUSE_TIME 51\nPFC_WATCHDOG 20\n");
        test.Build();
        const auto& flow = test.Send(0, 1, 10'000);
        Simulator::Run();
        // A PFC frame takes 84 bytes at 80 ps, then the wire; the ten frames wait at the switch.
        const int64_t resumed = 51 * US + 84 * 80 + US;
        NS_TEST_ASSERT_MSG_EQ(flow.deliveredPs, resumed + 10 * 1082 * 80 + US, "delivery");
        const auto records = test.fabric->GetPfcWatchdog().GetRecords();
        NS_TEST_ASSERT_MSG_EQ(records.size(), 2, "the switch's two ports");
        for (const PfcPauseRecord& record : records)
        {
            NS_TEST_ASSERT_MSG_EQ(record.node, 2, "the switch");
            NS_TEST_ASSERT_MSG_EQ(record.pauses, 1, "once");
            NS_TEST_ASSERT_MSG_EQ(record.totalPs, 51 * US, "for the time");
            NS_TEST_ASSERT_MSG_EQ(record.longestPs, 51 * US, "without a break");
            NS_TEST_ASSERT_MSG_EQ(record.storms, 1, "longer than the watchdog's time");
        }
        const auto& device = test.fabric->GetDevice(2, 1);
        NS_TEST_ASSERT_MSG_EQ(device.GetCounters(Simulator::Now().GetTimeStep()).pausedPs,
                              51 * US,
                              "the port's own counter");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetPfcWatchdog().GetDeadlocks(), 0, "no deadlock");
        NS_TEST_ASSERT_MSG_NE(
            test.fabric->GetPfcWatchdog().Describe(9).front().find("node 2 port 1 priority 3, "
                                                                   "paused by node 0 since 1.007"),
            std::string::npos,
            "who pauses whom");
    }
};

/// Hosts that pause at random times delay flows and lose none.
class RandomPausesTestCase : public TestCase
{
  public:
    RandomPausesTestCase(uint32_t seed)
        : TestCase("Every flow ends while NICs pause at random, seed " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(Ring(), "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 400000\n");
        test.Build();
        Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
        random->SetStream(m_seed);
        uint64_t posted = 0;
        for (uint32_t i = 0; i < 12; ++i)
        {
            const uint32_t src = random->GetInteger(0, RING - 1);
            // To neighbours only: one step around depends on nobody.
            const uint32_t dst = (src + (random->GetInteger(0, 1) ? 1 : RING - 1)) % RING;
            const uint64_t bytes = random->GetInteger(1, 300'000);
            test.Send(src, dst, bytes, random->GetInteger(0, 100) * US);
            posted += bytes;
        }
        for (uint32_t i = 0; i < 30; ++i)
        {
            QbbNetDevice* nic = &test.fabric->GetDevice(random->GetInteger(0, RING - 1), 0);
            const auto send = [nic](bool pause) {
                nic->SendPfc(3, pause, Simulator::Now().GetTimeStep());
            };
            const Time begin = MicroSeconds(random->GetInteger(0, 200));
            Simulator::Schedule(begin, [send] { send(true); });
            Simulator::Schedule(begin + MicroSeconds(random->GetInteger(1, 100)),
                                [send] { send(false); });
        }
        Simulator::Run();
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), true, "every flow ends");
        NS_TEST_ASSERT_MSG_GT(totals.pausedPs.ToPs(), 0, "the test pauses");
        NS_TEST_ASSERT_MSG_EQ(totals.dataPayloadReceived, posted, "each byte arrives once");
        NS_TEST_ASSERT_MSG_EQ(totals.drops, 0, "nothing is lost");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
    }

    uint32_t m_seed;
};

/// ns-3's scheduler, which counts the events that come after a later one.
class OrderedScheduler : public MapScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("OrderedScheduler").SetParent<MapScheduler>().AddConstructor<OrderedScheduler>();
        return tid;
    }

    Event RemoveNext() override
    {
        const Event next = MapScheduler::RemoveNext();
        backwards += next.key.m_ts < m_lastTs;
        m_lastTs = next.key.m_ts;
        return next;
    }

    inline static uint32_t backwards = 0; ///< over all schedulers

  private:
    uint64_t m_lastTs{0};
};

/// A pause that is asked for from outside, while a frame leaves that nobody looked at so far.
class PauseInTheMiddleTestCase : public TestCase
{
  public:
    PauseInTheMiddleTestCase()
        : TestCase("Time does not run backwards when a busy NIC pauses its switch")
    {
    }

  private:
    void DoRun() override
    {
        ObjectFactory scheduler;
        scheduler.SetTypeId(OrderedScheduler::GetTypeId());
        Simulator::SetScheduler(scheduler);
        OrderedScheduler::backwards = 0;
        FabricUnderTest test(FabricUnderTest::Star(2, "100Gbps", "1us"),
                             "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n");
        test.Build();
        test.Send(0, 1, 1'000'000);
        // Eighty microseconds of frames; a hundred pauses fall into them wherever they like.
        for (int64_t i = 1; i <= 100; ++i)
        {
            for (const bool pause : {true, false})
            {
                Simulator::Schedule(PicoSeconds(i * 777'777 + (pause ? 0 : 12'345)),
                                    [&test, pause] {
                                        test.fabric->GetDevice(0, 0).SendPfc(
                                            3,
                                            pause,
                                            Simulator::Now().GetTimeStep());
                                    });
            }
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(OrderedScheduler::backwards, 0, "each event after those before it");
        NS_TEST_ASSERT_MSG_EQ(AllSent(test), true, "the flow ends");
    }
};

/// A switch drops what is for a dead port; kept, it would pause others for ever.
class DeadPortPausesNobodyTestCase : public TestCase
{
  public:
    DeadPortPausesNobodyTestCase()
        : TestCase("Frames for a port that is down are dropped and pause nobody")
    {
    }

  private:
    void DoRun() override
    {
        FabricUnderTest test(FabricUnderTest::Star(4, "100Gbps", "1us"),
                             Conf("LINK_DOWN 30 0 4\n"));
        test.Build();
        test.Send(1, 0, 3'000'000);
        test.Send(2, 0, 3'000'000);
        const auto& other = test.Send(1, 3, 3'000'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_GT(other.sentPs, 0, "the flow to another host ends");
        NS_TEST_ASSERT_MSG_EQ(test.flows[0]->sentPs, -1, "the flow to the dead host does not");
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_GT(totals.flushed, 0, "what waited is dropped");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetSwitch(4)->GetMmu()->GetCounts().GetTotalBytes(),
                              0,
                              "empty");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->DescribeCutOff().size(), 2, "both are named");
    }
};

class PfcTestSuite : public TestSuite
{
  public:
    PfcTestSuite()
        : TestSuite("rdma-qbb-pfc", Type::UNIT)
    {
        AddTestCase(new DeadlockIsNamedTestCase);
        AddTestCase(new CreditDeadlockIsNamedTestCase("PFC_WATCHDOG 0"));
        AddTestCase(new CreditDeadlockIsNamedTestCase("ERROR_RATE_PER_LINK 0.000001"));
        AddTestCase(new CreditDeadlockIsNamedTestCase("PFC_WATCHDOG_ACTION drop"));
        AddTestCase(new WatchdogBreaksDeadlockTestCase("drop"));
        AddTestCase(new WatchdogBreaksDeadlockTestCase("forward"));
        AddTestCase(new NicPauseTestCase);
        AddTestCase(new PauseInTheMiddleTestCase);
        AddTestCase(new DeadPortPausesNobodyTestCase);
        for (uint32_t seed = 1; seed <= 5; ++seed)
        {
            AddTestCase(new RandomPausesTestCase(seed));
        }
    }
};

static PfcTestSuite g_pfcTestSuite; //!< registers the suite
