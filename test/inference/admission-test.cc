/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Classes of requests, and requests that are held, refused or dropped.
 */
#include "serving-fixture.h"

#include "ns3/input-error.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

/// One prompt of 100 tokens a step, which takes 1 ms; a step that decodes takes 1 us.
const std::string ONE_BY_ONE = "max_num_batched_tokens 100\ninstances colocated 0\n"
                               "row a all linear 0 10000 1000 0 NONE 0\n";

double
Metric(ServingRun& run, const std::string& name)
{
    return run.Of("inference", name, "mean");
}

} // namespace

TEST(RequestClasses, EachHasLimitsAndTimesOfItsOwn)
{
    ServingRun run(
        WriteTrace("classes.csv", "class", "0,100,1,chat\n0,100,1,batch\n0,100,1,chat\n") +
        "request_class chat ttft_limit_ms: 1.5\nrequest_class batch\nttft_limit_ms 10\n" +
        ONE_BY_ONE);
    // They end after 1, 2 and 3 ms.
    EXPECT_EQ(run.Cell("requests", "1", "class"), "batch");
    EXPECT_EQ(run.Of("classes", "chat", "arrived"), 2);
    EXPECT_EQ(run.Of("classes", "chat", "within_limits"), 0.5);
    EXPECT_NEAR(run.Of("classes", "chat", "goodput_per_second"), 1 / 0.003, 1e-3);
    EXPECT_NEAR(run.Of("classes", "chat", "ttft_p50_us"), 1000, 1e-3);
    EXPECT_NEAR(run.Of("classes", "chat", "ttft_p90_us"), 3000, 1e-3);
    EXPECT_NEAR(run.Of("classes", "chat", "ttft_mean_us"), 2000, 1e-3);
    EXPECT_EQ(run.Of("classes", "batch", "within_limits"), 1);
    EXPECT_NEAR(Metric(run, "within_limits"), 2.0 / 3, 1e-6);
    EXPECT_THAT(run.workload.GetSummary(),
                HasSubstr("class chat: 2 arrived, 0 refused, 0 dropped, 50.0% within the limits"));
}

TEST(RequestClasses, AreDrawnByTheirSharesAndLeaveTheRequestsAsTheyAre)
{
    const std::string requests = "requests 10000\nrate 10\nprompt_tokens uniform 10 100\n"
                                 "output_tokens 1\nlayers 1\ninstances colocated 0\n"
                                 "row a all linear 1 0 0 0 NONE 0\n";
    const auto plain = ReadServing(requests);
    const auto classes =
        ReadServing("request_class a share: 3\nrequest_class b share: 1 priority: 7\n" + requests);
    double first = 0;
    for (std::size_t i = 0; i < plain.requests.size(); ++i)
    {
        EXPECT_EQ(plain.requests[i].arrival, classes.requests[i].arrival);
        EXPECT_EQ(plain.requests[i].promptTokens, classes.requests[i].promptTokens);
        first += classes.requests[i].requestClass == 0;
        EXPECT_EQ(classes.requests[i].priority, classes.requests[i].requestClass == 0 ? 0 : 7);
    }
    EXPECT_NEAR(first / 10000, 0.75, 3 * std::sqrt(0.75 * 0.25 / 10000));
}

TEST(RequestClasses, OneThatIsFullHoldsItsRequestsBack)
{
    const std::string instances = "instances colocated 0\nrow a all linear 0 10000 1000 0 NONE 0\n";
    ServingRun together(AtOnce(3, 100, 1) + instances);
    ServingRun apart("request_class a share: 1 max_running: 1\n" + AtOnce(3, 100, 1) + instances);
    for (int i = 0; i < 3; ++i)
    {
        EXPECT_NEAR(together.Request(i, "ttft_us"), 3000, 1e-3) << "one step for all";
        EXPECT_NEAR(apart.Request(i, "ttft_us"), 1000 * (i + 1), 1e-3);
    }
}

