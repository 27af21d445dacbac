/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * FastForward: the pattern of a part, and what comes of it.
 */
#include "fast-forward-part.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace AstraSim
{

TimePs
FastForward::ShortestTime(const Operation& operation) const
{
    // Alone, an operation may be more than twice as fast as any that was seen.
    const auto known =
        m_config.tolerance == 0 ? m_soonest.end() : m_soonest.find(operation.Shape().digest);
    return known == m_soonest.end() ? 0 : known->second / 2;
}

void
FastForward::LearnTimes(const Part& part, const PartOutcome& outcome)
{
    for (std::size_t i = 0; i < part.byLikeness.size(); ++i)
    {
        const Operation& operation = *part.byLikeness[i];
        const auto& starts = operation.starts;
        const auto& ends = outcome.ends[i];
        if (!operation.HasBegun())
        {
            continue;
        }
        const TimePs last = *std::max_element(starts.begin(), starts.end()) - operation.Anchor();
        const TimePs shortest = *std::min_element(ends.begin(), ends.end()) - last;
        LearnTime(m_shortest, operation, shortest);
        LearnTime(m_soonest, operation, shortest);
    }
}

void
FastForward::LearnTime(TimeByShape& times, const Operation& operation, TimePs time)
{
    const auto [known, isNew] = times.try_emplace(operation.Shape().digest, time);
    known->second = std::max<TimePs>(std::min(known->second, time), 0);
}

PartPattern
FastForward::PatternOf(const Part& part)
{
    PartPattern pattern;
    for (const auto& operation : part.operations)
    {
        pattern.push_back({&operation->what, operation->starts});
    }
    return SinceFirstStart(std::move(pattern));
}

PartPattern
FastForward::SinceFirstStart(PartPattern pattern)
{
    TimePs first = INT64_MAX;
    for (const TimedOperation& timed : pattern)
    {
        for (const TimePs start : timed.starts)
        {
            first = start == NO_TIME ? first : std::min(first, start);
        }
    }
    for (TimedOperation& timed : pattern)
    {
        for (TimePs& start : timed.starts)
        {
            start = start == NO_TIME ? NO_TIME : start - first;
        }
    }
    return pattern;
}

void
FastForward::SortByLikeness(Part& part)
{
    std::vector<const OperationShape*> shapes;
    for (const auto& operation : part.operations)
    {
        shapes.push_back(&operation->Shape());
    }
    const std::vector<Digest> likeness = LikenessOf(shapes);
    std::vector<std::size_t> order(likeness.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&likeness](std::size_t a, std::size_t b) {
        return likeness[a] < likeness[b];
    });
    part.byLikeness.clear();
    for (const std::size_t number : order)
    {
        part.byLikeness.push_back(part.operations[number].get());
    }
}

TimePs
FastForward::ToleranceOf(const Part& part) const
{
    TimePs shortest = INT64_MAX;
    for (const Operation* operation : part.byLikeness)
    {
        const auto known = m_shortest.find(operation->Shape().digest);
        shortest = known == m_shortest.end() ? 0 : std::min(shortest, known->second);
    }
    return static_cast<TimePs>(m_config.tolerance * static_cast<double>(shortest));
}

TimePs
FastForward::EarliestStart(const Part& part) const
{
    const Operation& only = *part.operations.front();
    const auto known = m_shortest.find(only.Shape().digest);
    const bool matters = m_config.tolerance == 0 || part.operations.size() > 1 ||
                         known == m_shortest.end() || !NeedsAllRanks(only.what);
    return matters ? INT64_MIN : -known->second;
}

std::vector<TimePs>
FastForward::TimesOf(const Part& part) const
{
    const TimePs origin = part.byLikeness.front()->Anchor();
    const TimePs earliest = EarliestStart(part);
    std::vector<TimePs> times;
    for (const Operation* operation : part.byLikeness)
    {
        const TimePs anchor = operation->Anchor();
        times.push_back(anchor - origin);
        for (const TimePs start : operation->starts)
        {
            times.push_back(start == NO_TIME ? 0 : std::max(start - anchor, earliest));
        }
    }
    return times;
}

Digest
FastForward::KeyOf(const Part& part) const
{
    Digest key;
    for (const Operation* operation : part.byLikeness)
    {
        key.Add(operation->Shape().digest);
        for (const TimePs start : operation->starts)
        {
            key.Add(uint64_t{start == NO_TIME});
        }
    }
    if (part.byLikeness.size() == 1)
    {
        return key;
    }
    // Which links are the same.
    boost::unordered_flat_map<uint32_t, uint64_t> first; // link: operation and place where it was
    for (uint64_t number = 0; number < part.byLikeness.size(); ++number)
    {
        const auto& links = part.byLikeness[number]->Shape().links;
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
    return InOrderOfLikeness(part, m_patterns.Simulate(PatternOf(part)));
}

PartOutcome
FastForward::InOrderOfLikeness(const Part& part, PartOutcome outcome)
{
    const TimePs begin = part.Begin();
    boost::unordered_flat_map<const Operation*, std::vector<TimePs>> ends;
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        const Operation* operation = part.operations[i].get();
        const TimePs anchor = operation->Anchor();
        for (TimePs& end : outcome.ends[i])
        {
            end = end == NO_TIME ? NO_TIME : begin + end - anchor;
        }
        ends[operation] = std::move(outcome.ends[i]);
    }
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        outcome.ends[i] = std::move(ends[part.byLikeness[i]]);
    }
    return outcome;
}

