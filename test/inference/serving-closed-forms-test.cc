/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-fixture.h"

#include <fstream>
#include <gmock/gmock.h>

using namespace AstraSim;

TEST(Serving, ARequestAloneTakesItsPromptAndItsSteps)
{
    // Per layer: 1000 ns a step, 2 a prompt token, 50 a decoding sequence, 3 a cached token.
    ServingRun run(AtOnce(1, 100, 5) +
                   "layers 4\ninstances colocated 0\nrow all all linear 1000 2 50 3 NONE 0\n"
                   "row head last linear 700 0 0 0 NONE 0\n");
    const double prefill = 4 * (1000 + 2 * 100 + 3 * 100) + 700;
    double decode = 0;
    for (int cached = 101; cached <= 104; ++cached)
    {
        decode += 4 * (1000 + 50 + 3 * cached) + 700;
    }
    EXPECT_NEAR(run.Request(0, "queue_us"), 0, 1e-9);
    EXPECT_NEAR(run.Request(0, "prefill_us"), prefill / 1000, 1e-6);
    EXPECT_NEAR(run.Request(0, "ttft_us"), prefill / 1000, 1e-6);
    EXPECT_NEAR(run.Request(0, "decode_us"), decode / 1000, 1e-6);
    EXPECT_NEAR(run.Request(0, "tpot_us"), decode / 1000 / 4, 1e-6);
    EXPECT_NEAR(run.Request(0, "e2e_us"), (prefill + decode) / 1000, 1e-6);
    EXPECT_NEAR(run.Of("instances", "0", "utilization"), 1, 1e-6);
    EXPECT_EQ(run.Of("instances", "0", "steps"), 5);
}

TEST(Serving, ASpeculatingRequestAloneTakesAStepForTheExpectedTokens)
{
    // 1 + 0.5 + 0.25 tokens a step: 11 steps make 19, and 12 the 20 after the first.
    const std::string text = AtOnce(1, 100, 21) + "layers 4\ninstances colocated 0\n"
                                                  "row all all linear 1000 0 50 0 NONE 0\n"
                                                  "row head last linear 700 0 0 0 NONE 0\n";
    ServingRun run(text + "speculative_decoding 2 0.5 0.25\n");
    const double verification = 4 * 1050 + 700;
    const double draft = 2 * (0.25 * 4 * 1050 + 700);
    EXPECT_NEAR(run.Request(0, "tpot_us"), 12 * (verification + draft) / 1000 / 20, 1e-6);
    EXPECT_NEAR(run.Request(0, "ttft_us"), (4 * 1000 + 700) / 1000.0, 1e-6) << "no draft";
    EXPECT_EQ(run.Of("instances", "0", "steps"), 1 + 12);
    EXPECT_EQ(run.Of("instances", "0", "output_tokens"), 21) << "no more than asked for";
    EXPECT_NEAR(ServingRun(text).Request(0, "tpot_us"), verification / 1000, 1e-6);
}

TEST(Serving, AVerificationsCollectivesHaveTheDraftsTokens)
{
    // As below, with 1 + 3 tokens in the only step after the first token.
    ServingRun run(AtOnce(1, 100, 5) + "layers 3\ninstances colocated 0-1 tp: 2\n"
                                       "speculative_decoding 3 1 0\n"
                                       "row attention all linear 500 0 0 0 ALLREDUCE_TP 400\n",
                   2,
                   1'000'000,
                   10e9);
    const double reduce = 2 * (1000 + 4 * 400 / 2 / 10.0);
    EXPECT_NEAR(run.Request(0, "decode_us"), 3 * (500 + reduce) / 1000, 1e-6);
}

