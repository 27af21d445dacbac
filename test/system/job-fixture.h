/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JOB_FIXTURE_H
#define JOB_FIXTURE_H

#include "../support/loopback-network.h"
#include "astra-frontend/model/native/native-algorithm.h"
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/wait-parts.h"
#include "astra-frontend/model/workload/layer-workload.h"

#include "ns3/layer-table.h"

#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace AstraSim
{

/// Keeps everything a job reports.
class Recorder : public RunObserver
{
  public:
    struct Collective
    {
        std::string layer;
        std::string group;
        TrainingPhase phase;
        uint32_t pass;
        CollectiveOp op;
        uint64_t bytes;
        uint64_t flows;
        TimePs start;
        TimePs end;
    };

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        collectives.push_back({std::string(record.layer),
                               record.group->name,
                               record.position.phase,
                               record.position.pass,
                               record.op,
                               record.bytes,
                               record.choice->flows,
                               record.start,
                               record.end});
    }

    void StreamPhaseEnded(const StreamPhaseRecord& record) override
    {
        phases.push_back(record);
        phases.back().layer = {};
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        compute += record.end - record.start;
        computes.push_back(record);
        computes.back().layer = {};
    }

    void WaitEnded(const WaitRecord& record) override
    {
        (record.reason == WaitReason::OtherRanks ? bubble : exposed) += record.end - record.start;
        waits[{record.rank, record.group, record.reason}] += record.end - record.start;
    }

    void PassFinished(int, uint32_t, TimePs) override
    {
        ++passes;
    }

    void RankFinished(int rank, TimePs now) override
    {
        finishes[rank] = now;
        finished = std::max(finished, now);
    }

    std::vector<Collective> collectives;
    std::vector<StreamPhaseRecord> phases;
    std::vector<ComputeRecord> computes;
    TimePs compute{0};
    TimePs exposed{0};
    TimePs bubble{0};
    std::map<std::tuple<int, GroupKind, WaitReason>, TimePs> waits; ///< by rank
    std::map<int, TimePs> finishes;                                 ///< by rank
    TimePs finished{0};
    uint32_t passes{0};
};

/// @return 0, 1, ... count-1
inline std::vector<int>
AllRanks(int count)
{
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

/// @return a system in which every collective runs @p algorithm
inline SystemConfig
NativeConfig(const std::string& algorithm)
{
    SystemConfig config;
    const auto parsed = *ParseNativeAlgorithm(algorithm);
    config.allReduce = config.allGather = config.reduceScatter = config.allToAll = {parsed};
    config.memoryBus.endpointDelay = 0;
    return config;
}

/// @return the workload in @p text
inline std::unique_ptr<LayerWorkload>
MakeWorkload(const std::string& text, uint32_t passes = 1)
{
    std::istringstream stream(text);
    return std::make_unique<LayerWorkload>(ReadLayerTable(stream, "test.txt"),
                                           ParallelSizes{},
                                           passes);
}

/// A job on a loopback network of its own.
struct JobRun
{
    JobRun(Workload& workload,
           int ranks,
           const SystemConfig& config,
           std::vector<uint32_t> dimensions = {},
           TimePs latency = 0,
           double bytesPerSecond = 0)
        : network(ranks, latency, bytesPerSecond),
          job({&workload,
               AllRanks(ranks),
               config,
               std::move(dimensions),
               nullptr,
               [this](int rank) -> RankNetwork& { return network.At(rank); },
               &observers})
    {
        observers.Add(recorder);
    }

    void Run()
    {
        job.Start();
        network.Run();
        observers.Finish();
    }

    LoopbackNetwork network;
    Recorder recorder;
    WaitParts observers;
    Job job;
};

} // namespace AstraSim

#endif /* JOB_FIXTURE_H */
