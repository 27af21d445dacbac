/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/logical-topology.h"
#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/system/system-config.h"

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

class JsonFiles : public ::testing::Test
{
  protected:
    ~JsonFiles() override
    {
        std::filesystem::remove(m_path);
    }

    std::string Write(const std::string& text)
    {
        std::ofstream(m_path) << text;
        return m_path;
    }

    template <typename Read>
    std::string ErrorOf(Read read, const std::string& text)
    {
        try
        {
            read(Write(text));
        }
        catch (const ns3::InputError& error)
        {
            return error.what();
        }
        return "";
    }

  private:
    std::string m_path{::testing::TempDir() +
                       ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json"};
};

} // namespace

TEST_F(JsonFiles, SystemFileHasEveryKey)
{
    const auto config = ReadSystemConfig(Write(R"({
        "scheduling-policy": "LIFO", "endpoint-delay": 12.5, "active-chunks-per-dimension": 2,
        "preferred-dataset-splits": 4, "all-reduce-implementation": ["ring", "direct3"],
        "all-gather-implementation": ["oneRing"], "reduce-scatter-implementation": ["nccl"],
        "all-to-all-implementation": ["halvingDoubling"], "collective-optimization": "localBWAware",
        "local-mem-bw": 1600, "boost-mode": 0, "roofline-enabled": 1, "peak-perf": 900,
        "local-reduction-delay": 3, "model-shared-bus": 1, "L": 1, "o": 2, "g": 3, "G": 0.25,
        "trace-enabled": false, "replay-only": 1, "track-local-mem": 1,
        "local-mem-trace-filename": "mem"})"));
    EXPECT_EQ(config.schedulingPolicy, SchedulingPolicy::Lifo);
    EXPECT_EQ(config.optimization, CollectiveOptimization::LocalBwAware);
    EXPECT_EQ(config.memoryBus.endpointDelay, 12'500);
    EXPECT_EQ(config.memoryBus.localReductionDelay, 3'000);
    EXPECT_EQ(config.memoryBus.localMemBandwidth, 1600);
    EXPECT_TRUE(config.memoryBus.shared);
    EXPECT_EQ(config.memoryBus.G, 0.25);
    EXPECT_EQ(config.activeChunksPerDimension, 2);
    EXPECT_EQ(config.preferredDatasetSplits, 4);
    ASSERT_EQ(config.allReduce.size(), 2);
    EXPECT_EQ(config.allReduce[1].window, 3);
    EXPECT_EQ(config.AlgorithmsOf(CollectiveOp::AllGather)[0].acrossDimensions, true);
    EXPECT_EQ(config.AlgorithmsOf(CollectiveOp::ReduceScatter)[0].kind,
              NativeAlgorithm::Kind::Nccl);
    EXPECT_TRUE(config.AlgorithmsOf(CollectiveOp::Broadcast).empty());
    EXPECT_TRUE(config.rooflineEnabled);
    EXPECT_TRUE(config.replayOnly);
    EXPECT_TRUE(config.trackLocalMemory);
    EXPECT_EQ(config.localMemoryTraceFile, "mem");
    EXPECT_THAT(config.warnings,
                ElementsAre(HasSubstr("endpoint-delay has no effect with model-shared-bus")));
}

TEST_F(JsonFiles, KeyWithoutEffectIsSaid)
{
    const auto config = ReadSystemConfig(Write(R"({"boost-mode": 1})"));
    EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("boost-mode has no effect")));
    EXPECT_THAT(
        ReadSystemConfig(Write(R"({"L": 1, "local-reduction-delay": 3, "peak-perf": 1,
                                   "local-mem-trace-filename": "mem"})"))
            .warnings,
        ElementsAre(HasSubstr("L has no effect without model-shared-bus"),
                    HasSubstr("local-reduction-delay has no effect without model-shared-bus"),
                    HasSubstr("local-mem-trace-filename has no effect without track-local-mem")));
}

