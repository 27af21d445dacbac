/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../system/job-fixture.h"
#include "astra-frontend/model/workload/chakra-workload.h"
#include "chakra-file.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace AstraSim;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

namespace
{

constexpr TimePs US = 1'000'000;
constexpr auto ALL_REDUCE = ChakraProtoMsg::ALL_REDUCE;

/// Jobs of four ranks, each of which computes or waits at any time.
class RankWaitsOfJobs : public ::testing::Test
{
  protected:
    using Waits = std::map<std::tuple<int, GroupKind, WaitReason>, TimePs>;

    void SetUp() override
    {
        m_folder = std::filesystem::path(::testing::TempDir()) /
                   ::testing::UnitTest::GetInstance()->current_test_info()->name();
        std::filesystem::create_directories(m_folder);
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_folder);
    }

    /// @param write adds the nodes of a rank, from id 1 on
    Waits RunTraces(const std::function<void(ChakraFile& file, int rank)>& write,
                    const SystemConfig& config = NativeConfig("ring"))
    {
        const std::string prefix = (m_folder / "t").string();
        for (int rank = 0; rank < RANKS; ++rank)
        {
            ChakraFile file;
            auto groups = file.Node(0, ChakraProtoMsg::METADATA_NODE);
            groups.mutable_inputs()->set_values(
                R"([{"pg_name": "TP0", "ranks": [0, 1]}, {"pg_name": "TP1", "ranks": [2, 3]},)"
                R"( {"pg_name": "DP0", "ranks": [0, 2]}, {"pg_name": "DP1", "ranks": [1, 3]},)"
                R"( {"pg_name": "EP0", "ranks": [0, 1, 2, 3]}])");
            file.Add(groups);
            write(file, rank);
            file.Write(prefix + "." + std::to_string(rank) + ".et");
        }
        ChakraWorkload workload(prefix, "", {});
        return Run(workload, config);
    }

    Waits Run(Workload& workload, const SystemConfig& config)
    {
        JobRun run(workload, RANKS, config, {}, 0, 50e9);
        run.Run();
        EXPECT_TRUE(run.job.Finished());
        std::map<int, TimePs> spent;
        for (const auto& compute : run.recorder.computes)
        {
            spent[compute.rank] += compute.end - compute.start;
        }
        for (const auto& [what, time] : run.recorder.waits)
        {
            spent[std::get<int>(what)] += time;
        }
        EXPECT_EQ(spent, run.recorder.finishes) << "computation and waits are all there is";
        return run.recorder.waits;
    }

    static constexpr int RANKS = 4;

  private:
    std::filesystem::path m_folder;
};

std::string
Tp(int rank)
{
    return "TP" + std::to_string(rank / 2);
}

std::string
Dp(int rank)
{
    return "DP" + std::to_string(rank % 2);
}

} // namespace

TEST_F(RankWaitsOfJobs, TextAndTracesOfOneJobAreTheSame)
{
    // GPUs differ, so that each collective has a last rank; gradients queue behind each other.
    for (const auto policy : {SchedulingPolicy::Fifo, SchedulingPolicy::Lifo})
    {
        SystemConfig config = NativeConfig("ring");
        config.gpuSpread = 0.2;
        config.schedulingPolicy = policy;
        auto text = MakeWorkload("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 "
                                 "all_gpus: 4\n3\n"
                                 "a -1 100000 ALLREDUCE 1000000 300000 NONE 0 50000 ALLREDUCE "
                                 "20000000 0\n"
                                 "b -1 200000 NONE 0 100000 ALLREDUCE 3000000 70000 ALLREDUCE "
                                 "30000000 0\n"
                                 "c -1 100000 ALLREDUCE 1000000 200000 NONE 0 90000 ALLREDUCE "
                                 "9000000 0\n");
        const Waits ofText = Run(*text, config);
        const Waits ofTraces = RunTraces(
            [](ChakraFile& file, int rank) {
                file.Compute(1, 100, {0})
                    .Collective(2, ALL_REDUCE, 1'000'000, Tp(rank), {1})
                    .Compute(3, 200, {2})
                    .Compute(4, 100, {3})
                    .Collective(5, ALL_REDUCE, 1'000'000, Tp(rank), {4})
                    .Compute(6, 200, {5})
                    .Compute(7, 90, {6})
                    .Collective(8, ALL_REDUCE, 9'000'000, Dp(rank), {7})
                    .Compute(9, 100, {7})
                    .Collective(10, ALL_REDUCE, 3'000'000, Tp(rank), {9})
                    .Compute(11, 70, {10})
                    .Collective(12, ALL_REDUCE, 30'000'000, Dp(rank), {11})
                    .Compute(13, 300, {11})
                    .Compute(14, 50, {13})
                    .Collective(15, ALL_REDUCE, 20'000'000, Dp(rank), {14});
            },
            config);
        EXPECT_EQ(ofText, ofTraces);
        // Every rank waits for others and for bytes.
        for (int rank = 0; rank < RANKS; ++rank)
        {
            EXPECT_THAT(ofText,
                        Contains(Key(std::tuple(rank, GroupKind::Dp, WaitReason::Collective))));
        }
    }
}

