/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A fabric in several processes: what each of them sees is what one sees.
 */
#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "../support/forked-processes.h"
#include "../support/partitioned-simulator.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"

#include "ns3/input-error.h"
#include "ns3/link-use.h"
#include "ns3/qbb-mail.h"
#include "ns3/rdma-driver.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

// Four servers of two GPUs (0-7) on two leaves 8 and 9, and two spines 10 and 11.
constexpr const char* FOUR_SERVERS = "12 2 0 4 12 A100\n8 9 10 11\n"
                                     "0 8 100Gbps 500ns 0\n1 8 100Gbps 500ns 0\n"
                                     "2 8 100Gbps 500ns 0\n3 8 100Gbps 500ns 0\n"
                                     "4 9 100Gbps 500ns 0\n5 9 100Gbps 500ns 0\n"
                                     "6 9 100Gbps 500ns 0\n7 9 100Gbps 500ns 0\n"
                                     "8 10 100Gbps 700ns 0\n8 11 100Gbps 700ns 0\n"
                                     "9 10 100Gbps 700ns 0\n9 11 100Gbps 700ns 0\n";

/// Writes down what it is told, in every process.
class ProcessWatcher : public QbbAddressee
{
  public:
    /// A message has been sent, or has arrived.
    struct MessageNote
    {
        uint32_t number;
        bool isSent;

        void operator()(ProcessWatcher& watcher) const
        {
            watcher.text += fmt::format("{} {} {}\n",
                                        isSent ? "sent" : "came",
                                        number,
                                        Simulator::Now().GetTimeStep());
        }
    };

    void OnDelivered(const RdmaRxQueuePair&, const RdmaExpectedMessage& message)
    {
        // Each message has a size of its own.
        QbbMail::Note(*this, MessageNote{static_cast<uint32_t>(message.bytes), false});
    }

    std::string text;
};

void
SendFromHere(RdmaFabric& fabric, uint32_t number, std::mt19937& random, ProcessWatcher& watcher)
{
    const uint32_t src = random() % 8;
    const uint32_t dst = (src + 1 + random() % 7) % 8;
    const auto start = NanoSeconds(random() % 15'000);
    if (!fabric.IsHere(fabric.GetTopology().NodeOfHost(src)))
    {
        return;
    }
    Simulator::ScheduleWithContext(fabric.GetHw(src).GetNodeId(), start, [=, &fabric, &watcher] {
        RdmaConnectionOptions options;
        options.closeWhenDone = true;
        RdmaQueuePair* qp = fabric.GetDriver(src)->Connect(dst, options);
        qp->hw->PostMessage(
            *qp,
            number,
            [&watcher, number] {
                QbbMail::Note(watcher, ProcessWatcher::MessageNote{number, true});
            },
            nullptr);
    });
}

/// @return all that comes of traffic at random, as this process sees it
std::string
DescribeTraffic(const std::string& keys, uint32_t threads)
{
    TextFabric run(FOUR_SERVERS, "PACKET_PAYLOAD_SIZE 1000\n" + keys);
    run.fabric->SetThreads(threads);
    run.Build();
    ProcessWatcher watcher;
    for (uint32_t host = 0; host < 8; ++host)
    {
        run.fabric->GetHw(host).TraceConnectWithoutContext(
            "MessageDelivered",
            MakeCallback(&ProcessWatcher::OnDelivered, &watcher));
    }
    std::mt19937 random(7);
    for (uint32_t i = 0; i < 60; ++i)
    {
        SendFromHere(*run.fabric, 1 + 300 * i + random() % 300, random, watcher);
    }
    Simulator::Run();
    const FabricTotals totals = run.fabric->GetTotals();
    EXPECT_EQ(totals.dataPayloadSent, totals.dataPayloadReceived + totals.payloadLost);
    EXPECT_EQ(totals.framesInUse, 0U);
    return fmt::format("{}{} hops, {} pauses, {} drops, {} CNPs, {} again\n",
                       watcher.text,
                       totals.packetHops,
                       totals.pauses,
                       totals.drops,
                       totals.cnps,
                       totals.retransmittedBytes);
}

class Processes : public testing::TestWithParam<const char*>
{
};

} // namespace

TEST_P(Processes, SeeWhatOneSees)
{
    const PartitionedSimulator simulator(false);
    const std::string one = DescribeTraffic(GetParam(), 1);
    EXPECT_EQ(std::ranges::count(one, '\n'), 121) << "60 are sent, 60 come";
    // More than there are servers, too: some have nothing to do.
    for (const auto& [count, threads] : {std::pair(1, 1), {2, 1}, {3, 1}, {4, 1}, {6, 1}, {2, 2}})
    {
        const auto several =
            ForkedProcesses::Run(count, [threads] { return DescribeTraffic(GetParam(), threads); });
        EXPECT_THAT(several, testing::Each(one)) << count << " of " << threads;
    }
}

INSTANTIATE_TEST_SUITE_P(Configurations,
                         Processes,
                         testing::Values("",
                                         "CC_MODE 3\n",
                                         "BUFFER_SIZE 1\n",
                                         "ERROR_RATE_PER_LINK 0.01\nLOSS_RECOVERY irn\n",
                                         "ERROR_RATE_PER_LINK 0.01\nLINK_DOWN 12 8 10\n",
                                         "LINK_DOWN 12 8 10\nLINK_UP 200 8 10\n",
                                         "LINK_RATE 12 8 10 1Gbps\n"));

