/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Workloads on AnaSim with collectives costed as a whole.
 */
#include "astra-frontend/model/estimate/analytical-collectives.h"
#include "astra-frontend/model/formula/machine-paths.h"
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/wait-parts.h"
#include "astra-frontend/model/workload/layer-workload.h"
#include "simulator/back-ends/analytical-backend.h"
#include "simulator/jobs/rank-symmetry.h"
#include "simulator/records/end-to-end-writer.h"

#include <gtest/gtest.h>
#include <numeric>
#include <sstream>

namespace AstraSim
{
namespace
{

struct Case
{
    std::string header; ///< without the first word and "checkpoints"
    uint32_t ranks;
    uint32_t gpusPerServer;
    OverlapRatios overlap{};
    std::string busbw{"TP:\nallreduce: 100\nDP:\nallreduce: 10\nEP:\nalltoall: 20\n"};
};

constexpr const char* LAYERS =
    "3\n"
    "a -1 10000 ALLREDUCE 1000000 20000 ALLREDUCE 1000000 5000 ALLREDUCE 4000000 0\n"
    "b -1 30000 NONE 0 40000 NONE 0 7000 NONE 0 0\n"
    "c -1 11000 ALLTOALL_EP 2000000 13000 ALLTOALL_EP 2000000 1000 NONE 0 0\n";

struct Result
{
    TimeBreakdown breakdown;
    uint32_t simulated;
    std::string finished; ///< when each simulated rank finished
};

class FinishRecorder : public RunObserver
{
  public:
    void RankFinished(int rank, TimePs now) override
    {
        text << rank << "@" << now << " ";
    }

