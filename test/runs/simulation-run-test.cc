/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * SimAI_simulator's whole runs on small clusters.
 */
#include "run-fixture.h"

#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* CONF = "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\n";

class SimulationRunTest : public RunTest
{
  protected:
    SimulationRunTest()
    {
        Write("w", Layer(4, 2, "ALLREDUCE", 65536, "ALLREDUCE", 40000));
        Write("n", TwoServers());
        Write("c", CONF);
    }

    Outcome RunWith(const Words& more, const std::string& output = "out")
    {
        Words words{"-w", "w", "-n", "n", "-c", "c", "-o", output};
        words.insert(words.end(), more.begin(), more.end());
        return Simulator(words);
    }
};

} // namespace

TEST_F(SimulationRunTest, EveryNetworkCarriesOutTheSameCollectives)
{
    std::map<std::string, std::multiset<std::string>> done;
    for (const std::string network : {"packet", "flow", "analytical"})
    {
        const Outcome outcome = RunWith({"--network", network, "--check"}, network);
        ExpectFinished(outcome);
        EXPECT_THAT(outcome.out, HasSubstr("finished at "));
        const auto record = Record(network);
        EXPECT_EQ(record["status"], "finished");
        EXPECT_EQ(record["network"], network);
        for (const Row& row : Rows(network + "/collectives.csv"))
        {
            done[network].insert(row.at("group") + " " + row.at("op") + " " + row.at("bytes"));
        }
        EXPECT_TRUE(Exists(network + "/EndToEnd.csv"));
        EXPECT_EQ(record["checked_collectives"], 4) << network;
    }
    EXPECT_EQ(done["packet"].size(), 4U) << "two groups of TP, two of DP";
    EXPECT_EQ(done["packet"], done["flow"]);
    EXPECT_EQ(done["packet"], done["analytical"]);
}

TEST_F(SimulationRunTest, RepeatsByteByByteWithEveryRecord)
{
    Write("c",
          std::string(CONF) + "ERROR_RATE_PER_LINK 0.001\nQP_MON_INTERVAL 1\nQLEN_MON_INTERVAL 1\n"
                              "BW_MON_INTERVAL 1\nMON_START 0\nMON_END 1000000\n");
    const Words flags{"--timeline-ranks",
                      "4",
                      "--pcap",
                      "0:1",
                      "--pcap",
                      "6:1",
                      "--simai-files",
                      "--passes",
                      "2"};
    for (const std::string output : {"a", "b"})
    {
        ExpectFinished(RunWith(flags, output));
    }
    const auto first = Results("a");
    EXPECT_EQ(first, Results("b"));
    for (const char* name : {"fct.txt", "links.csv", "timeline.json", "rate.txt", "bandwidth.txt"})
    {
        EXPECT_TRUE(first.contains(name)) << name;
    }
    for (const std::string key : {"drops", "retransmitted_bytes"})
    {
        EXPECT_GT(Record("a")[key], 0) << key;
        EXPECT_EQ(Record("a")[key], Record("b")[key]) << key;
    }
    const auto timeline = nlohmann::json::parse(first.at("timeline.json"));
    EXPECT_GT(timeline.size(), 8U);
    // Each rank's EndToEnd lines come once for each pass.
    EXPECT_EQ(Record("a")["outputs"].size(), first.size());
}

