/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/autoscaler.h"
#include "astra-frontend/model/inference/cache/kv-block-pool.h"
#include "serving-fixture.h"

#include "ns3/input-error.h"

#include <array>
#include <gmock/gmock.h>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

constexpr TimePs SECOND = AutoscaleConfig::SECOND;

/// 30 requests of 1 ms each at 0, and 10 at 20 ms.
std::string
TwoBursts()
{
    std::string lines;
    for (int i = 0; i < 40; ++i)
    {
        lines += i < 30 ? "0,100,1,0\n" : "0.02,100,1,0\n";
    }
    return WriteTrace("bursts.csv", "priority", lines);
}

const std::string SCALED = "max_num_batched_tokens 100\nautoscale concurrency 10\n"
                           "autoscale_interval_s 0.0095\nstartup_s 0.005\n";
const std::string THREE = "instances colocated 0-2\nrow a all linear 0 10000 1000 0 NONE 0\n";

/// @return the times in ms at which an event happens to an instance
std::vector<double>
TimesOf(ServingRun& run, const std::string& event, const std::string& instance)
{
    std::vector<double> times;
    for (const auto& row : run.tables.at("scaling"))
    {
        if (row[1] == event && row[2] == instance)
        {
            times.push_back(std::stod(row[0]) / 1000);
        }
    }
    return times;
}

} // namespace

TEST(Autoscaler, WantsAsManyInstancesAsKubernetes)
{
    const AutoscaleConfig config{AutoscaleConfig::Metric::Concurrency, 10};
    Autoscaler scaler(config, 8);
    EXPECT_EQ(scaler.Decide(2, 35, 0), 4);           // ceil(2 * 17.5 / 10)
    EXPECT_EQ(scaler.Decide(4, 43, 15 * SECOND), 4); // 1.075 of the target
    EXPECT_EQ(scaler.Decide(4, 45, 30 * SECOND), 5);
    EXPECT_EQ(scaler.Decide(5, 1000, 45 * SECOND), 8) << "there are no more";
    EXPECT_EQ(scaler.Decide(8, 0, 60 * SECOND), 8) << "8 were wanted within the window";
    EXPECT_EQ(scaler.Decide(8, 20, 346 * SECOND), 2);
    EXPECT_EQ(scaler.Decide(2, 0, 700 * SECOND), 1) << "the least";
}

TEST(Autoscaling, InstancesStartAndStopWithTheLoadAndCostWhatTheyHold)
{
    // At 9.5 ms, 21 requests are left on the first instance, which is enough for three. At 19 ms,
    // 11 are left: two. At 28.5 ms four are left on both: one.
    ServingRun run(TwoBursts() + SCALED + "scale_down_window_s 0\ngpu_hour 3.6\n" + THREE, 3);
    EXPECT_THAT(TimesOf(run, "start", "1"), ::testing::ElementsAre(9.5));
    EXPECT_THAT(TimesOf(run, "serve", "1"), ::testing::ElementsAre(14.5));
    EXPECT_THAT(TimesOf(run, "serve", "2"), ::testing::ElementsAre(14.5));
    EXPECT_THAT(TimesOf(run, "drain", "2"), ::testing::ElementsAre(19));
    EXPECT_THAT(TimesOf(run, "stop", "2"), ::testing::ElementsAre(19));
    EXPECT_THAT(TimesOf(run, "drain", "1"), ::testing::ElementsAre(28.5));
    EXPECT_NEAR(run.Of("instances", "0", "held_us"), 30000, 1);
    EXPECT_NEAR(run.Of("instances", "1", "held_us"), 20500, 1);
    EXPECT_NEAR(run.Of("instances", "2", "held_us"), 9500, 1);
    EXPECT_EQ(run.Of("instances", "1", "starts"), 1);
    EXPECT_EQ(run.Cell("requests", "35", "prefill_instance"), "1");
    // 60 ms of a GPU for 40 tokens.
    EXPECT_NEAR(run.Of("inference", "cost_per_million_output_tokens", "mean"),
                3.6 * 0.06 / 3600 / 40 * 1e6,
                1e-4);
    EXPECT_NEAR(run.Of("inference", "gpu_hours", "mean"), 0.06 / 3600, 1e-6);
}

TEST(Autoscaling, InstancesThatWereWantedLatelyStay)
{
    ServingRun run(TwoBursts() + SCALED + "scale_down_window_s 1\n" + THREE, 3);
    EXPECT_TRUE(TimesOf(run, "drain", "2").empty());
    ServingRun two(TwoBursts() + SCALED + "scale_down_window_s 1\nmin_instances 2\n" + THREE, 3);
    EXPECT_EQ(two.Of("instances", "1", "starts"), 0);
    EXPECT_NEAR(two.Of("instances", "1", "held_us"), two.Of("inference", "duration_us", "mean"), 1);
}