TEST_F(JsonFiles, KeysOfAstraSimsAlgorithmsWithoutOneAreSaid)
{
    const auto warningsOf = [this](const std::string& more) {
        return ReadSystemConfig(Write(R"({"endpoint-delay": 10, "local-mem-bw": 9,
            "preferred-dataset-splits": 4, "collective-optimization": "localBWAware")" +
                                      more + "}"))
            .warnings;
    };
    const auto told = ElementsAre(HasSubstr("endpoint-delay has no effect without an algorithm"),
                                  HasSubstr("local-mem-bw has no effect"),
                                  HasSubstr("preferred-dataset-splits has no effect"),
                                  HasSubstr("collective-optimization has no effect"));
    EXPECT_THAT(warningsOf(""), told);
    EXPECT_THAT(warningsOf(R"(, "all-reduce-implementation": ["nccl"])"), told);
    EXPECT_THAT(warningsOf(R"(, "all-reduce-implementation": ["ring"])"), ElementsAre());
    EXPECT_THAT(ReadSystemConfig(Write(R"({"endpoint-delay": 0, "local-mem-bw": 0,
        "preferred-dataset-splits": 1, "collective-optimization": "baseline",
        "model-shared-bus": 0})"))
                    .warnings,
                ElementsAre())
        << "they say what is so";
}

TEST_F(JsonFiles, SystemFileErrorsNameLineKeyAndExpectation)
{
    const struct
    {
        std::string text;
        std::string error;
    } cases[] = {
        {"{\n\"endpoint-dealy\": 1}",
         ":2: unknown key 'endpoint-dealy'; expected "
         "a known key; the nearest is endpoint-delay"},
        {"{\n\"endpoint-delay\": }", ":2: is not valid JSON"},
        {"{\n\"peak-perf\": 1e3000}", ":2: holds a number that is too large"},
        {"[]", ":1: is not a JSON object"},
        {"{\"peak-perf\": 1,\n\"local-mem-bw\": 2,\n\"peak-perf\": 1}",
         ":3: the key \"peak-perf\" occurs twice in an object; expected each key once"},
        {R"({"endpoint-delay": -1})",
         "endpoint-delay is '-1'; expected nanoseconds from 0 to 1e+12"},
        {R"({"scheduling-policy": "RANDOM"})", "expected LIFO, FIFO or EXPLICIT"},
        {R"({"preferred-dataset-splits": 0})", "expected a whole number from 1 to"},
        {R"({"all-reduce-implementation": []})", "expected a list with one entry per dimension"},
        {R"({"all-reduce-implementation": ["nccl", "ring"]})",
         "names others beside the first algorithm, which carries out all dimensions"},
        {R"({"all-reduce-implementation": ["rings"]})",
         "names the unknown algorithm 'rings'; expected direct[N], doubleBinaryTree, "
         "halvingDoubling, "
         "ring, one of these after \"one\" (oneRing), nccl, or the name of a collective engine; "
         "the "
         "nearest is ring"},
        {R"({"all-reduce-implementation-custom": ["x/y"]})",
         "names 'x/y'; expected files x/y.0.et"},
        {R"({"collective-optimization": "best"})", "expected baseline or localBWAware"},
        {R"({"boost-mode": 2})", "boost-mode is '2'; expected 0 or 1"},
        {R"({"L": "5"})", "L is '\"5\"'; expected nanoseconds"},
        {R"({"L": true})", "L is 'true'; expected nanoseconds"},
        {R"({"preferred-dataset-splits": 2.0})", "is '2.0'; expected a whole number"},
        {R"({"trace-enabled": "1"})", "trace-enabled is '\"1\"'; expected 0 or 1"},
        {R"({"trace-enabled": 1.0})", "trace-enabled is '1.0'; expected 0 or 1"},
        {R"({"local-mem-trace-filename": 5})", "is '5'; expected a file"},
        {R"({"local-mem-bw": 1e-7})", "expected 0, or a number from 1e-6 to 1e12"},
        {R"({"all-reduce-implementation": [5]})", "expected a list of texts"},
        {R"({"model-shared-bus": 1})", "expected keys L, o, g and G"},
        {R"({"roofline-enabled": 1})", "expected keys peak-perf and local-mem-bw"},
    };

    for (const auto& [text, error] : cases)
    {
        EXPECT_THAT(ErrorOf(ReadSystemConfig, text), HasSubstr(error)) << text;
    }
    EXPECT_THROW(ReadSystemConfig("/nonexistent"), ns3::InputError);
}

