/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rank-waits.h"

#include "sys.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

RankWaits::RankWaits(Sys& sys)
    : m_sys(sys)
{
}

void
RankWaits::Begin(uint64_t id,
                 const WorkloadPosition& position,
                 GroupKind group,
                 std::span<const uint64_t> after)
{
    if (m_isIdle && m_running.empty())
    {
        // No communication is under way, so later waits cannot reach back before now.
        Tell(after, m_sys.Now());
        m_since = m_sys.Now();
        m_ended.clear();
    }
    Communication begun{position, group, m_sys.Now(), {}};
    std::ranges::copy_if(after, std::back_inserter(begun.after), [this](uint64_t other) {
        return m_ended.contains(other);
    });
    m_running.emplace(id, std::move(begun));
}

void
RankWaits::End(uint64_t id, CollectiveKey key)
{
    End(id, key, 0);
}

void
RankWaits::EndMessage(uint64_t id, TimePs sent)
{
    End(id, std::nullopt, sent);
}

void
RankWaits::End(uint64_t id, CollectiveKey key, TimePs sent)
{
    auto ended = m_running.extract(id);
    if (m_isIdle)
    {
        ended.mapped().end = m_sys.Now();
        ended.mapped().key = key;
        ended.mapped().sent = sent;
        m_ended.insert(std::move(ended));
    }
}

void
RankWaits::Idle()
{
    if (!m_isIdle)
    {
        m_isIdle = true;
        m_since = m_sys.Now();
    }
}

TimePs
RankWaits::GoOn(std::span<const uint64_t> after, TimePs when)
{
    if (!m_isIdle)
    {
        return when;
    }
    when = std::max(when, m_since);
    Tell(after, when);
    m_isIdle = false;
    m_ended.clear();
    return when;
}

RankWaits::Awaited
RankWaits::Find(std::span<const uint64_t> ids) const
{
    Awaited found;
    for (const uint64_t id : ids)
    {
        if (const auto ended = m_ended.find(id); ended != m_ended.end())
        {
            found.push_back(&ended->second);
        }
    }
    return found;
}

RankWaits::Awaited
RankWaits::EndedUntil(TimePs time) const
{
    Awaited found;
    for (const auto& [id, communication] : m_ended)
    {
        if (communication.begin < time && communication.end <= time)
        {
            found.push_back(&communication);
        }
    }
    return found;
}

void
RankWaits::Tell(std::span<const uint64_t> after, TimePs end) const
{
    struct Wait
    {
        TimePs start;
        TimePs end;
        const Communication* last;
        Awaited awaited;
    };

    const Communication unknown{{}, GroupKind::Custom, m_since, {}};
    std::vector<Wait> waits; // the last one first
    Awaited awaited = Find(after);
    while (end > m_since)
    {
        if (awaited.empty())
        {
            awaited = EndedUntil(end);
        }
        if (awaited.empty())
        {
            waits.push_back({m_since, end, &unknown, {}});
            break;
        }
        const Communication& last =
            **std::ranges::max_element(awaited, {}, [](const Communication* each) {
                return std::pair(each->end, -each->begin);
            });
        const TimePs start = std::max(last.begin, m_since);
        waits.push_back({start, end, &last, std::move(awaited)});
        end = start;
        awaited = Find(last.after);
    }
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait)
    {
        TellOne(wait->start, wait->end, *wait->last, wait->awaited);
    }
}

void
RankWaits::TellOne(TimePs start,
                   TimePs end,
                   const Communication& last,
                   const Awaited& awaited) const
{
    if (start == end)
    {
        return;
    }
    TimePs sent = start;
    std::vector<AwaitedCollective> collectives;
    for (const Communication* each : awaited)
    {
        if (each->key && each->end > start)
        {
            collectives.push_back({*each->key, each->end});
        }
        else if (each->end > start)
        {
            sent = std::max(sent, each->sent);
        }
    }
    m_sys.get_observer().AwaitEnded({m_sys.get_rank(),
                                     m_sys.get_workload().GetLayerName(last.position.layer),
                                     last.position,
                                     last.group,
                                     start,
                                     end,
                                     sent,
                                     collectives});
}

} // namespace AstraSim
