/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A fabric on several threads: who gets which nodes, and that nothing depends on it.
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/eventful-runs.h"
#include "../support/partitioned-simulator.h"

#include "ns3/fabric-partitions.h"
#include "ns3/qbb-partitions.h"
#include "ns3/qbb-thread-pace.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

// Four servers of two GPUs (0-7), their NVSwitches 8-11, two leaves 12 and 13, two spines 14
// and 15.
constexpr const char* CLUSTER = "16 2 4 4 20 A100\n8 9 10 11 12 13 14 15\n"
                                "0 8 2400Gbps 25ns 0\n1 8 2400Gbps 25ns 0\n"
                                "2 9 2400Gbps 25ns 0\n3 9 2400Gbps 25ns 0\n"
                                "4 10 2400Gbps 25ns 0\n5 10 2400Gbps 25ns 0\n"
                                "6 11 2400Gbps 25ns 0\n7 11 2400Gbps 25ns 0\n"
                                "0 12 100Gbps 500ns 0\n1 12 100Gbps 500ns 0\n"
                                "2 12 100Gbps 500ns 0\n3 12 100Gbps 500ns 0\n"
                                "4 13 100Gbps 500ns 0\n5 13 100Gbps 500ns 0\n"
                                "6 13 100Gbps 500ns 0\n7 13 100Gbps 500ns 0\n"
                                "12 14 100Gbps 700ns 0\n12 15 100Gbps 700ns 0\n"
                                "13 14 100Gbps 700ns 0\n13 15 100Gbps 700ns 0\n";

/// Results of a run.
struct TrafficOutcome
{
    std::vector<int64_t> sentPs;      ///< by message
    std::vector<int64_t> deliveredPs; ///< by message
    FabricTotals totals;
    uint32_t partitions{0};
};

void
SendOne(RdmaFabric& fabric, uint32_t i, std::mt19937& random, TrafficOutcome& outcome)
{
    const uint32_t src = random() % 8;
    const uint32_t dst = i % 3 ? (src + 1 + random() % 7) % 8 : (src == 0 ? 1 : 0);
    const uint64_t bytes = 1 + random() % 20'000;
    Simulator::Schedule(NanoSeconds(random() % 15'000), [=, &fabric, &outcome] {
        RdmaConnectionOptions options;
        options.closeWhenDone = true;
        RdmaQueuePair* qp = fabric.GetDriver(src)->Connect(dst, options);
        // Each notes into a place of its own: threads do not meet.
        qp->hw->PostMessage(
            *qp,
            bytes,
            [&outcome, i] { outcome.sentPs[i] = Simulator::Now().GetTimeStep(); },
            [&outcome, i] { outcome.deliveredPs[i] = Simulator::Now().GetTimeStep(); });
    });
}

/// @return what comes of traffic at random over CLUSTER
TrafficOutcome
RunTraffic(const std::string& keys, uint32_t threads, uint32_t messages)
{
    TextFabric run(CLUSTER, "PACKET_PAYLOAD_SIZE 1000\n" + keys);
    run.fabric->SetThreads(threads);
    run.Build();
    TrafficOutcome outcome;
    outcome.sentPs.resize(messages);
    outcome.deliveredPs.resize(messages);
    std::mt19937 random(7);
    for (uint32_t i = 0; i < messages; ++i)
    {
        SendOne(*run.fabric, i, random, outcome);
    }
    Simulator::Run();
    outcome.totals = run.fabric->GetTotals();
    outcome.partitions = run.fabric->GetPartitions().count;
    return outcome;
}

/// Target of the tests of calls and notes.
struct PartitionWatcher : QbbAddressee
{
    using Call = std::tuple<uint32_t, uint32_t, int64_t>; ///< caller, its number of the call, time

    std::vector<std::pair<uint32_t, int64_t>> told; ///< node, time
    std::vector<std::string> texts;
    std::vector<Call> calls;
    std::set<uint32_t> contexts; ///< in which it has been called
    int64_t reactedPs{0};
};

struct NodeNote
{
    uint32_t node;

