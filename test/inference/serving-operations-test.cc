/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-fixture.h"

#include "ns3/input-error.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

/// One instance a rank; a step of a prompt is 1 ms, one that decodes 1 us.
const std::string INSTANCES = "instances colocated 0-1\n"
                              "row a all linear 0 10000 1000 0 NONE 0\n";

} // namespace

TEST(Operations, ASessionStaysWithItsInstance)
{
    // The second request finds the first instance busy; each next turn would prefer the other one.
    const std::string trace = WriteTrace("sessions.csv",
                                         "session_id",
                                         "0,100,1,7\n0.0001,100,1,8\n1,900,1,7\n1.0001,300,1,8\n");
    ServingRun run(trace + "router session\n" + INSTANCES, 2);
    EXPECT_EQ(run.Cell("requests", "0", "prefill_instance"),
              run.Cell("requests", "2", "prefill_instance"));
    EXPECT_EQ(run.Cell("requests", "1", "prefill_instance"),
              run.Cell("requests", "3", "prefill_instance"));
    EXPECT_NE(run.Cell("requests", "0", "prefill_instance"),
              run.Cell("requests", "1", "prefill_instance"));
}

TEST(Operations, ARouterThatKnowsTheStateOfBeforeSendsABurstToOneInstance)
{
    const auto on = [](const std::string& more, const char* instance) {
        ServingRun run(AtOnce(8, 100, 1) + more + INSTANCES, 2);
        int count = 0;
        for (int i = 0; i < 8; ++i)
        {
            count += run.Cell("requests", std::to_string(i), "prefill_instance") == instance;
        }
        return count;
    };
    EXPECT_EQ(on("", "0"), 4);
    EXPECT_EQ(on("report_interval_ms 1\n", "0"), 8);
}

TEST(Operations, TheMostUrgentRequestBeginsNext)
{
    // One prompt at a time, 1 ms each, all at once.
    const std::string trace =
        WriteTrace("urgent.csv", "priority", "0,100,1,5\n0,100,1,9\n0,100,1,1\n0,100,1,5\n");
    ServingRun run(trace + "max_num_seqs 1\nscheduling_policy priority\ninstances colocated 0\n"
                           "row a all linear 0 10000 1000 0 NONE 0\n");
    EXPECT_NEAR(run.Request(2, "ttft_us"), 1000, 1e-3);
    EXPECT_NEAR(run.Request(0, "ttft_us"), 2000, 1e-3);
    EXPECT_NEAR(run.Request(3, "ttft_us"), 3000, 1e-3);
    EXPECT_NEAR(run.Request(1, "ttft_us"), 4000, 1e-3);
    EXPECT_EQ(run.Request(1, "priority"), 9);
}

TEST(Operations, RequestsOfAFailedInstanceGoOnElsewhere)
{
    // The first instance fails when its request has 101 of 200 tokens: 1 ms and 100 steps of 1 us.
    // The other one computes the prompt and the tokens again, and the rest.
    ServingRun run(AtOnce(2, 100, 200) + "fail_instance 0 0.0011005\n" + INSTANCES, 2);
    EXPECT_EQ(run.Request(0, "restarts"), 1);
    EXPECT_EQ(run.Request(1, "restarts"), 0);
    EXPECT_EQ(run.Request(0, "output_tokens"), 200);
    EXPECT_NEAR(run.Request(0, "ttft_us"), 1000, 1e-3) << "the user has it already";
    // A step of both prompts' rest: 201 tokens of 10 us, and the other sequence's token.
    EXPECT_NEAR(run.Request(0, "e2e_us"), 1101 + 201 * 10 + 1 + 97 * 2 + 1, 5);
    EXPECT_EQ(run.Of("instances", "0", "output_tokens") + run.Of("instances", "1", "output_tokens"),
              400);
    ServingRun whole(AtOnce(2, 100, 200) + INSTANCES, 2);
    EXPECT_GT(run.Request(1, "e2e_us"), whole.Request(1, "e2e_us"));
}

TEST(Operations, AFailureUnderLoadLosesNoRequest)
{
    for (const char* more : {"",
                             "host_cache_blocks 50\nkv_bytes 64\ncache_load whole\n",
                             "remote_cache 5\nremote_cache_blocks 500\nkv_bytes 64\n"})
    {
        ServingRun run(std::string("requests 300\nrate 2000\nprompt_tokens uniform 10 300\n"
                                   "output_tokens uniform 1 50\nshared_prefix_tokens 64\n"
                                   "num_gpu_blocks 60\nfail_instance 1 0.05\nfail_instance 0 0.1\n"
                                   "report_interval_ms 5\nrouter kv_aware\n") +
                           more +
                           "instances colocated 0-4\n"
                           "row a all linear 20000 1000 1000 1 NONE 0\n",
                       6,
                       1000,
                       1e9);
        EXPECT_EQ(run.Of("inference", "requests", "mean"), 300) << more;
        double made = 0;
        double asked = 0;
        for (int i = 0; i < 5; ++i)
        {
            made += run.Of("instances", std::to_string(i), "output_tokens");
        }
        for (int i = 0; i < 300; ++i)
        {
            asked += run.Request(i, "output_tokens");
        }
        EXPECT_EQ(made, asked) << more;
    }
}

TEST(Operations, TokensCostTheirGpusTime)
{
    // 1 ms on two GPUs for a token.
    ServingRun run(AtOnce(1, 100, 1) + "gpu_hour 3.6\ngpu_watts 1800\n" + INSTANCES, 2);
    EXPECT_NEAR(run.Of("inference", "cost_per_million_output_tokens", "mean"), 2.0, 1e-6);
    EXPECT_NEAR(run.Of("inference", "kwh_per_million_output_tokens", "mean"), 1.0, 1e-6);
    EXPECT_THAT(run.workload.GetSummary(), HasSubstr("2.000 of the price's currency per million"));
}

TEST(Operations, SaysWhatIsWrong)
{
    const std::string requests = AtOnce(1, 8, 1);
    const std::vector<std::array<std::string, 2>> wrong = {
        {"fail_instance 2 1\n", "fail_instance 2 of 2 instances"},
        {"fail_instance 0 1\nfail_instance 0 2\n", "fail_instance 0 of 2 instances"},
        {"fail_instance 0 1\nfail_instance 1 2\n", "all instances fail"},
        {"fail_instance 0\n", "expected INSTANCE SECONDS"},
        {"fail_instance 0 x\n", "expected INSTANCE SECONDS"},
        {"report_interval_ms -1\n", "expected milliseconds"},
        {"gpu_hour 0\n", "'0'"},
    };
    for (const auto& [text, what] : wrong)
    {
        try
        {
            ReadServing(requests + text + INSTANCES);
            ADD_FAILURE() << text;
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(what)) << text;
        }
    }
}
