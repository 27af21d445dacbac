/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "request-feed.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <unordered_map>

namespace AstraSim
{

RequestFeed::RequestFeed(std::vector<Sequence>& sequences, uint64_t users)
    : m_sequences(sequences),
      m_following(sequences.size(), UINT32_MAX),
      m_follows(sequences.size()),
      m_isClosed(users != UINT64_MAX),
      m_free(users)
{
    std::unordered_map<uint32_t, uint32_t> latest; // turn of each session
    for (uint32_t place = 0; place < sequences.size(); ++place)
    {
        const auto session = sequences[place].request->session;
        if (!session)
        {
            continue;
        }
        const auto [found, isFirst] = latest.try_emplace(*session, place);
        if (!isFirst)
        {
            m_following[found->second] = place;
            m_follows[place] = true;
            found->second = place;
        }
    }
}

void
RequestFeed::SkipTurns()
{
    while (m_next < m_sequences.size() && m_follows[m_next])
    {
        ++m_next;
    }
}

std::optional<TimePs>
RequestFeed::GetNext() const
{
    std::optional<TimePs> next;
    const auto consider = [&next](TimePs time) { next = std::min(next.value_or(time), time); };
    if (!m_turns.empty())
    {
        consider(m_turns.top().first);
    }
    if (m_next < m_sequences.size() && m_free > 0)
    {
        consider(m_sequences[m_next].arrival);
    }
    else if (m_next < m_sequences.size() && !m_thinking.empty())
    {
        consider(std::max(m_sequences[m_next].arrival, m_thinking.top()));
    }
    return next;
}

Sequence*
RequestFeed::Send(TimePs now)
{
    while (!m_thinking.empty() && m_thinking.top() <= now)
    {
        m_thinking.pop();
        ++m_free;
    }
    if (!m_turns.empty() && m_turns.top().first <= now)
    {
        Sequence& turn = m_sequences[m_turns.top().second];
        m_turns.pop();
        turn.arrival = now;
        return &turn;
    }
    if (m_next == m_sequences.size() || m_free == 0 || m_sequences[m_next].arrival > now)
    {
        return nullptr;
    }
    Sequence& sequence = m_sequences[m_next++];
    SkipTurns();
    if (m_isClosed)
    {
        --m_free;
        sequence.arrival = now;
    }
    return &sequence;
}

void
RequestFeed::Ended(const Sequence& sequence, TimePs now)
{
    const TimePs after = ns3::AddPs(now, sequence.request->think);
    const std::size_t turn = m_following[static_cast<std::size_t>(&sequence - m_sequences.data())];
    if (turn != UINT32_MAX)
    {
        m_turns.emplace(std::max(m_sequences[turn].arrival, after), turn);
    }
    else if (m_isClosed)
    {
        m_thinking.push(after);
    }
}

} // namespace AstraSim
