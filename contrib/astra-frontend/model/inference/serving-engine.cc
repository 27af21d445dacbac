/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-engine.h"

#include "astra-frontend/model/system/sys.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

constexpr std::array<const char*, 3> STEP_NAMES = {"prefill", "decode", "mixed"};

/// @return bytes of a token's keys and values on a rank
double
TokenBytesOf(const InstancePool& pool, const ServingConfig& config)
{
    const uint64_t layers = (config.layers + pool.pp - 1) / pool.pp;
    return static_cast<double>(layers * HeadsPerRank(config.kvHeads, pool.tp) * config.kvBytes);
}

} // namespace

ServingEngine::ServingEngine(const ServingConfig& config)
    : m_config(config),
      m_router(PolicyKind<RequestRouter>::Create(config.prefillRouter)),
      m_results(config),
      m_gateway(config.admission, config.classes)
{
    auto names = static_cast<uint32_t>(STEP_NAMES.size());
    for (const InstancePool& pool : config.pools)
    {
        m_firstName.push_back(names);
        names += static_cast<uint32_t>(STEP_NAMES.size() * pool.rows.size());
    }
    m_firstName.push_back(names);
    if (!config.remoteCache.ranks.empty())
    {
        m_remote = std::make_unique<RemoteCache>(
            config,
            [this](uint32_t jobRank) -> Sys& { return *m_systems[jobRank]; },
            GetPipelineLayer() - 1);
    }
    uint32_t number = 0;
    uint32_t answering = 0; // instances that requests arrive at
    for (const InstancePool& pool : config.pools)
    {
        answering += pool.role == InstanceRole::Decode ? 0 : pool.CountInstances();
        const StepCost& cost =
            *m_costs.emplace_back(std::make_unique<StepCost>(pool, config.layers));
        for (uint32_t inPool = 0; inPool < pool.CountInstances(); ++inPool, ++number)
        {
            auto& instance = *m_instances.emplace_back(
                std::make_unique<ServingInstance>(pool,
                                                  number,
                                                  inPool,
                                                  cost,
                                                  TokenBytesOf(pool, config),
                                                  *this,
                                                  m_remote.get()));
            for (uint32_t replica = 0; pool.role != InstanceRole::Decode && replica < pool.dp;
                 ++replica)
            {
                const auto& known =
                    m_replicas.emplace_back(instance.GetScheduler(replica), config.reportInterval);
                m_replicaTargets.push_back({{number, replica}, &known, 0});
            }
        }
    }
    m_sequences.reserve(config.requests.size()); // others point into it
    for (const ServingRequest& request : config.requests)
    {
        Sequence& sequence = m_sequences.emplace_back();
        sequence.id = request.number;
        sequence.request = &request;
        sequence.prompt = request.promptTokens;
        sequence.output = request.outputTokens;
        sequence.arrival = request.arrival;
    }
    m_feed = std::make_unique<RequestFeed>(m_sequences, config.maxConcurrency);
    m_frontEnd = std::make_unique<FrontEnd>(config.frontEndWork, config.frontEndLatency, answering);
    if (config.pools.front().autoscale.IsGiven())
    {
        m_scaling = std::make_unique<InstanceScaling>(
            config,
            m_instances,
            InstanceScaling::Hooks{[this](uint32_t jobRank) -> Sys& { return *m_systems[jobRank]; },
                                   [this] { ChooseTargets(); },
                                   [this] { FinishRanks(); }},
            GetPipelineLayer() - 1);
    }
    ChooseTargets();
    if (config.IsDisaggregated())
    {
        m_transfers = std::make_unique<CacheTransfers>(
            config,
            m_instances,
            CacheTransfers::Hooks{[this](uint32_t jobRank) -> Sys& { return *m_systems[jobRank]; },
                                  [this](Sequence& sequence) { CacheComplete(sequence); }},
            GetPipelineLayer() - 1);
    }
}

ServingEngine::~ServingEngine() = default;

std::vector<std::string>
ServingEngine::NameLayers(const ServingConfig& config)
{
    // Computation of a step without a collective has the step's name alone.
    std::vector<std::string> names(STEP_NAMES.begin(), STEP_NAMES.end());
    for (const InstancePool& pool : config.pools)
    {
        for (const char* step : STEP_NAMES)
        {
            for (const OperatorRow& row : pool.rows)
            {
                names.push_back(std::string(step) + "_" + row.name);
            }
        }
    }
    names.emplace_back("kv_transfer");
    names.emplace_back("pipeline");
    return names;
}

