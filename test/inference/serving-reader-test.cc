/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-fixture.h"

#include "ns3/input-error.h"

#include <array>
#include <gmock/gmock.h>
#include <map>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

const std::string REQUESTS = "requests 3\nrate 10\nprompt_tokens 7\noutput_tokens 2\n";
const std::string ROW = "row a all linear 1 0 0 0 NONE 0\n";

std::string
ReaderErrorOf(const std::string& text)
{
    try
    {
        ReadServing(text);
    }
    catch (const ns3::InputError& error)
    {
        return error.what();
    }
    return "";
}

} // namespace

TEST(ServingFile, KeysBeforeInstancesHoldForAllPools)
{
    const auto config = ReadServing(REQUESTS + "max_num_seqs 5\nkv_bytes 2\n" + ROW +
                                    "instances prefill 0-3 model_parallel_NPU_group: 2\n"
                                    "instances decode 4-7 tp: 4\nmax_num_seqs 9\n" +
                                    ROW);
    const auto* prefill = config.Find(InstanceRole::Prefill);
    const auto* decode = config.Find(InstanceRole::Decode);
    ASSERT_TRUE(prefill && decode);
    EXPECT_EQ(prefill->tp, 2);
    EXPECT_EQ(prefill->CountInstances(), 2);
    EXPECT_EQ(prefill->maxSequences, 5);
    EXPECT_EQ(prefill->rows.size(), 1);
    EXPECT_EQ(decode->maxSequences, 9);
    EXPECT_EQ(decode->rows.size(), 2);
    EXPECT_TRUE(config.IsDisaggregated());
}

TEST(ServingFile, CachesAreRoutedAsRequestsAreUnlessSaidOtherwise)
{
    const std::string pools =
        REQUESTS + "kv_bytes 2\n" + ROW + "instances prefill 0\ninstances decode 1\n";
    EXPECT_EQ(ReadServing(pools + "router kv_aware\n").decodeRouter.name, "kv_aware");
    for (const char* both : {"router kv_aware\ndecode_router round_robin\n",
                             "decode_router round_robin\nrouter kv_aware\n"})
    {
        const auto config = ReadServing(pools + both);
        EXPECT_EQ(config.prefillRouter.name, "kv_aware");
        EXPECT_EQ(config.decodeRouter.name, "round_robin");
    }
}

TEST(ServingFile, NumbersOfTokensAreFixedOrDrawn)
{
    for (const auto& [tokens, promptTokens] :
         {std::pair{"7", 7}, {"uniform 5 5", 5}, {"exponential 1", 1}})
    {
        const auto config = ReadServing("requests 1\nrate 10\noutput_tokens 2\nprompt_tokens " +
                                        std::string(tokens) + "\ninstances colocated 0\n" + ROW);
        EXPECT_GE(config.requests.at(0).promptTokens, promptTokens) << tokens;
    }
}

TEST(ServingFile, WindowsAreOfLayersWithoutSharedOrMovedCaches)
{
    const std::string window = REQUESTS + "layers 4\nwindow 16\nwindow_layers 3\n";
    const std::string gpu = "gpu tflops: 989 memory_gbps: 3350 sms: 132\n";
    const std::string row = "row x all attention_window 1 2 3 NONE 0\n";
    const auto config =
        ReadServing(window + gpu + "enable_prefix_caching 0\ninstances colocated 0\n" + row);
    EXPECT_EQ(config.pools[0].window, 16);
    EXPECT_EQ(config.pools[0].windowLayers, 3);
    EXPECT_EQ(config.pools[0].layers, 4);
    EXPECT_THAT(ReaderErrorOf(window + gpu + "instances colocated 0\n" + row),
                HasSubstr("prefix caching is not modelled for layers with a window"));
    EXPECT_THAT(ReaderErrorOf(window + gpu + "kv_bytes 2\nenable_prefix_caching 0\n" + row +
                              "instances prefill 0\ninstances decode 1\n"),
                HasSubstr("transfers of caches are not modelled for layers with a window"));
    EXPECT_THAT(ReaderErrorOf(window + gpu + "kv_bytes 2\nenable_prefix_caching 0\n" + row +
                              "preemption_mode swap\ninstances colocated 0\n"),
                HasSubstr("swapping is not modelled for layers with a window"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + gpu + "instances colocated 0\n" + row),
                HasSubstr("row x needs a window"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "window 16\ninstances colocated 0\n" + ROW),
                HasSubstr("a window of 16 tokens in 0 layers"));
}

