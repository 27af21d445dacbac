/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_INSTANCE_H
#define SERVING_INSTANCE_H

#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/workload.h"
#include "batch-scheduler.h"
#include "stage-in-step.h"
#include "step-cost.h"

#include "ns3/collective-types.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace AstraSim
{

class ServingInstance;
class ServingEngine;
class ServingRank;

/// Kind of a step, for the names of its layers.
enum class StepKind : uint8_t
{
    Prefill,
    Decode,
    Mixed,
};

/// A step of an instance: one batch on its way through the pipeline's stages.
struct ServingStep
{
    uint32_t number; ///< counts the steps of the instance
    StepKind kind;
    TimePs start;
    std::vector<std::vector<BatchItem>> items;      ///< by replica
    std::vector<StepShape> shapes;                  ///< by replica
    std::vector<std::vector<StepSegment>> programs; ///< by stage, then replica
    uint32_t firstStageLeft; ///< ranks of the first stage that still work on it
    uint32_t lastStageLeft;
    TimePs computation{0}; ///< of one rank of each stage, without messages
    bool loads{false};     ///< blocks come from slower memories while it computes
};

/// Sums over an instance's steps, for instances.csv.
struct InstanceTotals
{
    uint64_t steps{0};
    TimePs busy{0}; ///< at least one step was under way
    uint64_t promptTokens{0};
    uint64_t outputTokens{0};
    uint64_t sequences{0}; ///< summed over steps
    uint32_t starts{0};    ///< by autoscaling
    TimePs held{0};        ///< time in which it had its GPUs, known at the end
    TimePs inSteps{0};     ///< summed over steps that have ended
    TimePs computation{0}; ///< of that, ServingStep::computation
};

/**
 * @ingroup astra-frontend
 * @brief A model on TP x DP x PP ranks that serves requests, step by step.
 *
 * Ranks are numbered with tensor parallelism innermost, then the replicas that share experts, then
 * pipeline stages. All replicas step together. A step begins when the first stage is free, some
 * sequence can be computed, and fewer steps than stages are under way.
 */
class ServingInstance
{
  public:
    /**
     * @param pool borrowed
     * @param number among the instances of all pools
     * @param inPool number among those of its pool
     * @param cost borrowed
     * @param tokenBytes of a token's keys and values, on a rank
     * @param engine is told of steps; borrowed
     * @param remote a cache outside the instances, borrowed; null: there is none
     */
    ServingInstance(const InstancePool& pool,
                    uint32_t number,
                    uint32_t inPool,
                    const StepCost& cost,
                    double tokenBytes,
                    ServingEngine& engine,
                    RemoteCache* remote);
    ~ServingInstance();

    /// Make the communicators. @param ranks the network's rank of each rank of the job
    void MakeGroups(const std::vector<int>& ranks, uint32_t& nextGroup);

    /// @return the job's rank at a place
    uint32_t JobRankAt(uint32_t stage, uint32_t replica, uint32_t shard) const;

    /// @return the job's rank at a place
    uint32_t JobRankAt(uint32_t place) const
    {
        return JobRankAt(StageAt(place), ReplicaAt(place), ShardAt(place));
    }

    /// Tell which object runs the rank at a place.
    void SetRank(uint32_t place, ServingRank& rank);

    /// @param coming tokens of prompts that are on their way to the replica
    /// @return the time until the first token of @p sequence if it joins the replica now: full
    /// steps of all prompts there and its own, among the sequences that decode. Messages take the
    /// share of the time that they have taken so far
    TimePs PredictFirstToken(uint32_t replica, const Sequence& sequence, uint64_t coming) const;

    /// Begin a step, if one can begin, after all other events of this moment. Called after each
    /// change of the instance's state.
    void Kick();

    /// It fails: it begins no step any more, and those under way come to nothing.
    void Fail()
    {
        m_hasFailed = true;
    }

    bool HasFailed() const
    {
        return m_hasFailed;
    }

    /// @return whether it has no requests
    bool IsIdle() const
    {
        return std::ranges::all_of(m_schedulers, [](const BatchScheduler& each) {
            return each.CountRunning() + each.CountWaiting() == 0;
        });
    }

    /// It stops: the blocks that it keeps for later requests are lost.
    void ForgetCache()
    {
        std::ranges::for_each(m_schedulers, &BatchScheduler::ForgetCache);
    }

    void CountStart()
    {
        ++m_totals.starts;
    }

    /// Tell for how long it had its GPUs.
    void SetHeld(TimePs held)
    {
        m_totals.held = held;
    }

    /// @name for its ranks
    /// @{
    void LayerComputed(const ServingStep& step, uint32_t place, uint32_t layer);
    void StageEnded(ServingStep& step, uint32_t stage);

    /// @return when the blocks of @p step's sequences are on a rank that a layer needs; nothing
    /// while messages are under way, after which the rank's LoadArrived() is called
    std::optional<TimePs> LoadedAt(const ServingStep& step, uint32_t place, uint32_t layer) const;

    /// @return the layers of a stage, and the one after its last
    std::pair<uint32_t, uint32_t> LayersOf(uint32_t stage) const
    {
        return m_cost.LayersOf(stage);
    }

    /// A rank of a stage has begun its first computation of @p step.
    void RankBegan(ServingStep& step, uint32_t stage)
    {
        m_stages[stage].RankBegan(step);
    }

    /// @return the object that runs a rank. @param number in the stage
    ServingRank& RankAt(uint32_t stage, uint32_t number)
    {
        return *m_ranks[stage * CountPlacesPerStage() + number];
    }

    /// @return whether a stage has all links between its ranks to itself
    bool IsAlone(uint32_t stage) const;

    /// @return whether only that stage uses these links
    bool OwnsLinks(uint32_t stage, std::span<const uint32_t> links) const;

    /// @return the number of the layer's name that a segment is recorded under
    uint32_t LayerOf(const ServingStep& step, const StepSegment& segment) const;

    const CommGroup& GetGroup(uint32_t place, GroupKind kind) const;
    CollectiveRequest RequestOf(const ServingStep& step,
                                const StepSegment& segment,
                                uint32_t place) const;
    uint64_t PipelineBytes(const ServingStep& step, uint32_t replica) const;

    /// @}

    const InstancePool& GetPool() const
    {
        return m_pool;
    }

    uint32_t GetNumber() const
    {
        return m_number;
    }

    BatchScheduler& GetScheduler(uint32_t replica)
    {
        return m_schedulers[replica];
    }

    const std::vector<BatchScheduler>& GetSchedulers() const
    {
        return m_schedulers;
    }

    const InstanceTotals& GetTotals() const
    {
        return m_totals;
    }

    uint32_t CountRanks() const
    {
        return m_pool.RanksPerInstance();
    }

    uint32_t CountPlacesPerStage() const
    {
        return m_pool.tp * m_pool.dp;
    }

    uint32_t StageAt(uint32_t place) const
    {
        return place / CountPlacesPerStage();
    }

    uint32_t ReplicaAt(uint32_t place) const
    {
        return place / m_pool.tp % m_pool.dp;
    }

    uint32_t ShardAt(uint32_t place) const
    {
        return place % m_pool.tp;
    }

  private:
    std::vector<CacheRank> CacheRanksOf(uint32_t replica) const;
    /// @return time of a rank of each stage to compute a step of @p tokens of prompts, each of
    /// @p each tokens, beside the sequences of @p scheduler that decode
    TimePs PromptStepTime(const BatchScheduler& scheduler, uint64_t tokens, uint64_t each) const;
    static void Kicked(void* instance);
    void BeginSteps();
    bool BeginStep();
    void End(ServingStep& step);
    void ScheduleKick(TimePs delay);
    /// Round the tokens of a step that only decodes up to the size of the next CUDA graph.
    void PadToGraph(ServingStep& step, const StepShape& all) const;
    TimePs Now() const;

    const InstancePool& m_pool;
    uint32_t m_number;
    uint32_t m_inPool;
    const StepCost& m_cost;
    ServingEngine& m_engine;
    std::vector<BatchScheduler> m_schedulers; ///< by replica
    std::vector<ServingRank*> m_ranks;        ///< by place; borrowed
    std::vector<StageInStep> m_stages;
    std::vector<CommGroup> m_tensorGroups;             ///< by stage, then replica
    std::vector<CommGroup> m_expertGroups;             ///< by stage, then first place
    std::vector<std::unique_ptr<ServingStep>> m_steps; ///< under way
    bool m_firstStageBusy{false};
    bool m_kicked{false};
    bool m_hasFailed{false};
    TimePs m_busySince{0};
    InstanceTotals m_totals;
};

/**
 * @ingroup astra-frontend
 * @brief One rank of an instance, which computes and communicates as its steps say; or a rank
 * without an instance, which does nothing.
 */
class ServingRank : public RankWorkload
{
  public:
    /**
     * @param engine borrowed
     * @param instance borrowed; null for a rank that serves nothing
     * @param place in the instance
     */
    ServingRank(ServingEngine& engine, ServingInstance* instance, uint32_t place, Sys& sys);

    void Start() override;
    bool Finished() const override;
    std::vector<std::string> DescribeWaits() const override;

    /// Carry out this rank's part of @p step. The rank is free.
    void Begin(ServingStep& step);

    /// Receive @p step from the stage before when that has computed it.
    void Expect(ServingStep& step);

    /// Leave the step that this rank has begun to StageInStep, until that calls EndStage().
    void JoinStage()
    {
        ++m_dropped;
    }

    /// A message with blocks of its step has come.
    void LoadArrived();

    /// This rank's part of its step is over.
    void EndStage();

    /// End: all requests have been served.
    void Finish();

    Sys& GetSys()
    {
        return m_sys;
    }

  private:
    void Continue();
    /// @return whether the next layer lacks blocks of caches
    bool AwaitsLoad();
    void Communicate(const StepSegment& segment);
    static void ComputeEnded(void* rank);
    const std::vector<StepSegment>& GetProgram() const;
    WorkloadPosition PositionOf(const StepSegment& segment) const;

    ServingEngine& m_engine;
    ServingInstance* m_instance;
    uint32_t m_place;
    uint32_t m_stage{0};
    uint32_t m_replica{0};
    Sys& m_sys;
    ServingStep* m_step{nullptr};       ///< under way on this rank
    std::deque<ServingStep*> m_arrived; ///< from the stage before, while it is busy
    std::size_t m_next{0};              ///< segment of the step
    bool m_computed{false};             ///< the computation of m_next
    TimePs m_begun{0};                  ///< time at which m_step began
    TimePs m_since{0};
    /// Scheduled ends of computations to ignore, since StageInStep took over their steps.
    uint32_t m_dropped{0};
    bool m_awaitsLoad{false};
    bool m_finished{false};
};

} // namespace AstraSim

#endif /* SERVING_INSTANCE_H */
