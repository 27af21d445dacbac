/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "gateway.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

Gateway::Gateway(const AdmissionLimits& limits, const std::vector<RequestClass>& classes)
    : m_limits(limits),
      m_classes(classes),
      m_loads(classes.size())
{
}

Gateway::Verdict
Gateway::Arrive(Sequence& sequence, TimePs now, const std::function<TimePs()>& predict)
{
    const RequestClass& its = m_classes[sequence.request->requestClass];
    Load& load = m_loads[sequence.request->requestClass];
    if (m_waiting >= m_limits.maxQueued || load.waiting >= its.maxQueued ||
        (m_limits.predictedFirstToken && predict() > *m_limits.predictedFirstToken))
    {
        return Verdict::Refuse;
    }
    ++m_waiting;
    ++load.waiting;
    if (m_limits.wait)
    {
        m_deadlines.emplace_back(ns3::AddPs(now, *m_limits.wait), &sequence);
    }
    if (load.forwarded >= its.maxRunning)
    {
        load.held.push_back(&sequence);
        return Verdict::Hold;
    }
    ++load.forwarded;
    return Verdict::Forward;
}

void
Gateway::Began(const Sequence& sequence)
{
    --m_waiting;
    --m_loads[sequence.request->requestClass].waiting;
}

Sequence*
Gateway::Ended(const Sequence& sequence)
{
    Load& load = m_loads[sequence.request->requestClass];
    if (const auto held = std::ranges::find(load.held, &sequence); held != load.held.end())
    {
        load.held.erase(held);
        return nullptr;
    }
    if (load.held.empty())
    {
        --load.forwarded;
        return nullptr;
    }
    Sequence* const next = load.held.front();
    load.held.pop_front();
    return next;
}

std::optional<TimePs>
Gateway::GetNextDrop()
{
    while (!m_deadlines.empty() && !Waits(*m_deadlines.front().second))
    {
        m_deadlines.pop_front();
    }
    return m_deadlines.empty() ? std::nullopt : std::optional(m_deadlines.front().first);
}

Sequence*
Gateway::Drop(TimePs now)
{
    const auto next = GetNextDrop();
    if (!next || *next > now)
    {
        return nullptr;
    }
    Sequence* const sequence = m_deadlines.front().second;
    m_deadlines.pop_front();
    sequence->isOver = true;
    Began(*sequence);
    return sequence;
}

} // namespace AstraSim