uint32_t
ServingEngine::LayerOf(const InstancePool& pool,
                       const ServingStep& step,
                       const StepSegment& segment) const
{
    const auto kind = static_cast<uint32_t>(step.kind);
    if (segment.op == CollectiveOp::None)
    {
        return kind;
    }
    const auto number = static_cast<std::size_t>(&pool - m_config.pools.data());
    return m_firstName[number] + kind * static_cast<uint32_t>(pool.rows.size()) + segment.row;
}

void
ServingEngine::Bind(const std::vector<int>& ranks)
{
    const auto check = [&](const std::vector<uint32_t>& given, std::size_t line) {
        const uint32_t largest = given.empty() ? 0 : std::ranges::max(given);
        if (largest >= ranks.size())
        {
            throw ns3::InputError(m_config.file,
                                  line,
                                  "rank " + std::to_string(largest) + " does not exist",
                                  "ranks below " + std::to_string(ranks.size()));
        }
    };
    for (const InstancePool& pool : m_config.pools)
    {
        check(pool.ranks, pool.line);
    }
    check(m_config.remoteCache.ranks, 0);
    check(m_config.weightsStore, 0);
    m_networkRanks = ranks;
    m_systems.resize(ranks.size());
    m_ranks.resize(ranks.size());
    uint32_t nextGroup = 0;
    for (const auto& instance : m_instances)
    {
        instance->MakeGroups(ranks, nextGroup);
    }
}

std::unique_ptr<ServingRank>
ServingEngine::CreateRank(uint32_t jobRank, Sys& sys)
{
    ServingInstance* serving = nullptr;
    uint32_t place = 0;
    for (const auto& instance : m_instances)
    {
        for (uint32_t i = 0; i < instance->CountRanks(); ++i)
        {
            if (instance->JobRankAt(instance->StageAt(i),
                                    instance->ReplicaAt(i),
                                    instance->ShardAt(i)) == jobRank)
            {
                serving = instance.get();
                place = i;
            }
        }
    }
    auto rank = std::make_unique<ServingRank>(*this, serving, place, sys);
    m_systems[jobRank] = &sys;
    m_ranks[jobRank] = rank.get();
    return rank;
}

void
ServingEngine::Start(Sys& clock)
{
    if (!m_clock)
    {
        m_clock = &clock;
        AwaitRequests();
        ScheduleFailures();
        if (m_scaling)
        {
            m_scaling->Start(clock);
        }
    }
}

void
ServingEngine::ChooseTargets()
{
    m_targets.clear();
    uint32_t instances = 0; // each has a front end
    for (const RequestRouter::Target& target : m_replicaTargets)
    {
        const uint32_t number = target.place.instance;
        if (!m_instances[number]->HasFailed() && (!m_scaling || m_scaling->Serves(number)))
        {
            instances += target.place.replica == 0;
            m_targets.push_back(target);
        }
    }
    if (m_scaling)
    {
        m_frontEnd->SetServers(instances, m_clock ? m_clock->Now() : 0);
    }
    if (m_scaling && m_clock)
    {
        AwaitRequests(); // those in the front end are through at other times
    }
}

void
ServingEngine::AwaitRequests()
{
    std::optional<TimePs> next;
    for (const auto time : {m_feed->GetNext(), m_frontEnd->GetNext(), m_gateway.GetNextDrop()})
    {
        next = time ? std::min(next.value_or(*time), *time) : next;
    }
    if (!next || (m_wake && *m_wake <= *next))
    {
        return;
    }
    m_wake = next;
    const TimePs wait = std::max<TimePs>(*next - m_clock->Now(), 0);
    m_clock->CheckDelay(wait, "the next request");
    m_clock->Schedule(wait, &ServingEngine::SendRequests, this);
}

void
ServingEngine::SendRequests(void* argument)
{
    auto& engine = *static_cast<ServingEngine*>(argument);
    const TimePs now = engine.m_clock->Now();
    if (engine.m_ended == engine.m_sequences.size())
    {
        return; // all requests that have not been dropped have ended
    }
    while (Sequence* sequence = engine.m_feed->Send(now))
    {
        engine.Admit(*sequence);
    }
    while (Sequence* sequence = engine.m_gateway.Drop(now))
    {
        engine.Drop(*sequence);
    }
    while (Sequence* sequence = engine.m_frontEnd->Take(now))
    {
        engine.m_tokensInFrontEnd -= sequence->prompt;
        if (!sequence->isOver)
        {
            engine.Route(*sequence);
        }
    }
    if (engine.m_wake && *engine.m_wake <= now)
    {
        engine.m_wake.reset(); // else an earlier request has come in between
    }
    engine.AwaitRequests();
}

