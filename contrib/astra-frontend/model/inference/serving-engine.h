/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SERVING_ENGINE_H
#define SERVING_ENGINE_H

#include "astra-frontend/model/inference/input/serving-config.h"
#include "cache-transfers.h"
#include "front-end.h"
#include "gateway.h"
#include "instance-scaling.h"
#include "private-links.h"
#include "request-feed.h"
#include "serving-instance.h"
#include "serving-results.h"
#include "step-cost.h"

#include "ns3/request-router.h"
#include "ns3/sequence.h"
#include "ns3/stale-replica.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

class Sys;

/**
 * @ingroup astra-frontend
 * @brief Serves the requests of a configuration on a job's ranks.
 *
 * Requests arrive, are routed to an instance, wait, are computed in steps, and move to a decoding
 * instance if there is one. Decisions take no time and know the state of that moment. Computations
 * take the time of StepCost, messages that of the network.
 */
class ServingEngine
{
  public:
    static constexpr uint32_t PIPELINE_TAG = 0;

    /// @param config borrowed
    explicit ServingEngine(const ServingConfig& config);
    ~ServingEngine();

    /// @param ranks the network's rank of each rank of the job
    void Bind(const std::vector<int>& ranks);

    /// @return the workload of rank @p jobRank
    std::unique_ptr<ServingRank> CreateRank(uint32_t jobRank, Sys& sys);

    /// Begin, when the first rank calls it. @param clock of that rank
    void Start(Sys& clock);

    int NetworkRank(uint32_t jobRank) const
    {
        return m_networkRanks[jobRank];
    }

    /// @return the names that computation and communication are recorded under
    static std::vector<std::string> NameLayers(const ServingConfig& config);

    /// @return the number of the layer's name that a segment is recorded under
    uint32_t LayerOf(const InstancePool& pool,
                     const ServingStep& step,
                     const StepSegment& segment) const;

    uint32_t GetPipelineLayer() const
    {
        return m_firstName.back() + 1;
    }

    const ServingConfig& GetConfig() const
    {
        return m_config;
    }

    const std::string& GetSummary() const
    {
        return m_results.GetSummary();
    }

    /// @return the links that only one stage uses. Call it after the start of the job
    const PrivateLinks& GetPrivateLinks();

    /// @return whether the tokens that instances of @p pool make go to users
    bool AnswersUsers(const InstancePool& pool) const;

    // --- an instance tells of its steps
    void StepBegan(ServingInstance& instance, const ServingStep& step);
    /// A rank has computed @p layer. @param rank its place, see ServingInstance::JobRankAt()
    void LayerComputed(ServingInstance& instance,
                       const ServingStep& step,
                       uint32_t rank,
                       uint32_t layer);
    /// All stages have carried out the step: complete its items.
    void StepEnded(ServingInstance& instance, const ServingStep& step);

  private:
    /// Schedule SendRequests() for the next request that users send or the front end has ready.
    void AwaitRequests();
    static void SendRequests(void* engine);
    /// Find out which replicas requests go to.
    void ChooseTargets();
    void ScheduleFailures();
    static void FailNext(void* engine);
    void Fail(ServingInstance& instance);
    /// @p sequence has arrived.
    void Admit(Sequence& sequence);
    /// Send @p sequence to the instances, through the front end.
    void Forward(Sequence& sequence);
    TimePs PredictFirstToken(const Sequence& sequence) const;
    /// @p sequence has waited too long.
    void Drop(Sequence& sequence);
    /// @p sequence has its answer, or gets none.
    void Settle(const Sequence& sequence);
    void Route(Sequence& sequence);
    /// @return whether the cache of @p sequence leaves @p instance, for another to decode
    bool MovesCache(const Sequence& sequence, const ServingInstance& instance) const;
    void CacheComplete(Sequence& sequence);
    void End(Sequence& sequence, ServingInstance& instance, uint32_t replica);
    void FinishAll();
    void FinishRanks();

    const ServingConfig& m_config;
    std::vector<std::unique_ptr<StepCost>> m_costs; ///< by pool
    std::unique_ptr<RemoteCache> m_remote;          ///< null: there is none
    std::vector<std::unique_ptr<ServingInstance>> m_instances;
    std::deque<StaleReplica> m_replicas;                 ///< as the router knows them
    std::vector<RequestRouter::Target> m_replicaTargets; ///< all of these
    std::vector<RequestRouter::Target> m_targets;        ///< those that requests go to now
    std::vector<InstanceFailure> m_failures;             ///< the next one last
    std::unique_ptr<RequestRouter> m_router;
    std::unique_ptr<InstanceScaling> m_scaling;  ///< null: all instances serve all the time
    std::unique_ptr<CacheTransfers> m_transfers; ///< null where instances are colocated
    std::unique_ptr<PrivateLinks> m_links;       ///< null until GetPrivateLinks()
    ServingResults m_results;
    std::vector<Sequence> m_sequences;
    std::unique_ptr<RequestFeed> m_feed;
    Gateway m_gateway;
    std::unique_ptr<FrontEnd> m_frontEnd;
    uint64_t m_tokensInFrontEnd{0};    ///< of prompts
    std::vector<uint32_t> m_firstName; ///< in NameLayers(): of each pool's rows, then of transfers
    std::vector<int> m_networkRanks;
    std::vector<Sys*> m_systems;       ///< by rank of the job; borrowed
    std::vector<ServingRank*> m_ranks; ///< by rank of the job; borrowed
    Sys* m_clock{nullptr};
    std::optional<TimePs> m_wake; ///< time of the scheduled SendRequests()
    std::size_t m_ended{0};
};

} // namespace AstraSim

#endif /* SERVING_ENGINE_H */
