/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-store.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return the largest difference between two patterns' times, or @p limit + 1 if it is above that
TimePs
Distance(const std::vector<TimePs>& a, const std::vector<TimePs>& b, TimePs limit)
{
    TimePs distance = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
    {
        distance = std::max(distance, std::abs(a[i] - b[i]));
        if (distance > limit)
        {
            return limit + 1;
        }
    }
    return distance;
}

} // namespace

uint64_t
PartStore::BytesOf(const Entry& entry)
{
    constexpr uint64_t LIST_AND_MAP = 96; // their nodes, besides the entry itself
    return LIST_AND_MAP + sizeof(Entry) - sizeof(PartOutcome) + entry.outcome.MemoryBytes() +
           entry.times.size() * sizeof(TimePs);
}

PartStore::Entry*
PartStore::Find(const Digest& key, const std::vector<TimePs>& times, TimePs tolerance)
{
    const auto found = m_places.find(key);
    if (found == m_places.end())
    {
        return nullptr;
    }
    TimePs least = tolerance + 1;
    Entries::iterator nearest;
    for (const Entries::iterator& place : found->second.outcomes)
    {
        const TimePs distance = Distance(place->times, times, least - 1);
        if (distance < least)
        {
            least = distance;
            nearest = place;
        }
        if (least == 0)
        {
            break;
        }
    }
    if (least > tolerance)
    {
        return nullptr;
    }
    m_entries.splice(m_entries.begin(), m_entries, nearest);
    return &*nearest;
}

const std::vector<PartStore::Entries::iterator>&
PartStore::OutcomesOf(const Digest& key) const
{
    static const std::vector<Entries::iterator> none;
    const auto found = m_places.find(key);
    return found == m_places.end() ? none : found->second.outcomes;
}

std::optional<EndBounds>
PartStore::BoundEnds(const Digest& key, const std::vector<TimePs>& times) const
{
    const auto found = m_places.find(key);
    if (found == m_places.end() || found->second.isDistrusted)
    {
        return std::nullopt;
    }
    // Of a single operation, the first time is when it began.
    std::vector<StartsAndEnds> known;
    for (const Entries::iterator& entry : found->second.outcomes)
    {
        known.push_back({std::span(entry->times).subspan(1), entry->outcome.ends.front()});
    }
    return EndBounds(known, std::span(times).subspan(1));
}

void
PartStore::Distrust(const Digest& key)
{
    m_places[key].isDistrusted = true;
}

uint64_t
PartStore::UseAll(const Digest& key)
{
    const auto found = m_places.find(key);
    if (found == m_places.end())
    {
        return 0;
    }
    for (const Entries::iterator& entry : found->second.outcomes)
    {
        m_entries.splice(m_entries.begin(), m_entries, entry);
    }
    return ++found->second.uses;
}

const ns3::CarriedTraffic&
PartStore::GetTraffic(const Digest& key) const
{
    return m_places.at(key).outcomes.front()->outcome.traffic;
}

bool
PartStore::HasDraws(const Digest& key) const
{
    const auto& outcomes = OutcomesOf(key);
    return std::ranges::any_of(outcomes,
                               [](const auto& entry) { return entry->outcome.traffic.HasDraws(); });
}

PartStore::Entry*
PartStore::Put(const Digest& key, std::vector<TimePs> times, PartOutcome outcome)
{
    m_entries.push_front({key, std::move(times), std::move(outcome)});
    m_places[key].outcomes.push_back(m_entries.begin());
    m_bytes += BytesOf(m_entries.front());
    // The newest entry stays even if it exceeds the limit: the caller is about to read it.
    while (m_bytes > m_limit && m_entries.size() > 1)
    {
        ForgetLast();
    }
    return &m_entries.front();
}

void
PartStore::ForgetLast()
{
    const auto last = std::prev(m_entries.end());
    m_bytes -= BytesOf(*last);
    const auto like = m_places.find(last->key);
    std::erase(like->second.outcomes, last);
    if (like->second.outcomes.empty())
    {
        m_places.erase(like);
    }
    m_entries.pop_back();
    ++m_forgotten;
}

} // namespace AstraSim
