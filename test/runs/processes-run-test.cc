/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Whole runs in several processes: the first one's results are those of one.
 */
#include "../support/forked-processes.h"
#include "programs/frame/process-link.h"
#include "run-fixture.h"

#include "ns3/input-error.h"
#include "ns3/output-file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::Each;
using testing::HasSubstr;

class ProcessesRunTest : public RunTest
{
  protected:
    ProcessesRunTest()
    {
        Write(
            "w",
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: 2 "
            "all_gpus: 4 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 20000\n1\n"
            "layer\t-1\t1000\tNONE\t0\t1000\tNONE\t0\t1000\tALLREDUCE\t50000\t1\n");
        Write("n", Star(4));
        Write("c",
              "CC_MODE 1\nPACKET_PAYLOAD_SIZE 1000\nQP_MON_INTERVAL 1\nQLEN_MON_INTERVAL 1\n"
              "BW_MON_INTERVAL 1\nMON_START 0\nMON_END 3000\n");
        Write("f", "3\n0 1 3 100 100000 0\n2 1 3 100 100000 0\n3 0 3 100 50000 0.00001\n");
    }

    /// @return "STATUS of RANK: " and what a run says to standard error, by process
    template <typename Program>
    static std::vector<std::string> InProcesses(uint32_t count, Program program)
    {
        return ns3::ForkedProcesses::Run(count, [&] {
            if (ns3::QbbProcesses::Get()->GetRank() > 0)
            {
                ns3::OutputFile::DiscardAll();
            }
            const Outcome outcome = program();
            return fmt::format("{}: {}", outcome.status, outcome.err);
        });
    }

    Outcome Simulate(const std::string& output, Words more)
    {
        Words words{"-w", "w", "-n", "n", "-c", "c", "-o", output};
        words.insert(words.end(), more.begin(), more.end());
        return Simulator(words);
    }
};

} // namespace

TEST_F(ProcessesRunTest, AWorkloadHasTheResultsOfOneProcess)
{
    Write("background", "2\n0 3 3 100 60000 0\n1 2 3 100 50000 0.000001\n");
    const Words flags{"--background-flows", "background", "--timeline-ranks", "4", "--simai-files"};
    Words alone = flags;
    alone.insert(alone.end(), {"-t", "1"});
    ExpectFinished(Simulate("1", alone));
    for (const uint32_t count : {2, 5})
    {
        const std::string output = std::to_string(count);
        EXPECT_THAT(InProcesses(count, [&] { return Simulate(output, flags); }), Each("0: "));
        EXPECT_EQ(Results(output), Results("1"));
        EXPECT_EQ(Record(output)["processes"], count);
        for (const char* same : {"packet_hops", "flows", "collectives", "background_flows", "cnps"})
        {
            EXPECT_EQ(Record(output)[same], Record("1")[same]) << same;
        }
    }
}

TEST_F(ProcessesRunTest, AStuckRunSaysWhatOneSays)
{
    const Words flags{"--set", "LINK_DOWN=1 0 4"};
    Words alone = flags;
    alone.insert(alone.end(), {"-t", "1"});
    const Outcome one = Simulate("1", alone);
    EXPECT_EQ(one.status, 1);
    EXPECT_THAT(one.err, HasSubstr("waiting at"));
    EXPECT_THAT(InProcesses(3, [&] { return Simulate("3", flags); }), Each("1: " + one.err));
    EXPECT_EQ(Record("3")["status"], "stuck");
}

TEST_F(ProcessesRunTest, FlowsHaveTheResultsOfOneProcess)
{
    const auto run = [this](const std::string& output, const Words& more) {
        Words words{"c", "-n", "n", "-f", "f", "-o", output};
        words.insert(words.end(), more.begin(), more.end());
        return Flows(words);
    };
    ExpectFinished(run("1", {"-t", "1"}));
    EXPECT_THAT(InProcesses(3, [&] { return run("3", {}); }), Each("0: "));
    EXPECT_EQ(Results("3"), Results("1"));
}

TEST_F(ProcessesRunTest, WhatNeedsOneProcessIsRefusedByAll)
{
    const std::vector<std::pair<Words, std::string>> cases{
        {{"--network", "flow"}, "--network flow"},
        {{"--check"}, "--check"},
        {{"--fast-forward"}, "--fast-forward"},
    };
    for (const auto& [flags, name] : cases)
    {
        EXPECT_THAT(InProcesses(2, [&] { return Simulate("out", flags); }),
                    Each("2: command line: " + name +
                         " runs in one process, and 2 were started together; expected one process, "
                         "without mpirun\n"));
    }
    EXPECT_NO_THROW(NeedOneProcess("anything"));
}

TEST_F(ProcessesRunTest, AMistakeOfOneProcessIsThatOfAll)
{
    const auto said = InProcesses(3, [&] {
        // The topology of one machine is not that of the others.
        const bool isOther = ns3::QbbProcesses::Get()->GetRank() == 2;
        return Simulator({"-w", "w", "-n", isOther ? "none" : "n", "-c", "c", "-o", "out"});
    });
    EXPECT_THAT(said, Each(testing::StartsWith("2: none: ")));
    EXPECT_FALSE(Exists("out")) << "as with one process, which reads all inputs first";
}

TEST_F(ProcessesRunTest, AProcessThatIsAloneJoinsNobody)
{
    EXPECT_EQ(JoinProcesses(), nullptr);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    EXPECT_EQ(JoinProcesses(), nullptr);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("SLURM_NTASKS", "4", 1);
    EXPECT_EQ(JoinProcesses(), nullptr) << "tasks that know nothing of each other";
    unsetenv("SLURM_NTASKS");
}

} // namespace AstraSim
