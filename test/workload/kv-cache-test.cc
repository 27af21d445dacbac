/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../system/job-fixture.h"
#include "astra-frontend/model/system/rank-list.h"
#include "astra-frontend/model/workload/kv-cache-workload.h"
#include "astra-frontend/model/workload/workload-file.h"

#include "ns3/input-error.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

/// Keeps the lines of results.
class Lines : public Recorder
{
  public:
    void WorkloadResult(std::string_view, std::string_view line) override
    {
        lines.emplace_back(line);
    }

    std::vector<std::string> lines;
};

KvCacheConfig
Read(const std::string& text)
{
    std::istringstream stream(text);
    return ReadKvCacheConfig(stream, "kv.txt");
}

const std::string MODEL = "layers 10\nkv_heads 5\nhead_dim 100\nbytes_per_element 2\n";

} // namespace

TEST(RankList, ReadsRanksAndRanges)
{
    EXPECT_THAT(*ParseRankList("3,0-2"), ElementsAre(3, 0, 1, 2));
    for (const auto* wrong : {"", "a", "1-", "2-1", "1,,2", "1,1", "0-3,2"})
    {
        EXPECT_FALSE(ParseRankList(wrong)) << wrong;
    }
    EXPECT_EQ(ParseJobPlacement("a.txt").workload, "a.txt");
    EXPECT_THAT(ParseJobPlacement("a@b.txt@4-5").ranks, ElementsAre(4, 5));
    EXPECT_THROW(ParseJobPlacement("a.txt@x"), ns3::InputError);
}

TEST(KvCache, BytesComeFromTheShapeOfTheModel)
{
    const auto config =
        Read("KV_CACHE\nprefill 0\ndecode 1\n" + MODEL + "requests 3\nrate 10\nprompt_tokens 7\n");
    // Keys and values: 2 x 10 layers x 5 heads x 100 x 2 bytes per token.
    EXPECT_EQ(config.BytesOf(7), 140'000);
    EXPECT_EQ(config.requests.size(), 3);
}

TEST(KvCache, ArrivalsHaveTheRateAskedForAndRepeat)
{
    const std::string text = "KV_CACHE\nprefill 0\ndecode 1\n" + MODEL +
                             "requests 20000\nrate 50\nprompt_tokens 7\nseed 9\n";
    const auto config = Read(text);
    const double seconds = static_cast<double>(config.requests.back().arrival) / 1e12;
    EXPECT_NEAR(20000 / seconds, 50, 50 * 0.03); // three standard deviations are 2 %
    EXPECT_EQ(Read(text).requests[777].arrival, config.requests[777].arrival);
}

TEST(KvCache, ReportsEachTransferAndPercentiles)
{
    const std::string folder = ::testing::TempDir() + "kv-report";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/arrivals.txt") << "0 10\n0.000001 10\n0.1 5\n";
    std::ofstream(folder + "/kv.txt")
        << "KV_CACHE\nprefill 0,1\ndecode 2,3\nranks_per_instance 2\nprefill_ns_per_token 200\n"
        << MODEL << "trace arrivals.txt\n";
    auto workload = OpenWorkload(folder + "/kv.txt", {});
    LoopbackNetwork network(5, 0, 50e9);
    Lines results;
    Job job({workload.get(),
             AllRanks(5),
             NativeConfig("ring"),
             {},
             nullptr,
             [&network](int rank) -> RankNetwork& { return network.At(rank); },
             &results});
    job.Start();
    network.Run();
    std::filesystem::remove_all(folder);
    ASSERT_TRUE(job.Finished());
    EXPECT_EQ(job.Progress().collectivesDone, 6);
    ASSERT_EQ(results.lines.size(), 1 + 3 + 5);
    // 10 tokens take 2 us; 200 kB in two shares at 50 GB/s take 2 us: the second follows at once.
    EXPECT_EQ(results.lines[1], "0,0.000000,0,0,10,200000,2.000000,4.000000,2.000000");
    EXPECT_EQ(results.lines[2], "1,1.000000,0,0,10,200000,4.000000,6.000000,2.000000");
    EXPECT_EQ(results.lines[3],
              "2,100000.000000,0,0,5,100000,100001.000000,100002.000000,1.000000");
    EXPECT_EQ(results.lines[4], "p50,,,,,,,,2.000000");
    EXPECT_EQ(results.lines[8], "p100,,,,,,,,2.000000");
}

TEST(KvCache, RefusesIncompleteFiles)
{
    const auto error = [](const std::string& text) -> std::string {
        try
        {
            KvCacheWorkload workload(Read(text));
            workload.Bind(AllRanks(4));
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return "";
    };
    const std::string requests = "requests 3\nrate 10\nprompt_tokens 7\n";
    EXPECT_THAT(error("KV\n"), HasSubstr("kv.txt:1: the file does not begin with KV_CACHE"));
    EXPECT_THAT(error("KV_CACHE\nlayer 3\n"),
                HasSubstr("kv.txt:2: unknown key 'layer'; expected prefill, decode, "));
    EXPECT_THAT(error("KV_CACHE\nlayers 0\n"),
                HasSubstr("kv.txt:2: layers is '0'; expected a whole number from 1 to 4294967295"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0-x\n"),
                HasSubstr("prefill is '0-x'; expected a list of ranks"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0\n" + MODEL + requests), HasSubstr("prefill and decode"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0\ndecode 1\n" + MODEL), HasSubstr("trace, or requests"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0\ndecode 0\n" + MODEL + requests),
                HasSubstr("rank 0 is to prefill and to decode"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0\ndecode 9\n" + MODEL + requests),
                HasSubstr("rank 9 does not exist"));
    EXPECT_THAT(error("KV_CACHE\nprefill 0-2\ndecode 3\nranks_per_instance 2\n" + MODEL + requests),
                HasSubstr("ranks_per_instance divides"));
    for (const char* idle : {"requests 3", "rate 10", "prompt_tokens 7", "seed 2"})
    {
        const std::string key = std::string(idle).substr(0, std::string(idle).find(' '));
        EXPECT_EQ(
            error("KV_CACHE\n" + std::string(idle) + "\nprefill 0\ndecode 1\ntrace t\n" + MODEL),
            "kv.txt:2: " + key + " has no effect with trace; expected a file without it");
    }
}