    void operator()(PartitionWatcher& watcher, std::string_view text) const
    {
        watcher.told.emplace_back(node, Simulator::Now().GetTimeStep());
        watcher.texts.emplace_back(text);
    }
};

struct ReactionNote
{
    void operator()(PartitionWatcher& watcher) const
    {
        QbbMail::Post([&watcher] { watcher.reactedPs = Simulator::Now().GetTimeStep(); });
    }
};

struct NumberedCall
{
    uint32_t caller;
    uint32_t number;

    void operator()(PartitionWatcher& watcher) const
    {
        watcher.calls.emplace_back(caller, number, Simulator::Now().GetTimeStep());
        watcher.contexts.insert(Simulator::GetContext());
    }
};

class Threads : public testing::TestWithParam<const char*>
{
};

void
ExpectSame(const TrafficOutcome& a, const TrafficOutcome& b)
{
    EXPECT_EQ(a.sentPs, b.sentPs);
    EXPECT_EQ(a.deliveredPs, b.deliveredPs);
    EXPECT_EQ(a.totals.packetHops, b.totals.packetHops);
    EXPECT_EQ(a.totals.pauses, b.totals.pauses);
    EXPECT_EQ(a.totals.drops, b.totals.drops);
    EXPECT_EQ(a.totals.retransmittedBytes, b.totals.retransmittedBytes);
    EXPECT_EQ(a.totals.cnps, b.totals.cnps);
}

} // namespace

