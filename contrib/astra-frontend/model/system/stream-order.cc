/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "stream-order.h"

namespace AstraSim
{

std::optional<StreamName>
StreamOrder::GetNext(const StreamLane& lane, uint64_t begun) const
{
    const auto found = m_sequences.find(lane);
    if (found == m_sequences.end())
    {
        return std::nullopt;
    }
    const auto& [first, entries, waiters] = found->second;
    const uint64_t place = begun - first;
    return place < entries.size() ? std::optional(entries[place].stream) : std::nullopt;
}

void
StreamOrder::Begin(const StreamLane& lane, uint64_t begun, const StreamName& stream, uint32_t ranks)
{
    auto& [first, entries, waiters] = m_sequences[lane];
    const uint64_t place = begun - first;
    if (place == entries.size())
    {
        entries.push_back({stream, 0});
        std::vector<std::function<void()>> called;
        called.swap(waiters);
        for (const auto& waiter : called)
        {
            waiter();
        }
    }
    ++entries[place].begunBy;
    while (!entries.empty() && entries.front().begunBy == ranks)
    {
        entries.pop_front();
        ++first;
    }
}

void
StreamOrder::WhenDecided(const StreamLane& lane, std::function<void()> waiter)
{
    m_sequences[lane].waiters.push_back(std::move(waiter));
}

std::size_t
StreamOrder::GetSize() const
{
    std::size_t size = 0;
    for (const auto& [lane, sequence] : m_sequences)
    {
        size += sequence.entries.size();
    }
    return size;
}

} // namespace AstraSim