TEST_F(RankWaitsOfJobs, ALateRankIsABubbleWhateverElseIsWaitedFor)
{
    // Rank 3 is 400 us late to a collective of all. Those of the other groups, before or behind it,
    // are over sooner or later, but nobody can compute before the collective of all is over.
    for (const bool allFirst : {true, false})
    {
        const Waits waits = RunTraces([allFirst](ChakraFile& file, int rank) {
            file.Compute(1, rank == 3 ? 500 : 100, {0})
                .Collective(2, ALL_REDUCE, 1 << 20, allFirst ? "EP0" : Tp(rank), {1})
                .Collective(3, ALL_REDUCE, 1 << 20, allFirst ? Tp(rank) : "EP0", {1})
                .Compute(4, 10, {2, 3});
        });
        std::map<int, TimePs> bubbles;
        std::map<int, TimePs> exposed;
        for (const auto& [what, time] : waits)
        {
            auto& sums = std::get<WaitReason>(what) == WaitReason::OtherRanks ? bubbles : exposed;
            sums[std::get<int>(what)] += time;
        }
        EXPECT_EQ(bubbles, (std::map<int, TimePs>{{0, 400 * US}, {1, 400 * US}, {2, 400 * US}}));
        EXPECT_EQ(exposed.size(), 4U);
    }
}

TEST_F(RankWaitsOfJobs, CollectivesThatNobodyWaitsForDoNotCount)
{
    // Rank 0 waits for a message that leaves after 1000 us, and meanwhile reduces with rank 2.
    const Waits waits = RunTraces([](ChakraFile& file, int rank) {
        file.Compute(1, rank == 1 ? 1000 : 10, {0});
        if (rank == 1)
        {
            file.Send(2, 0, 50'000'000, {1}); // 1000 us
        }
        if (rank == 0)
        {
            file.Receive(2, 1, 50'000'000, {1});
            file.Compute(3, 10, {2});
        }
        if (rank % 2 == 0)
        {
            file.Collective(4, ALL_REDUCE, 1 << 20, Dp(rank), {1})
                .Collective(5, ALL_REDUCE, 1 << 20, Dp(rank), {4});
        }
    });
    EXPECT_THAT(waits,
                Contains(Pair(std::tuple(0, GroupKind::Pp, WaitReason::OtherRanks), 990 * US)));
    EXPECT_THAT(waits,
                Contains(Pair(std::tuple(0, GroupKind::Pp, WaitReason::Collective), 1000 * US)));
    EXPECT_THAT(waits, Not(Contains(Key(std::tuple(0, GroupKind::Dp, WaitReason::Collective)))));
    EXPECT_THAT(waits, Contains(Key(std::tuple(2, GroupKind::Dp, WaitReason::Collective))));
}

TEST_F(RankWaitsOfJobs, FollowChainsOfCollectivesBack)
{
    // 1 MB in a ring of two: 20 us. Each rank waits for two in a row; rank 3 is 40 us late to its
    // first.
    const Waits waits = RunTraces([](ChakraFile& file, int rank) {
        file.Compute(1, rank == 3 ? 50 : 10, {0})
            .Collective(2, ALL_REDUCE, 1'000'000, Tp(rank), {1})
            .Collective(3, ALL_REDUCE, 1'000'000, Dp(rank), {2})
            .Compute(4, 500, {3});
    });
    const auto of = [&waits](int rank, GroupKind group, WaitReason reason) {
        const auto found = waits.find({rank, group, reason});
        return found == waits.end() ? 0 : found->second;
    };
    for (int rank = 0; rank < RANKS; ++rank)
    {
        EXPECT_EQ(of(rank, GroupKind::Tp, WaitReason::Collective), 20 * US);
        EXPECT_EQ(of(rank, GroupKind::Dp, WaitReason::Collective), 20 * US);
        // Rank 2 waits for rank 3, then ranks 0 and 1 for those two.
        EXPECT_EQ(of(rank, GroupKind::Tp, WaitReason::OtherRanks), rank == 2 ? 40 * US : 0);
        EXPECT_EQ(of(rank, GroupKind::Dp, WaitReason::OtherRanks), rank < 2 ? 40 * US : 0);
    }
}
