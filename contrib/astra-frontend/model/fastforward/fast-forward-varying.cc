/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: collectives that take another time whenever they come.
 */
#include "fast-forward-part.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return @p starts, counted from the last of them
std::vector<TimePs>
BesideTheLast(std::vector<TimePs> starts)
{
    const TimePs last = *std::max_element(starts.begin(), starts.end());
    for (TimePs& start : starts)
    {
        start -= last;
    }
    return starts;
}

} // namespace

bool
FastForward::MayVary(const Part& part) const
{
    return m_config.drawError > 0 && m_repeating && IsOneCollective(part);
}

FastForward::Crowding
FastForward::CrowdingOf(const Digest& key, const std::vector<TimePs>& gaps) const
{
    if (gaps.empty())
    {
        return Crowding::None;
    }
    // Four times what has been seen is taken for what may come.
    const PartStore::Spreads spreads = m_store.GetSpreads(key);
    const TimePs gap = *std::min_element(gaps.begin(), gaps.end());
    return spreads.median >= gap        ? Crowding::Steady
           : spreads.largest >= gap / 4 ? Crowding::MayCome
                                        : Crowding::None;
}

Digest
FastForward::KindOf(Digest key, const std::vector<TimePs>& gaps)
{
    key.Add(VaryingOperations::ClassOf(gaps));
    return key;
}

std::optional<std::vector<TimePs>>
FastForward::FindGapsIfVarying(const Part& part, const Digest& key)
{
    if (!MayVary(part))
    {
        return std::nullopt;
    }
    const bool varies = m_store.Varies(key, m_config.drawError);
    if (!varies && !m_store.HasDraws(key))
    {
        return std::nullopt;
    }
    const Operation& only = *part.operations.front();
    std::vector<TimePs> gaps = m_varying.GapsOf(only.NameOfShape(), only.starts, ToleranceOf(part));
    return varies || CrowdingOf(key, gaps) != Crowding::None ? std::optional(std::move(gaps))
                                                             : std::nullopt;
}

const PartOutcome*
FastForward::FindIfVarying(Part& part, const Digest& key, const std::vector<TimePs>& times)
{
    const auto gaps = FindGapsIfVarying(part, key);
    return gaps ? &FindVarying(part, key, times, *gaps) : nullptr;
}

const PartOutcome&
FastForward::FindVarying(Part& part,
                         const Digest& key,
                         const std::vector<TimePs>& times,
                         const std::vector<TimePs>& gaps)
{
    const Digest kind = KindOf(key, gaps);
    PartStore::Entry* found = FindDrawn(kind, gaps);
    if (!found)
    {
        found = SimulateVarying(part, kind, times, gaps);
    }
    part.wasSimulated = found->uses++ == 0;
    if (part.wasSimulated)
    {
        part.simulatedWork += found->outcome.traffic.Work();
    }
    else
    {
        ++m_report.reuses;
        ++m_report.draws;
    }
    return found->outcome;
}

std::optional<PartStore::Steady>
FastForward::FindKnownMean(const Digest& key, const std::vector<TimePs>& gaps) const
{
    // Ranks that are in step until a rare event are simulated for longer: it may come.
    constexpr std::size_t FEWEST_IN_STEP = 32;
    const bool mayCome = CrowdingOf(key, gaps) == Crowding::MayCome;
    const auto steady = m_store.FindSteady(key, mayCome ? FEWEST_IN_STEP : FEWEST);
    return steady && steady->error <= m_config.drawError ? steady : std::nullopt;
}

PartStore::Entry*
FastForward::FindDrawn(const Digest& key, const std::vector<TimePs>& gaps)
{
    const auto steady = FindKnownMean(key, gaps);
    if (!steady)
    {
        return nullptr;
    }
    m_report.drawError = std::max(m_report.drawError, steady->error);
    // Outcomes come in the order in which they were simulated, and all equally often.
    return m_store.Draw(key, steady->first);
}

PartStore::Entry*
FastForward::SimulateVarying(Part& part,
                             const Digest& key,
                             const std::vector<TimePs>& times,
                             const std::vector<TimePs>& gaps)
{
    ++m_report.simulations;
    PartOutcome outcome = gaps.empty() ? Simulate(part) : GoOn(part, key, gaps);
    LearnSoonest(*part.operations.front(), outcome);
    m_report.simulatedWork += outcome.traffic.Work();
    return m_store.Put(key, times, std::move(outcome));
}

void
FastForward::LearnSoonest(const Operation& operation, const PartOutcome& outcome)
{
    const auto& ends = outcome.ends.front();
    LearnTime(m_soonest, operation, *std::min_element(ends.begin(), ends.end()));
}

PartOutcome
FastForward::GoOn(const Part& part, const Digest& key, const std::vector<TimePs>& gaps)
{
    const Operation& only = *part.operations.front();
    const bool goesOn = m_ahead.number && m_ahead.number == m_repeating->GetRepetition() &&
                        m_ahead.key == key && m_ahead.starts == BesideTheLast(only.starts);
    PartRound round =
        goesOn ? m_repeating->GoOn() : m_repeating->Repeat(PatternOf(part).front(), gaps);
    std::vector<TimePs> next = round.outcome.ends.front();
    for (std::size_t rank = 0; rank < next.size(); ++rank)
    {
        next[rank] += gaps[rank];
    }
    m_ahead = {m_repeating->GetRepetition(), key, BesideTheLast(std::move(next))};
    const TimePs last = *std::max_element(round.starts.begin(), round.starts.end());
    for (TimePs& end : round.outcome.ends.front())
    {
        end -= last;
    }
    return std::move(round.outcome);
}

} // namespace AstraSim