TEST(Admission, RequestsThatFindAFullQueueAreRefused)
{
    ServingRun run(AtOnce(10, 100, 1) + "max_queued 2\nttft_limit_ms 100\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(run, "requests"), 2);
    EXPECT_EQ(Metric(run, "refused"), 8);
    EXPECT_EQ(Metric(run, "within_limits"), 0.2);
    EXPECT_THAT(run.workload.GetSummary(), HasSubstr("; 8 refused"));

    ServingRun none(AtOnce(3, 100, 1) + "max_queued 0\ngpu_hour 1\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(none, "requests"), 0);
    EXPECT_EQ(Metric(none, "refused"), 3);
}

TEST(Admission, AFiniteQueueLosesAsManyRequestsAsErlangSays)
{
    // M/M/1/K with K = 4, three of which wait: at a load of 1, a fifth of the requests is lost.
    ServingRun run("requests 20000\nrate 100\nprompt_tokens exponential 1000\noutput_tokens 1\n"
                   "max_num_seqs 1\nmax_queued 3\nmax_num_batched_tokens 1000000\n"
                   "instances colocated 0\nrow a all linear 0 10000 0 0 NONE 0\n");
    EXPECT_NEAR(Metric(run, "refused") / 20000, 0.2, 0.01);
    EXPECT_EQ(Metric(run, "refused") + Metric(run, "requests"), 20000);
}

TEST(Admission, RequestsWhoseFirstTokenWouldComeTooLateAreRefused)
{
    // Those that come first take 1, 2 and 3 ms, as predicted; on two instances, twice as many.
    ServingRun one(AtOnce(10, 100, 1) + "max_predicted_ttft_ms 3.5\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(one, "requests"), 3);
    EXPECT_EQ(Metric(one, "refused"), 7);
    EXPECT_NEAR(one.Request(2, "ttft_us"), 3000, 1e-3);
    ServingRun two(AtOnce(10, 100, 1) + "max_predicted_ttft_ms 3.5\nmax_num_batched_tokens 100\n"
                                        "instances colocated 0-1\n"
                                        "row a all linear 0 10000 1000 0 NONE 0\n",
                   2);
    EXPECT_EQ(Metric(two, "requests"), 6);
    // The front end's time counts, too.
    ServingRun behind(AtOnce(10, 100, 1) +
                      "max_predicted_ttft_ms 3.5\nfrontend_latency_ns 1000000\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(behind, "requests"), 2);
}

TEST(Admission, RequestsThatHaveWaitedTooLongAreDropped)
{
    // Steps begin after 0, 1, 2, 3 and 4 ms.
    ServingRun run(AtOnce(5, 100, 1) + "max_wait_ms 2.5\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(run, "requests"), 3);
    EXPECT_EQ(Metric(run, "dropped"), 2);
    EXPECT_EQ(Metric(run, "refused"), 0);
    EXPECT_NEAR(Metric(run, "duration_us"), 3000, 1e-3);
    // One that is held before the instances, or is in the front end.
    ServingRun held("request_class a share: 1 max_running: 1\n" + AtOnce(5, 100, 1) +
                    "max_wait_ms 2.5\n" + ONE_BY_ONE);
    EXPECT_EQ(Metric(held, "dropped"), 2);
    ServingRun before(AtOnce(5, 100, 1) + "max_wait_ms 2.5\nfrontend_latency_ns 3000000\n" +
                      ONE_BY_ONE);
    EXPECT_EQ(Metric(before, "dropped"), 5);
}

TEST(Admission, LosesNoRequestUnderLoad)
{
    for (const char* more : {"fail_instance 1 0.05\n",
                             "turns uniform 1 5\nthink_ms 3\nmax_concurrency 100\n",
                             "host_cache_blocks 50\nkv_bytes 64\ncache_load whole\n"})
    {
        ServingRun run(
            std::string("requests 400\nrate 30000\nprompt_tokens uniform 10 300\n"
                        "output_tokens uniform 1 50\nshared_prefix_tokens 64\n"
                        "num_gpu_blocks 200\nmax_num_seqs 8\nmax_queued 60\nmax_wait_ms 20\n"
                        "max_predicted_ttft_ms 25\nfrontend_ns 100000\n"
                        "request_class a share: 1 max_running: 8 max_queued: 10\n"
                        "request_class b share: 2 ttft_limit_ms: 5\n") +
                more +
                "instances colocated 0-3\n"
                "row a all linear 20000 1000 1000 1 NONE 0\n",
            4,
            1000,
            1e9);
        EXPECT_EQ(Metric(run, "requests") + Metric(run, "refused") + Metric(run, "dropped"), 400)
            << more;
        double arrived = 0;
        for (const char* name : {"a", "b"})
        {
            arrived += run.Of("classes", name, "arrived");
            EXPECT_EQ(run.Of("classes", name, "arrived"),
                      run.Of("classes", name, "finished") + run.Of("classes", name, "refused") +
                          run.Of("classes", name, "dropped"));
            EXPECT_GT(run.Of("classes", name, "finished"), 0) << more;
        }
        EXPECT_EQ(arrived, 400) << more;
        EXPECT_GT(Metric(run, "refused"), 0) << more;
    }
}

TEST(Admission, InstancesThatPrefillAdmitForThoseThatDecode)
{
    ServingRun run(AtOnce(6, 100, 4) +
                       "max_predicted_ttft_ms 2.5\nmax_num_batched_tokens 100\nkv_bytes 64\n"
                       "instances prefill 0\nrow a all linear 0 10000 1000 0 NONE 0\n"
                       "instances decode 1\nrow a all linear 0 10000 1000 0 NONE 0\n",
                   2,
                   0,
                   1e12);
    EXPECT_EQ(Metric(run, "requests"), 2);
    EXPECT_EQ(Metric(run, "refused"), 4);
}

TEST(TraceModels, AWorkloadTakesTheRequestsOfItsModel)
{
    const std::string trace =
        WriteTrace("models.csv", "model", "5,100,1,a\n6,100,1,b\n7,200,1,a\n");
    const auto of = [&](const std::string& name) {
        return ReadServing(trace + "trace_model " + name +
                           "\ninstances colocated 0\nrow a all linear 1 0 0 0 NONE 0\n")
            .requests;
    };
    ASSERT_EQ(of("a").size(), 2);
    EXPECT_EQ(of("a")[1].promptTokens, 200);
    EXPECT_EQ(of("a")[1].arrival, 2'000'000'000'000);
    ASSERT_EQ(of("b").size(), 1);
    EXPECT_EQ(of("b")[0].arrival, 1'000'000'000'000) << "time begins with the first of any model";
}

TEST(Admission, SaysWhatIsWrong)
{
    const std::string drawn = AtOnce(1, 8, 1);
    const std::string traced = WriteTrace("wrong.csv", "class", "0,8,1,chat\n");
    const std::string plain = WriteTrace("plain.csv", "priority", "0,8,1,1\n");
    const std::vector<std::array<std::string, 2>> wrong = {
        {drawn + "request_class\n", "the class has no name"},
        {drawn + "request_class a\n", "class a has no share of the requests"},
        {drawn + "request_class a share: 1\nrequest_class a share: 2\n",
         "'a' is not a valid name of a class"},
        {drawn + "request_class a,b share: 1\n", "'a,b' is not a valid name of a class"},
        {drawn + "request_class a share: 0\n", "share: is '0'"},
        {drawn + "request_class a share: 1 max_running: 0\n", "max_running: is '0'"},
        {drawn + "request_class a share: 1 max_waiting: 0\n", "max_waiting:"},
        {drawn + "max_queued -1\n", "max_queued is '-1'"},
        {drawn + "max_wait_ms 0\n", "max_wait_ms is '0'"},
        {drawn + "max_predicted_ttft_ms x\n", "max_predicted_ttft_ms is 'x'"},
        {drawn + "trace_model a\n", "trace_model has no effect without trace"},
        {traced, "the workload has no classes for the column class"},
        {traced + "request_class chat share: 1\n", "class chat has a share"},
        {traced + "request_class batch\n", "'chat' is not a class of the workload; expected batch"},
        {plain + "request_class chat\n", "the column class is missing"},
        {plain + "trace_model a\n", "the column model is missing"},
        {WriteTrace("other.csv", "model", "0,8,1,b\n") + "trace_model a\n",
         "there are no requests of the model 'a'"},
    };
    for (const auto& [text, what] : wrong)
    {
        try
        {
            ReadServing(text + ONE_BY_ONE);
            ADD_FAILURE() << text;
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(what)) << text;
        }
    }
}