    std::ostringstream text;
};

Result
Simulate(const Case& given, bool sampled, const char* layers = LAYERS)
{
    std::istringstream text("HYBRID_TRANSFORMER_FWD_IN_BCKWD " + given.header +
                            " all_gpus: " + std::to_string(given.ranks) +
                            " checkpoints: 0 checkpoint_initiates: 0 pp_comm: 1000000\n" + layers);
    LayerWorkload workload(ReadLayerTable(text, "w.txt"), {}, 1, true);
    MachineModel machine;
    machine.gpu = FindGpuProfile("H100");
    machine.gpusPerServer = given.gpusPerServer;
    const NcclOptions options;
    const MockNcclGroup nccl(machine, options);
    std::istringstream busbw(given.busbw);
    AnalyticalCollectives collectives(nccl, BusbwTable::Read(busbw, "b"), given.overlap);
    MachinePaths::Machine paths;
    paths.ranks = given.ranks;
    paths.gpusPerServer = given.gpusPerServer;
    paths.exposed = 1 - given.overlap[static_cast<std::size_t>(GroupKind::Pp)];
    AnalyticalBackend backend(std::make_unique<MachinePaths>(paths), EventLoop::NO_LIMIT);
    WaitParts observers;
    JobDescription description;
    description.workload = &workload;
    description.ranks.resize(given.ranks);
    std::iota(description.ranks.begin(), description.ranks.end(), 0);
    description.nccl = &collectives;
    description.network = [&](int rank) -> RankNetwork& { return backend.GetNetwork(rank); };
    description.observer = &observers;
    description.sample = [&]() {
        const auto sample =
            sampled ? FindRepresentatives(workload, given.ranks, machine) : std::vector<uint32_t>();
        collectives.SetSample(RankSample(std::vector<int>(sample.begin(), sample.end())));
        return sample;
    };
    Job job(std::move(description));
    EndToEndWriter writer("unused.csv", "w", {"a", "b", "c"}, job.CountSimulated());
    FinishRecorder finishes;
    observers.Add(writer);
    observers.Add(finishes);
    job.Start();
    backend.Run();
    observers.Finish();
    EXPECT_TRUE(job.Finished());
    return {writer.GetBreakdown(), job.CountSimulated(), finishes.text.str()};
}

double
Exposed(const Result& result, GroupKind kind)
{
    return result.breakdown.exposed[static_cast<std::size_t>(kind)];
}

TEST(AnalyticalJob, AnIterationIsTheSumOfItsParts)
{
    const Result result =
        Simulate({"model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1", 16, 8}, true);
    EXPECT_EQ(result.simulated, 1U);
    EXPECT_NEAR(result.breakdown.compute, (10 + 20 + 5 + 30 + 40 + 7 + 11 + 13 + 1), 1e-9);
    // Twice 2 x 3/4 x 1 MB at 100 GB/s; 2 x 3/4 x 4 MB at 10 GB/s; twice 1/2 x 2 MB at 20 GB/s.
    EXPECT_NEAR(Exposed(result, GroupKind::Tp), 30, 1e-9);
    EXPECT_NEAR(Exposed(result, GroupKind::Dp), 600, 1e-9);
    EXPECT_NEAR(Exposed(result, GroupKind::Ep), 100, 1e-9);
    EXPECT_NEAR(result.breakdown.total, 137 + 30 + 600 + 100, 1e-9);
    EXPECT_EQ(result.breakdown.bubble, 0);
}

TEST(AnalyticalJob, OverlapRatiosTakeTheirPartAway)
{
    Case given{"model_parallel_NPU_group: 4 ep: 2 pp: 1 vpp: 1 ga: 1", 16, 8};
    given.overlap[static_cast<std::size_t>(GroupKind::Tp)] = 0.5;
    given.overlap[static_cast<std::size_t>(GroupKind::Dp)] = 0.9;
    given.overlap[static_cast<std::size_t>(GroupKind::Ep)] = 1;
    const Result result = Simulate(given, true);
    EXPECT_NEAR(Exposed(result, GroupKind::Tp), 15, 1e-9);
    EXPECT_NEAR(Exposed(result, GroupKind::Dp), 60, 1e-9);
    EXPECT_NEAR(Exposed(result, GroupKind::Ep), 0, 1e-9);
    EXPECT_NEAR(result.breakdown.total, 137 + 15 + 60, 1e-9);
}

TEST(AnalyticalJob, APipelineOfEvenStagesHasTheWellKnownBubble)
{
    constexpr const char* ONE = "1\na -1 10000 NONE 0 15000 NONE 0 5000 NONE 0 0\n";
    for (const uint32_t stages : {2U, 4U, 8U})
    {
        for (const uint32_t batches : {1U, 4U, 16U})
        {
            Case given{"model_parallel_NPU_group: 1 ep: 1 pp: " + std::to_string(stages) +
                           " vpp: 1 ga: " + std::to_string(batches),
                       2 * stages,
                       2};
            given.overlap[static_cast<std::size_t>(GroupKind::Pp)] = 1;
            const Result result = Simulate(given, true, ONE);
            EXPECT_EQ(result.simulated, stages);
            // (stages - 1) forwards and backwards, whatever the number of micro-batches.
            EXPECT_NEAR(result.breakdown.bubble, (stages - 1) * 30, 1e-6);
            EXPECT_NEAR(result.breakdown.compute, batches * 30, 1e-6);
            EXPECT_NEAR(result.breakdown.total, (batches + stages - 1) * 30, 1e-6);
        }
    }
}

TEST(AnalyticalJob, GradientsAreReducedOnceThePipelineIsDone)
{
    constexpr const char* ONE = "1\na -1 10000 NONE 0 15000 NONE 0 5000 ALLREDUCE 4000000 0\n";
    Case given{"model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 1 ga: 8", 8, 8};
    given.overlap[static_cast<std::size_t>(GroupKind::Pp)] = 1;
    const Result result = Simulate(given, true, ONE);
    // 4 MB over 2 ranks at 10 GB/s, on all stages at once as far as they wait for each other.
    EXPECT_NEAR(Exposed(result, GroupKind::Dp), 400, 1e-6);
    EXPECT_NEAR(result.breakdown.total, (8 + 3) * 30 + 400, 1e-6);
}

TEST(AnalyticalJob, MessagesBetweenStagesCostTheirTimeUnlessOverlapped)
{
    constexpr const char* ONE = "1\na -1 10000 NONE 0 15000 NONE 0 5000 NONE 0 0\n";
    const Case given{"model_parallel_NPU_group: 1 ep: 1 pp: 2 vpp: 1 ga: 1", 4, 2};
    const Result result = Simulate(given, true, ONE);
    // 1 MB over a NIC of 50 GB/s there and back: 20 us each.
    EXPECT_NEAR(result.breakdown.total, 2 * 30 + 2 * 20, 1e-6);
    EXPECT_NEAR(Exposed(result, GroupKind::Pp), (20 + 20) / 2.0, 1e-6);
}

TEST(AnalyticalJob, OneRankPerStageStandsExactlyForAll)
{
    for (const Case& given :
         {Case{"model_parallel_NPU_group: 2 ep: 4 pp: 2 vpp: 1 ga: 4", 64, 8},
          Case{"model_parallel_NPU_group: 4 ep: 1 pp: 4 vpp: 2 ga: 8", 64, 8, {}, ""},
          Case{"model_parallel_NPU_group: 2 ep: 2 pp: 4 vpp: 1 ga: 3", 16, 8, {}, ""},
          Case{"model_parallel_NPU_group: 8 ep: 2 pp: 1 vpp: 1 ga: 1", 64, 4, {}, ""}})
    {
        const Result sampled = Simulate(given, true);
        const Result all = Simulate(given, false);
        EXPECT_LT(sampled.simulated, all.simulated);
        EXPECT_EQ(all.simulated, given.ranks);
        EXPECT_EQ(sampled.breakdown.total, all.breakdown.total);
        EXPECT_NEAR(sampled.breakdown.compute, all.breakdown.compute, 1e-6);
        EXPECT_NEAR(sampled.breakdown.bubble, all.breakdown.bubble, 1e-6);
        for (std::size_t kind = 0; kind < sampled.breakdown.exposed.size(); ++kind)
        {
            EXPECT_NEAR(sampled.breakdown.exposed[kind], all.breakdown.exposed[kind], 1e-6);
        }
    }
}

TEST(AnalyticalJob, RanksThatDifferAreAllSimulated)
{
    // Groups of 6 on servers of 8: some within a server, some over two.
    const Case uneven{"model_parallel_NPU_group: 6 ep: 1 pp: 1 vpp: 1 ga: 1", 24, 8};
    EXPECT_EQ(Simulate(uneven, true).simulated, 24U);
    // Stages of 6 on servers of 8: some messages stay within a server.
    const Case stages{"model_parallel_NPU_group: 1 ep: 1 pp: 4 vpp: 1 ga: 2", 24, 8};
    EXPECT_EQ(Simulate(stages, true).simulated, 24U);
}

} // namespace
} // namespace AstraSim