TEST(Autoscaling, WeightsCrossTheNetworkBeforeAnInstanceServes)
{
    // 2 MB at 1 GB/s and 1 us of latency.
    const std::string store = "weights_store 3\nweights_bytes 2000000\n";
    ServingRun run(TwoBursts() + SCALED + store + THREE, 4, 1'000'000, 1e9);
    ASSERT_EQ(TimesOf(run, "serve", "1").size(), 1);
    EXPECT_NEAR(TimesOf(run, "serve", "1").front(), 9.5 + 2.001 + 5, 1e-3);
    // The run ends although weights are under way.
    ServingRun late(TwoBursts() + SCALED + store + THREE, 4, 1'000'000, 1e6);
    EXPECT_TRUE(TimesOf(late, "serve", "1").empty());
    EXPECT_EQ(late.Of("inference", "requests", "mean"), 40);
    EXPECT_NEAR(late.Of("inference", "duration_us", "mean"), 40000, 1);
}

TEST(Autoscaling, AStoppedInstanceLosesItsCache)
{
    constexpr uint64_t KEPT = 7;
    constexpr uint64_t USED = 8;
    KvBlockPool blocks(4);
    blocks.Take(2, 0);
    blocks.Name(KEPT, 0);
    blocks.Name(USED, 0);
    blocks.Leave(KEPT, 0);
    EXPECT_TRUE(blocks.Has(KEPT));
    blocks.ForgetIdle();
    EXPECT_FALSE(blocks.Has(KEPT));
    EXPECT_TRUE(blocks.Has(USED));
    EXPECT_EQ(blocks.GetFree(), 3);
    blocks.Take(3, 0);
}

TEST(Autoscaling, LosesNoRequestUnderLoad)
{
    for (const char* metric : {"concurrency 20", "queue 5", "kv_use 0.5"})
    {
        ServingRun run(std::string("requests 500\nrate 5000\nburst 50\n"
                                   "prompt_tokens uniform 10 300\n"
                                   "output_tokens uniform 1 50\nshared_prefix_tokens 64\n"
                                   "num_gpu_blocks 200\nfrontend_ns 20000\n"
                                   "router session\nmax_wait_ms 50\nautoscale_interval_s 0.003\n"
                                   "scale_down_window_s 0.005\nstartup_s 0.004\n"
                                   "weights_store 5\nweights_bytes 100000\nautoscale ") +
                           metric + "\ninstances colocated 0-4\n" +
                           "row a all linear 20000 1000 1000 1 NONE 0\n",
                       6,
                       1000,
                       1e9);
        EXPECT_EQ(run.Of("inference", "requests", "mean") + run.Of("inference", "dropped", "mean"),
                  500)
            << metric;
        double made = 0;
        double starts = 0;
        double held = 0;
        for (int i = 0; i < 5; ++i)
        {
            made += run.Of("instances", std::to_string(i), "output_tokens");
            starts += run.Of("instances", std::to_string(i), "starts");
            held += run.Of("instances", std::to_string(i), "held_us");
        }
        EXPECT_GT(made, 0);
        EXPECT_GT(starts, 0) << metric;
        EXPECT_LT(held, 5 * run.Of("inference", "duration_us", "mean")) << metric;
    }
}

TEST(Autoscaling, SaysWhatIsWrong)
{
    const std::string requests = AtOnce(1, 8, 1);
    const std::vector<std::array<std::string, 2>> wrong = {
        {"autoscale 5\n", "expected concurrency, queue or kv_use"},
        {"autoscale queue 0\n", "expected concurrency, queue or kv_use"},
        {"startup_s 5\n", "startup_s has no effect without autoscale"},
        {"autoscale queue 5\nmin_instances 4\n", "min_instances 4 of 3 instances"},
        {"autoscale kv_use 0.5\n", "autoscale kv_use without a limit of blocks"},
        {"autoscale queue 5\nweights_bytes 5\n", "one of weights_bytes and weights_store"},
        {"weights_store 4\n", "one of weights_bytes and weights_store"},
        {"autoscale queue 5\nweights_bytes 5\nweights_store 2\n", "rank 2 serves, and stores"},
        {"autoscale queue 5\nfail_instance 0 1\n", "autoscale is not modelled for instances that"},
        {"autoscale queue 5\nautoscale_interval_s 0\n", "expected seconds above 0"},
    };
    for (const auto& [text, what] : wrong)
    {
        try
        {
            ReadServing(requests + text + THREE);
            ADD_FAILURE() << text;
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(what)) << text;
        }
    }
    try
    {
        ReadServing(requests + "kv_bytes 64\ninstances prefill 0\nautoscale queue 5\n"
                               "row a all linear 0 1 1 0 NONE 0\ninstances decode 1\n"
                               "row a all linear 0 1 1 0 NONE 0\n");
        ADD_FAILURE();
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_THAT(error.what(), HasSubstr("autoscale is not modelled"));
    }
}