TEST(ServingFile, RowsHavePlacesFiguresAndCollectives)
{
    const auto config =
        ReadServing(REQUESTS + "layers 9\ngpu tflops: 989 memory_gbps: 3350 sms: 132\n"
                               "instances colocated 0\nrow q 3-8 matmul 10 20 2 ALLREDUCE 16.5\n"
                               "row x 2 experts 10 20 4 0.5 ALLTOALL_EP 8\n"
                               "row h last memory 7 NONE 0\n");
    const auto& rows = config.pools[0].rows;
    ASSERT_EQ(rows.size(), 3);
    EXPECT_EQ(rows[0].firstLayer, 3);
    EXPECT_EQ(rows[0].lastLayer, 8);
    EXPECT_EQ(rows[0].figures[2], 2);
    EXPECT_EQ(rows[0].op, CollectiveOp::AllReduce);
    EXPECT_EQ(rows[0].bytesPerToken, 16.5);
    EXPECT_EQ(rows[1].group, GroupKind::Ep);
    EXPECT_EQ(rows[1].lastLayer, 2);
    EXPECT_EQ(rows[2].place, OperatorPlace::Last);
}

TEST(ServingFile, SaysWhatIsWrong)
{
    const std::string colocated = "instances colocated 0\n";
    EXPECT_THAT(ReaderErrorOf("layer 3\n"),
                HasSubstr("serve.txt:2: unknown key 'layer'; expected a known key; the nearest is "
                          "layers"));
    EXPECT_THAT(ReaderErrorOf("layers 0\n"), HasSubstr("layers is '0'; expected a whole"));
    for (const char* draft : {"3", "3 0.5", "0 0.5 0.1", "65 0.5 0.1", "3 1.5 0.1", "3 0.5 0.1 1"})
    {
        EXPECT_THAT(ReaderErrorOf("speculative_decoding " + std::string(draft) + "\n"),
                    HasSubstr("expected tokens of a draft from 1 to 64, their acceptance"));
    }
    EXPECT_THAT(ReaderErrorOf("max_num_batched_tokens 3\nspeculative_decoding 3 0.5 0.1\n" +
                              colocated + "row a all linear 1 0 0 0 NONE 0\n"),
                HasSubstr("serve.txt:4: a step of 3 tokens has no room for 3 of a draft"));
    EXPECT_THAT(ReaderErrorOf("layers 1 2\n"), HasSubstr("layers is '1 2'; expected a whole"));
    EXPECT_THAT(
        ReaderErrorOf("router random\n"),
        HasSubstr("router is 'random'; expected kv_aware, least_loaded, round_robin or session"));
    EXPECT_THAT(ReaderErrorOf("instances colocated 0-7 tp: 4 dp: 2 ep: 3\n"),
                HasSubstr("EP 3 does not divide TP x DP = 8; expected a divisor"));
    EXPECT_THAT(ReaderErrorOf("instances both 0\n"),
                HasSubstr("role is 'both'; expected colocated"));
    EXPECT_THAT(ReaderErrorOf("instances decode 0-2 tp: 2\n"), HasSubstr("3 ranks are not whole"));
    EXPECT_THAT(ReaderErrorOf("instances decode 0 cp: 2\n"),
                HasSubstr("unknown key 'cp:'; expected role, ranks, tp:, "));
    EXPECT_THAT(ReaderErrorOf(colocated + colocated), HasSubstr("colocated instances already"));
    EXPECT_THAT(ReaderErrorOf("layers 3\nlayers 4\n"),
                HasSubstr("serve.txt:3: the key 'layers' occurs twice; expected each key once"));
    EXPECT_THAT(ReaderErrorOf("layers 3\n" + colocated + "layers 4\n"),
                HasSubstr("serve.txt:4: the key 'layers' occurs twice"));
    EXPECT_THAT(ReaderErrorOf("window 3\n" + colocated + "window 4\nwindow 5\n"),
                HasSubstr("serve.txt:5: the key 'window' occurs twice"))
        << "once for all instances and once for these";
    EXPECT_THAT(ReaderErrorOf("row a all cubic 3 NONE 0\n"), HasSubstr("'cubic' is not a kind"));
    EXPECT_THAT(ReaderErrorOf("row a all linear 3 NONE 0\n"), HasSubstr("this row has 7 fields"));
    EXPECT_THAT(ReaderErrorOf("row a 4-2 memory 3 NONE 0\n"),
                HasSubstr("'4-2' is not a valid range"));
    EXPECT_THAT(ReaderErrorOf("row a all memory 3 ALLREDUCE_DP 0\n"),
                HasSubstr("'ALLREDUCE_DP' is not a valid collective"));
    EXPECT_THAT(ReaderErrorOf("gpu tflops: 3\n"), HasSubstr("the GPU lacks a property"));
    EXPECT_THAT(ReaderErrorOf("gpu tflops: 3 sms: 1 tflops: 4\n"),
                HasSubstr("serve.txt:2: the key 'tflops:' occurs twice; expected each key once"));
    EXPECT_THAT(ReaderErrorOf("instances decode 0-3 tp: 2 pp: 2 model_parallel_NPU_group: 4\n"),
                HasSubstr("the key 'model_parallel_NPU_group:' occurs twice"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "time_scale 2\n" + colocated + ROW),
                HasSubstr("serve.txt:6: time_scale has no effect without trace"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "shared_prefixes 2\n" + colocated + ROW),
                HasSubstr("shared_prefixes has no effect without shared_prefix_tokens"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + colocated + ROW + "swap_gbps 2\n"),
                HasSubstr("serve.txt:8: swap_gbps has no effect without preemption_mode swap"));
    for (const char* key : {"decode_router kv_aware",
                            "kv_transfer whole",
                            "kv_layers_per_message 2",
                            "first_token prefill"})
    {
        EXPECT_THAT(
            ReaderErrorOf(REQUESTS + key + "\n" + colocated + ROW),
            HasSubstr(" has no effect without instances decode; expected a file without it"))
            << key;
    }
    EXPECT_EQ(ReaderErrorOf(REQUESTS + "kv_bytes 1\nswap_gbps 2\n" + colocated + ROW +
                            "preemption_mode swap\n"),
              "")
        << "of all instances, of which some swap";
    EXPECT_THAT(ReaderErrorOf("first_token last\n"),
                HasSubstr("serve.txt:2: first_token is 'last'; expected prefill or decode"));
    for (const char* tokens : {"0",
                               "16777217",
                               "3 4",
                               "uniform 3",
                               "uniform 3 2",
                               "uniform 1 2 3",
                               "exponential",
                               "exponential 1 2",
                               "normal 3",
                               ""})
    {
        EXPECT_THAT(
            ReaderErrorOf(std::string("prompt_tokens ") + tokens + "\n"),
            HasSubstr("prompt_tokens is '" + std::string(tokens) +
                      "'; expected N, uniform LOW HIGH, exponential MEAN, or lognormal MEAN "
                      "DEVIATION"));
    }
    for (const auto& [key, why] : std::map<std::string, std::string>{
             {"burstiness 2", "burstiness has no effect without a finite rate"},
             {"burst 2", "burst has no effect without a finite rate"},
             {"turn_tokens 2", "turn_tokens has no effect without turns"},
             {"think_ms 2", "think_ms has no effect without turns or max_concurrency"}})
    {
        EXPECT_THAT(ReaderErrorOf("requests 3\nrate inf\nprompt_tokens 7\noutput_tokens 2\n" + key +
                                  "\n" + colocated + ROW),
                    HasSubstr("serve.txt:6: " + why));
    }
    EXPECT_THAT(ReaderErrorOf("requests 999\nrate 1\nprompt_tokens 100000\noutput_tokens 2\n"
                              "turns 999\n" +
                              colocated + ROW),
                HasSubstr("serve.txt:6: a session has prompts of more than 16777216 tokens"));
    EXPECT_THAT(ReaderErrorOf("rate infinite\n"), HasSubstr("to 1e+18, or inf"));
    EXPECT_THAT(ReaderErrorOf("windw 3\n"), HasSubstr("the nearest is window"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + colocated),
                HasSubstr("serve.txt:6: the instances have no rows"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "instances decode 0\n" + ROW),
                HasSubstr("cannot serve requests"));
    EXPECT_THAT(ReaderErrorOf(colocated + ROW), HasSubstr("does not say which requests come"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "trace a.csv\n" + colocated + ROW),
                HasSubstr("exclude each other"));
    EXPECT_THAT(ReaderErrorOf("trace none.csv\n" + colocated + ROW), HasSubstr("none.csv"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + colocated + "row a all memory 3 NONE 0\n"),
                HasSubstr("row a needs a GPU"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + colocated + "row a 3 linear 1 0 0 0 NONE 0\n"),
                HasSubstr("row a is in layer 3; expected layers below 1"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "instances colocated 0-1 pp: 2\n" + ROW),
                HasSubstr("2 pipeline stages for 1 layers"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "layers 2\ninstances colocated 0-1 pp: 2\n" + ROW),
                HasSubstr("pp_comm is missing"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "kv_heads 3\ninstances colocated 0-1 tp: 2\n" + ROW),
                HasSubstr("TP 2 and 3 key-value heads"));
    EXPECT_THAT(
        ReaderErrorOf(REQUESTS + "instances prefill 0\n" + ROW + "instances decode 1\n" + ROW),
        HasSubstr("kv_bytes is missing"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + "kv_bytes 1\ninstances prefill 0\n" + ROW +
                              "instances decode 0\n" + ROW),
                HasSubstr("rank 0 is in two pools"));
    EXPECT_THAT(ReaderErrorOf(REQUESTS + colocated + ROW + "num_gpu_blocks 2\nblock_size 3\n"),
                HasSubstr("request 0 has 8 tokens to keep, 3 blocks"));
}