TEST(Serving, TensorParallelStepsAddTheirCollectives)
{
    // 2 ranks, 1 us and 10 bytes/ns: a ring's AllReduce of B bytes is two messages of B/2.
    ServingRun run(AtOnce(1, 100, 2) + "layers 3\ninstances colocated 0-1 tp: 2\n"
                                       "row attention all linear 500 0 0 0 ALLREDUCE_TP 400\n"
                                       "row mlp all linear 700 0 0 0 ALLREDUCE_TP 400\n",
                   2,
                   1'000'000,
                   10e9);
    const auto reduce = [](double tokens) { return 2 * (1000 + tokens * 400 / 2 / 10); };
    EXPECT_NEAR(run.Request(0, "prefill_us"), 3 * (1200 + 2 * reduce(100)) / 1000, 1e-6);
    EXPECT_NEAR(run.Request(0, "decode_us"), 3 * (1200 + 2 * reduce(1)) / 1000, 1e-6);
    EXPECT_EQ(run.collectives.size(), 2 * 3 * 2);
}

TEST(Serving, PipelineStagesFollowEachOther)
{
    // 5 layers: 3 on the first stage, 2 on the second; 8 bytes a token go over at 1 byte/ns.
    ServingRun run(AtOnce(1, 100, 2) + "layers 5\npp_comm 8\ninstances colocated 0-1 pp: 2\n"
                                       "row all all linear 1000 0 0 0 NONE 0\n",
                   2,
                   0,
                   1e9);
    EXPECT_NEAR(run.Request(0, "prefill_us"), 5 + 0.8, 1e-6);
    EXPECT_NEAR(run.Request(0, "decode_us"), 5 + 0.008, 1e-6);
}

TEST(Serving, PipelineStagesWorkOnSeveralStepsAtATime)
{
    // Two prompts of one chunk each: the second is one stage behind the first.
    ServingRun run(AtOnce(2, 100, 1) +
                       "layers 2\npp_comm 1\nmax_num_batched_tokens 100\n"
                       "instances colocated 0-1 pp: 2\nrow all all linear 1000 0 0 0 NONE 0\n",
                   2);
    EXPECT_NEAR(run.Request(0, "e2e_us"), 2, 1e-3);
    EXPECT_NEAR(run.Request(1, "e2e_us"), 3, 1e-3);
}

TEST(Serving, APromptIsCutToTheStepsTokens)
{
    ServingRun run(AtOnce(1, 100, 1) + "max_num_batched_tokens 40\ninstances colocated 0\n"
                                       "row all all linear 1000 10 0 1 NONE 0\n");
    // 40, 40 and 20 new tokens; 40, 80 and 100 in the cache.
    EXPECT_NEAR(run.Request(0, "prefill_us"), (3 * 1000 + 10 * 100 + 40 + 80 + 100) / 1000.0, 1e-6);
    EXPECT_EQ(run.Of("instances", "0", "steps"), 3);
}

TEST(Serving, APoissonQueueOfPromptsWaitsAsMD1Does)
{
    // One prompt at a time, 1 ms each: W = rho D / (2 (1 - rho)) (Pollaczek and Khinchine).
    ServingRun run("requests 100000\nrate 500\nprompt_tokens 10\noutput_tokens 1\n"
                   "max_num_seqs 1\ninstances colocated 0\nrow all all linear 1e6 0 0 0 NONE 0\n");
    const double expected = 0.5 * 1000 / (2 * (1 - 0.5));
    EXPECT_NEAR(run.Of("inference", "queue_us", "mean"), expected, 0.02 * expected);
    EXPECT_NEAR(run.Of("instances", "0", "utilization"), 0.5, 0.01);
}

TEST(Serving, AClosedLoopKeepsItsUsersBusy)
{
    // One prompt at a time, 1 ms each, for 8 users: the first 8 requests take 1, 2, ... 8 ms, each
    // further one 8 ms.
    ServingRun run("requests 1000\nmax_concurrency 8\nprompt_tokens 10\noutput_tokens 1\n"
                   "max_num_seqs 1\ninstances colocated 0\nrow all all linear 1e6 0 0 0 NONE 0\n");
    EXPECT_NEAR(run.Of("inference", "duration_us", "mean"), 1e6, 1e-3);
    EXPECT_NEAR(run.Of("inference", "e2e_us", "mean"), (36 + 992 * 8) * 1000.0 / 1000, 1e-3);
    EXPECT_NEAR(run.Of("inference", "concurrency", "mean"), (36 + 992 * 8) / 1000.0, 1e-6);
    EXPECT_EQ(run.Request(999, "e2e_us"), 8000);
}

