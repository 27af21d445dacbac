/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "part-store.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numeric>
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

TimePs
SpreadOf(const PartOutcome& outcome)
{
    if (outcome.ends.empty() || outcome.ends.front().empty())
    {
        return 0;
    }
    const auto [first, last] =
        std::minmax_element(outcome.ends.front().begin(), outcome.ends.front().end());
    return *last - *first;
}

constexpr std::size_t BATCHES = 16;
using Batch = std::array<double, BATCHES>::const_iterator;

/// @return the standard error of the mean of some values, relative to it
double
ErrorOfMean(Batch begin, Batch end)
{
    const auto count = static_cast<double>(end - begin);
    const double mean = std::accumulate(begin, end, 0.0) / count;
    const double squares = std::inner_product(begin, end, begin, 0.0) / count;
    const double variance = std::max(0.0, squares - mean * mean) / (count - 1);
    return mean > 0 ? std::sqrt(variance) / mean : 0;
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
PartStore::AreFew(const Digest& key) const
{
    return OutcomesOf(key).size() < FEW;
}

bool
PartStore::Varies(const Digest& key, double share) const
{
    const auto& outcomes = OutcomesOf(key);
    if (outcomes.size() < FEW)
    {
        return false;
    }
    const auto [shortest, longest] =
        std::minmax_element(outcomes.begin(), outcomes.end(), [](const auto& a, const auto& b) {
            return a->length < b->length;
        });
    const auto most = static_cast<double>((*longest)->length);
    return most - static_cast<double>((*shortest)->length) > share * most;
}

bool
PartStore::HasDraws(const Digest& key) const
{
    const auto& outcomes = OutcomesOf(key);
    return std::any_of(outcomes.begin(), outcomes.end(), [](const auto& entry) {
        return entry->outcome.traffic.HasDraws();
    });
}

PartStore::Spreads
PartStore::GetSpreads(const Digest& key) const
{
    std::vector<TimePs> spreads;
    for (const Entries::iterator& entry : OutcomesOf(key))
    {
        spreads.push_back(entry->spread);
    }
    if (spreads.empty())
    {
        return {};
    }
    const auto middle = spreads.begin() + static_cast<std::ptrdiff_t>(spreads.size() / 2);
    std::nth_element(spreads.begin(), middle, spreads.end());
    return {*middle, *std::max_element(middle, spreads.end())};
}

std::optional<PartStore::Steady>
PartStore::FindSteady(const Digest& key, std::size_t fewest) const
{
    // Those that follow each other hang together; sums of several hardly do.
    const auto& outcomes = OutcomesOf(key);
    if (outcomes.size() < fewest * BATCHES)
    {
        return std::nullopt;
    }
    const std::size_t each = outcomes.size() / BATCHES;
    const std::size_t rest = outcomes.size() % BATCHES;
    std::array<double, BATCHES> means{};
    for (std::size_t i = 0; i < BATCHES * each; ++i)
    {
        means[i / each] +=
            static_cast<double>(outcomes[rest + i]->length) / static_cast<double>(each);
    }
    const double whole = ErrorOfMean(means.begin(), means.end());
    Steady best{0, whole};
    for (std::size_t batch = 1; batch <= BATCHES / 2; ++batch)
    {
        const double error = ErrorOfMean(means.begin() + batch, means.end());
        if (error < whole / 2 && error < best.error)
        {
            best = {rest + batch * each, error};
        }
    }
    return best;
}

PartStore::Entry*
PartStore::Draw(const Digest& key, std::size_t first)
{
    const auto& outcomes = OutcomesOf(key);
    if (outcomes.size() <= first)
    {
        return nullptr;
    }
    const Entries::iterator drawn =
        *std::min_element(outcomes.begin() + static_cast<std::ptrdiff_t>(first),
                          outcomes.end(),
                          [](const auto& a, const auto& b) { return a->uses < b->uses; });
    m_entries.splice(m_entries.begin(), m_entries, drawn);
    return &*drawn;
}

PartStore::Entry*
PartStore::Put(const Digest& key, std::vector<TimePs> times, PartOutcome outcome)
{
    const TimePs length = LengthOf(outcome);
    const TimePs spread = SpreadOf(outcome);
    m_entries.push_front({key, std::move(times), std::move(outcome), length, spread});
    m_places[key].outcomes.push_back(m_entries.begin());
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
    std::erase(like->second.outcomes, last);
    if (like->second.outcomes.empty())
    {
        m_places.erase(like);
    }
    m_entries.pop_back();
    ++m_forgotten;
}

} // namespace AstraSim