TEST_F(SimulationRunTest, ThreadsSimulateCollectivesMessagesAndALinkThatFails)
{
    Write("w",
          "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: 2 "
          "all_gpus: 4 "
          "checkpoints: 0 checkpoint_initiates: 0 pp_comm: 20000\n1\n"
          "layer\t-1\t1000\tNONE\t0\t1000\tNONE\t0\t1000\tALLREDUCE\t50000\t1\n");
    Write("n", Star(4));
    ExpectFinished(RunWith({}, "list"));
    for (const std::string threads : {"1", "2"})
    {
        ExpectFinished(RunWith({"-t", threads, "--timeline-ranks", "4"}, threads));
        EXPECT_EQ(Record(threads)["collectives"], Record("list")["collectives"]);
        EXPECT_EQ(Record(threads)["flows"], Record("list")["flows"]);
    }
    EXPECT_EQ(Results("1"), Results("2"));
    const Outcome stuck = RunWith({"-t", "2", "--set", "LINK_DOWN=1 0 4"}, "stuck");
    EXPECT_EQ(stuck.status, 1);
    EXPECT_THAT(stuck.err, HasSubstr("the workload cannot finish: nothing is left to simulate"));
    EXPECT_THAT(stuck.err, HasSubstr("bytes from rank 0 to rank 2 has been sent and not received"));
}

TEST_F(SimulationRunTest, FastForwardReusesWhatRepeats)
{
    Write("w", Layer(4, 1, "NONE", 0, "ALLREDUCE", 100000));
    Write("n", Star(4));
    for (const std::string network : {"packet", "flow"})
    {
        ExpectFinished(RunWith({"--network", network, "--passes", "6"}, "slow"));
        for (const std::string mode : {"", "=exact", "=verify"})
        {
            ExpectFinished(
                RunWith({"--network", network, "--passes", "6", "--fast-forward" + mode}, "fast"));
            const auto record = Record("fast");
            const double slow = Record("slow")["simulated_ns"];
            const double fast = record["simulated_ns"];
            if (mode == "=exact")
            {
                EXPECT_EQ(fast, slow) << network;
                continue;
            }
            EXPECT_GT(record["fast_forward"]["patterns_reused"], 0) << network << mode;
            EXPECT_NEAR(fast, slow, slow * 0.01) << network << mode;
        }
    }
}

TEST_F(SimulationRunTest, BackgroundFlowsSlowACollectiveThatMeetsThem)
{
    Write("w", Layer(4, 1, "NONE", 0, "ALLREDUCE", 400000));
    Write("n", Star(4));
    Write("flows", "3\n0 1 3 100 2000000 0\n2 3 3 100 2000000 0\n0 2 3 100 1000 0\n");
    for (const std::string network : {"packet", "flow"})
    {
        ExpectFinished(RunWith({"--network", network}, "alone"));
        ExpectFinished(RunWith({"--network", network, "--background-flows", "flows"}, "shared"));
        EXPECT_EQ(Record("shared")["background_flows"], 1) << "the short one ends";
        EXPECT_GT(Record("shared")["simulated_ns"],
                  1.1 * Record("alone")["simulated_ns"].get<double>());
        bool named = false;
        for (const Row& row : Rows("shared/links.csv"))
        {
            named = named || row.at("used_by").find("background flows") != std::string::npos;
        }
        EXPECT_TRUE(named) << network;
    }
}

TEST_F(SimulationRunTest, ACutCableEndsWithWhoWaits)
{
    Write("n", Star(4));
    Write("w", Layer(4, 1, "NONE", 0, "ALLREDUCE", 4000000));
    for (const std::string network : {"packet", "flow"})
    {
        const Outcome outcome = RunWith({"--network", network, "--set", "LINK_DOWN=100 2 4"});
        EXPECT_EQ(outcome.status, 1) << network;
        EXPECT_THAT(outcome.err, HasSubstr("the workload cannot finish"));
        EXPECT_THAT(outcome.err, HasSubstr("rank 2"));
        EXPECT_EQ(Record("out")["status"], "stuck");
        EXPECT_FALSE(Exists("out/EndToEnd.csv"));
    }
    Write("c", std::string(CONF) + "LINK_DOWN 100 2 4\nLINK_UP 2000 2 4\n");
    ExpectFinished(RunWith({}, "mended"));
    ExpectFinished(RunWith({"--network", "flow"}, "mended-flow"));
    EXPECT_GT(Record("mended")["simulated_ns"], 2e6) << "not before the cable is back";
    EXPECT_GT(Record("mended-flow")["simulated_ns"], 2e6);
}

