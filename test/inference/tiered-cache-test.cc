/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-fixture.h"

#include "ns3/input-error.h"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>

using namespace AstraSim;
using ::testing::HasSubstr;

namespace
{

constexpr int BLOCK = 16;
constexpr int BLOCKS = 4;          ///< that a prompt's text fills
constexpr double LAYER_BYTES = 64; ///< of a token
constexpr int LAYERS = 4;

/// @return key of a trace: @p requests a second apart, whose prompts begin with one of @p texts
/// texts by turns, four blocks long
std::string
Scan(int requests, int texts)
{
    const std::string path = ::testing::TempDir() + fmt::format("scan-{}-{}.csv", requests, texts);
    std::ofstream file(path);
    file << "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n";
    for (int i = 0; i < requests; ++i)
    {
        file << fmt::format("{},{},1,{},{}\n", i, BLOCKS * BLOCK + 1, i % texts, BLOCKS * BLOCK);
    }
    return "trace " + path + "\n";
}

/// @return an instance that has room for one prompt @param more keys
std::string
Instance(const std::string& more, const std::string& ranks = "0", int layerNs = 1000)
{
    return "layers 4\nkv_heads 1\nkv_bytes 64\n" + more + "instances colocated " + ranks +
           fmt::format("\nnum_gpu_blocks {}\nrow all all linear {} 0 0 0 NONE 0\n",
                       BLOCKS + 1,
                       layerNs);
}

/// @return sum over caches.csv @param memory rows of that one; empty: of all
double
Sum(const ServingRun& run, const std::string& column, const std::string& memory = "")
{
    const auto& rows = run.tables.at("caches");
    const auto& header = rows.front();
    const auto place = std::find(header.begin(), header.end(), column) - header.begin();
    double sum = 0;
    for (std::size_t i = 1; i < rows.size(); ++i)
    {
        const auto& cells = rows[i]; // without a last one that is empty
        const bool counts = memory.empty() || cells.at(2) == memory;
        const bool has =
            place < std::ssize(cells) && !cells[static_cast<std::size_t>(place)].empty();
        sum += counts && has ? std::stod(cells[static_cast<std::size_t>(place)]) : 0;
    }
    return sum;
}

} // namespace

TEST(TieredCache, ACyclicScanHitsIfAllOfItFitsAndNeverElse)
{
    // Least recently used: a scan over one block too many finds each one gone.
    const int texts = 3;
    const int requests = 12;
    for (const int missing : {0, 1})
    {
        const int blocks = texts * BLOCKS - missing;
        ServingRun run(Scan(requests, texts) +
                       Instance(fmt::format("host_cache_blocks {}\n", blocks)));
        const double hits = missing ? 0 : (requests - texts) * BLOCKS;
        EXPECT_EQ(Sum(run, "hit_blocks", "host"), hits) << blocks;
        EXPECT_EQ(Sum(run, "hit_blocks", "gpu"), 0) << blocks;
        EXPECT_EQ(Sum(run, "hit_blocks"), requests * BLOCKS) << blocks;
        EXPECT_EQ(Sum(run, "used_blocks", "host"), blocks);
        EXPECT_EQ(Sum(run, "written_blocks", "host"), Sum(run, "evicted_blocks", "host") + blocks);
        EXPECT_EQ(Sum(run, "read_bytes", "host"), hits * BLOCK * LAYERS * LAYER_BYTES);
    }
}

TEST(TieredCache, BlocksComeFromTheFastestMemoryThatHasThem)
{
    // The host has the blocks of the last two texts of three, so a scan never finds them there.
    ServingRun run(Scan(12, 3) + Instance("host_cache_blocks 8\nnvme_cache_blocks 12\n"));
    EXPECT_EQ(Sum(run, "hit_blocks", "host"), 0);
    EXPECT_EQ(Sum(run, "hit_blocks", "nvme"), 9 * BLOCKS);
    EXPECT_EQ(run.Request(3, "nvme_tokens"), BLOCKS * BLOCK);
    EXPECT_EQ(run.Request(3, "cached_tokens"), BLOCKS * BLOCK);
    ServingRun fits(Scan(12, 3) + Instance("host_cache_blocks 12\nnvme_cache_blocks 12\n"));
    EXPECT_EQ(Sum(fits, "hit_blocks", "host"), 9 * BLOCKS);
    EXPECT_EQ(Sum(fits, "hit_blocks", "nvme"), 0);
}

