/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Whole runs of SimAI_analytical, SimCCL and collective-perf.
 */
#include "run-fixture.h"

#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::HasSubstr;

class AnalyticalRunTest : public RunTest
{
  protected:
    AnalyticalRunTest()
    {
        Write("busbw.yaml",
              "test\nTP:\nallreduce,: 300\nallgather,: 280\nDP:\nallreduce,: null\nallgather,: "
              "380\nPP:\nbusbw: 50\n");
        Write(
            "w",
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 "
            "all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0\n2\n"
            "a\t-"
            "1\t10000\tALLREDUCE\t30000000\t20000\tALLGATHER\t28000000\t5000\tALLGATHER\t76000000\t"
            "0\n"
            "b\t-1\t40000\tNONE\t0\t50000\tALLREDUCE\t15000000\t6000\tNONE\t0\t0\n");
    }

    /// @return microseconds of a column of the summary
    double Summary(const std::string& column, const std::string& directory = "out")
    {
        const Row row = Rows(directory + "/EndToEnd.csv").front();
        const auto found = row.find(" " + column);
        EXPECT_NE(found, row.end()) << column;
        return found == row.end() ? 0 : std::stod(found->second);
    }
};

class SimCclRunTest : public RunTest
{
};

class PerfRunTest : public RunTest
{
  protected:
    PerfRunTest()
    {
        Write("n", TwoServers());
    }
};

} // namespace

TEST_F(AnalyticalRunTest, AnIterationIsItsComputeAndWhatIsNotOverlapped)
{
    const Outcome outcome = Analytical(
        {"-w", "w", "-g", "16", "-g_p_s", "8", "-busbw", "busbw.yaml", "-r_f", "out", "-v", "1"});
    ExpectFinished(outcome);
    // TP, 8 ranks: AllReduce 2 x 7/8 x 30 MB at 300 GB/s and half of that, AllGather 7/8 x 28 MB at
    // 280.
    const double tp = 175 + 87.5 + 87.5;
    const double dp = 0.5 * 76e6 / 380e9 * 1e6;
    const double compute = 10 + 20 + 5 + 40 + 50 + 6;
    EXPECT_NEAR(Summary("Expose TP comm"), tp, 1e-6);
    EXPECT_NEAR(Summary("Expose DP comm"), dp, 1e-6);
    EXPECT_NEAR(Summary("total comp"), compute, 1e-6);
    EXPECT_NEAR(Summary("Total time"), compute + tp + dp, 1e-6);
    EXPECT_THAT(outcome.out, HasSubstr("exposed TP communication"));
    EXPECT_TRUE(Exists("out/breakdown.svg"));
    ExpectFinished(Analytical({"-w",
                               "w",
                               "-busbw",
                               "busbw.yaml",
                               "-r_f",
                               "out",
                               "-tp_o",
                               "0.5",
                               "--dp-overlap-ratio",
                               "1",
                               "-q"}));
    EXPECT_NEAR(Summary("Expose TP comm"), tp / 2, 1e-6);
    EXPECT_EQ(Summary("Expose DP comm"), 0);
}

TEST_F(AnalyticalRunTest, APipelineHasItsBubble)
{
    Write("w",
          "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 1 ga: 8 "
          "all_gpus: 16 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 1000000\n1\n"
          "l\t-1\t10000\tNONE\t0\t15000\tNONE\t0\t5000\tNONE\t0\t0\n");
    ExpectFinished(Analytical({"-w", "w", "-g_p_s", "4", "-r_f", "out"}));
    EXPECT_NEAR(Summary("Total time"), (8 + 4 - 1) * 30, 1e-6);
    EXPECT_NEAR(Summary("bubble time"), (4 - 1) * 30, 1e-6);
}

TEST_F(AnalyticalRunTest, TheMachineIsThatOfFlagsOrOfATopology)
{
    Write("w", Layer(4, 2, "ALLREDUCE", 1 << 26, "ALLREDUCE", 1 << 26));
    Write("n", TwoServers());
    // 800 Gb/s of NVLink and 100 Gb/s of network for each GPU, in servers of two.
    ExpectFinished(Analytical({"-w", "w", "-n", "n", "-r_f", "file"}));
    ExpectFinished(
        Analytical({"-w", "w", "-nv", "100", "-nic", "12.5", "-g_p_s", "2", "-r_f", "flags"}));
    for (const std::string column : {"Expose TP comm", "Expose DP comm", "Total time"})
    {
        EXPECT_DOUBLE_EQ(Summary(column, "file"), Summary(column, "flags")) << column;
    }
    ExpectFinished(Analytical({"-w",
                               "w",
                               "-nv",
                               "100",
                               "-nic_t",
                               "cx6",
                               "-g_type",
                               "A100",
                               "-g_p_s",
                               "2",
                               "-r_f",
                               "cx6"}));
    EXPECT_LT(Summary("Expose DP comm", "cx6"), Summary("Expose DP comm", "file"))
        << "cx6 has 25 GB/s";
}

