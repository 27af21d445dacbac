/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../support/idle-workload.h"
#include "astra-frontend/model/system/sys.h"
#include "job-fixture.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <memory>
#include <random>
#include <span>

using namespace AstraSim;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

/// A rank that begins its collectives at times of its own.
struct Skewed
{
    Sys* sys;
    const CommGroup* group;
    std::span<const CollectiveOp> operations; ///< in turn
    uint32_t left;
    uint32_t* finished;
    std::function<TimePs()> pause;

    static void BeginNext(void* argument)
    {
        auto& rank = *static_cast<Skewed*>(argument);
        CollectiveRequest request;
        request.op = rank.operations[--rank.left % rank.operations.size()];
        request.bytes = 4096;
        rank.sys->generate_collective(*rank.group, request, {}, 0, [&rank](auto) {
            ++*rank.finished;
        });
        if (rank.left > 0)
        {
            rank.sys->Schedule(rank.pause(), &Skewed::BeginNext, argument);
        }
    }
};

/// Jobs of a few ranks whose collectives a test starts itself.
class SysStreams : public ::testing::Test
{
  protected:
    void Make(int ranks, const SystemConfig& config, std::vector<uint32_t> dimensions = {})
    {
        run = std::make_unique<JobRun>(workload, ranks, config, std::move(dimensions), 1000, 0);
        count = ranks;
    }

    /// Every rank begins a collective; the order of ends goes to ended.
    void Begin(CollectiveOp op, uint64_t bytes, uint32_t layer, int priority = 0)
    {
        CollectiveRequest request;
        request.op = op;
        request.bytes = bytes;
        for (int rank = 0; rank < count; ++rank)
        {
            auto& sys = run->job.GetSys(static_cast<uint32_t>(rank));
            sys.generate_collective(workload.world,
                                    request,
                                    {layer, 0, TrainingPhase::Forward},
                                    priority,
                                    [this, layer, rank](auto) {
                                        if (rank == 0)
                                        {
                                            ended.push_back(layer);
                                        }
                                    });
        }
    }

    /// @return of rank 0's phases: operation, bytes and queue, in the order in which they ended
    std::vector<std::tuple<CollectiveOp, uint64_t, int>> Phases() const
    {
        std::vector<std::tuple<CollectiveOp, uint64_t, int>> phases;
        for (const auto& phase : run->recorder.phases)
        {
            if (phase.rank == 0)
            {
                phases.emplace_back(phase.op, phase.bytes, phase.queue);
            }
        }
        return phases;
    }

    IdleWorkload workload;
    std::unique_ptr<JobRun> run;
    int count{0};
    std::vector<uint32_t> ended;
};

} // namespace

TEST_F(SysStreams, InsertStreamKeepsOrder)
{
    // running or not, priority -> the new stream of priority 5 goes before the element named.
    const struct
    {
        std::vector<std::pair<bool, int>> queue;
        std::size_t place;
    } cases[] = {
        {{}, 0},
        {{{true, 1}}, 1},             // behind what runs, whatever its priority
        {{{true, 1}, {false, 4}}, 1}, // before a lower one
        {{{true, 1}, {false, 5}}, 2}, // behind an equal one
        {{{false, 9}, {false, 5}, {false, 4}, {false, 1}}, 2},
        {{{false, 1}, {true, 1}}, 0},
    };

    Make(2, NativeConfig("ring"));
    auto& sys = run->job.GetSys(0);
    DataSet dataset{nullptr, 0, {}};
    for (const auto& [description, place] : cases)
    {
        std::list<StreamBaseline> streams;
        std::list<StreamBaseline*> queue;
        for (const auto& [runs, priority] : description)
        {
            streams.emplace_back(sys.get_topology(), 0, dataset, 0, priority).initialized = runs;
            queue.push_back(&streams.back());
        }
        StreamBaseline stream(sys.get_topology(), 0, dataset, 0, 5);
        Sys::insert_stream(queue, &stream);
        const auto found = std::find(queue.begin(), queue.end(), &stream);
        EXPECT_EQ(static_cast<std::size_t>(std::distance(queue.begin(), found)), place);
    }
}

TEST_F(SysStreams, PolicyDecidesWhatGoesNext)
{
    // Three collectives at once, one runs at a time: the first begins before the others are known.
    const struct
    {
        SchedulingPolicy policy;
        std::vector<uint32_t> order;
    } cases[] = {
        {SchedulingPolicy::Fifo, {1, 2, 3}},
        {SchedulingPolicy::Lifo, {1, 3, 2}},
        {SchedulingPolicy::Explicit, {1, 2, 3}},
    };

    for (const auto& [policy, order] : cases)
    {
        ended.clear();
        auto config = NativeConfig("ring");
        config.schedulingPolicy = policy;
        Make(2, config);
        Begin(CollectiveOp::AllReduce, 100, 1, 1);
        Begin(CollectiveOp::AllReduce, 100, 2, 9);
        Begin(CollectiveOp::AllReduce, 100, 3, 5);
        run->network.Run();
        EXPECT_EQ(ended, order);
    }
}