TEST(ProcessesTogether, StopWhenOneDoes)
{
    const PartitionedSimulator simulator(false);
    const auto ends = ForkedProcesses::Run(2, [] {
        TextFabric run(FOUR_SERVERS, "CC_MODE 0\n");
        run.fabric->SetThreads(1);
        run.Build();
        uint32_t steps = 0;
        std::function<void()> step = [&] {
            ++steps;
            Simulator::Schedule(MicroSeconds(1), step);
        };
        const uint32_t own = QbbProcesses::Get()->GetRank() == 0 ? 0 : 7;
        Simulator::ScheduleWithContext(own, MicroSeconds(1), step);
        if (own == 7)
        {
            Simulator::ScheduleWithContext(own, MicroSeconds(10), [] { Simulator::Stop(); });
        }
        Simulator::Run();
        return std::to_string(steps);
    });
    // Windows are of less than a microsecond.
    EXPECT_THAT(ends, testing::Each(testing::AnyOf("9", "10")));
}

TEST(ProcessesTogether, FailWhenOneDoes)
{
    const PartitionedSimulator simulator(false);
    const auto ends = ForkedProcesses::Run(3, [] {
        TextFabric run(FOUR_SERVERS, "CC_MODE 0\n");
        run.fabric->SetThreads(1);
        run.Build();
        if (QbbProcesses::Get()->GetRank() == 1)
        {
            Simulator::ScheduleWithContext(4, MicroSeconds(1), [] {
                throw InputError("a.txt", 7, "breaks off", "more");
            });
        }
        Simulator::Schedule(Seconds(1), [] {});
        Simulator::Run();
        return std::string("has gone on");
    });
    EXPECT_THAT(ends, testing::Each("failed: a.txt:7: breaks off; expected more"));
}

TEST(ProcessesTogether, NameADeadlockAndBreakIt)
{
    // Five hosts, each on a switch of a ring; messages go two switches on.
    std::string ring = "10 1 0 5 10 A100\n5 6 7 8 9\n";
    for (uint32_t i = 0; i < 5; ++i)
    {
        ring += fmt::format("{} {} 100Gbps 1us 0\n{} {} 100Gbps 1us 0\n",
                            i,
                            5 + i,
                            5 + i,
                            5 + (i + 1) % 5);
    }
    const PartitionedSimulator simulator(false);
    const std::string paused = "BUFFER_SIZE 200000\nPFC_WATCHDOG 500\nPFC_WATCHDOG_ACTION ";
    for (const std::string& way :
         {paused + "alert", paused + "drop", paused + "forward", std::string("LINK_CREDITS 20000")})
    {
        const auto run = [&] {
            TextFabric test(ring, "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n" + way + "\n");
            test.fabric->SetThreads(1);
            test.Build();
            for (uint32_t src = 0; src < 5; ++src)
            {
                if (test.fabric->IsHere(src))
                {
                    RdmaHw& host = test.fabric->GetHw(src);
                    Simulator::ScheduleWithContext(host.GetNodeId(), NanoSeconds(0), [=, &test] {
                        RdmaConnectionOptions options;
                        options.closeWhenDone = true;
                        RdmaQueuePair* qp =
                            test.fabric->GetDriver(src)->Connect((src + 2) % 5, options);
                        qp->hw->PostMessage(*qp, 1'000'000, nullptr, nullptr);
                    });
                }
            }
            Simulator::Run();
            std::string text = std::to_string(Simulator::Now().GetTimeStep());
            for (const std::string& line : test.fabric->GetPfcWatchdog().Describe(9))
            {
                text += "\n" + line;
            }
            return text + "\n" + std::to_string(test.fabric->GetTotals().dataPayloadReceived);
        };
        const std::string one = run();
        EXPECT_THAT(one, testing::HasSubstr("5 queues wait for each other in a circle"));
        EXPECT_THAT(ForkedProcesses::Run(3, run), testing::Each(one)) << way;
    }
}

TEST(ProcessesTogether, GatherWhatEachHas)
{
    const auto lines = ForkedProcesses::Run(3, [] {
        const std::string rank = std::to_string(QbbProcesses::Get()->GetRank());
        std::string all;
        for (const std::string& line : LinesOfAllProcesses({"a" + rank, "", "b" + rank}))
        {
            all += line + ",";
        }
        all += IsInAnyProcess(rank == "2") ? "any," : "";
        all += IsInAnyProcess(false) ? "none" : "";
        return all;
    });
    EXPECT_THAT(lines, testing::Each("a0,,b0,a1,,b1,a2,,b2,any,"));
    EXPECT_EQ(LinesOfAllProcesses({"alone"}), std::vector<std::string>{"alone"});
    EXPECT_FALSE(IsInAnyProcess(false));
}

TEST(ProcessesTogether, AddUpWhatUsesLinks)
{
    const auto pairs = ForkedProcesses::Run(2, [] {
        const ClusterTopology topology = ReadTopology(FOUR_SERVERS);
        LinkUse whole(topology);
        LinkUse part = LinkUse::PartOf(whole);
        if (QbbProcesses::Get()->GetRank() == 0)
        {
            part.Add(8, 3, 2, 5, 100, 1);
            part.Add(8, 3, 2, 5, 50, 1);
        }
        part.Add(8, 3, 1, 6, 75, 0);
        whole.Merge(part);
        return fmt::format("{} messages, {} bytes, {}",
                           whole.Of(8, 3).messages,
                           whole.Of(8, 3).bytes,
                           whole.DescribePairs(8, 3, 2));
    });
    EXPECT_THAT(pairs, testing::Each("4 messages, 300 bytes, 1>6 50%; 2>5 50%"));
}

} // namespace ns3
