/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-store.h"

#include <algorithm>
#include <cstdlib>
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
    for (const Entries::iterator& place : found->second)
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

PartStore::Entry*
PartStore::Put(const Digest& key, std::vector<TimePs> times, PartOutcome outcome)
{
    m_entries.push_front({key, std::move(times), std::move(outcome)});
    m_places[key].push_back(m_entries.begin());
    m_bytes += BytesOf(m_entries.front());
    // The newest stays whatever its size: who put it there is about to read it.
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
    std::erase(like->second, last);
    if (like->second.empty())
    {
        m_places.erase(like);
    }
    m_entries.pop_back();
    ++m_forgotten;
}

} // namespace AstraSim