TEST_F(SysStreams, AsManyChunksRunAsTheFileAllows)
{
    for (const uint32_t active : {1U, 2U, 4U})
    {
        auto config = NativeConfig("ring");
        config.preferredDatasetSplits = 4;
        config.activeChunksPerDimension = active;
        Make(2, config);
        Begin(CollectiveOp::AllReduce, 4000, 1);
        const auto& queues = run->job.GetSys(0).get_active_Streams();
        ASSERT_EQ(queues.size(), 1);
        EXPECT_EQ(queues[0].running, active);
        EXPECT_EQ(queues[0].streams.size(), 4);
        run->network.Run();
        EXPECT_EQ(run->job.GetSys(0).get_total_running_streams(), 0);
        // Two messages of 1 ns latency per chunk; chunks beyond the limit follow.
        EXPECT_EQ(run->network.Now(), 2000 * 4 / active);
    }
}

TEST_F(SysStreams, QueuesPerDimensionShareTheActiveChunks)
{
    auto config = NativeConfig("ring");
    config.activeChunksPerDimension = 3;
    config.queuesPerDimension = 2;
    Make(2, config);
    for (uint32_t layer = 0; layer < 6; ++layer)
    {
        Begin(CollectiveOp::AllReduce, 100, layer);
    }
    const auto& queues = run->job.GetSys(0).get_active_Streams();
    ASSERT_EQ(queues.size(), 2);
    EXPECT_EQ(queues[0].running, 2);
    EXPECT_EQ(queues[1].running, 2);
    run->network.Run();
    EXPECT_EQ(ended.size(), 6);
}

TEST_F(SysStreams, AllReduceGoesThroughDimensionsAsTheOptimizationSays)
{
    auto config = NativeConfig("ring");
    Make(8, config, {4, 1, 2});
    Begin(CollectiveOp::AllReduce, 800, 0);
    run->network.Run();
    EXPECT_THAT(Phases(),
                ElementsAre(std::tuple(CollectiveOp::AllReduce, 800, 0),
                            std::tuple(CollectiveOp::AllReduce, 800, 2)));
    EXPECT_EQ(ended.size(), 1);

    config.optimization = CollectiveOptimization::LocalBwAware;
    Make(8, config, {4, 1, 2});
    Begin(CollectiveOp::AllReduce, 800, 0);
    run->network.Run();
    EXPECT_THAT(Phases(),
                ElementsAre(std::tuple(CollectiveOp::ReduceScatter, 800, 0),
                            std::tuple(CollectiveOp::AllReduce, 200, 2),
                            std::tuple(CollectiveOp::AllGather, 800, 0)));
}

TEST_F(SysStreams, OtherCollectivesGrowOrShrinkFromDimensionToDimension)
{
    Make(8, NativeConfig("ring"), {4, 2});
    Begin(CollectiveOp::AllGather, 800, 0);
    Begin(CollectiveOp::ReduceScatter, 800, 1);
    Begin(CollectiveOp::AllToAll, 800, 2);
    run->network.Run();
    auto phases = Phases();
    std::sort(phases.begin(), phases.end());
    EXPECT_THAT(phases,
                ElementsAre(std::tuple(CollectiveOp::AllGather, 400, 0),
                            std::tuple(CollectiveOp::AllGather, 800, 1),
                            std::tuple(CollectiveOp::ReduceScatter, 200, 1),
                            std::tuple(CollectiveOp::ReduceScatter, 800, 0),
                            std::tuple(CollectiveOp::AllToAll, 800, 0),
                            std::tuple(CollectiveOp::AllToAll, 800, 1)));
}

TEST_F(SysStreams, FiveDimensionsAndTheFlatFormsEnd)
{
    for (const auto* algorithm : {"ring", "halvingDoubling", "direct1", "oneRing", "oneDirect"})
    {
        auto config = NativeConfig(algorithm);
        config.preferredDatasetSplits = 3;
        config.optimization = CollectiveOptimization::LocalBwAware;
        Make(32, config, {2, 2, 2, 2, 2});
        ended.clear();
        Begin(CollectiveOp::AllReduce, 1000, 0);
        Begin(CollectiveOp::AllToAll, 1000, 1);
        run->network.Run();
        EXPECT_EQ(ended.size(), 2) << algorithm;
        EXPECT_EQ(run->network.Unreceived(), 0) << algorithm;
    }
}