FastForward::Address
FastForward::AddressOf(const Part& part) const
{
    Address address{KeyOf(part), TimesOf(part)};
    if (m_config.tolerance == 0)
    {
        for (const TimePs time : address.times)
        {
            address.key.Add(static_cast<uint64_t>(time));
        }
        address.times.clear();
    }
    return address;
}

const PartOutcome&
FastForward::Find(Part& part)
{
    auto [key, times] = AddressOf(part);
    if (const PartOutcome* drawn = FindIfVarying(part, key, times))
    {
        return *drawn;
    }
    const bool mayVary = MayVary(part) && m_store.AreFew(key) && m_store.HasDraws(key);
    PartStore::Entry* known = mayVary ? nullptr : m_store.Find(key, times, ToleranceOf(part));
    if (known)
    {
        part.wasSimulated = false;
        ++m_report.reuses;
        // The 1st, 2nd, 4th, 8th ... reuse of each.
        if (m_config.verifies && std::has_single_bit(++known->uses))
        {
            Verify(part, known->outcome);
        }
        return known->outcome;
    }
    if (const PartOutcome* inferred = Infer(part, key, times))
    {
        return *inferred;
    }
    return FindNew(part, key, std::move(times));
}

bool
FastForward::IsOneCollective(const Part& part)
{
    const Operation& first = *part.operations.front();
    return part.operations.size() == 1 && first.HasBegun() && NeedsAllRanks(first.what);
}

const PartOutcome*
FastForward::Infer(Part& part, const Digest& key, const std::vector<TimePs>& times)
{
    if (m_config.tolerance == 0 || !IsOneCollective(part) || m_store.HasDraws(key))
    {
        return nullptr;
    }
    const auto bounds = m_store.BoundEnds(key, times);
    auto ends = bounds ? bounds->Within(ToleranceOf(part)) : std::nullopt;
    if (!ends)
    {
        return nullptr;
    }
    m_inferred = {{std::move(*ends)}, m_store.GetTraffic(key)};
    part.wasSimulated = false;
    ++m_report.reuses;
    ++m_report.inferred;
    if (const uint64_t uses = m_store.UseAll(key); m_config.verifies && std::has_single_bit(uses))
    {
        Verify(part, m_inferred);
    }
    return &m_inferred;
}

const PartOutcome&
FastForward::FindNew(Part& part, const Digest& key, std::vector<TimePs> times)
{
    PartOutcome outcome = Simulate(part);
    if (m_config.tolerance > 0 && IsOneCollective(part))
    {
        const auto bounds = m_store.BoundEnds(key, times);
        if (bounds && bounds->Contradict(outcome.ends.front(), ToleranceOf(part)))
        {
            m_store.Distrust(key);
        }
    }
    PartStore::Entry* made = m_store.Put(key, std::move(times), std::move(outcome));
    LearnTimes(part, made->outcome);
    part.wasSimulated = true;
    part.simulatedWork += made->outcome.traffic.Work();
    m_report.simulatedWork += made->outcome.traffic.Work();
    ++m_report.simulations;
    GiveUpIfInVain();
    return made->outcome;
}

void
FastForward::SetGiveUpHandler(std::function<void()> handler)
{
    m_giveUp = std::move(handler);
}

void
FastForward::GiveUpIfInVain()
{
    constexpr uint64_t MOST = 3; // times what has come, or is about to come, of the run
    const uint64_t useful = m_report.carried.Work() + m_expectedWork;
    if (m_config.patience > 0 && !m_hasGivenUp &&
        m_report.simulatedWork > MOST * useful + m_config.patience)
    {
        m_hasGivenUp = true;
        m_giveUp();
    }
}

void
FastForward::Verify(const Part& part, const PartOutcome& outcome)
{
    const PartOutcome again = InOrderOfLikeness(part, m_patterns.SimulateAgain(PatternOf(part)));
    for (std::size_t i = 0; i < again.ends.size(); ++i)
    {
        for (std::size_t rank = 0; rank < again.ends[i].size(); ++rank)
        {
            const TimePs end = again.ends[i][rank];
            const TimePs reused = outcome.ends[i][rank];
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
