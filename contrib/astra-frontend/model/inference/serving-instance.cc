/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-instance.h"

#include "astra-frontend/model/system/sys.h"
#include "serving-engine.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

namespace AstraSim
{

// Arrivals and ends of steps call Kick(), which collects all calls of one moment into one event.
// Then BeginSteps() begins a step if the first stage is free and fewer steps than stages are
// under way. BeginStep() asks each replica's scheduler for its items, adds up their shape, and
// makes a program of segments (computation, then a collective) for each stage and replica; the
// ranks of the first stage begin it, the others expect its activations. When all ranks of the
// first stage have ended it, the next step may begin behind it; when the last stage has ended,
// End() hands the step to the engine. If there is nothing to do, the schedulers' next wake, such
// as the end of a swap, is scheduled.

namespace
{

/// @return time of a rank to compute a program
TimePs
ComputationOf(const std::vector<StepSegment>& program)
{
    TimePs computed = 0;
    TimePs launched = 0;
    for (const StepSegment& segment : program)
    {
        computed = ns3::AddPs(computed, segment.compute);
        launched = std::max(launched, segment.launched);
    }
    return std::max(computed, launched);
}

} // namespace

ServingInstance::ServingInstance(const InstancePool& pool,
                                 uint32_t number,
                                 uint32_t inPool,
                                 const StepCost& cost,
                                 double tokenBytes,
                                 ServingEngine& engine,
                                 RemoteCache* remote)
    : m_pool(pool),
      m_number(number),
      m_inPool(inPool),
      m_cost(cost),
      m_engine(engine),
      m_ranks(pool.RanksPerInstance())
{
    m_schedulers.reserve(pool.dp); // others point into it
    for (uint32_t replica = 0; replica < pool.dp; ++replica)
    {
        auto& scheduler = m_schedulers.emplace_back(pool, tokenBytes);
        if (engine.GetConfig().HasTiers() && pool.role != InstanceRole::Decode)
        {
            scheduler.UseTiers(
                engine.GetConfig(),
                CacheRanksOf(replica),
                remote,
                [this] { return Now(); },
                [this] { Kick(); });
        }
    }
    for (uint32_t stage = 0; stage < pool.pp; ++stage)
    {
        m_stages.emplace_back(*this, stage);
    }
}

ServingInstance::~ServingInstance() = default;

uint32_t
ServingInstance::JobRankAt(uint32_t stage, uint32_t replica, uint32_t shard) const
{
    const uint32_t place = (stage * m_pool.dp + replica) * m_pool.tp + shard;
    return m_pool.ranks[m_inPool * m_pool.RanksPerInstance() + place];
}

std::vector<CacheRank>
ServingInstance::CacheRanksOf(uint32_t replica) const
{
    const uint32_t heads = m_engine.GetConfig().kvHeads;
    const uint32_t copies = std::max(m_pool.tp / heads, 1U);
    std::vector<CacheRank> ranks;
    for (uint32_t place = 0; place < CountRanks(); ++place)
    {
        if (ReplicaAt(place) == replica)
        {
            const auto [first, end] = m_cost.LayersOf(StageAt(place));
            const uint32_t shard = ShardAt(place);
            ranks.push_back({place, JobRankAt(place), shard, first, end, shard % copies != 0});
        }
    }
    return ranks;
}

void
ServingInstance::MakeGroups(const std::vector<int>& ranks, uint32_t& nextGroup)
{
    for (uint32_t stage = 0; stage < m_pool.pp; ++stage)
    {
        for (uint32_t replica = 0; replica < m_pool.dp; ++replica)
        {
            CommGroup& group = m_tensorGroups.emplace_back();
            group = {nextGroup++, GroupKind::Tp, "TP", {}};
            for (uint32_t shard = 0; shard < m_pool.tp; ++shard)
            {
                group.ranks.push_back(ranks[JobRankAt(stage, replica, shard)]);
            }
        }
        for (uint32_t first = 0; first < m_pool.ExpertStride(); ++first)
        {
            CommGroup& group = m_expertGroups.emplace_back();
            group = {nextGroup++, GroupKind::Ep, "EP", {}};
            for (uint32_t i = 0; i < m_pool.ep; ++i)
            {
                const uint32_t place = first + i * m_pool.ExpertStride();
                group.ranks.push_back(
                    ranks[JobRankAt(stage, place / m_pool.tp, place % m_pool.tp)]);
            }
        }
    }
}

void
ServingInstance::SetRank(uint32_t place, ServingRank& rank)
{
    m_ranks[place] = &rank;
}

TimePs
ServingInstance::Now() const
{
    return m_ranks.front()->GetSys().Now();
}

TimePs
ServingInstance::PromptStepTime(const BatchScheduler& scheduler,
                                uint64_t tokens,
                                uint64_t each) const
{
    StepShape shape;
    shape.window = m_pool.window;
    for (uint64_t left = tokens; left > 0; left -= std::min(left, each))
    {
        shape.Add(0, std::min(left, each), false, true);
    }
    for (const Sequence* sequence : scheduler.GetRunning())
    {
        if (sequence->generated > 0)
        {
            shape.Add(sequence->computed, 1, true, true);
        }
    }
    shape.instanceTokens = shape.tokens * m_pool.dp;
    shape.instanceDecoding = shape.decodingSequences * m_pool.dp;
    TimePs time = m_pool.stepOverhead;
    for (uint32_t stage = 0; stage < m_pool.pp; ++stage)
    {
        time = ns3::AddPs(time, ComputationOf(m_cost.Program(stage, shape, false)));
    }
    return time;
}

TimePs
ServingInstance::PredictFirstToken(uint32_t replica,
                                   const Sequence& sequence,
                                   uint64_t coming) const
{
    const BatchScheduler& scheduler = m_schedulers[replica];
    const uint64_t load = scheduler.GetLoad();
    const uint64_t own = sequence.prompt - scheduler.CountCached(sequence) * m_pool.blockTokens;
    // A sequence that decodes is a token of the load.
    const uint64_t prompts =
        load - std::min<uint64_t>(load, scheduler.CountRunning()) + coming + own;
    const uint64_t perStep = m_pool.chunkedPrefill ? m_pool.maxBatchTokens
                                                   : std::max<uint64_t>(m_pool.maxBatchTokens, own);
    TimePs time = 0;
    if (prompts >= perStep)
    {
        time = ns3::TimesPs(PromptStepTime(scheduler, perStep, own), prompts / perStep);
    }
    if (prompts % perStep > 0)
    {
        time = ns3::AddPs(time, PromptStepTime(scheduler, prompts % perStep, own));
    }
    const double withMessages =
        m_totals.computation > 0
            ? static_cast<double>(m_totals.inSteps) / static_cast<double>(m_totals.computation)
            : 1;
    return ns3::RoundToPs(static_cast<double>(time) * withMessages);
}

void
ServingInstance::Kick()
{
    if (!m_kicked)
    {
        m_kicked = true;
        ScheduleKick(0);
    }
}

void
ServingInstance::ScheduleKick(TimePs delay)
{
    m_ranks.front()->GetSys().Schedule(delay, &ServingInstance::Kicked, this);
}

void
ServingInstance::Kicked(void* argument)
{
    auto& instance = *static_cast<ServingInstance*>(argument);
    instance.m_kicked = false;
    instance.BeginSteps();
}

void
ServingInstance::BeginSteps()
{
    if (m_hasFailed || m_firstStageBusy || m_steps.size() >= m_pool.pp || BeginStep())
    {
        return;
    }
    for (const auto& scheduler : m_schedulers)
    {
        const TimePs now = Now();
        if (const auto wake = scheduler.GetNextWake(now))
        {
            ScheduleKick(*wake - now);
        }
    }
}

bool
ServingInstance::BeginStep()
{
    const TimePs now = Now();
    auto step = std::make_unique<ServingStep>();
    step->number = static_cast<uint32_t>(m_totals.steps);
    step->start = now;
    StepShape all;
    for (auto& scheduler : m_schedulers)
    {
        StepShape& shape = step->shapes.emplace_back();
        shape.window = m_pool.window;
        for (const BatchItem& item : step->items.emplace_back(scheduler.Form(now)))
        {
            shape.Add(item.before, item.count, item.isDecoding, item.sampled > 0, item.drafts);
            ++m_totals.sequences;
            if (item.load)
            {
                step->loads = true;
                item.load->OnArrival([this](uint32_t place) { m_ranks[place]->LoadArrived(); });
            }
        }
        all.tokens += shape.tokens;
        all.promptTokens += shape.promptTokens;
        all.decodingSequences += shape.decodingSequences;
    }
    if (all.tokens == 0)
    {
        return false;
    }
    PadToGraph(*step, all);
    step->kind = all.decodingSequences == 0 ? StepKind::Prefill
                 : all.promptTokens == 0    ? StepKind::Decode
                                            : StepKind::Mixed;
    uint64_t instanceTokens = 0;
    for (const StepShape& shape : step->shapes)
    {
        instanceTokens += shape.tokens;
    }
    const bool marksLayers = m_pool.role == InstanceRole::Prefill || step->loads;
    for (uint32_t stage = 0; stage < m_pool.pp; ++stage)
    {
        TimePs longest = 0; // of a replica
        for (StepShape& shape : step->shapes)
        {
            shape.instanceTokens = instanceTokens;
            shape.instanceDecoding = all.decodingSequences;
            auto& program = step->programs.emplace_back(m_cost.Program(stage, shape, marksLayers));
            if (stage == 0 && m_pool.stepOverhead > 0)
            {
                for (StepSegment& segment : program)
                {
                    segment.launched = ns3::AddPs(segment.launched, m_pool.stepOverhead);
                }
                StepSegment overhead;
                overhead.compute = m_pool.stepOverhead;
                program.insert(program.begin(), overhead);
            }
            longest = std::max(longest, ComputationOf(program));
        }
        step->computation = ns3::AddPs(step->computation, longest);
    }
    const uint32_t perStage = m_pool.tp * m_pool.dp;
    step->firstStageLeft = perStage;
    step->lastStageLeft = perStage;
    ++m_totals.steps;
    m_totals.promptTokens += all.promptTokens;
    m_firstStageBusy = true;
    if (m_steps.empty())
    {
        m_busySince = now;
    }
    ServingStep& begun = *m_steps.emplace_back(std::move(step));
    m_engine.StepBegan(*this, begun);
    for (uint32_t place = perStage; place < m_ranks.size(); ++place)
    {
        m_ranks[place]->Expect(begun);
    }
    for (uint32_t place = 0; place < perStage; ++place)
    {
        m_ranks[place]->Begin(begun);
    }
    return true;
}

void
ServingInstance::PadToGraph(ServingStep& step, const StepShape& all) const
{
    const auto& sizes = m_pool.captureSizes;
    uint64_t most = 0;
    for (const StepShape& shape : step.shapes)
    {
        most = std::max(most, shape.decodingSequences);
    }
    const auto size = std::lower_bound(sizes.begin(), sizes.end(), most);
    if (all.promptTokens > 0 || size == sizes.end())
    {
        return;
    }
    for (StepShape& shape : step.shapes)
    {
        shape.tokens = uint64_t{*size} * (1 + m_pool.speculation.tokens);
        shape.captured = true;
    }
}

void
ServingInstance::LayerComputed(const ServingStep& step, uint32_t place, uint32_t layer)
{
    m_engine.LayerComputed(*this, step, place, layer);
}

std::optional<TimePs>
ServingInstance::LoadedAt(const ServingStep& step, uint32_t place, uint32_t layer) const
{
    const uint32_t replica = ReplicaAt(place);
    const auto& ranks = m_schedulers[replica].GetTiers()->GetRanks();
    const auto& rank = *std::ranges::find(ranks, place, &CacheRank::place);
    TimePs loaded = 0;
    for (const BatchItem& item : step.items[replica])
    {
        const auto ready = item.load ? item.load->ReadyAt(rank, layer) : TimePs{0};
        if (!ready)
        {
            return std::nullopt;
        }
        loaded = std::max(loaded, *ready);
    }
    return loaded;
}

void
ServingInstance::StageEnded(ServingStep& step, uint32_t stage)
{
    if (stage == 0 && --step.firstStageLeft == 0)
    {
        m_firstStageBusy = false;
        Kick();
    }
    if (stage + 1 == m_pool.pp && --step.lastStageLeft == 0)
    {
        End(step);
    }
}

void
ServingInstance::End(ServingStep& step)
{
    const auto place =
        std::ranges::find_if(m_steps, [&step](const auto& each) { return each.get() == &step; });
    const std::unique_ptr<ServingStep> ended = std::move(*place);
    m_steps.erase(place);
    m_totals.inSteps += Now() - ended->start;
    m_totals.computation += ended->computation;
    if (m_steps.empty())
    {
        m_totals.busy += Now() - m_busySince;
    }
    for (const auto& items : ended->items)
    {
        for (const BatchItem& item : items)
        {
            m_totals.outputTokens +=
                m_engine.AnswersUsers(m_pool) && !m_hasFailed ? item.sampled : 0;
        }
    }
    m_engine.StepEnded(*this, *ended);
    Kick();
}

bool
ServingInstance::IsAlone(uint32_t stage) const
{
    return m_engine.GetPrivateLinks().IsAlone(m_number, stage);
}

bool
ServingInstance::OwnsLinks(uint32_t stage, std::span<const uint32_t> links) const
{
    return m_engine.GetPrivateLinks().Belong(links, m_number, stage);
}

uint32_t
ServingInstance::LayerOf(const ServingStep& step, const StepSegment& segment) const
{
    return m_engine.LayerOf(m_pool, step, segment);
}

const CommGroup&
ServingInstance::GetGroup(uint32_t place, GroupKind kind) const
{
    if (kind == GroupKind::Tp)
    {
        return m_tensorGroups[place / m_pool.tp];
    }
    const uint32_t stride = m_pool.ExpertStride();
    return m_expertGroups[StageAt(place) * stride + place % (m_pool.tp * m_pool.dp) % stride];
}

CollectiveRequest
ServingInstance::RequestOf(const ServingStep& step,
                           const StepSegment& segment,
                           uint32_t place) const
{
    CollectiveRequest request;
    request.op = segment.op;
    request.bytes = segment.bytes;
    if (segment.op != CollectiveOp::AllToAllV)
    {
        return request;
    }
    // Each replica spreads its tokens evenly over the experts' ranks, or gets them back.
    const uint32_t ranks = m_pool.ep;
    const uint32_t stride = m_pool.ExpertStride();
    const auto replicaOf = [&](uint32_t member) {
        return (place % (m_pool.tp * m_pool.dp) % stride + member * stride) / m_pool.tp;
    };
    const double perToken = m_pool.rows[segment.row].bytesPerToken / ranks;
    request.bytes = 0;
    request.bytesPerPair.reserve(std::size_t{ranks} * ranks);
    for (uint32_t from = 0; from < ranks; ++from)
    {
        uint64_t sent = 0;
        for (uint32_t to = 0; to < ranks; ++to)
        {
            const uint64_t tokens = step.shapes[replicaOf(segment.returns ? to : from)].tokens;
            const double bytes = std::ceil(perToken * static_cast<double>(tokens));
            sent += request.bytesPerPair.emplace_back(static_cast<uint64_t>(bytes));
        }
        request.bytes = std::max(request.bytes, sent);
    }
    return request;
}

uint64_t
ServingInstance::PipelineBytes(const ServingStep& step, uint32_t replica) const
{
    return std::max<uint64_t>(m_pool.pipelineBytesPerToken * step.shapes[replica].tokens, 1);
}

ServingRank::ServingRank(ServingEngine& engine, ServingInstance* instance, uint32_t place, Sys& sys)
    : m_engine(engine),
      m_instance(instance),
      m_place(place),
      m_sys(sys)
{
    if (m_instance)
    {
        m_stage = m_instance->StageAt(place);
        m_replica = m_instance->ReplicaAt(place);
        m_instance->SetRank(place, *this);
    }
}

void
ServingRank::Start()
{
    m_engine.Start(m_sys);
}

bool
ServingRank::Finished() const
{
    return m_finished;
}

std::vector<std::string>
ServingRank::DescribeWaits() const
{
    if (!m_instance)
    {
        return {"serves nothing"};
    }
    const auto& scheduler = m_instance->GetSchedulers()[m_replica];
    std::string line = fmt::format("instance {}, {}: {} sequences run and {} wait",
                                   m_instance->GetNumber(),
                                   ToString(m_instance->GetPool().role),
                                   scheduler.CountRunning(),
                                   scheduler.CountWaiting());
    if (m_step)
    {
        line += fmt::format("; in step {}, at row {}{}",
                            m_step->number,
                            m_instance->GetPool().rows[GetProgram()[m_next].row].name,
                            m_awaitsLoad ? ", which waits for blocks of the remote cache" : "");
    }
    return {line};
}

const std::vector<StepSegment>&
ServingRank::GetProgram() const
{
    return m_step->programs[m_stage * m_instance->GetPool().dp + m_replica];
}

void
ServingRank::Begin(ServingStep& step)
{
    m_step = &step;
    m_begun = m_sys.Now();
    m_next = 0;
    m_computed = false;
    const auto& program = GetProgram();
    const bool computes = !program.empty() && program.front().compute > 0;
    Continue();
    if (computes)
    {
        m_instance->RankBegan(step, m_stage);
    }
}

void
ServingRank::Expect(ServingStep& step)
{
    const auto& pool = m_instance->GetPool();
    const uint32_t before = m_place - pool.tp * pool.dp;
    const int source = m_engine.NetworkRank(
        m_instance->JobRankAt(m_instance->StageAt(before), m_replica, m_instance->ShardAt(before)));
    m_sys.ReceiveMessage(source,
                         m_instance->PipelineBytes(step, m_replica),
                         ServingEngine::PIPELINE_TAG,
                         [this, &step](TimePs) {
                             if (m_step)
                             {
                                 m_arrived.push_back(&step);
                                 return;
                             }
                             Begin(step);
                         });
}

void
ServingRank::Continue()
{
    const auto& program = GetProgram();
    while (m_next < program.size())
    {
        const StepSegment& segment = program[m_next];
        if (!m_computed && m_step->loads && AwaitsLoad())
        {
            return;
        }
        if (!m_computed && segment.compute > 0)
        {
            m_since = m_sys.Now();
            const TimePs compute = std::max(m_sys.GpuTime(segment.compute),
                                            ns3::AddPs(m_begun, segment.launched) - m_since);
            m_sys.CheckDelay(compute, m_sys.get_workload().GetLayerName(PositionOf(segment).layer));
            m_sys.Schedule(compute, &ServingRank::ComputeEnded, this);
            return;
        }
        if (segment.op != CollectiveOp::None)
        {
            Communicate(segment);
            return;
        }
        m_computed = false;
        ++m_next;
        if (segment.layer != UINT32_MAX)
        {
            m_instance->LayerComputed(*m_step, m_place, segment.layer);
        }
    }
    EndStage();
}

bool
ServingRank::AwaitsLoad()
{
    const auto [first, end] = m_instance->LayersOf(m_stage);
    const uint32_t layer = m_next == 0 ? first : GetProgram()[m_next - 1].layer + 1;
    if (m_next > 0 && (layer == 0 || layer == end))
    {
        return false; // no layer ended before this segment, or the last one
    }
    const auto loaded = m_instance->LoadedAt(*m_step, m_place, layer);
    m_awaitsLoad = !loaded;
    if (loaded && *loaded > m_sys.Now())
    {
        m_sys.Schedule(
            *loaded - m_sys.Now(),
            [](void* rank) { static_cast<ServingRank*>(rank)->Continue(); },
            this);
        return true;
    }
    return m_awaitsLoad;
}

void
ServingRank::LoadArrived()
{
    if (m_awaitsLoad)
    {
        m_awaitsLoad = false;
        Continue();
    }
}

void
ServingRank::ComputeEnded(void* argument)
{
    auto& rank = *static_cast<ServingRank*>(argument);
    if (rank.m_dropped > 0)
    {
        --rank.m_dropped;
        return;
    }
    const WorkloadPosition position = rank.PositionOf(rank.GetProgram()[rank.m_next]);
    rank.m_sys.get_observer().ComputeEnded({rank.m_sys.get_rank(),
                                            rank.m_sys.get_workload().GetLayerName(position.layer),
                                            position,
                                            rank.m_since,
                                            rank.m_sys.Now()});
    rank.m_computed = true;
    rank.Continue();
}

void
ServingRank::Communicate(const StepSegment& segment)
{
    m_since = m_sys.Now();
    const auto done = [this](CollectiveKey key) {
        const StepSegment& ended = GetProgram()[m_next];
        const WorkloadPosition position = PositionOf(ended);
        if (m_sys.Now() > m_since)
        {
            std::vector<AwaitedCollective> collectives;
            if (key)
            {
                collectives.push_back({*key, m_sys.Now()});
            }
            m_sys.get_observer().AwaitEnded({m_sys.get_rank(),
                                             m_sys.get_workload().GetLayerName(position.layer),
                                             position,
                                             ended.group,
                                             m_since,
                                             m_sys.Now(),
                                             m_since,
                                             collectives});
        }
        m_computed = false;
        ++m_next;
        if (ended.layer != UINT32_MAX)
        {
            m_instance->LayerComputed(*m_step, m_place, ended.layer);
        }
        Continue();
    };
    m_sys.generate_collective(m_instance->GetGroup(m_place, segment.group),
                              m_instance->RequestOf(*m_step, segment, m_place),
                              PositionOf(segment),
                              0,
                              done);
}

void
ServingRank::EndStage()
{
    ServingStep& step = *m_step;
    m_step = nullptr;
    const auto& pool = m_instance->GetPool();
    if (m_stage + 1 < pool.pp)
    {
        const int next = m_engine.NetworkRank(
            m_instance->JobRankAt(m_stage + 1, m_replica, m_instance->ShardAt(m_place)));
        m_sys.SendMessage(next,
                          m_instance->PipelineBytes(step, m_replica),
                          ServingEngine::PIPELINE_TAG,
                          {m_engine.GetPipelineLayer(), step.number, TrainingPhase::Forward},
                          {});
    }
    if (!m_arrived.empty())
    {
        ServingStep& following = *m_arrived.front();
        m_arrived.pop_front();
        Begin(following);
    }
    m_instance->StageEnded(step, m_stage); // may end the step
}

WorkloadPosition
ServingRank::PositionOf(const StepSegment& segment) const
{
    return {m_engine.LayerOf(m_instance->GetPool(), *m_step, segment),
            m_step->number,
            TrainingPhase::Forward};
}

void
ServingRank::Finish()
{
    m_finished = true;
    m_sys.FinishPass(0, true);
}

} // namespace AstraSim
