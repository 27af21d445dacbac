/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: the pattern of a part, and what comes of it.
 */
#include "fast-forward-part.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace AstraSim
{

TimePs
FastForward::ShortestTime(const Operation& operation) const
{
    const auto known = m_shortest.find(operation.shape->digest);
    return known == m_shortest.end() ? 0 : known->second / 2;
}

void
FastForward::LearnTimes(const Part& part, const PartOutcome& outcome)
{
    for (std::size_t i = 0; i < part.operations.size(); ++i)
    {
        const Operation& operation = *part.operations[i];
        const auto& starts = operation.starts;
        const auto& ends = outcome.ends[i];
        if (!operation.HasBegun())
        {
            continue;
        }
        const TimePs last = *std::max_element(starts.begin(), starts.end()) - operation.Anchor();
        const TimePs shortest = *std::min_element(ends.begin(), ends.end()) - last;
        const auto [known, isNew] = m_shortest.try_emplace(operation.shape->digest, shortest);
        known->second = std::max<TimePs>(std::min(known->second, shortest), 0);
    }
}

PartPattern
FastForward::PatternOf(const Part& part) const
{
    const TimePs begin = part.Begin();
    PartPattern pattern;
    for (const auto& operation : part.operations)
    {
        TimedOperation timed{&operation->what, operation->starts};
        for (TimePs& start : timed.starts)
        {
            start = start == NO_TIME ? NO_TIME : start - begin;
        }
        pattern.push_back(std::move(timed));
    }
    return pattern;
}

TimePs
FastForward::GrainOf(const Part& part) const
{
    TimePs shortest = INT64_MAX;
    for (const auto& operation : part.operations)
    {
        const auto known = m_shortest.find(operation->shape->digest);
        shortest = known == m_shortest.end() ? 0 : std::min(shortest, known->second);
    }
    const auto grain = static_cast<uint64_t>(m_config.grain * static_cast<double>(shortest));
    return static_cast<TimePs>(std::bit_floor(std::max<uint64_t>(grain, 1)));
}

TimePs
FastForward::EarliestStart(const Part& part) const
{
    const Operation& only = *part.operations.front();
    const auto known = m_shortest.find(only.shape->digest);
    const bool matters = m_config.grain == 0 || part.operations.size() > 1 ||
                         known == m_shortest.end() || !NeedsAllRanks(only.what.request.op);
    return matters ? INT64_MIN : -known->second;
}

Digest
FastForward::KeyOf(const Part& part) const
{
    const TimePs origin = part.operations.front()->Anchor();
    const TimePs grain = GrainOf(part);
    const auto add = [grain](Digest& key, TimePs time) {
        const TimePs half = time < 0 ? -grain / 2 : grain / 2;
        key.Add(static_cast<uint64_t>((time + half) / grain));
    };
    const TimePs earliest = EarliestStart(part);
    Digest key;
    for (const auto& operation : part.operations)
    {
        const TimePs anchor = operation->Anchor();
        key.Add(operation->shape->digest);
        add(key, anchor - origin);
        for (const TimePs start : operation->starts)
        {
            key.Add(uint64_t{start == NO_TIME});
            add(key, start == NO_TIME ? 0 : std::max(start - anchor, earliest));
        }
    }
    if (part.operations.size() == 1)
    {
        return key;
    }
    // Which links are the same.
    boost::unordered_flat_map<uint32_t, uint64_t> first; // link: operation and place where it was
    for (uint64_t number = 0; number < part.operations.size(); ++number)
    {
        const auto& links = part.operations[number]->shape->links;
        for (uint64_t place = 0; place < links.size(); ++place)
        {
            const auto [known, isNew] = first.try_emplace(links[place], number << 32 | place);
            if (!isNew)
            {
                key.Add(known->second);
                key.Add(number << 32 | place);
            }
        }
    }
    return key;
}

PartOutcome
FastForward::Simulate(const Part& part)
{
    PartOutcome outcome = m_side.Simulate(PatternOf(part));
    const TimePs begin = part.Begin();
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        const TimePs anchor = part.operations[i]->Anchor();
        for (TimePs& end : outcome.ends[i])
        {
            end = end == NO_TIME ? NO_TIME : begin + end - anchor;
        }
    }
    return outcome;
}

const PartOutcome&
FastForward::Find(Part& part)
{
    const Digest key = KeyOf(part);
    if (PartStore::Entry* known = m_store.Find(key))
    {
        part.wasSimulated = false;
        ++m_report.reuses;
        // The 1st, 2nd, 4th, 8th ... reuse of each.
        if (m_config.verifies && std::has_single_bit(++known->uses))
        {
            Verify(part, *known);
        }
        return known->outcome;
    }
    PartStore::Entry* made = m_store.Put(key, Simulate(part));
    LearnTimes(part, made->outcome);
    part.wasSimulated = true;
    part.simulatedWork += made->outcome.traffic.Work();
    m_report.simulatedWork += made->outcome.traffic.Work();
    ++m_report.simulations;
    return made->outcome;
}

void
FastForward::Verify(const Part& part, PartStore::Entry& entry)
{
    const PartOutcome again = Simulate(part);
    for (std::size_t i = 0; i < again.ends.size(); ++i)
    {
        for (std::size_t rank = 0; rank < again.ends[i].size(); ++rank)
        {
            const TimePs end = again.ends[i][rank];
            const TimePs reused = entry.outcome.ends[i][rank];
            if (end == NO_TIME && reused == NO_TIME)
            {
                continue;
            }
            const double error = static_cast<double>(std::abs(end - reused)) /
                                 static_cast<double>(std::max<TimePs>(end, 1));
            ++m_report.verified;
            m_errorSum += error;
            m_report.largestError = std::max(m_report.largestError, error);
        }
    }
}

} // namespace AstraSim