TEST_F(SysStreams, RanksThatComeLateOrEarlyNeverWaitForEachOtherForEver)
{
    const struct
    {
        std::vector<uint32_t> dimensions;
        CollectiveOptimization optimization;
        const char* allReduce;
    } shapes[] = {
        {{8}, CollectiveOptimization::Baseline, "ring"},
        {{4, 2}, CollectiveOptimization::Baseline, "ring"},
        {{2, 2, 2}, CollectiveOptimization::Baseline, "direct"},
        {{4, 2}, CollectiveOptimization::LocalBwAware, "ring"},
        {{2, 2, 2}, CollectiveOptimization::LocalBwAware, "halvingDoubling"},
        {{2, 4}, CollectiveOptimization::LocalBwAware, "oneRing"}, // shares a queue with AllToAll
    };

    const CollectiveOp operations[] = {CollectiveOp::AllReduce,
                                       CollectiveOp::AllToAll,
                                       CollectiveOp::AllGather};
    std::mt19937 random(1);
    std::uniform_int_distribution<TimePs> upTo20ns(0, 20'000);
    for (int trial = 0; trial < 240; ++trial)
    {
        const auto& [dimensions, optimization, allReduce] = shapes[trial % 6];
        auto config = NativeConfig("ring");
        config.allReduce = {*ParseNativeAlgorithm(allReduce)};
        config.schedulingPolicy = trial % 4 < 2 ? SchedulingPolicy::Lifo : SchedulingPolicy::Fifo;
        config.activeChunksPerDimension = 1 + trial % 3;
        config.preferredDatasetSplits = 1 + trial % 4;
        config.optimization = optimization;
        Make(8, config, dimensions);
        uint32_t finished = 0;
        std::vector<Skewed> ranks;
        for (uint32_t rank = 0; rank < 8; ++rank)
        {
            ranks.push_back(
                {&run->job.GetSys(rank), &workload.world, operations, 6, &finished, [&]() {
                     return upTo20ns(random);
                 }});
        }
        for (auto& rank : ranks)
        {
            rank.sys->Schedule(upTo20ns(random), &Skewed::BeginNext, &rank);
        }
        run->network.Run();
        EXPECT_EQ(finished, 8 * 6) << "trial " << trial;
        EXPECT_EQ(run->job.GetSys(0).get_ledger().GetStreamOrder().GetSize(), 0);
    }
}

TEST_F(SysStreams, SharedBusDelaysMessagesAsLogGpSays)
{
    auto config = NativeConfig("ring");
    config.memoryBus = {0, 0, 0, true, 5, 2, 1, 0.5};
    Make(2, config);
    Begin(CollectiveOp::AllGather, 200, 0);
    run->network.Run();
    // Out and back: o + 99 G, then L + o; 1 ns between.
    const TimePs bus = (2 + 5 + 2) * 1000 + 99 * 500;
    EXPECT_EQ(run->network.Now(), 2 * bus + 1000);
}

TEST_F(SysStreams, CommScaleMultipliesBytes)
{
    auto config = NativeConfig("ring");
    config.commScale = 2.5;
    Make(2, config);
    Begin(CollectiveOp::AllReduce, 400, 0);
    run->network.Run();
    EXPECT_EQ(run->recorder.collectives.at(0).bytes, 1000);
}

TEST_F(SysStreams, RendezvousWaitsForTheReceiver)
{
    auto config = NativeConfig("ring");
    config.rendezvous = true;
    Make(2, config);
    run->job.GetSys(0).SendMessage(1, 1000, 3, {}, {});
    TimePs received = -1;
    auto receive = [&]() {
        run->job.GetSys(1).ReceiveMessage(0, 1000, 3, [&](TimePs) {
            received = run->network.Now();
        });
    };
    using Receive = decltype(receive);
    run->job.GetSys(1).Schedule(
        50'000,
        [](void* late) { (*static_cast<Receive*>(late))(); },
        &receive);
    run->network.Run();
    EXPECT_EQ(received, 50'000 + 1000 + 1000) << "there and back after the receive";
    Begin(CollectiveOp::AllReduce, 100, 1);
    run->network.Run();
    EXPECT_EQ(ended.size(), 1);
}

TEST_F(SysStreams, StuckStreamsSayWhatTheyWaitFor)
{
    Make(3, NativeConfig("ring"));
    CollectiveRequest request;
    request.op = CollectiveOp::AllReduce;
    request.bytes = 300;
    for (const uint32_t rank : {0U, 1U})
    {
        run->job.GetSys(rank).generate_collective(workload.world, request, {}, 0, [](auto) {});
    }
    run->network.Run();
    const auto lines = run->job.GetSys(0).DescribeWaits();
    ASSERT_EQ(lines.size(), 1);
    EXPECT_THAT(lines[0],
                HasSubstr("AllReduce 1 of group all, chunk 0, phase 1 of 1, queue 0: waits for 100 "
                          "bytes from rank 2"));
    EXPECT_THAT(run->job.DescribeWaits(), ElementsAre(HasSubstr("2 of 3 ranks have begun it")));
}

TEST_F(SysStreams, IdleRankTakesLittleMemory)
{
    constexpr int RANKS = 1000;
    LoopbackNetwork network(RANKS, 0, 0);
    Recorder recorder;
    const auto before = mallinfo2().uordblks;
    Job job({&workload,
             AllRanks(RANKS),
             NativeConfig("ring"),
             {},
             nullptr,
             [&network](int rank) -> RankNetwork& { return network.At(rank); },
             &recorder});
    const auto perRank = (mallinfo2().uordblks - before) / RANKS;
    EXPECT_LT(perRank, 4096);
}

TEST_F(SysStreams, GpusDifferAsTheirSpreadSaysAndKeepTheirSpeed)
{
    constexpr int RANKS = 2000;
    constexpr double SPREAD = 0.015;
    constexpr TimePs KERNEL = 1'000'000'000;
    SystemConfig config = NativeConfig("ring");
    Make(RANKS, config);
    EXPECT_EQ(run->job.GetSys(7).GpuTime(KERNEL), KERNEL) << "without the option";
    config.gpuSpread = SPREAD;
    Make(RANKS, config);
    const auto first = std::move(run);
    Make(RANKS, config);
    double sum = 0;
    double squares = 0;
    for (uint32_t rank = 0; rank < RANKS; ++rank)
    {
        const TimePs time = first->job.GetSys(rank).GpuTime(KERNEL);
        EXPECT_EQ(time, run->job.GetSys(rank).GpuTime(KERNEL)) << "a rank's draw is its own";
        const double logarithm = std::log(static_cast<double>(time) / KERNEL);
        sum += logarithm;
        squares += logarithm * logarithm;
    }
    // Five standard errors of a normal sample's mean and deviation.
    const double mean = sum / RANKS;
    const double deviation = std::sqrt(squares / RANKS - mean * mean);
    EXPECT_NEAR(mean, 0, 5 * SPREAD / std::sqrt(RANKS));
    EXPECT_NEAR(deviation, SPREAD, 5 * SPREAD / std::sqrt(2 * RANKS));
}

TEST_F(SysStreams, CollectivesWaitForTheSlowestGpu)
{
    constexpr int RANKS = 4;
    SystemConfig config = NativeConfig("ring");
    config.gpuSpread = 0.1;
    auto layers = MakeWorkload("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 "
                               "all_gpus: 4\n1\n"
                               "layer -1 1000000 ALLREDUCE 4096 1 NONE 0 1 NONE 0 1\n");
    JobRun job(*layers, RANKS, config);
    job.Run();
    ASSERT_EQ(job.recorder.collectives.size(), 1);
    TimePs fastest = INT64_MAX;
    TimePs slowest = 0;
    for (uint32_t rank = 0; rank < RANKS; ++rank)
    {
        const TimePs kernel = job.job.GetSys(rank).GpuTime(1'000'000'000);
        fastest = std::min(fastest, kernel);
        slowest = std::max(slowest, kernel);
    }
    EXPECT_LT(fastest, slowest);
    EXPECT_EQ(job.recorder.collectives.front().start, fastest);
    EXPECT_GE(job.recorder.collectives.front().end, slowest);
    EXPECT_LT(job.recorder.collectives.front().end, slowest + 1'000'000) << "messages take no time";
}

TEST_F(SysStreams, JobsShareANetworkWithoutMeeting)
{
    LoopbackNetwork network(8, 1000, 0);
    Recorder first;
    Recorder second;
    auto one = MakeWorkload("3 ALLREDUCE 4096 TP\n");
    auto two = MakeWorkload("2 ALLTOALL 4096 TP\n");
    const auto at = [&network](int rank) -> RankNetwork& { return network.At(rank); };
    Job even({one.get(), {0, 2, 4, 6}, NativeConfig("ring"), {}, nullptr, at, &first});
    Job odd({two.get(), {1, 3, 5, 7}, NativeConfig("direct"), {}, nullptr, at, &second});
    even.Start();
    odd.Start();
    network.Run();
    EXPECT_TRUE(even.Finished());
    EXPECT_TRUE(odd.Finished());
    EXPECT_EQ(first.collectives.size(), 3);
    EXPECT_EQ(second.collectives.size(), 2);
}