TEST(TieredCache, AWholeCacheComesInItsLatencyAndItsBytesAtTheLinksRate)
{
    // Two texts, so that the GPU, which has room for one, has lost the third request's.
    ServingRun run(Scan(3, 2) +
                   Instance("host_cache_blocks 99\nhost_cache_gbps 2\nhost_cache_latency_ns 500\n"
                            "cache_load whole\n"));
    const double load = 500 + BLOCKS * BLOCK * LAYERS * LAYER_BYTES / 2;
    EXPECT_NEAR(run.Request(0, "ttft_us"), LAYERS * 1000 / 1e3, 1e-6);
    EXPECT_NEAR(run.Request(2, "ttft_us"), (load + LAYERS * 1000) / 1e3, 1e-6);
    EXPECT_NEAR(run.Request(2, "queue_us"), load / 1e3, 1e-6);
}

TEST(TieredCache, LayersComeWhileOthersAreComputed)
{
    // The first layer, and then the longer of computation and transfer.
    for (const double gbps : {1.0, 100.0})
    {
        ServingRun run(Scan(3, 2) + Instance(fmt::format("host_cache_blocks 99\n"
                                                         "host_cache_gbps {}\n"
                                                         "host_cache_latency_ns 500\n",
                                                         gbps)));
        const double layer = BLOCKS * BLOCK * LAYER_BYTES / gbps;
        const double compute = 1000;
        const double expected = 500 + layer + (LAYERS - 1) * std::max(layer, compute) + compute;
        EXPECT_NEAR(run.Request(2, "ttft_us"), expected / 1e3, 1e-6) << gbps;
    }
}

TEST(TieredCache, APoolServesWhatAnotherInstanceHasWritten)
{
    // Two instances by turns, and one text: the second asks for what the first has computed.
    const std::string text = Scan(2, 1) + "router round_robin\nremote_cache 2-3\n"
                                          "remote_cache_blocks 99\nremote_cache_latency_ns 700\n"
                                          "kv_layers_per_message 4\n";
    ServingRun run(text + Instance("cache_load whole\n", "0-1"), 4, 1'000'000, 1e9);
    EXPECT_EQ(run.Request(1, "prefill_instance"), 1);
    EXPECT_EQ(run.Request(1, "remote_tokens"), BLOCKS * BLOCK);
    EXPECT_EQ(Sum(run, "written_bytes", "remote"), BLOCKS * BLOCK * LAYERS * LAYER_BYTES);
    EXPECT_EQ(Sum(run, "read_bytes", "remote"), BLOCKS * BLOCK * LAYERS * LAYER_BYTES);
    EXPECT_EQ(Sum(run, "used_blocks", "remote"), BLOCKS);
    // A look-up, a message's latency, and as many bytes as the fuller of two holders has.
    const double block = BLOCK * LAYERS * LAYER_BYTES;
    const double waited = 1e3 * run.Request(1, "queue_us") - 700 - 1000;
    EXPECT_NEAR(waited / block, std::round(waited / block), 1e-6);
    EXPECT_GE(waited / block, BLOCKS / 2);
    EXPECT_LE(waited / block, BLOCKS);
    // With layers, all but the last one's computation hides behind the transfer of the first.
    ServingRun layers(text + Instance("", "0-1"), 4, 1'000'000, 1e9);
    EXPECT_NEAR(layers.Request(1, "ttft_us"), run.Request(1, "ttft_us"), 1e-6)
        << "all layers are in one message";
}

TEST(TieredCache, RanksOfTensorParallelismKeepTheirHeads)
{
    // Two heads on two ranks; then on four, of which two keep copies and write nothing.
    for (const int tp : {2, 4})
    {
        const std::string text =
            Scan(4, 2) + fmt::format("layers 4\nkv_heads 2\nkv_bytes 64\nremote_cache 4-5\n"
                                     "remote_cache_blocks 99\ninstances colocated 0-{} tp: {}\n"
                                     "num_gpu_blocks 5\nrow all all linear 1000 0 0 0 NONE 0\n",
                                     tp - 1,
                                     tp);
        ServingRun run(text, 6, 1000, 1e9);
        const double whole = 2 * BLOCKS * BLOCK * LAYERS * LAYER_BYTES;
        EXPECT_EQ(Sum(run, "written_bytes", "remote"), 2 * whole) << tp;
        EXPECT_EQ(Sum(run, "read_bytes", "remote"), 2 * whole * tp / 2) << tp;
    }
}

TEST(TieredCache, PipelineStagesLoadTheirLayers)
{
    const std::string more = "host_cache_blocks 99\nhost_cache_gbps 1\npp_comm 1\n";
    ServingRun run(Scan(3, 2) + "layers 4\nkv_heads 1\nkv_bytes 64\n" + more +
                       "instances colocated 0-1 pp: 2\nnum_gpu_blocks 5\n"
                       "row all all linear 1000 0 0 0 NONE 0\n",
                   2,
                   0,
                   1e15);
    // 4.096 us a layer: the first stage waits for its two, those of the second come meanwhile.
    const double layer = BLOCKS * BLOCK * LAYER_BYTES;
    EXPECT_NEAR(run.Request(2, "ttft_us"), (2 * layer + 1000 + 2 * 1000) / 1e3, 1e-3);
    EXPECT_EQ(Sum(run, "read_bytes", "host"), 4 * layer);
}

