/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * qbb-flows' whole runs on small clusters.
 */
#include "run-fixture.h"

#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::HasSubstr;

class FlowsRunTest : public RunTest
{
  protected:
    FlowsRunTest()
    {
        Write("n", Star(3));
        Write("c", "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n");
        Write("f", "1\n0 1 3 100 100000 0\n");
    }

    Outcome RunWith(const Words& more, const std::string& output = "out")
    {
        Words words{"c", "-n", "n", "-f", "f", "-o", output};
        words.insert(words.end(), more.begin(), more.end());
        return Flows(words);
    }
};

/// Five switches in a ring, with a host each.
std::string
RingOfSwitches()
{
    std::string text = "10 5 10\n5 6 7 8 9\n";
    for (int i = 0; i < 5; ++i)
    {
        const std::string at = std::to_string(5 + i);
        text += std::to_string(i) + " " + at + " 100Gbps 1us 0\n";
        text += at + " " + std::to_string(5 + (i + 1) % 5) + " 100Gbps 1us 0\n";
    }
    return text;
}

} // namespace

TEST_F(FlowsRunTest, AFlowAloneTakesTheTimeOfItsFramesAndPath)
{
    const Outcome outcome = RunWith({});
    ExpectFinished(outcome);
    EXPECT_THAT(outcome.out, HasSubstr("1 of 1 flows finished"));
    // 100 frames of 86.56 ns, a store-and-forward hop, two delays; then an ACK's way back.
    constexpr int64_t PS = 100 * 86'560 + 86'560 + 2 * 1'000'000 + 2 * (6'720 + 1'000'000);
    EXPECT_THAT(Read("out/fct.txt"), HasSubstr(" 100000 0 " + std::to_string((PS + 500) / 1000)));
    const auto record = Record("out");
    EXPECT_EQ(record["status"], "finished");
    EXPECT_EQ(record["packet_hops"], 400);
    EXPECT_EQ(record["options"]["CC_MODE"], "0");
}

TEST_F(FlowsRunTest, MonitorsAndCapturesAreTheSameAgain)
{
    Write("c",
          "CC_MODE 1\nHAS_WIN 0\nMON_START 0\nMON_END 1000\nQP_MON_INTERVAL 10\nQLEN_MON_INTERVAL "
          "10\nBW_MON_INTERVAL 10\n");
    Write("f", "3\n0 2 3 100 2000000 0\n1 2 3 100 2000000 0\n2 0 3 100 300000 0.000001\n");
    for (const std::string output : {"a", "b"})
    {
        const Outcome outcome = RunWith({"--pcap", "3:2", "--check", "--set", "SEED=7"}, output);
        ExpectFinished(outcome);
        EXPECT_EQ(Record(output)["seed"], 7);
    }
    const auto results = Results("a");
    EXPECT_EQ(results, Results("b"));
    for (const char* name :
         {"fct.txt", "pfc.txt", "queue.txt", "rate.txt", "cnp.txt", "bandwidth.txt"})
    {
        ASSERT_TRUE(results.contains(name)) << name;
    }
    EXPECT_GT(results.at("queue.txt").size(), 100U);
    EXPECT_GT(Record("a")["cnps"], 0) << "two senders to one";
}

TEST_F(FlowsRunTest, FlowsThatCannotEndAreNamed)
{
    Write("f", "2\n0 2 3 100 1000 0\n0 1 3 100 10000000 0\n");
    const Outcome cut = RunWith({"--set", "LINK_DOWN=1 1 3", "--set", "SIMULATOR_STOP_TIME=0.02"});
    EXPECT_EQ(cut.status, 1);
    EXPECT_THAT(cut.err, HasSubstr("1 flows are not finished"));
    EXPECT_THAT(cut.err, HasSubstr("10000000 bytes from node 0 to node 1"));
    EXPECT_NE(Record("out")["status"], "finished");
    const Outcome late = RunWith({"--max-sim-time", "10us"});
    EXPECT_EQ(late.status, 1);
    EXPECT_THAT(late.err, HasSubstr("--max-sim-time"));
    EXPECT_EQ(Record("out")["status"], "stopped");
}

TEST_F(FlowsRunTest, ADeadlockIsNamedAndTheWatchdogBreaksIt)
{
    Write("n", RingOfSwitches());
    std::string flows = "5\n";
    for (int i = 0; i < 5; ++i)
    {
        flows += std::to_string(i) + " " + std::to_string((i + 2) % 5) + " 3 100 600000 0\n";
    }
    Write("f", flows);
    const std::string little = "CC_MODE 0\nHAS_WIN 0\nBUFFER_SIZE 200000\nPFC_WATCHDOG 500\n";
    Write("c", little);
    const Outcome stuck = RunWith({});
    EXPECT_EQ(stuck.status, 1);
    EXPECT_THAT(stuck.err, HasSubstr("5 flows are not finished, and the network is deadlocked"));
    EXPECT_THAT(stuck.err, HasSubstr("5 queues wait for each other in a circle"));
    EXPECT_EQ(Record("out")["status"], "stuck");
    for (const std::string action : {"drop", "forward"})
    {
        Write("c", little + "PFC_WATCHDOG_ACTION " + action + "\n");
        const Outcome broken = RunWith({"--check"});
        ExpectFinished(broken);
        EXPECT_THAT(broken.err, HasSubstr("warning: PFC deadlock found at"));
    }
}

TEST_F(FlowsRunTest, LossesAreMadeUpFor)
{
    std::string flows = "20\n";
    for (int i = 0; i < 20; ++i)
    {
        flows += std::to_string(i % 3) + " " + std::to_string((i + 1) % 3) + " 3 100 100000 " +
                 std::to_string(i) + "e-6\n";
    }
    Write("f", flows);
    for (const std::string recovery : {"gbn", "irn"})
    {
        const Outcome outcome =
            RunWith({"--set", "ERROR_RATE_PER_LINK=0.01", "--set", "LOSS_RECOVERY=" + recovery});
        ExpectFinished(outcome);
        EXPECT_GT(Record("out")["drops"], 0);
        EXPECT_THAT(outcome.out, HasSubstr("20 of 20 flows finished"));
    }
}

TEST_F(FlowsRunTest, RefusesInOneLine)
{
    const std::map<std::string, std::string> good{{"n", Read("n")},
                                                  {"c", Read("c")},
                                                  {"f", Read("f")}};
    const auto expect = [&](const std::string& file,
                            const std::string& text,
                            const std::string& what,
                            const Words& more = {}) {
        if (!file.empty())
        {
            Write(file, text);
        }
        const Outcome outcome = RunWith(more);
        EXPECT_EQ(outcome.status, 2) << what;
        EXPECT_EQ(outcome.err.find(what), 0U) << outcome.err;
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        if (!file.empty())
        {
            Write(file, good.at(file));
        }
    };
    expect("n", "", "n: the topology is empty");
    expect("f", "1\n0 3 3 100 1 0\n", "f:2: destination 3 is a switch");
    expect("f", "2\n0 1 3 100 1 0\n", "f:2: the file ends after 1 of 2 flows");
    expect("c",
           "CC_MOD 1\n",
           "c:1: unknown key CC_MOD; expected a known key; the nearest is CC_MODE");
    expect("c", "LINK_DOWN 1 0 1\n", "c:1: LINK_DOWN names 0 and 1, which no link joins");
    expect("c", "CC_MODE ns3::NoSuch\n", "c:1: CC_MODE cannot be 'ns3::NoSuch'");
    expect("c", "MON_END 5\nCC_MODE 1\nMON_START 6\n", "c:3: MON_END is before MON_START");
    expect("c", "CC_MODE 1\nBUFFER_SIZE 20000\n", "c:2: BUFFER_SIZE of 20000 bytes cannot hold");
    expect("", "", "--set SEED=x: SEED cannot be 'x'", {"--set", "SEED=x"});
    expect("",
           "",
           "--set ROUTING_AT=spray core: ROUTING_AT names core",
           {"--set", "ROUTING_AT=spray core"});
    expect("",
           "",
           "command line: --ns3::RdmaHw::Mtuu=1: ns3::RdmaHw has no attribute Mtuu",
           {"--ns3::RdmaHw::Mtuu=1"});
    expect("", "", "command line: --pcap 9:1", {"--pcap", "9:1"});
    EXPECT_EQ(Record("out")["status"], "refused");
    EXPECT_THAT(Flows({"none.conf"}).err, HasSubstr("none.conf: cannot be read"));
}

} // namespace AstraSim