TEST(Serving, ABurstWaitsForItsServersCpu)
{
    // 10 requests of 1 ms of a CPU each and 2 ms beside that; then one after the other takes 1 ms.
    ServingRun run(AtOnce(10, 100, 1) + "frontend_ns 1e6\nfrontend_latency_ns 2e6\n"
                                        "max_num_seqs 1\ninstances colocated 0\n"
                                        "row all all linear 1e6 0 0 0 NONE 0\n");
    EXPECT_NEAR(run.Request(0, "ttft_us"), 13000, 1e-3);
    EXPECT_NEAR(run.Request(9, "ttft_us"), 22000, 1e-3);
}

TEST(Serving, AClosedLoopObeysLittlesLaw)
{
    // Users = throughput x (latency + time of thinking), but for the beginning and the end.
    for (const char* think : {"", "think_ms exponential 40\n"})
    {
        ServingRun run(std::string("requests 20000\nmax_concurrency 16\n") + think +
                       "prompt_tokens lognormal 200 300\noutput_tokens exponential 20\n"
                       "instances colocated 0\nrow all all linear 1e5 1000 1e5 10 NONE 0\n");
        const double perSecond = run.Of("inference", "requests_per_second", "mean");
        const double latency = run.Of("inference", "e2e_us", "mean") / 1e6;
        const double thinking = *think ? 0.0405 : 0; // rounding up adds half a millisecond
        EXPECT_NEAR(perSecond * (latency + thinking), 16, 0.01 * 16);
        EXPECT_NEAR(run.Of("inference", "concurrency", "mean"), perSecond * latency, 1e-3);
    }
}

TEST(Serving, TokensThatWereGeneratedAreInTheCacheOfTheNextTurn)
{
    // A session of three turns: prompts of 100, 150 and 200 tokens, outputs of 20. When a turn has
    // ended, all tokens but the last one generated have keys and values: 119, 169; in whole blocks
    // of 16, 112 and 160 tokens.
    const std::string text = "requests 3\nrate inf\nturns 3\nturn_tokens 30\nprompt_tokens 100\n"
                             "output_tokens 20\nlayers 4\ninstances colocated 0\n"
                             "row all all linear 1000 2 50 0 NONE 0\n";
    ServingRun run(text);
    EXPECT_EQ(run.Request(0, "cached_tokens"), 0);
    EXPECT_EQ(run.Request(1, "cached_tokens"), 112);
    EXPECT_EQ(run.Request(2, "cached_tokens"), 160);
    EXPECT_NEAR(run.Request(1, "prefill_us"), 4 * (1000 + 2 * (150 - 112)) / 1e3, 1e-6);
    // Each turn comes when the one before it has been answered.
    EXPECT_NEAR(run.Request(1, "arrival_us"), run.Request(0, "e2e_us"), 1e-6);
    EXPECT_NEAR(run.Request(2, "arrival_us"),
                run.Request(1, "arrival_us") + run.Request(1, "e2e_us"),
                1e-6);
    ServingRun without("enable_prefix_caching 0\n" + text);
    EXPECT_EQ(without.Request(2, "cached_tokens"), 0);
}

TEST(Serving, ATurnIsSentOnlyWhatTheDecodingInstanceDoesNotHave)
{
    // The prefilling instance has the prompt of the turn before, 96 of 100 tokens in whole blocks;
    // the decoding one also has the 19 tokens that it made itself, 112 of 119.
    ServingRun run("requests 2\nrate inf\nturns 2\nturn_tokens 30\nprompt_tokens 100\n"
                   "output_tokens 20\nlayers 4\nkv_heads 2\nkv_bytes 50\n"
                   "instances prefill 0\nrow all all linear 1000 2 0 0 NONE 0\n"
                   "instances decode 1\nrow all all linear 2000 0 0 0 NONE 0\n",
                   2,
                   1000,
                   10e9);
    EXPECT_EQ(run.Request(1, "cached_tokens"), 96);
    EXPECT_EQ(run.Request(0, "bytes"), 4 * 100 * 100);
    EXPECT_EQ(run.Request(1, "bytes"), 4 * 100 * (150 - 112));
}