TEST(TieredCache, CachesThatCameFromTheHostMoveToDecodingInstances)
{
    ServingRun run(Scan(3, 2) + "first_token prefill\nlayers 4\nkv_heads 1\nkv_bytes 64\n"
                                "host_cache_blocks 99\nhost_cache_gbps 1\n"
                                "instances prefill 0\nnum_gpu_blocks 5\n"
                                "row all all linear 1000 0 0 0 NONE 0\n"
                                "instances decode 1\nrow all all linear 1000 0 0 0 NONE 0\n",
                   2,
                   1000,
                   1e12);
    EXPECT_EQ(run.Request(2, "host_tokens"), BLOCKS * BLOCK);
    EXPECT_EQ(Sum(run, "hit_blocks"), 3 * BLOCKS);
}

TEST(TieredCache, EveryBlockThatIsAskedForComesFromSomewhere)
{
    const std::string text = "requests 200\nmax_concurrency 12\nprompt_tokens uniform 20 200\n"
                             "output_tokens uniform 1 40\nturns 3\nturn_tokens uniform 10 60\n"
                             "layers 3\nkv_heads 2\nkv_bytes 64\nremote_cache 4-5\n"
                             "remote_cache_blocks 400\nremote_cache_latency_ns 300\n"
                             "host_cache_blocks 60\nnvme_cache_blocks 100\nnvme_cache_gbps 5\n"
                             "num_gpu_blocks 40\nmax_num_batched_tokens 64\n";
    const std::string instances = "instances colocated 0-3 tp: 2\n"
                                  "row all all linear 1000 10 5 1 ALLREDUCE_TP 8\n";
    for (const char* load : {"layers", "whole"})
    {
        for (const char* preemption : {"recompute", "swap"})
        {
            ServingRun run(text + "cache_load " + load + "\npreemption_mode " + preemption + "\n" +
                               instances,
                           6,
                           1000,
                           1e9);
            EXPECT_EQ(run.Of("inference", "requests", "mean"), 200);
            double asked = 0;
            for (const char* memory : {"gpu", "host", "nvme", "remote", "none"})
            {
                EXPECT_GT(Sum(run, "hit_blocks", memory), 0) << memory << load << preemption;
                asked += Sum(run, "hit_blocks", memory);
            }
            EXPECT_EQ(asked, Sum(run, "hit_blocks"));
            EXPECT_EQ(Sum(run, "written_blocks"),
                      Sum(run, "used_blocks") + Sum(run, "evicted_blocks"));
        }
    }
}

TEST(TieredCache, SaysWhatIsWrong)
{
    const std::string requests = AtOnce(1, 8, 1);
    const std::string row = "row all all linear 1 0 0 0 NONE 0\n";
    const std::string instance = "kv_bytes 2\ninstances colocated 0\n" + row;
    const std::vector<std::array<std::string, 2>> wrong = {
        {"host_cache_blocks 8\ninstances colocated 0\n" + row, "kv_bytes is missing"},
        {"host_cache_blocks 8\nenable_prefix_caching 0\n" + instance,
         "expected enable_prefix_caching 1"},
        {"remote_cache 1\n" + instance, "remote_cache_blocks is missing"},
        {"remote_cache 0-1\nremote_cache_blocks 8\n" + instance,
         "rank 0 serves, and holds the remote cache"},
        {"remote_cache x\n" + instance, "expected a list such as 0,2,4-7"},
        {"remote_cache_blocks 8\n" + instance, "without remote_cache"},
        {"host_cache_gbps 8\n" + instance, "without host_cache_blocks"},
        {"nvme_cache_latency_ns 8\n" + instance, "without nvme_cache_blocks"},
        {"cache_load whole\n" + instance, "without a cache outside the GPUs"},
        {"host_cache_blocks 0\n" + instance, "'0'"},
    };
    for (const auto& [text, what] : wrong)
    {
        try
        {
            ReadServing(requests + text);
            ADD_FAILURE() << text;
        }
        catch (const ns3::InputError& error)
        {
            EXPECT_THAT(error.what(), HasSubstr(what)) << text;
        }
    }
    InferenceWorkload workload(
        ReadServing(requests + "remote_cache 7\nremote_cache_blocks 8\n" + instance));
    EXPECT_THROW(workload.Bind(AllRanks(4)), ns3::InputError);
}
