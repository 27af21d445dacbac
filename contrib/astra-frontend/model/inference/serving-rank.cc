/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-rank.h"

#include "astra-frontend/model/system/sys.h"
#include "serving-engine.h"

#include <fmt/core.h>

namespace AstraSim
{

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
        line += fmt::format("; in step {}, at row {}",
                            m_step->number,
                            m_instance->GetPool().rows[GetProgram()[m_next].row].name);
    }
    return {line};
}

const std::vector<StepSegment>&
ServingRank::GetProgram() const
{
    return m_step->programs[m_stage * m_instance->GetPool().ep + m_replica];
}

void
ServingRank::Begin(ServingStep& step)
{
    m_step = &step;
    m_next = 0;
    m_computed = false;
    Continue();
}

void
ServingRank::Expect(ServingStep& step)
{
    const auto& pool = m_instance->GetPool();
    const uint32_t before = m_place - pool.tp * pool.ep;
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
        if (!m_computed && segment.compute > 0)
        {
            m_since = m_sys.Now();
            m_sys.CheckDelay(segment.compute,
                             m_sys.get_workload().GetLayerName(PositionOf(segment).layer));
            m_sys.Schedule(segment.compute, &ServingRank::ComputeEnded, this);
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

void
ServingRank::ComputeEnded(void* argument)
{
    auto& rank = *static_cast<ServingRank*>(argument);
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
    const auto done = [this] {
        const StepSegment& ended = GetProgram()[m_next];
        const WorkloadPosition position = PositionOf(ended);
        if (m_sys.Now() > m_since)
        {
            m_sys.get_observer().WaitEnded({m_sys.get_rank(),
                                            m_sys.get_workload().GetLayerName(position.layer),
                                            position,
                                            ended.group,
                                            WaitReason::Collective,
                                            m_since,
                                            m_sys.Now()});
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
                              m_instance->RequestOf(*m_step, segment),
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
    m_sys.get_observer().PassFinished(m_sys.get_rank(), 0, m_sys.Now());
    m_sys.get_observer().RankFinished(m_sys.get_rank(), m_sys.Now());
    m_sys.get_network().NotifyFinished();
}

} // namespace AstraSim