TEST(Serving, AWholeCacheOnAnIdleNetworkTakesOneMessagesTime)
{
    // 4 layers x 2 heads x 50 bytes x 100 tokens = 40 kB in one message: 1 us + 40 kB / 10
    // bytes/ns.
    ServingRun run(AtOnce(1, 100, 3) + "layers 4\nkv_heads 2\nkv_bytes 50\nkv_transfer whole\n"
                                       "instances prefill 0\nrow all all linear 1000 0 0 0 NONE 0\n"
                                       "instances decode 1\nrow all all linear 2000 0 0 0 NONE 0\n",
                   2,
                   1'000'000,
                   10e9);
    EXPECT_NEAR(run.Request(0, "prefill_us"), 4, 1e-6);
    EXPECT_NEAR(run.Request(0, "transfer_us"), 1 + 4, 1e-6);
    EXPECT_NEAR(run.Request(0, "decode_us"), 3 * 8, 1e-6);
    EXPECT_NEAR(run.Request(0, "e2e_us"), 4 + 5 + 24, 1e-6);
    EXPECT_EQ(run.Request(0, "bytes"), 40'000);
    EXPECT_EQ(run.network.Messages(), 1);
}

TEST(Serving, TheFirstTokenComesFromTheSideThatAnswers)
{
    // Prefill of 4 us, 5 us of transfer, steps of 8 us. The decoding side makes all tokens itself,
    // from the prompt's last one on; the prefilling side makes the first before the transfer.
    struct Case
    {
        const char* key;
        uint32_t output;
        double firstToken;
        double perToken; // of those after the first
        double endToEnd;
        double transfer;
        double within; // a limit of 6 us for the first token
    };

    for (const Case& each :
         {Case{"", 3, 4 + 5 + 8, 8, 4 + 5 + 3 * 8, 5, 0},
          Case{"first_token decode\n", 3, 4 + 5 + 8, 8, 4 + 5 + 3 * 8, 5, 0},
          Case{"first_token decode\n", 1, 4 + 5 + 8, 0, 4 + 5 + 8, 5, 0},
          Case{"first_token prefill\n", 3, 4, (5 + 2 * 8) / 2.0, 4 + 5 + 16, 5, 1},
          Case{"first_token prefill\n", 1, 4, 0, 4, 0, 1}})
    {
        SCOPED_TRACE(std::string(each.key) + std::to_string(each.output));
        ServingRun run(
            AtOnce(1, 100, each.output) + each.key +
                "layers 4\nkv_heads 2\nkv_bytes 50\nkv_transfer whole\nttft_limit_ms 0.006\n"
                "instances prefill 0\nrow all all linear 1000 0 0 0 NONE 0\n"
                "instances decode 1\nrow all all linear 2000 0 0 0 NONE 0\n",
            2,
            1'000'000,
            10e9);
        EXPECT_NEAR(run.Request(0, "ttft_us"), each.firstToken, 1e-6);
        if (each.output > 1)
        {
            EXPECT_NEAR(run.Request(0, "tpot_us"), each.perToken, 1e-6);
        }
        EXPECT_NEAR(run.Request(0, "transfer_us"), each.transfer, 1e-6);
        EXPECT_NEAR(run.Request(0, "e2e_us"), each.endToEnd, 1e-6);
        EXPECT_EQ(run.Request(0, "within_limits"), each.within);
        EXPECT_NEAR(run.Of("inference", "ttft_us", "mean"), each.firstToken, 1e-6);
        EXPECT_EQ(run.Of("inference", "within_limits", "mean"), each.within);
        // A token that is dropped is in no count.
        EXPECT_EQ(run.Of("instances", "0", "output_tokens") +
                      run.Of("instances", "1", "output_tokens"),
                  each.output);
    }
}

TEST(Serving, TheLastTokenOfAPromptThatIsComputedAgainSeesAllOfThePrompt)
{
    // 100 cached tokens at 3 ns each: the first step of the decoding side attends to the prompt's
    // 100, the second to one more.
    ServingRun run(AtOnce(1, 100, 2) + "layers 1\nkv_heads 1\nkv_bytes 50\nkv_transfer whole\n"
                                       "instances prefill 0\nrow all all linear 1000 0 0 0 NONE 0\n"
                                       "instances decode 1\nrow all all linear 0 0 0 3 NONE 0\n",
                   2,
                   1'000'000,
                   10e9);
    EXPECT_NEAR(run.Request(0, "decode_us"), 3 * (100 + 101) / 1e3, 1e-6);
}

TEST(Serving, LayersThatLeaveAsTheyAreComputedHideAllButTheLast)
{
    // A layer takes 1 us to compute and 10 kB, 1 us, to send: only the last one is seen, and the
    // latency.
    const std::string text = AtOnce(1, 100, 2) +
                             "layers 4\nkv_heads 2\nkv_bytes 50\n"
                             "instances prefill 0\nrow all all linear 1000 0 0 0 NONE 0\n"
                             "instances decode 1\nrow all all linear 2000 0 0 0 NONE 0\n";
    ServingRun run(text, 2, 300'000, 10e9);
    EXPECT_NEAR(run.Request(0, "transfer_us"), 0.3 + 1, 1e-6);
    EXPECT_NEAR(run.Request(0, "transfer_start_us"), 1, 1e-3);
    EXPECT_EQ(run.network.Messages(), 4);
    ServingRun pairs("kv_layers_per_message 3\n" + text, 2, 300'000, 10e9);
    // Three layers leave after 3 us and take 3 us, the fourth follows: 4 us of sending from 3 us
    // on.
    EXPECT_NEAR(pairs.Request(0, "transfer_us"), 3 + 4 + 0.3 - 4, 1e-6);
    EXPECT_EQ(pairs.network.Messages(), 2);
}

TEST(Serving, TheExpertsOfATensorParallelGroupAddUpByAnAllReduce)
{
    // Ranks of the group have the same tokens: no exchange.
    ServingRun run(AtOnce(1, 10, 1) + "instances colocated 0-3 tp: 4 dp: 1 ep: 4\n"
                                      "row x all linear 1000 0 0 0 ALLREDUCE_TP 8\n",
                   4,
                   0,
                   10e9);
    EXPECT_EQ(run.network.Bytes(), 2 * 3 * 8 * 10);
    EXPECT_EQ(run.Cell("instances", "0", "dp"), "1");
    EXPECT_EQ(run.Cell("instances", "0", "ep"), "4");
}

TEST(Serving, CachesMoveBetweenInstancesOfDifferentParallelism)
{
    // 6 layers x 4 heads x 10 bytes x 100 tokens, whatever the two sides look like.
    for (const auto* shape :
         {"tp: 1", "tp: 2", "tp: 4", "tp: 8", "tp: 2 pp: 2", "tp: 2 ep: 2 pp: 2"})
    {
        ServingRun run(AtOnce(3, 100, 4) +
                           "layers 6\nkv_heads 4\nkv_bytes 10\npp_comm 1\n"
                           "instances prefill 0-7 tp: 2 pp: 2\nrow a all linear 1000 0 0 0 NONE 0\n"
                           "instances decode 8-15 " +
                           shape + "\nrow a all linear 1000 0 0 0 NONE 0\n",
                       16,
                       1000,
                       10e9);
        const uint64_t copies = std::string(shape) == "tp: 8" ? 2 : 1; // of each head
        for (int request = 0; request < 3; ++request)
        {
            EXPECT_EQ(run.Request(request, "bytes"), copies * 6 * 4 * 10 * 100) << shape;
            EXPECT_NEAR(run.Request(request, "queue_us") + run.Request(request, "prefill_us") +
                            run.Request(request, "transfer_us") + run.Request(request, "decode_us"),
                        run.Request(request, "e2e_us"),
                        1e-5);
        }
    }
}

namespace
{

/// The second of two requests comes when the first has ended; both begin with the same 80 tokens.
std::string
Alike(const std::string& file, int output)
{
    const std::string path = ::testing::TempDir() + file;
    std::ofstream(path) << "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n"
                        << "0,100," << output << ",1,80\n1,100," << output << ",1,80\n";
    return "trace " + path + "\n";
}

} // namespace

TEST(Serving, ASharedPrefixIsComputedOnce)
{
    const std::string text = Alike("alike-colocated.csv", 1) +
                             "layers 4\ninstances colocated 0\n"
                             "row all all linear 1000 2 50 3 NONE 0\n";
    ServingRun run(text);
    // 80 tokens are five blocks: the other 20 are computed, and attend to all 100.
    EXPECT_NEAR(run.Request(0, "prefill_us"), 4 * (1000 + 2 * 100 + 3 * 100) / 1e3, 1e-6);
    EXPECT_NEAR(run.Request(1, "prefill_us"), 4 * (1000 + 2 * 20 + 3 * 100) / 1e3, 1e-6);
    EXPECT_EQ(run.Request(0, "cached_tokens"), 0);
    EXPECT_EQ(run.Request(1, "cached_tokens"), 80);
    EXPECT_EQ(run.Of("instances", "0", "prompt_tokens"), 120);
    EXPECT_NEAR(run.Of("inference", "cached_prompt_share", "mean"), 80 / 200.0, 1e-6);
    ServingRun without("enable_prefix_caching 0\n" + text);
    EXPECT_EQ(without.Request(1, "prefill_us"), run.Request(0, "prefill_us"));
    EXPECT_EQ(without.Of("instances", "0", "prompt_tokens"), 200);
}

TEST(Serving, ACacheOfWhichAllIsThereAlreadyIsCompleteAtOnce)
{
    // Three blocks of 16 tokens: the second request waits for the end of the first one, whose
    // prompt it shares.
    ServingRun run(
        AtOnce(2, 32, 2) +
            "first_token prefill\nshared_prefix_tokens 32\nlayers 2\nkv_heads 1\nkv_bytes 64\n"
            "instances prefill 0\nrow a all linear 1000 0 0 0 NONE 0\n"
            "instances decode 1\nnum_gpu_blocks 3\nrow a all linear 1000 0 0 0 NONE 0\n",
        2,
        1'000'000,
        10e9);
    EXPECT_GT(run.Of("requests", "0", "bytes"), 0);
    EXPECT_EQ(run.Of("requests", "1", "bytes"), 0);
    EXPECT_EQ(run.Of("inference", "requests", "mean"), 2);
}

TEST(Serving, TheSharedPartOfACacheMovesOnce)
{
    const std::string instances = "layers 4\nkv_heads 1\nkv_bytes 100\n"
                                  "instances prefill 0\nrow all all linear 1000 2 0 0 NONE 0\n"
                                  "instances decode 1\n";
    const std::string row = "row all all linear 2000 0 0 0 NONE 0\n";
    for (const char* way : {"layers", "whole"})
    {
        const std::string text =
            Alike("alike-apart.csv", 3) + "kv_transfer " + way + "\n" + instances;
        ServingRun run(text + row, 2, 1000, 10e9);
        EXPECT_EQ(run.Request(0, "bytes"), 4 * 100 * 100) << way;
        EXPECT_EQ(run.Request(1, "bytes"), 4 * 100 * 20) << way;
        EXPECT_EQ(run.Request(1, "cached_tokens"), 80) << way;
        // The cache of the prefilling instance leaves with the first layer's rest, where
        // the decoding instance keeps none.
        ServingRun forgets(text + "enable_prefix_caching 0\n" + row, 2, 1000, 10e9);
        EXPECT_EQ(forgets.Request(1, "bytes"), 4 * 100 * 100) << way;
        EXPECT_EQ(forgets.Request(1, "cached_tokens"), 80) << way;
    }
}
