/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-store.h"

#include <algorithm>
#include <cmath>
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

/// @return the last end
TimePs
LengthOf(const PartOutcome& outcome)
{
    TimePs last = 0;
    for (const auto& ends : outcome.ends)
    {
        last = ends.empty() ? last : std::max(last, *std::max_element(ends.begin(), ends.end()));
    }
    return last;
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

bool
PartStore::Varies(const Digest& key, double share) const
{
    constexpr std::size_t FEWEST = 4;
    const auto found = m_places.find(key);
    if (found == m_places.end() || found->second.size() < FEWEST)
    {
        return false;
    }
    TimePs shortest = INT64_MAX;
    TimePs longest = 0;
    for (const Entries::iterator& entry : found->second)
    {
        shortest = std::min(shortest, entry->length);
        longest = std::max(longest, entry->length);
    }
    return static_cast<double>(longest - shortest) > share * static_cast<double>(longest);
}

std::optional<double>
PartStore::MeanError(const Digest& key) const
{
    // Those that follow each other hang together; sums of several hardly do.
    constexpr std::size_t BATCHES = 16;
    constexpr std::size_t FEWEST = 4; // in each
    const auto found = m_places.find(key);
    if (found == m_places.end() || found->second.size() < FEWEST * BATCHES)
    {
        return std::nullopt;
    }
    const std::size_t each = found->second.size() / BATCHES;
    auto next = found->second.end() - static_cast<std::ptrdiff_t>(BATCHES * each);
    double sum = 0;
    double squares = 0;
    for (std::size_t batch = 0; batch < BATCHES; ++batch)
    {
        double length = 0;
        for (std::size_t i = 0; i < each; ++i, ++next)
        {
            length += static_cast<double>((*next)->length) / static_cast<double>(each);
        }
        sum += length;
        squares += length * length;
    }
    const double mean = sum / BATCHES;
    const double variance = std::max(0.0, squares / BATCHES - mean * mean) / (BATCHES - 1);
    return mean > 0 ? std::sqrt(variance) / mean : 0;
}

PartStore::Entry*
PartStore::Draw(const Digest& key)
{
    const auto found = m_places.find(key);
    if (found == m_places.end())
    {
        return nullptr;
    }
    const Entries::iterator drawn =
        *std::min_element(found->second.begin(),
                          found->second.end(),
                          [](const auto& a, const auto& b) { return a->uses < b->uses; });
    m_entries.splice(m_entries.begin(), m_entries, drawn);
    return &*drawn;
}

PartStore::Entry*
PartStore::Put(const Digest& key, std::vector<TimePs> times, PartOutcome outcome)
{
    const TimePs length = LengthOf(outcome);
    m_entries.push_front({key, std::move(times), std::move(outcome), length});
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
