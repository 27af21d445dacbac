/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../system/job-fixture.h"

#include "ns3/input-error.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

std::string
Transformer(const std::string& sizes, const std::string& layers)
{
    const auto count = std::count(layers.begin(), layers.end(), '\n');
    return "HYBRID_TRANSFORMER_FWD_IN_BCKWD " + sizes + "\n" + std::to_string(count) + "\n" +
           layers;
}

RankLayout
Layout(uint32_t tp, uint32_t ep, uint32_t pp, int world)
{
    return RankLayout({tp, ep, pp, static_cast<uint32_t>(world), false}, AllRanks(world), "w.txt");
}

} // namespace

TEST(RankLayout, GroupsFollowTheRuleOfTheFormat)
{
    // 16 ranks: TP 2, PP 2, so DP 4 of which EP 2.
    const auto layout = Layout(2, 2, 2, 16);
    EXPECT_THAT(layout.GetGroup(GroupKind::Tp, 5).ranks, ElementsAre(4, 5));
    EXPECT_THAT(layout.GetGroup(GroupKind::Dp, 5).ranks, ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(layout.GetGroup(GroupKind::Dp, 12).ranks, ElementsAre(8, 10, 12, 14));
    EXPECT_THAT(layout.GetGroup(GroupKind::Ep, 5).ranks, ElementsAre(5, 7));
    EXPECT_THAT(layout.GetGroup(GroupKind::Ep, 0).ranks, ElementsAre(0, 2));
    EXPECT_THAT(layout.GetGroup(GroupKind::DpEp, 5).ranks, ElementsAre(1, 5));
    EXPECT_THAT(layout.GetGroup(GroupKind::Pp, 5).ranks, ElementsAre(5, 13));
    EXPECT_EQ(layout.GetStage(5), 0);
    EXPECT_EQ(layout.GetStage(13), 1);
}

TEST(RankLayout, ContextParallelGroupsAreConsecutiveTpGroups)
{
    // 16 ranks: TP 2, PP 2, DP 4, of which two and two share a sequence.
    const RankLayout layout({2, 1, 2, 16, false, 2}, AllRanks(16), "w.txt");
    EXPECT_THAT(layout.GetGroup(GroupKind::Cp, 0).ranks, ElementsAre(0, 2));
    EXPECT_THAT(layout.GetGroup(GroupKind::Cp, 7).ranks, ElementsAre(5, 7));
    EXPECT_THAT(layout.GetGroup(GroupKind::Cp, 12).ranks, ElementsAre(12, 14));
    EXPECT_THAT(layout.GetGroup(GroupKind::Dp, 12).ranks, ElementsAre(8, 10, 12, 14));
    EXPECT_THROW(RankLayout({2, 1, 2, 16, false, 3}, AllRanks(16), "w.txt"), ns3::InputError);
}

TEST(RankLayout, ExpertsThatAreCutIntoFewerPartsSpanTpGroups)
{
    // 16 ranks: TP 4, PP 2, so DP 2; whole experts (ETP 1) over EP 4 of a stage's 8 ranks.
    ParallelSizes sizes{4, 4, 2, 16};
    sizes.etp = 1;
    const RankLayout layout(sizes, AllRanks(16), "w.txt");
    EXPECT_THAT(layout.GetGroup(GroupKind::Tp, 5).ranks, ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(layout.GetGroup(GroupKind::Dp, 5).ranks, ElementsAre(1, 5));
    EXPECT_THAT(layout.GetGroup(GroupKind::Ep, 5).ranks, ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(layout.GetGroup(GroupKind::DpEp, 5).ranks, ElementsAre(1, 5));
    EXPECT_THAT(layout.GetGroup(GroupKind::DpEp, 14).ranks, ElementsAre(10, 14));
    sizes.ep = 8;
    const RankLayout wide(sizes, AllRanks(16), "w.txt");
    EXPECT_THAT(wide.GetGroup(GroupKind::Ep, 9).ranks, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
    EXPECT_EQ(wide.GetSize(GroupKind::DpEp), 1);
    sizes.ep = 3;
    try
    {
        RankLayout(sizes, AllRanks(16), "w.txt");
        FAIL() << "EP 3 divides 8 ranks";
    }
    catch (const ns3::InputError& error)
    {
        EXPECT_THAT(error.what(), HasSubstr("EP 3 x ETP 1 does not divide TP x DP 8"));
    }
}

TEST(RankLayout, EveryRankIsInOneGroupOfEachKindOnce)
{
    for (const auto& [tp, ep, pp, world] : {std::array{1, 4, 3, 24},
                                            std::array{2, 1, 4, 16},
                                            std::array{4, 2, 2, 32},
                                            std::array{1, 8, 1, 8}})
    {
        const auto layout = Layout(static_cast<uint32_t>(tp),
                                   static_cast<uint32_t>(ep),
                                   static_cast<uint32_t>(pp),
                                   world);
        for (const auto kind :
             {GroupKind::Tp, GroupKind::Dp, GroupKind::Ep, GroupKind::DpEp, GroupKind::Pp})
        {
            for (int rank = 0; rank < world; ++rank)
            {
                const auto& group = layout.GetGroup(kind, static_cast<uint32_t>(rank));
                EXPECT_EQ(std::count(group.ranks.begin(), group.ranks.end(), rank), 1);
                EXPECT_EQ(group.ranks.size(), layout.GetSize(kind));
                for (const int other : group.ranks)
                {
                    EXPECT_EQ(layout.GetGroup(kind, static_cast<uint32_t>(other)).id, group.id);
                }
            }
        }
    }
}

TEST(RankLayout, RefusesSizesThatDoNotDivide)
{
    EXPECT_THROW(Layout(3, 1, 1, 8), ns3::InputError);
    EXPECT_THROW(Layout(2, 1, 3, 8), ns3::InputError);
    EXPECT_THROW(Layout(2, 3, 1, 8), ns3::InputError);
}

TEST(LayerWorkload, ForwardCollectiveBlocksAndWeightCollectiveOverlaps)
{
    // One layer twice: the second layer's weight collective (40 us) overlaps the first's backward.
    const std::string layers = "a -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 NONE 0 0\n"
                               "b -1 4000 NONE 0 5000 NONE 0 6000 ALLREDUCE_TP 1000000 0\n";
    auto workload = MakeWorkload(Transformer("model_parallel_NPU_group: 2 all_gpus: 2", layers));
    JobRun run(*workload, 2, NativeConfig("ring"), {}, 0, 50e9);
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    // Ring of two: two messages of 500 kB at 50 GB/s each: 20 us.
    const TimePs collective = 20'000'000;
    const TimePs issue = 1'000'000 + collective + (4 + 5 + 6) * 1'000'000;
    EXPECT_EQ(run.recorder.finished, issue + collective);
    EXPECT_EQ(run.recorder.compute, 2 * 21'000'000);
    EXPECT_EQ(run.recorder.exposed, 2 * (collective + collective - 5'000'000));
    EXPECT_EQ(run.job.Progress().collectivesDone, 2);
    EXPECT_EQ(run.job.Progress().collectivesTotal, 2);
}

TEST(LayerWorkload, NextForwardWaitsForTheWeightsAndTheirUpdate)
{
    const std::string layers = "a -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE_TP 1000000 700\n";
    auto workload = MakeWorkload(Transformer("model_parallel_NPU_group: 2 all_gpus: 2", layers), 2);
    JobRun run(*workload, 2, NativeConfig("ring"), {}, 0, 50e9);
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    EXPECT_EQ(run.recorder.finished, 2 * (3'000'000 + 20'000'000 + 700'000));
    EXPECT_EQ(run.recorder.passes, 4);
    EXPECT_EQ(run.job.Progress().passesDone, 2);
}

TEST(LayerWorkload, AnUpdateComesWhetherOrNotThereIsAnyoneToReduceWith)
{
    // One data-parallel rank, and a collective of no bytes; a row without a collective has no
    // update.
    const auto finish = [](const std::string& gradient) {
        auto workload =
            MakeWorkload(Transformer("model_parallel_NPU_group: 2 all_gpus: 2",
                                     "a -1 1000 NONE 0 1000 NONE 0 1000 " + gradient + " 700\n"));
        JobRun run(*workload, 2, NativeConfig("ring"), {}, 0, 50e9);
        run.Run();
        EXPECT_TRUE(run.job.Finished());
        return run.recorder.finished;
    };
    EXPECT_EQ(finish("ALLREDUCE_DP 1000000"), 3'700'000);
    EXPECT_EQ(finish("ALLREDUCE_TP 0"), 3'700'000);
    EXPECT_EQ(finish("NONE 0"), 3'000'000);
    auto micro =
        MakeWorkload("MICRO all_gpus: 1\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE_DP 1000 700\n");
    JobRun run(*micro, 1, NativeConfig("ring"), {}, 0, 50e9);
    run.Run();
    EXPECT_EQ(run.recorder.finished, 0) << "no computation, and so no update";
}

TEST(LayerWorkload, TwoStagePipelineHasTheTextbookBubble)
{
    // Four micro-batches of 10 us forward and 20 us backward on two stages: (p - 1) / m = 1/4.
    const std::string layers = "a -1 10000 NONE 0 12000 NONE 0 8000 NONE 0 0\n";
    auto workload =
        MakeWorkload(Transformer("model_parallel_NPU_group: 1 pp: 2 ga: 4 all_gpus: 2", layers));
    JobRun run(*workload, 2, NativeConfig("ring"));
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    const double ideal = 4 * 30e6;
    EXPECT_NEAR(static_cast<double>(run.recorder.finished), ideal * 1.25, ideal * 0.01);
    EXPECT_NEAR(static_cast<double>(run.recorder.bubble) / 2, ideal * 0.25, ideal * 0.25 * 0.51);
    EXPECT_EQ(run.job.Progress().collectivesDone, 8);
    EXPECT_EQ(run.job.Progress().collectivesTotal, 8);
}

TEST(LayerWorkload, InterleavingShrinksTheBubble)
{
    const auto finish = [](uint32_t chunks) {
        std::string layers;
        for (int i = 0; i < 2; ++i)
        {
            layers += "a" + std::to_string(i) + " -1 5000 NONE 0 6000 NONE 0 4000 NONE 0 0\n";
        }
        auto workload = MakeWorkload(Transformer("model_parallel_NPU_group: 1 pp: 4 ga: 8 vpp: " +
                                                     std::to_string(chunks) + " all_gpus: 4",
                                                 layers));
        JobRun run(*workload, 4, NativeConfig("ring"));
        run.Run();
        EXPECT_TRUE(run.job.Finished());
        return run.recorder.finished;
    };
    const double ideal = 8 * 30e6;
    EXPECT_NEAR(static_cast<double>(finish(1)), ideal * (1 + 3.0 / 8), ideal * 0.01);
    EXPECT_NEAR(static_cast<double>(finish(2)), ideal * (1 + 3.0 / 16), ideal * 0.01);
}

TEST(LayerWorkload, CollectivesOfAllGroupsRunOncePerGroup)
{
    const std::string layers = "a -1 1 ALLREDUCE 4096 1 ALLTOALL_EP 4096 1 ALLGATHER_DP_EP 4096 1\n"
                               "b -1 1 ALLGATHER_EP 4096 1 NONE 0 1 ALLREDUCE 4096 1\n"
                               "c -1 1 ALLREDUCEALLTOALL 4096 1 NONE 0 1 REDUCESCATTER 0 1\n";
    auto workload = MakeWorkload(
        Transformer("model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 1 all_gpus: 16 pp_comm 8",
                    layers));
    JobRun run(*workload, 16, NativeConfig("ring"), {}, 1000, 50e9);
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    std::map<std::pair<std::string, CollectiveOp>, int> count;
    for (const auto& collective : run.recorder.collectives)
    {
        ++count[{collective.layer, collective.op}];
    }
    EXPECT_EQ((count[{"a", CollectiveOp::AllReduce}]), 8);
    EXPECT_EQ((count[{"a", CollectiveOp::AllToAll}]), 8);
    EXPECT_EQ((count[{"a", CollectiveOp::AllGather}]), 8);
    EXPECT_EQ((count[{"b", CollectiveOp::AllGather}]), 8);
    EXPECT_EQ((count[{"b", CollectiveOp::AllReduce}]), 4);
    EXPECT_EQ((count[{"c", CollectiveOp::AllReduce}]), 8);
    EXPECT_EQ((count[{"c", CollectiveOp::AllToAll}]), 8);
    EXPECT_EQ((count[{"c", CollectiveOp::ReduceScatter}]), 0);
    EXPECT_EQ(run.job.Progress().collectivesDone, run.job.Progress().collectivesTotal);
    EXPECT_EQ(run.network.Unreceived(), 0);
}

TEST(LayerWorkload, RefusesAWrongNumberOfRanks)
{
    auto workload = MakeWorkload(Transformer("model_parallel_NPU_group: 2 all_gpus: 4",
                                             "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"));
    EXPECT_THROW(JobRun(*workload, 8, NativeConfig("ring")), ns3::InputError);
}

TEST(LayerWorkload, MicroLinesWithoutSizesMeanAllRanks)
{
    auto workload = MakeWorkload("2 ALLREDUCE 4096 TP\n1 ALLTOALL 4096 EP\n1 ALLGATHER 64 PP\n");
    JobRun run(*workload, 6, NativeConfig("ring"));
    run.Run();
    ASSERT_TRUE(run.job.Finished());
    EXPECT_EQ(run.recorder.collectives.size(), 4);
    EXPECT_EQ(run.job.Progress().collectivesTotal, 4);
}