TEST(ServingFile, TimesBelongToTheRowBefore)
{
    const auto config =
        ReadServing(REQUESTS + "gpu tflops: 989 memory_gbps: 3350 sms: 132\nlaunch_ns 1.5\n"
                               "cudagraph_capture_sizes 1 2 8\n"
                               "capacity_scheduler_policy guaranteed_no_evict\n"
                               "instances colocated 0\nrow a all matmul 1 2 3 NONE 0\n"
                               "times tokens 1 5 8 9\nrow b all attention 1 2 3 NONE 0\n"
                               "times prompts 1 16 7\ntimes prompts 2 16 8\n"
                               "times decoding 3 16 9\ntimes mixed 3 16 11\n");
    const InstancePool& pool = config.pools[0];
    EXPECT_EQ(pool.launch, 1500);
    EXPECT_EQ(pool.captureSizes, (std::vector<uint32_t>{1, 2, 8}));
    EXPECT_EQ(pool.capacity.name, "guaranteed_no_evict");
    EXPECT_DOUBLE_EQ(pool.rows[0].times.At(1, 8), 9);
    EXPECT_DOUBLE_EQ(pool.rows[1].times.At(2, 16), 8);
    EXPECT_DOUBLE_EQ(pool.rows[1].decodingTimes.At(3, 16), 9);
    EXPECT_DOUBLE_EQ(pool.rows[1].mixedTimes.At(3, 16), 11);
}