TEST_F(SimulationRunTest, LimitsStopARunWithAReport)
{
    Write("n", Star(4));
    Write("w", Layer(4, 1, "NONE", 0, "ALLREDUCE", 4000000));
    for (const std::string network : {"packet", "flow", "analytical"})
    {
        const Outcome time = RunWith({"--network", network, "--max-sim-time", "20us"});
        EXPECT_EQ(time.status, 1) << network;
        EXPECT_THAT(time.err, HasSubstr("--max-sim-time came before the workload finished"));
        EXPECT_THAT(time.err, HasSubstr("waiting at 20000 ns"));
        EXPECT_EQ(Record("out")["status"], "stopped");
        const Outcome stop =
            RunWith({"--network", network, "--set", "SIMULATOR_STOP_TIME=0.00002"});
        EXPECT_THAT(stop.err, HasSubstr("SIMULATOR_STOP_TIME came before the workload finished"));
    }
    const Outcome memory = RunWith({"--max-memory", "1MiB", "--passes", "1000"});
    EXPECT_EQ(memory.status, 1) << memory.err;
    EXPECT_THAT(memory.err, HasSubstr("--max-memory"));
    EXPECT_EQ(Record("out")["status"], "stopped");
}

TEST_F(SimulationRunTest, JobsShareAClusterEachOnItsOwnRanks)
{
    Write("n", Star(4));
    Write("a", Layer(2, 1, "NONE", 0, "ALLREDUCE", 50000));
    Write("b", Layer(2, 1, "NONE", 0, "ALLGATHER", 70000));
    const Words both{"-w", "a@0,2", "-w", "b@1,3", "-n", "n", "-c", "c", "-o", "out"};
    for (const std::string network : {"packet", "flow", "analytical"})
    {
        Words words = both;
        words.insert(words.end(), {"--network", network, "--timeline-ranks", "4"});
        const Outcome outcome = Simulator(words);
        ExpectFinished(outcome);
        std::map<std::string, std::string> sizes;
        for (const Row& row : Rows("out/collectives.csv"))
        {
            sizes[row.at("op")] = row.at("bytes");
        }
        EXPECT_EQ(
            sizes,
            (std::map<std::string, std::string>{{"AllReduce", "50000"}, {"AllGather", "70000"}}));
    }
    Words overlap = both;
    overlap[3] = "b@2,3";
    ExpectRefused(Simulator(overlap), "rank 2");
}

TEST_F(SimulationRunTest, ExpertsAndPipelinesHaveGroupsOfTheirOwn)
{
    Write("n", TwoServers());
    Write("w", "2 ALLTOALL 65536 EP\n1 ALLREDUCE 4096 DP\n");
    ExpectFinished(RunWith({"--ep", "2"}));
    std::map<std::string, int> done;
    for (const Row& row : Rows("out/collectives.csv"))
    {
        ++done[row.at("op") + " of " + row.at("ranks")];
    }
    // Twice in each of two groups of experts, and once among all.
    EXPECT_EQ(done, (std::map<std::string, int>{{"AllToAll of 2", 4}, {"AllReduce of 4", 1}}));
}

