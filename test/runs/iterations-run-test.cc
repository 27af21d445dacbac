/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs that go on, runs that are repeated from their record, and networks described for ASTRA-sim.
 */
#include "run-fixture.h"

#include <filesystem>
#include <gmock/gmock.h>

namespace AstraSim
{
namespace
{

using testing::HasSubstr;

class IterationsRunTest : public RunTest
{
  protected:
    IterationsRunTest()
    {
        // Losses are drawn at random, so iterations differ.
        Write("w", Layer(4, 1, "NONE", 0, "ALLTOALL", 400000));
        Write("n", Star(4));
        Write("c", "CC_MODE 0\nERROR_RATE_PER_LINK 0.002\nRTO 100\nPACKET_PAYLOAD_SIZE 1000\n");
    }

    Outcome Iterations(const Words& more)
    {
        Words words{"-w", "w", "-n", "n", "-c", "c", "--passes", "3", "--separate-passes"};
        words.insert(words.end(), more.begin(), more.end());
        return Simulator(words);
    }

    std::map<std::string, std::string> AllResults(const std::string& directory) const
    {
        std::map<std::string, std::string> all{{"passes.csv", Read(directory + "/passes.csv")}};
        for (const std::string pass : {"/pass-0", "/pass-1", "/pass-2"})
        {
            for (const auto& [name, text] : Results(directory + pass))
            {
                all[pass + "/" + name] = text;
            }
        }
        return all;
    }
};

class AstraNetworkTest : public RunTest
{
};

} // namespace

TEST_F(IterationsRunTest, GoOnWithWhatIsMissingAndLeaveTheSame)
{
    ExpectFinished(Iterations({"-o", "whole"}));
    const auto rows = Rows("whole/passes.csv");
    ASSERT_EQ(rows.size(), 3U);
    for (std::size_t pass = 0; pass < 3; ++pass)
    {
        EXPECT_EQ(rows[pass].at("status"), "finished");
        EXPECT_EQ(rows[pass].at("start_ns"), pass ? rows[pass - 1].at("end_ns") : "0.000");
    }
    EXPECT_NE(rows[0].at("duration_ns"), rows[1].at("duration_ns")) << "other random numbers";
    const auto whole = AllResults("whole");

    // As if it had been ended in its second iteration, and once more with nothing left to do.
    std::filesystem::remove_all("whole/pass-1");
    std::filesystem::remove_all("whole/pass-2");
    for (int again = 0; again < 2; ++again)
    {
        ExpectFinished(Simulator({"--resume", "whole"}));
        EXPECT_EQ(AllResults("whole"), whole);
    }

    // The first iteration is a run of one pass.
    ExpectFinished(Simulator({"-w", "w", "-n", "n", "-c", "c", "-o", "alone"}));
    EXPECT_EQ(Results("alone"), Results("whole/pass-0"));
}

TEST_F(IterationsRunTest, StopAtALimitAndSayHowToGoOn)
{
    ExpectFinished(Iterations({"-o", "whole"}));
    const auto whole = AllResults("whole");
    const Outcome stopped = Iterations({"-o", "cut", "--max-sim-time", "1us"});
    EXPECT_EQ(stopped.status, 1);
    EXPECT_THAT(stopped.err, HasSubstr("--resume cut goes on"));
    EXPECT_NE(Record("cut/pass-0")["status"], "finished");
    ExpectFinished(Simulator({"--resume", "cut"}));
    EXPECT_EQ(AllResults("cut"), whole);
}

TEST_F(IterationsRunTest, RefuseInputsThatHaveChanged)
{
    ExpectFinished(Iterations({"-o", "whole"}));
    std::filesystem::remove_all("whole/pass-2");
    Write("c", "CC_MODE 1\n");
    const Outcome outcome = Simulator({"--resume", "whole"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("is not what it was"));
}

TEST_F(IterationsRunTest, ARecordIsEnoughToRepeatARun)
{
    SetVariable("AS_SEND_LAT", "2");
    ExpectFinished(Simulator(
        {"-w", "w", "-n", "n", "-c", "c", "--seed", "5", "--set", "RTO=50", "-o", "first"}));
    SetVariable("AS_SEND_LAT", "3"); // the record's counts
    ExpectFinished(Simulator({"--replay", "first/run.json", "-o", "again"}));
    EXPECT_EQ(Results("again"), Results("first"));
    EXPECT_EQ(Record("again")["simulated_ns"], Record("first")["simulated_ns"]);
    Write("w", Layer(4, 1, "NONE", 0, "ALLTOALL", 8));
    const Outcome changed = Simulator({"--replay", "first/run.json", "-o", "again"});
    EXPECT_EQ(changed.status, 2);
    EXPECT_THAT(changed.err, HasSubstr("is not what it was"));
    Write("broken.json", "{\"arguments\": 5}");
    EXPECT_EQ(Simulator({"--replay", "broken.json"}).status, 2);
}

TEST_F(AstraNetworkTest, EveryDimensionIsAPartOfTheNetwork)
{
    Write("n.yml",
          "topology: [ Ring, Switch ]\nnpus_count: [ 2, 2 ]\nbandwidth: [ 100.0, 12.5 ]\nlatency: "
          "[ 500.0, 1000.0 ]\n");
    Write("w", Layer(4, 2, "ALLREDUCE", 1 << 20, "ALLREDUCE", 1 << 20));
    ExpectFinished(Simulator({"-w", "w", "--network-configuration", "n.yml", "-o", "out"}));
    std::map<std::string, double> slowest;
    for (const Row& row : Rows("out/collectives.csv"))
    {
        double& time = slowest[row.at("group").substr(0, 2)];
        time = std::max(time, std::stod(row.at("end_ns")) - std::stod(row.at("start_ns")));
    }
    // Ranks 0 and 1 are neighbours in the inner dimension, 0 and 2 in the outer; a GB is 2^30
    // bytes.
    EXPECT_GT(slowest["TP"], (1 << 20) / (100.0 * (1 << 30)) * 1e9);
    EXPECT_GT(slowest["DP"], (1 << 20) / (12.5 * (1 << 30)) * 1e9);
    EXPECT_LT(slowest["TP"], slowest["DP"] / 2);
}

TEST_F(AstraNetworkTest, PatternsAreNotReusedWhereNoLinksTellThemApart)
{
    Write("n.yml", "topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n");
    Write("w", Layer(4, 2, "ALLREDUCE", 1 << 20, "ALLREDUCE", 1 << 20));
    const Outcome outcome =
        Simulator({"-w", "w", "--network-configuration", "n.yml", "--fast-forward", "-o", "out"});
    EXPECT_EQ(outcome.status, 2);
    EXPECT_THAT(outcome.err, HasSubstr("no links by which to tell patterns apart"));
}

TEST_F(AstraNetworkTest, RefusesInOneLine)
{
    Write("w", Layer(4, 1, "NONE", 0, "ALLREDUCE", 1024));
    for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
             {"topology: [ Mesh ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n", "Mesh"},
             {"topology: [ Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n",
              "npus_count"},
             {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ -1 ]\nlatency: [ 1 ]\n",
              "bandwidth"},
             {"topology: [ Ring ]\nnpus_count: [ 4 ]\nbandwidth: [ 1 ]\nlatency: [ soon ]\n",
              "latency"},
             {"topology: [ Ring\n", "n.yml:"},
             {"just text\n", "n.yml"},
             {"", "n.yml"}})
    {
        Write("n.yml", text);
        const Outcome outcome =
            Simulator({"-w", "w", "--network-configuration", "n.yml", "-o", "out"});
        ExpectRefused(outcome, what);
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    }
}

} // namespace AstraSim