TEST(ServingFile, SaysWhatIsWrongWithTimes)
{
    const std::string row = "gpu tflops: 989 memory_gbps: 3350 sms: 132\ninstances colocated 0\n"
                            "row a all matmul 1 2 3 NONE 0\n";
    const std::string attention = row + "row b all attention 1 2 3 NONE 0\n";
    const std::vector<std::array<std::string, 2>> wrong = {
        {"times tokens 1 5\n", "no row comes before these times"},
        {row + "times prompts 1 5 6\n", "are no times of the row before, a; expected times tokens"},
        {attention + "times tokens 1 5\n", "are no times of the row before, b; expected times"},
        {ROW + "times tokens 1 5\n", "are no times of the row before, a"},
        {row + "times\n", "are no times of the row before, a"},
        {row + "times tokens\n", "have 2 fields; expected pairs"},
        {row + "times tokens 1 5 2\n", "have 5 fields; expected pairs"},
        {row + "times tokens 0 5\n", "'0'"},
        {row + "times tokens 1 0\n", "'0'"},
        {row + "times tokens 2 5 2 5\n", "'2' is not a valid next coordinate"},
        {row + "times tokens 2 5\ntimes tokens 2 5\n", "is not a valid next line of times"},
        {attention + "times prompts 2 5 6\ntimes prompts 1 5 6\n", "'1' is not a valid next line"},
        {"cudagraph_capture_sizes 2 2\n" + ROW, "is '2 2'; expected sizes in ascending order"},
        {"cudagraph_capture_sizes\n" + ROW, "is ''; expected sizes in ascending order"},
        {"capacity_scheduler_policy evict\n" + ROW, "expected guaranteed_no_evict or max"},
        {"launch_ns x\n" + ROW, "expected nanoseconds"},
    };
    for (const auto& [text, what] : wrong)
    {
        EXPECT_THAT(ReaderErrorOf(REQUESTS + text), HasSubstr(what)) << text;
    }
}

TEST(ServingFile, InstancesNeedRanksThatExist)
{
    InferenceWorkload workload(ReadServing(REQUESTS + "instances colocated 0-3\n" + ROW));
    EXPECT_THROW(workload.Bind(AllRanks(3)), ns3::InputError);
    EXPECT_NO_THROW(workload.Bind(AllRanks(4)));
}