TEST_F(SimulationRunTest, RefusesInOneLineAndLeavesNoResults)
{
    const std::string good = Read("w");
    const auto expect = [&](const std::string& what, const Words& more = {}) {
        const Outcome outcome = RunWith(more, "refused");
        ExpectRefused(outcome, what);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        EXPECT_FALSE(Exists("refused/EndToEnd.csv"));
        EXPECT_EQ(Record("refused")["status"], "refused");
    };
    for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
             {"", "n: "},
             {"5 1 4\n4\n4 0 100Gbps 1us 0\n", "n:"},
             {"3 1 2\n2\n2 0 fastGbps 1us 0\n2 1 100Gbps 1us 0\n", "n:3"}})
    {
        Write("n", text);
        EXPECT_THAT(RunWith({}, "refused").err, StartsWith(what.substr(0, 2)));
        EXPECT_EQ(RunWith({}, "refused").status, 2);
    }
    Write("n", TwoServers());
    Write("c", "CC_MOD 1\n");
    EXPECT_THAT(RunWith({}, "refused").err, StartsWith("c:1: "));
    Write("c", CONF);
    Write("w", Layer(64, 1, "NONE", 0, "NONE", 0));
    EXPECT_EQ(RunWith({}, "refused").status, 2) << "64 GPUs of 4";
    Write("w", good);
    expect("--pcap", {"--pcap", "99:1"});
    expect("--network analytical", {"--network", "analytical", "--pcap", "0:1"});
    Write("flows", "1\n0 9 3 100 10 0\n");
    expect("flows:2", {"--background-flows", "flows"});
    Write("system", "{\"all-reduce-implementation\": [\"sideways\"]}");
    expect("system:1", {"--system-configuration", "system"});
}

TEST_F(SimulationRunTest, ARefusedRunLeavesEarlierResults)
{
    ExpectFinished(RunWith({"--network", "analytical"}));
    const auto before = Results("out");
    const auto record = Read("out/run.json");
    ExpectRefused(RunWith({"--pcap", "99:1"}), "--pcap");
    EXPECT_EQ(Results("out"), before);
    EXPECT_EQ(Read("out/run.json"), record);
}

TEST_F(SimulationRunTest, WarningsNameWhatHasNoEffect)
{
    const Outcome outcome =
        RunWith({"--network", "analytical", "-t", "8", "--logging-configuration", "x"});
    ExpectFinished(outcome);
    EXPECT_THAT(outcome.err, HasSubstr("--logging-configuration has no effect"));
    EXPECT_THAT(outcome.out, HasSubstr("runs on one thread, as --network analytical needs"));
}

TEST_F(SimulationRunTest, FlagsOfOtherWorkloadsAndAlgorithmsSaySo)
{
    Write("logical", R"({"logical-dims": ["2", "2"]})");
    Write("memory",
          R"({"memory-type": "PER_NPU_MEMORY_EXPANSION", "remote-mem-latency": 1,
              "remote-mem-bw": 1})");
    Write("native", R"({"all-reduce-implementation": ["ring", "ring"]})");
    Words flags{"--network",
                "analytical",
                "--injection-scale",
                "2",
                "--num-queues-per-dim",
                "2",
                "--logical-topology-configuration",
                "logical",
                "--remote-memory-configuration",
                "memory"};
    const Outcome plain = RunWith(flags);
    ExpectFinished(plain);
    EXPECT_THAT(plain.err, HasSubstr("--injection-scale 2 has no effect: it is of ASTRA-sim's"));
    EXPECT_THAT(plain.err, HasSubstr("--num-queues-per-dim 2 has no effect: it is of ASTRA-sim's"));
    EXPECT_THAT(plain.err, HasSubstr("--logical-topology-configuration logical has no effect"));
    EXPECT_THAT(plain.err,
                HasSubstr("--remote-memory-configuration memory has no effect: w is no Chakra"));
    flags.insert(flags.end(), {"--system-configuration", "native"});
    const Outcome native = RunWith(flags);
    ExpectFinished(native);
    EXPECT_THAT(native.err, Not(HasSubstr("it is of ASTRA-sim's")));

    Write("w", "1 ALLREDUCE 4096 TP\n");
    const Outcome micro = RunWith({"--network", "analytical", "--gpu-spread", "0.1"});
    ExpectFinished(micro);
    EXPECT_THAT(micro.err, HasSubstr("--gpu-spread 0.1 has no effect: w has no kernels"));
}

} // namespace AstraSim
