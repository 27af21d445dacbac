/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stage-in-step.h"

#include "astra-frontend/model/system/sys.h"
#include "serving-engine.h"
#include "serving-instance.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

// Ranks begin a step one by one, as messages from the stage before come, and each schedules the end
// of its first computation. If the last one begins in the same picosecond as the first, and AddUp()
// finds the times of all segments, the ranks drop those events (ServingRank::JoinStage()). The
// stage then has one event for each layer whose cache leaves, and one for the end of the step,
// where it tells observers of the whole step and lets all ranks go on.

namespace
{

constexpr std::size_t MOST_KNOWN = 1024; ///< collectives

} // namespace

StageInStep::StageInStep(ServingInstance& instance, uint32_t stage)
    : m_instance(instance),
      m_stage(stage)
{
}

const std::vector<StepSegment>&
StageInStep::ProgramOf(const ServingStep& step) const
{
    return step.programs[m_stage];
}

void
StageInStep::RankBegan(ServingStep& step)
{
    const TimePs now = m_instance.RankAt(m_stage, 0).GetSys().Now();
    if (m_beginning != &step || m_since != now)
    {
        m_beginning = &step;
        m_since = now;
        m_begun = 0;
    }
    if (++m_begun < m_instance.CountPlacesPerStage())
    {
        return;
    }
    m_beginning = nullptr;
    if (!MayBegin(step) || !AddUp(step))
    {
        return;
    }
    m_step = &step;
    for (uint32_t i = 0; i < m_begun; ++i)
    {
        m_instance.RankAt(m_stage, i).JoinStage();
    }
    m_nextMark = 0;
    ScheduleNext();
}

bool
StageInStep::MayBegin(const ServingStep& step) const
{
    const InstancePool& pool = m_instance.GetPool();
    const bool hasOneGroup = pool.dp == 1 && (pool.ep == 1 || pool.ExpertStride() == 1);
    return pool.tp > 1 && !step.loads && hasOneGroup &&
           m_instance.RankAt(m_stage, 0).GetSys().MayWorkInStep() && m_instance.IsAlone(m_stage);
}

const StageInStep::Known&
StageInStep::Find(const ServingStep& step, const StepSegment& segment)
{
    const uint64_t tokens = segment.op == CollectiveOp::AllToAllV ? step.shapes.front().tokens : 0;
    const auto [known, isNew] =
        m_known.try_emplace(Key{segment.row, segment.returns, segment.bytes, tokens});
    if (!isNew)
    {
        return known->second;
    }
    const uint32_t place = m_stage * m_instance.CountPlacesPerStage();
    Sys& sys = m_instance.RankAt(m_stage, 0).GetSys();
    auto plan = sys.get_ledger().FindPlan(m_instance.GetGroup(place, segment.group),
                                          m_instance.RequestOf(step, segment, place));
    const auto course = plan ? plan->FindInStep() : std::nullopt;
    if (course && m_instance.OwnsLinks(m_stage, course->links))
    {
        known->second = {std::move(plan), course->duration};
    }
    return known->second;
}

StageInStep::Part&
StageInStep::PartOf(const ServingStep& step, const StepSegment& segment)
{
    for (Part& part : m_parts)
    {
        const StepSegment& first = *part.first;
        if (first.op == segment.op &&
            (segment.op == CollectiveOp::None ||
             (first.row == segment.row && first.returns == segment.returns)))
        {
            return part;
        }
    }
    const Known* collective = segment.op == CollectiveOp::None ? nullptr : &Find(step, segment);
    return m_parts.emplace_back(Part{&segment, collective, m_instance.LayerOf(step, segment)});
}

bool
StageInStep::AddUp(const ServingStep& step)
{
    if (m_known.size() > MOST_KNOWN)
    {
        m_known.clear();
    }
    m_parts.clear();
    m_marks.clear();
    Sys& sys = m_instance.RankAt(m_stage, 0).GetSys();
    TimePs time = m_since;
    for (const StepSegment& segment : ProgramOf(step))
    {
        Part& part = PartOf(step, segment);
        if (part.collective && !part.collective->duration)
        {
            return false;
        }
        if (segment.compute > 0)
        {
            // As ServingRank::Continue().
            const TimePs compute =
                std::max(segment.compute, ns3::AddPs(m_since, segment.launched) - time);
            time = ns3::AddPs(time, compute);
            part.compute = ns3::AddPs(part.compute, compute);
        }
        if (part.collective)
        {
            time = ns3::AddPs(time, *part.collective->duration);
            ++part.count;
            part.end = time;
        }
        if (segment.layer != UINT32_MAX)
        {
            m_marks.push_back({time, segment.layer});
        }
    }
    m_marks.push_back({time, UINT32_MAX});
    sys.CheckDelay(time - m_since, sys.get_workload().GetLayerName(m_parts.front().layer));
    return true;
}

void
StageInStep::ScheduleNext()
{
    Sys& sys = m_instance.RankAt(m_stage, 0).GetSys();
    sys.Schedule(
        m_marks[m_nextMark].time - sys.Now(),
        [](void* stage) { static_cast<StageInStep*>(stage)->OnMark(); },
        this);
}

void
StageInStep::OnMark()
{
    const Mark mark = m_marks[m_nextMark++];
    const uint32_t ranks = m_instance.CountPlacesPerStage();
    if (mark.layer != UINT32_MAX)
    {
        for (uint32_t i = 0; i < ranks; ++i)
        {
            m_instance.LayerComputed(*m_step, m_stage * ranks + i, mark.layer);
        }
        ScheduleNext();
        return;
    }
    Tell();
    m_step = nullptr;
    for (uint32_t i = 0; i < ranks; ++i)
    {
        m_instance.RankAt(m_stage, i).EndStage();
    }
}

void
StageInStep::Tell() const
{
    const uint32_t places = m_instance.CountPlacesPerStage();
    Sys& sys = m_instance.RankAt(m_stage, 0).GetSys();
    const CommGroup& ranks = m_instance.GetGroup(m_stage * places, GroupKind::Tp);
    for (const Part& part : m_parts)
    {
        InStepRecord record{ranks.ranks,
                            sys.get_workload().GetLayerName(part.layer),
                            {part.layer, m_step->number, TrainingPhase::Forward},
                            part.compute};
        if (part.collective)
        {
            const StepSegment& segment = *part.first;
            record.group = &m_instance.GetGroup(m_stage * places, segment.group);
            record.op = segment.op;
            record.bytes = m_instance.RequestOf(*m_step, segment, m_stage * places).bytes;
            record.choice = &part.collective->plan->GetChoice();
            record.collectives = part.count;
            record.duration = *part.collective->duration;
            record.end = part.end;
            part.collective->plan->CountInStep(part.count);
        }
        sys.get_ledger().WorkedInStep(record);
    }
}

} // namespace AstraSim