void
ServingEngine::Admit(Sequence& sequence)
{
    const auto predict = [&] { return PredictFirstToken(sequence); };
    switch (m_gateway.Arrive(sequence, m_clock->Now(), predict))
    {
    case Gateway::Verdict::Forward:
        Forward(sequence);
        return;
    case Gateway::Verdict::Hold:
        return;
    case Gateway::Verdict::Refuse:
        sequence.isOver = true;
        m_results.RequestRefused(sequence);
        Settle(sequence);
    }
}

void
ServingEngine::Forward(Sequence& sequence)
{
    m_tokensInFrontEnd += sequence.prompt;
    m_frontEnd->Add(sequence, m_clock->Now());
}

TimePs
ServingEngine::PredictFirstToken(const Sequence& sequence) const
{
    const uint64_t coming = m_tokensInFrontEnd / m_targets.size();
    TimePs least = INT64_MAX;
    for (const RequestRouter::Target& target : m_targets)
    {
        const ServingInstance& instance = *m_instances[target.place.instance];
        least = std::min(least, instance.PredictFirstToken(target.place.replica, sequence, coming));
    }
    return ns3::AddPs(least, ns3::AddPs(m_config.frontEndWork, m_config.frontEndLatency));
}

void
ServingEngine::Drop(Sequence& sequence)
{
    if (sequence.prefill.IsSet())
    {
        m_instances[sequence.prefill.instance]
            ->GetScheduler(sequence.prefill.replica)
            .Withdraw(sequence, m_clock->Now());
        if (m_scaling)
        {
            m_scaling->RequestEnded(sequence.prefill.instance);
        }
    }
    m_results.RequestDropped(sequence);
    if (Sequence* held = m_gateway.Ended(sequence))
    {
        Forward(*held);
    }
    Settle(sequence);
}

void
ServingEngine::ScheduleFailures()
{
    m_failures = m_config.failures;
    std::ranges::stable_sort(m_failures, std::greater(), &InstanceFailure::time);
    for (const InstanceFailure& failure : m_failures)
    {
        m_clock->CheckDelay(failure.time, "a failure");
        m_clock->Schedule(failure.time, &ServingEngine::FailNext, this);
    }
}

void
ServingEngine::FailNext(void* argument)
{
    auto& engine = *static_cast<ServingEngine*>(argument);
    const uint32_t instance = engine.m_failures.back().instance;
    engine.m_failures.pop_back();
    engine.Fail(*engine.m_instances[instance]);
}

void
ServingEngine::Fail(ServingInstance& instance)
{
    instance.Fail();
    ChooseTargets();
    for (uint32_t replica = 0; replica < instance.GetPool().dp; ++replica)
    {
        for (Sequence* sequence : instance.GetScheduler(replica).Fail(m_clock->Now()))
        {
            Route(*sequence);
        }
    }
}

void
ServingEngine::Route(Sequence& sequence)
{
    for (StaleReplica& replica : m_replicas)
    {
        replica.Observe(m_clock->Now());
    }
    sequence.prefill = m_targets[m_router->Choose(m_targets, sequence)].place;
    ServingInstance& instance = *m_instances[sequence.prefill.instance];
    if (instance.GetPool().role == InstanceRole::Colocated)
    {
        sequence.decode = sequence.prefill;
    }
    instance.GetScheduler(sequence.prefill.replica).Enqueue(sequence);
    instance.Kick();
}

const PrivateLinks&
ServingEngine::GetPrivateLinks()
{
    if (!m_links)
    {
        m_links =
            std::make_unique<PrivateLinks>(m_config, m_instances, [this](uint32_t jobRank) -> Sys& {
                return *m_systems[jobRank];
            });
    }
    return *m_links;
}

bool
ServingEngine::AnswersUsers(const InstancePool& pool) const
{
    return pool.role != InstanceRole::Prefill || !m_config.firstTokenAtDecode;
}