TEST_F(AnalyticalRunTest, RefusesInOneLine)
{
    Write("bad.yaml", "TP:\nallreduse: 3\n");
    for (const auto& [words, what] : std::vector<std::pair<Words, std::string>>{
             {{}, "no workload"},
             {{"-w", "none.txt"}, "none.txt"},
             {{"-w", "w", "-g", "8"}, "made for 16 GPUs"},
             {{"-w", "w", "-nv", "fast"}, "fast"},
             {{"-w", "w", "-nic", "-1"}, "-1"},
             {{"-w", "w", "-dp_o", "1.1"}, "--dp-overlap-ratio"},
             {{"-w", "w", "-g_type", "H101"}, "H101"},
             {{"-w", "w", "-nic_t", "cx8"}, "cx8"},
             {{"-w", "w", "-busbw", "bad.yaml"}, "bad.yaml:2"},
             {{"-w", "w", "-n", "none"}, "none"},
             {{"-w", "w", "-r_f", "w/out"}, "w/out"}})
    {
        const Outcome outcome = Analytical(words);
        ExpectRefused(outcome, what);
        EXPECT_EQ(outcome.out, "");
    }
    SetVariable("NCCL_ALGO", "Star");
    ExpectRefused(Analytical({"-w", "w"}), "NCCL_ALGO");
}

TEST_F(SimCclRunTest, ARingsFlowsAreItsSteps)
{
    const Outcome outcome =
        SimCcl({"--op", "AllReduce", "--size", "65536", "--nNodes", "2", "-o", "out"});
    ExpectFinished(outcome);
    EXPECT_THAT(outcome.out, HasSubstr("AllReduce of 65536 bytes, group all: 16 ranks on 2 nodes"));
    EXPECT_TRUE(Exists("out/ncclFlowModel_detailed_flows.csv"));
    uint64_t sent = 0;
    for (const Row& row : Rows("out/ncclFlowModel_detailed_flows.csv"))
    {
        sent += row.contains("flow_size") ? std::stoull(row.at("flow_size")) : 0;
    }
    // With every algorithm, every rank but one must send and get the sum.
    EXPECT_GE(sent, 2U * 15 * 65536 / 2);
}

TEST_F(SimCclRunTest, AWorkloadsCollectivesComeOnce)
{
    Write("n", TwoServers());
    Write("w", Layer(4, 2, "ALLREDUCE", 65536, "ALLGATHER", 32768));
    const Outcome outcome = SimCcl({"-w", "w", "-n", "n", "-o", "out"});
    ExpectFinished(outcome);
    EXPECT_THAT(outcome.out, HasSubstr("AllReduce of 65536 bytes, group TP0: 2 ranks on 1 nodes"));
    EXPECT_THAT(outcome.out, HasSubstr("AllGather of 32768 bytes, group DP0: 2 ranks on 2 nodes"));
    ExpectRefused(SimCcl({"-w", "none", "-n", "n", "-o", "out"}), "none");
    ExpectRefused(SimCcl({"--op", "AllSum", "--size", "5", "-o", "out"}), "AllSum");
}

TEST_F(PerfRunTest, ATableHasARowForEachSizeOnEveryNetwork)
{
    for (const std::string network : {"packet", "flow", "analytical"})
    {
        const Outcome outcome = Perf("all_reduce_perf",
                                     {"-b",
                                      "64K",
                                      "-e",
                                      "256K",
                                      "-f",
                                      "2",
                                      "-n",
                                      "2",
                                      "--network",
                                      network,
                                      "--network-topo",
                                      "n"});
        ExpectFinished(outcome);
        std::vector<std::string> sizes;
        std::istringstream text(outcome.out);
        for (std::string line; std::getline(text, line);)
        {
            std::istringstream cells(line);
            std::string size;
            cells >> size;
            if (!size.empty() && size[0] != '#')
            {
                sizes.push_back(size);
            }
        }
        EXPECT_EQ(sizes, (Words{"65536", "131072", "262144"})) << network;
        EXPECT_THAT(outcome.out, HasSubstr("# Out of bounds values : 0 OK"));
    }
}

TEST_F(PerfRunTest, EveryTestRunsAndOddOnesAreRefused)
{
    for (const std::string name : {"all_gather",
                                   "reduce_scatter",
                                   "alltoall",
                                   "sendrecv",
                                   "broadcast",
                                   "reduce",
                                   "gather",
                                   "scatter",
                                   "hypercube"})
    {
        const Outcome outcome = Perf(name + "_perf",
                                     {"-b",
                                      "64K",
                                      "-e",
                                      "64K",
                                      "-n",
                                      "1",
                                      "-w",
                                      "0",
                                      "--network",
                                      "flow",
                                      "--network-topo",
                                      "n"});
        ExpectFinished(outcome);
        EXPECT_THAT(outcome.out, HasSubstr("# Collective test starting: " + name + "_perf"));
    }
    const Outcome forward = Perf("all_reduce_perf",
                                 {"-b",
                                  "1M",
                                  "-e",
                                  "1M",
                                  "-n",
                                  "4",
                                  "--all-iterations",
                                  "--fast-forward",
                                  "--network",
                                  "flow",
                                  "--network-topo",
                                  "n"});
    ExpectFinished(forward);
    EXPECT_THAT(forward.out, HasSubstr("(4 of 4)"));
    ExpectRefused(Perf("all_reduce_perf", {"-b", "8", "-e", "4", "--network-topo", "n"}),
                  "-b 8 is above -e 4");
    ExpectRefused(Perf("all_reduce_perf", {"-b", "8", "-e", "8", "--network-topo", "none"}),
                  "none");
}

} // namespace AstraSim