TEST(ShareOutServers, KeepsServersWholeAndLeavesWithThem)
{
    const ClusterTopology topology = ReadTopology(CLUSTER);
    const FabricPartitions two = ShareOutServers(topology, 2);
    ASSERT_EQ(two.count, 2U);
    for (uint32_t node : {0, 1, 2, 3, 8, 9, 12})
    {
        EXPECT_EQ(two.partitionOf[node], 0U) << node;
    }
    for (uint32_t node : {4, 5, 6, 7, 10, 11, 13})
    {
        EXPECT_EQ(two.partitionOf[node], 1U) << node;
    }
    EXPECT_NE(two.partitionOf[14], two.partitionOf[15]) << "spines are shared out evenly";
    EXPECT_EQ(two.lookaheadPs, 700'000) << "only links of spines lead from one to the other";
    EXPECT_EQ(two.reactionPs, 500'000) << "however the run is divided";

    const FabricPartitions four = ShareOutServers(topology, 4);
    EXPECT_EQ(four.lookaheadPs, 500'000);
    EXPECT_EQ(four.reactionPs, 500'000);
    EXPECT_EQ(ShareOutServers(topology, 100).count, 4U) << "a server is not divided";

    const FabricPartitions nodes = ShareOutNodes(topology);
    EXPECT_EQ(nodes.count, 16U);
    EXPECT_EQ(nodes.lookaheadPs, 25'000);
    EXPECT_EQ(nodes.reactionPs, 500'000);
}

TEST(ShareOutServers, KeepsNvSwitchesWithTheServerThatTheyAreIn)
{
    // In each of two servers two NVSwitches with a GPU each, and one above these.
    const ClusterTopology topology = ReadTopology(
        "11 2 6 1 12 H100\n4 5 6 7 8 9 10\n0 4 1Gbps 1ns 0\n1 5 1Gbps 1ns 0\n2 7 1Gbps 1ns 0\n"
        "3 8 1Gbps 1ns 0\n4 6 1Gbps 1ns 0\n5 6 1Gbps 1ns 0\n7 9 1Gbps 1ns 0\n8 9 1Gbps 1ns 0\n"
        "0 10 1Gbps 1us 0\n1 10 1Gbps 1us 0\n2 10 1Gbps 1us 0\n3 10 1Gbps 1us 0\n");
    const FabricPartitions two = ShareOutServers(topology, 2);
    for (const uint32_t node : {0, 1, 4, 5, 6})
    {
        EXPECT_EQ(two.partitionOf[node], 0U) << node;
        EXPECT_EQ(two.serverOf[node], 0U) << node;
    }
    for (const uint32_t node : {2, 3, 7, 8, 9})
    {
        EXPECT_EQ(two.partitionOf[node], 1U) << node;
        EXPECT_EQ(two.serverOf[node], 2U) << node;
    }
}

TEST(ShareOutServers, DividesNothingWhereALinkHasNoDelay)
{
    const FabricPartitions whole =
        ShareOutServers(ReadTopology(TextFabric::Star(4, "100Gbps", "0ns")), 2);
    EXPECT_EQ(whole.count, 1U);
    EXPECT_TRUE(std::ranges::all_of(whole.partitionOf, [](uint32_t each) { return each == 0; }));
}

TEST(ThreadsAlone, AMessageOnIdleLinksTakesItsIdealTimeFromOnePartitionToAnother)
{
    for (const uint32_t threads : {1, 2, 4})
    {
        const PartitionedSimulator simulator(false);
        TextFabric run(CLUSTER, "PACKET_PAYLOAD_SIZE 1000\nCC_MODE 0\nHAS_WIN 0\n");
        run.fabric->SetThreads(threads);
        run.Build();
        RdmaQueuePair* qp = run.fabric->GetDriver(0)->Connect(7, {});
        int64_t deliveredPs = 0;
        int64_t sentPs = 0;
        qp->hw->PostMessage(
            *qp,
            100'000,
            [&sentPs] { sentPs = Simulator::Now().GetTimeStep(); },
            [&deliveredPs] { deliveredPs = Simulator::Now().GetTimeStep(); });
        Simulator::Run();
        // 100 frames of 1082 bytes at 100 Gb/s, three more hops of one frame, delays of 500, 700,
        // 700 and 500 ns; then an acknowledgement of 84 bytes the same way back.
        EXPECT_EQ(deliveredPs, 103 * 86'560 + 2'400'000) << threads;
        EXPECT_EQ(sentPs, deliveredPs + 4 * 6'720 + 2'400'000) << threads;
    }
}

TEST_P(Threads, DoNotChangeResults)
{
    const PartitionedSimulator simulator(false);
    const TrafficOutcome one = RunTraffic(GetParam(), 1, 60);
    EXPECT_EQ(one.partitions, 1U);
    EXPECT_EQ(std::ranges::count(one.sentPs, 0), 0) << "a message has not ended";
    EXPECT_EQ(one.totals.dataPayloadSent, one.totals.dataPayloadReceived + one.totals.payloadLost);
    EXPECT_EQ(one.totals.framesInUse, 0U);
    ExpectWhatKeysAskFor(GetParam(), one.totals);
    for (const uint32_t threads : {2, 3, 4})
    {
        const TrafficOutcome several = RunTraffic(GetParam(), threads, 60);
        EXPECT_EQ(several.partitions, threads);
        EXPECT_EQ(several.totals.framesInUse, 0U);
        ExpectSame(several, one);
    }
}

TEST_P(Threads, ShareNothingButWires)
{
    const bool fillsBuffers = std::string(GetParam()).starts_with("BUFFER_SIZE");
    const auto run = [fillsBuffers](bool apart) {
        const PartitionedSimulator simulator(apart);
        TrafficOutcome outcome = RunTraffic(GetParam(), 1, fillsBuffers ? 24 : 10);
        EXPECT_EQ(outcome.partitions, apart ? 16U : 1U);
        return outcome;
    };
    const TrafficOutcome apart = run(true);
    ExpectSame(apart, run(false));
    ExpectWhatKeysAskFor(GetParam(), apart.totals);
}

INSTANTIATE_TEST_SUITE_P(Configurations,
                         Threads,
                         testing::Values("",
                                         "CC_MODE 3\n",
                                         "CC_MODE 7\n",
                                         "CC_MODE 8\n",
                                         "CC_MODE 10\n",
                                         "BUFFER_SIZE 200000\n",
                                         "ERROR_RATE_PER_LINK 0.01\n",
                                         "ERROR_RATE_PER_LINK 0.01\nLOSS_RECOVERY irn\n",
                                         "ERROR_RATE_PER_LINK 0.01\nLINK_DOWN 12 12 14\n",
                                         "LINK_DOWN 12 12 14\nLINK_UP 200 12 14\n",
                                         "LINK_RATE 12 12 14 1Gbps\n"));

TEST(QbbThreadPace, GoesOnWithWhatWasFasterAndTriesAgain)
{
    using std::chrono::microseconds;
    QbbThreadPace pace;
    uint64_t events = 0;
    // Windows of 1000 events: one thread needs 100 us, several what the time of day says.
    const auto run = [&](uint64_t windows, int parallelUs) {
        uint64_t parallel = 0;
        for (uint64_t i = 0; i < windows; ++i)
        {
            const bool isParallel = pace.IsParallel();
            parallel += isParallel;
            events += 1000;
            pace.NoteWindow(microseconds(isParallel ? parallelUs : 100), events);
        }
        return parallel;
    };
    constexpr uint32_t TRIAL = QbbThreadPace::TRIAL;
    constexpr uint32_t STRETCH = QbbThreadPace::STRETCH;
    constexpr uint32_t SERIAL = QbbThreadPace::FIRST_SERIAL;
    EXPECT_EQ(run(2 * TRIAL + STRETCH, 60), TRIAL + STRETCH);
    EXPECT_EQ(pace.GetSerialWindows(), TRIAL);
    // Others use the cores: one thread goes on, for ever longer stretches.
    EXPECT_EQ(run(2 * TRIAL + SERIAL, 5000), TRIAL);
    EXPECT_EQ(run(2 * TRIAL + 2 * SERIAL, 5000), TRIAL);
    // They have ended.
    EXPECT_EQ(run(2 * TRIAL + STRETCH, 60), TRIAL + STRETCH);
    EXPECT_EQ(run(2 * TRIAL + SERIAL, 5000), TRIAL);
    uint64_t doublings = 0;
    for (uint32_t stretch = 2 * SERIAL; stretch < QbbThreadPace::LAST_SERIAL; stretch *= 2)
    {
        EXPECT_EQ(run(2 * TRIAL + stretch, 5000), TRIAL);
        ++doublings;
    }
    EXPECT_EQ(doublings, 8U);
    EXPECT_EQ(run(3 * (2 * TRIAL + QbbThreadPace::LAST_SERIAL), 5000), 3 * TRIAL);
}

TEST(Partitions, TellInTheOrderOfTimeAndNodeAndReactLater)
{
    const PartitionedSimulator simulator(false);
    TextFabric run(CLUSTER, "CC_MODE 0\n");
    run.fabric->SetThreads(2);
    run.Build();
    PartitionWatcher watcher;
    const auto at = [&](uint32_t node, int64_t ps) {
        Simulator::ScheduleWithContext(node, PicoSeconds(ps), [&watcher, node, ps] {
            QbbMail::Note(watcher, NodeNote{node}, std::string(ps / 10, 'x'));
        });
    };
    at(4, 30);
    at(4, 10);
    at(1, 30);
    at(0, 20);
    Simulator::ScheduleWithContext(6, PicoSeconds(40), [&watcher] {
        QbbMail::Note(watcher, ReactionNote{});
    });
    // Later than the reaction, and sooner than a frame of the other partition could be here.
    bool isInTime = false;
    Simulator::ScheduleWithContext(2, PicoSeconds(600'000), [&] {
        isInTime = watcher.reactedPs > 0;
    });
    Simulator::Run();
    EXPECT_TRUE(isInTime);
    const std::vector<std::pair<uint32_t, int64_t>> expected{{4, 10}, {0, 20}, {1, 30}, {4, 30}};
    EXPECT_EQ(watcher.told, expected);
    EXPECT_EQ(watcher.texts, (std::vector<std::string>{"x", "xx", "xxx", "xxx"}));
    EXPECT_EQ(watcher.reactedPs, 40 + 500'000);
}

/// Nodes 0 and 1 are of one server, 2, 4 and 6 of others; so many partitions make no difference.
TEST(Partitions, CallAtOthersInTheOrderOfTimeAndServer)
{
    for (const uint32_t threads : {1, 2})
    {
        const PartitionedSimulator simulator(false);
        TextFabric run(CLUSTER, "CC_MODE 0\n");
        run.fabric->SetThreads(threads);
        run.Build();
        PartitionWatcher watcher;
        const auto at = [&](uint32_t caller, int64_t ps, uint32_t number) {
            Simulator::ScheduleWithContext(caller, PicoSeconds(ps), [&watcher, caller, number] {
                QbbMail::Post(0, watcher, NumberedCall{caller, number});
            });
        };
        at(6, 70, 0);
        at(4, 70, 1);
        at(2, 70, 2);
        at(4, 20, 3);
        at(6, 70, 4);
        // An event of a node brings about one of another node of its server, and comes before it.
        Simulator::ScheduleWithContext(1, PicoSeconds(90), [&watcher] {
            QbbMail::Post(0, watcher, NumberedCall{1, 6});
            Simulator::ScheduleWithContext(0, Time(0), [&watcher] {
                QbbMail::Post(0, watcher, NumberedCall{0, 7});
            });
        });
        // An event of no node comes first.
        Simulator::Schedule(PicoSeconds(70), [&watcher] {
            QbbMail::Post(0, watcher, NumberedCall{UINT32_MAX, 5});
        });
        Simulator::Run();
        const std::vector<PartitionWatcher::Call> expected{{4, 3, 500'020},
                                                           {UINT32_MAX, 5, 500'070},
                                                           {2, 2, 500'070},
                                                           {4, 1, 500'070},
                                                           {6, 0, 500'070},
                                                           {6, 4, 500'070},
                                                           {1, 6, 500'090},
                                                           {0, 7, 500'090}};
        EXPECT_EQ(watcher.calls, expected) << threads;
        EXPECT_EQ(watcher.contexts, std::set<uint32_t>{0});
    }
    const PartitionedSimulator simulator(false);
    PartitionWatcher watcher;
    QbbMail::Post(0, watcher, NumberedCall{0, 0});
    EXPECT_EQ(watcher.calls.size(), 1U) << "a run without partitions has it done at once";
}

TEST(Partitions, TheLastEventsOfARunHaveExpired)
{
    const PartitionedSimulator simulator(false);
    TextFabric run(CLUSTER, "CC_MODE 0\n");
    run.fabric->SetThreads(2);
    run.Build();
    EventId ofNone;
    EventId ofNode;
    Simulator::ScheduleNow([&ofNone] { ofNone = Simulator::Schedule(MicroSeconds(3), [] {}); });
    Simulator::ScheduleWithContext(4, Time(0), [&ofNode] {
        ofNode = Simulator::Schedule(MicroSeconds(3), [] {});
    });
    Simulator::Run();
    for (const EventId& id : {ofNone, ofNode})
    {
        EXPECT_TRUE(id.IsExpired());
        EXPECT_EQ(id.PeekEventImpl()->GetReferenceCount(), 2U); // the copy's, too
        Simulator::Remove(id);
        EXPECT_EQ(id.PeekEventImpl()->GetReferenceCount(), 2U) << "of what has been executed";
    }
}

TEST(Partitions, PassAnErrorOnAndStop)
{
    const PartitionedSimulator simulator(false);
    TextFabric run(CLUSTER, "CC_MODE 0\n");
    run.fabric->SetThreads(2);
    run.Build();
    Simulator::ScheduleWithContext(6, PicoSeconds(40), [] { throw std::runtime_error("broken"); });
    bool later = false;
    Simulator::Schedule(MicroSeconds(2), [&later] { later = true; });
    EXPECT_THROW(Simulator::Run(), std::runtime_error);
    EXPECT_FALSE(later);
    Simulator::Schedule(MicroSeconds(1), [] { Simulator::Stop(); });
    Simulator::Run();
    EXPECT_FALSE(later);
    EXPECT_EQ(Simulator::Now(), PicoSeconds(40) + MicroSeconds(1));
}

} // namespace ns3