bool
ServingEngine::MovesCache(const Sequence& sequence, const ServingInstance& instance) const
{
    // A request for one token needs no decoding where the prefilling instance answers with it.
    return instance.GetPool().role == InstanceRole::Prefill &&
           (m_config.firstTokenAtDecode || sequence.output > 1);
}

void
ServingEngine::StepBegan(ServingInstance& instance, const ServingStep& step)
{
    for (const auto& items : step.items)
    {
        for (const BatchItem& item : items)
        {
            Sequence& sequence = *item.sequence;
            if (sequence.scheduled >= 0)
            {
                continue;
            }
            sequence.scheduled = step.start;
            m_gateway.Began(sequence);
            if (MovesCache(sequence, instance))
            {
                m_transfers->Begin(sequence, step.start);
            }
        }
    }
}

void
ServingEngine::LayerComputed(ServingInstance& instance,
                             const ServingStep& step,
                             uint32_t rank,
                             uint32_t layer)
{
    if (m_transfers)
    {
        m_transfers->LayerComputed(instance, step, rank, layer);
    }
}

void
ServingEngine::StepEnded(ServingInstance& instance, const ServingStep& step)
{
    if (instance.HasFailed())
    {
        return;
    }
    const TimePs now = m_clock->Now();
    for (uint32_t replica = 0; replica < step.items.size(); ++replica)
    {
        BatchScheduler& scheduler = instance.GetScheduler(replica);
        for (const BatchItem& item : step.items[replica])
        {
            Sequence& sequence = *item.sequence;
            scheduler.Complete(item, now);
            if (item.sampled == 0)
            {
                continue;
            }
            sequence.promptEnded = sequence.promptEnded < 0 ? now : sequence.promptEnded;
            const bool isAnswered = AnswersUsers(instance.GetPool());
            if (isAnswered && sequence.firstToken < 0)
            {
                sequence.firstToken = now;
            }
            if (MovesCache(sequence, instance))
            {
                if (!isAnswered)
                {
                    sequence.DropFirstToken();
                }
                scheduler.Hold(sequence);
                m_transfers->PromptEnded(sequence);
            }
            else if (sequence.generated == sequence.output)
            {
                End(sequence, instance, replica);
            }
        }
        if (instance.GetPool().role == InstanceRole::Decode && m_ended < m_sequences.size())
        {
            m_transfers->BlocksFreed({instance.GetNumber(), replica}, now);
        }
    }
}

void
ServingEngine::CacheComplete(Sequence& sequence)
{
    const TimePs now = m_clock->Now();
    sequence.cacheMoved = now;
    ServingInstance& prefill = *m_instances[sequence.prefill.instance];
    ServingInstance& decode = *m_instances[sequence.decode.instance];
    prefill.GetScheduler(sequence.prefill.replica).Release(sequence, now);
    decode.GetScheduler(sequence.decode.replica).Admit(sequence, now);
    prefill.Kick();
    decode.Kick();
}

void
ServingEngine::End(Sequence& sequence, ServingInstance& instance, uint32_t replica)
{
    const TimePs now = m_clock->Now();
    sequence.finished = now;
    instance.GetScheduler(replica).Remove(sequence, now);
    m_results.RequestEnded(sequence, m_clock->get_observer());
    if (m_scaling)
    {
        m_scaling->RequestEnded(instance.GetNumber());
    }
    if (Sequence* held = m_gateway.Ended(sequence))
    {
        Forward(*held);
    }
    Settle(sequence);
}

void
ServingEngine::Settle(const Sequence& sequence)
{
    if (++m_ended == m_sequences.size())
    {
        FinishAll();
        return;
    }
    m_feed->Ended(sequence, m_clock->Now());
    AwaitRequests();
}

void
ServingEngine::FinishAll()
{
    for (const auto& instance : m_instances)
    {
        const TimePs whole = m_clock->Now() - m_config.requests.front().arrival;
        instance->SetHeld(m_scaling ? m_scaling->GetHeld(instance->GetNumber()) : whole);
    }
    m_results.Finish(m_instances, m_remote.get(), m_clock->Now(), m_clock->get_observer());
    if (!m_scaling || m_scaling->Finish())
    {
        FinishRanks();
    }
}

void
ServingEngine::FinishRanks()
{
    const auto finish = [this] { std::ranges::for_each(m_ranks, &ServingRank::Finish); };
    m_remote ? m_remote->WhenIdle(finish) : finish();
}

} // namespace AstraSim
