/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All requests are as much work, and those at hand advance alike, so they are done in the order of
 * arrival: a request that comes when each has got E is done when each has got E + work.
 */
#include "front-end.h"

#include "ns3/clock-range.h"

#include <algorithm>

namespace AstraSim
{

FrontEnd::FrontEnd(TimePs work, TimePs latency, uint32_t servers)
    : m_work(work),
      m_latency(latency),
      m_servers(servers)
{
}

TimePs
FrontEnd::TimeOf(TimePs work) const
{
    const double sharing = static_cast<double>(m_atHand.size()) / m_servers;
    return sharing <= 1 ? work : ns3::RoundToPs(static_cast<double>(work) * sharing);
}

void
FrontEnd::Advance(TimePs now)
{
    while (!m_atHand.empty())
    {
        const TimePs left = m_atHand.front().first - m_each;
        const TimePs done = ns3::AddPs(m_updated, TimeOf(left));
        if (done > now)
        {
            const double sharing = std::max(1.0, static_cast<double>(m_atHand.size()) / m_servers);
            m_each += static_cast<TimePs>(static_cast<double>(now - m_updated) / sharing);
            break;
        }
        m_each = m_atHand.front().first;
        m_updated = done;
        m_through.emplace(ns3::AddPs(done, m_latency), m_atHand.front().second);
        m_atHand.pop();
    }
    m_updated = now;
}

void
FrontEnd::Add(Sequence& sequence, TimePs now)
{
    Advance(now);
    m_atHand.emplace(ns3::AddPs(m_each, m_work), &sequence);
}

void
FrontEnd::SetServers(uint32_t servers, TimePs now)
{
    Advance(now);
    m_servers = servers;
}

std::optional<TimePs>
FrontEnd::GetNext() const
{
    std::optional<TimePs> next;
    if (!m_atHand.empty())
    {
        next = ns3::AddPs(m_updated, TimeOf(m_atHand.front().first - m_each));
    }
    if (!m_through.empty())
    {
        next = std::min(next.value_or(m_through.front().first), m_through.front().first);
    }
    return next;
}

Sequence*
FrontEnd::Take(TimePs now)
{
    Advance(now);
    if (m_through.empty() || m_through.front().first > now)
    {
        return nullptr;
    }
    Sequence* const sequence = m_through.front().second;
    m_through.pop();
    return sequence;
}

} // namespace AstraSim
