/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-steps.h"

namespace AstraSim
{

RankSteps::RankSteps(const StepOrder& order, uint32_t rank)
    : m_order(order),
      m_rank(rank)
{
    for (uint32_t sequence = 0; sequence < order.GetSequences(); ++sequence)
    {
        m_sequences.push_back({order.GetStepCount(rank, sequence)});
        m_left += m_sequences.back().steps;
    }
}

RankStep*
RankSteps::Begin(uint32_t index)
{
    Sequence& sequence = m_sequences[index];
    const uint32_t underWay = sequence.begun - sequence.ended;
    if (sequence.begun == sequence.steps || underWay == m_order.GetWindow())
    {
        return nullptr;
    }
    const FlowStep next = m_order.GetStep(m_rank, index, sequence.begun);
    if (next.afterAll && underWay > 0)
    {
        return nullptr;
    }
    if (m_free.empty())
    {
        m_free.push_back(&m_steps.emplace_back());
    }
    RankStep& step = *m_free.back();
    m_free.pop_back();
    ++sequence.begun;
    step = {next, nullptr, index};
    step.isUnderWay = true;
    return &step;
}

void
RankSteps::End(RankStep& step)
{
    ++m_sequences[step.sequence].ended;
    --m_left;
    step.isUnderWay = false;
    m_free.push_back(&step);
}

} // namespace AstraSim