TEST_F(JsonFiles, LogicalTopologyGroupsRanksByDimension)
{
    EXPECT_THAT(ReadLogicalDimensions(Write(R"({"logical-dims": ["2", 3]})")), ElementsAre(2, 3));
    const LogicalTopology topology({2, 3}, {10, 11, 12, 13, 14, 15});
    EXPECT_THAT(topology.GetGroup(0, 3).ranks, ElementsAre(12, 13));
    EXPECT_THAT(topology.GetGroup(1, 3).ranks, ElementsAre(11, 13, 15));
    EXPECT_EQ(topology.GetCoordinate(0, 3), 1);
    EXPECT_EQ(topology.GetCoordinate(1, 3), 1);
    for (const auto* wrong : {"{}",
                              "[]",
                              R"({"logical-dims": []})",
                              R"({"logical-dims": ["x"]})",
                              R"({"logical-dims": ["0"]})",
                              R"({"logical": ["2"]})",
                              "{"})
    {
        EXPECT_THAT(ErrorOf(ReadLogicalDimensions, wrong), HasSubstr(".json:1: ")) << wrong;
    }
    EXPECT_THAT(ErrorOf(ReadLogicalDimensions, "{\n\"logical\": [\"2\"]}"),
                HasSubstr(".json:2: unknown key 'logical'"));
}

TEST_F(JsonFiles, CommunicatorsNameEachRankOnce)
{
    const auto read = [](const std::string& path) {
        return ReadCommunicators(path, {10, 11, 12, 13});
    };
    const auto groups = read(Write(R"({"0": [0, 2], "b": [3, 1]})"));
    ASSERT_EQ(groups.size(), 2);
    EXPECT_THAT(groups[0].ranks, ElementsAre(10, 12));
    EXPECT_EQ(groups[1].name, "b");
    EXPECT_THAT(groups[1].ranks, ElementsAre(13, 11));
    EXPECT_THAT(ErrorOf(read, "{\"b\": [0],\n\"0\": [0, 4]}"),
                HasSubstr(".json:2: communicator '0' holds 4"));
    EXPECT_THAT(ErrorOf(read, R"({"0": [1, 1]})"), HasSubstr("communicator '0' holds 1"));
    EXPECT_THAT(ErrorOf(read, R"({"0": []})"), HasSubstr("is not a valid list of ranks"));
    EXPECT_THAT(ErrorOf(read, R"({"0": [1e3000]})"), HasSubstr("holds a number that is too large"));
}

TEST_F(JsonFiles, RemoteMemoryHasATypeAndABandwidth)
{
    const auto config = ReadRemoteMemoryConfig(
        Write(R"({"memory-type": "MEMORY_POOL", "remote-mem-latency": 5, "remote-mem-bw": 100})"));
    EXPECT_EQ(config.type, RemoteMemoryType::Pool);
    EXPECT_EQ(config.latency, 5000);
    EXPECT_EQ(config.gigabytesPerSecond, 100);
    EXPECT_EQ(ReadRemoteMemoryConfig(Write(R"({"memory-type": "NO_MEMORY_EXPANSION"})")).type,
              RemoteMemoryType::NoExpansion);
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig, "{}"), HasSubstr("has no memory-type"));
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig, R"({"memory-type": "X"})"),
                HasSubstr("MEMORY_POOL"));
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig, R"({"memory-type": "MEMORY_POOL"})"),
                HasSubstr("has no remote-mem-bw"));
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig, R"({"memory-typ": "MEMORY_POOL"})"),
                HasSubstr("unknown key 'memory-typ'"));
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig,
                        "{\"memory-type\": \"MEMORY_POOL\",\n\"remote-mem-bw\": -1}"),
                HasSubstr(".json:2: remote-mem-bw is '-1'; expected a number from 0"));
}

TEST_F(JsonFiles, MemoriesOfNodesSayWhoSharesThem)
{
    const auto text = [](const std::string& npus) {
        return R"({"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-bw": 100)" + npus + "}";
    };
    EXPECT_EQ(ReadRemoteMemoryConfig(Write(text(R"(, "num-nodes": 2, "num-npus-per-node": 4)")))
                  .npusPerNode,
              4);
    EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig, text("")),
                HasSubstr(".json:1: has no num-npus-per-node"));
    for (const auto* wrong : {"0", "1.5", "-1", "\"2\"", "4294967296"})
    {
        EXPECT_THAT(ErrorOf(ReadRemoteMemoryConfig,
                            text(std::string(R"(, "num-npus-per-node": )") + wrong)),
                    HasSubstr("expected a whole number from 1 to"))
            << wrong;
    }
}
