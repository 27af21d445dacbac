/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: collectives whose packets are marked at random run in place until it is known what
 * to reuse.
 */
#include "fast-forward-part.h"

#include <utility>

namespace AstraSim
{

bool
FastForward::IsToBeSampled(const Operation& operation)
{
    const auto found = m_sampled.find(operation.NameOfShape());
    if (found == m_sampled.end() || found->second.isKnown)
    {
        return false;
    }
    // From then on for good: on a network that lies idle for a while, rates would recover.
    Sampled& sampled = found->second;
    if (sampled.varies)
    {
        Part& part = *operation.part;
        SortByLikeness(part);
        const std::vector<TimePs> gaps =
            m_varying.ExpectGaps(found->first, operation.starts, ToleranceOf(part));
        sampled.isKnown = m_store.FindSteady(KindOf(sampled.key, gaps), FEWEST).has_value();
    }
    return !sampled.isKnown;
}

void
FastForward::Sample(Operation& operation, const ns3::CarriedTraffic& traffic)
{
    KeepNow();
    Part& part = *operation.part;
    SortByLikeness(part);
    PartOutcome outcome = OutcomeOf(operation, traffic);
    auto [key, times] = AddressOf(part);
    Sampled& sampled = m_sampled[operation.NameOfShape()];
    sampled.key = key;
    if (const auto gaps = FindGapsIfVarying(part, key))
    {
        sampled.varies = true;
        LearnSoonest(operation, outcome);
        m_store.Put(KindOf(key, *gaps), std::move(times), std::move(outcome))->uses = 1;
        return;
    }
    const bool areEnough = !MayVary(part) || !m_store.AreFew(key);
    sampled.isKnown = areEnough && m_store.Find(key, times, ToleranceOf(part));
    if (!sampled.isKnown)
    {
        LearnTimes(part, m_store.Put(key, std::move(times), std::move(outcome))->outcome);
    }
}

} // namespace AstraSim
