/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wait-parts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace AstraSim
{

void
WaitParts::CollectiveEnded(const CollectiveRecord& record)
{
    RunObservers::CollectiveEnded(record);
    if (record.isMessage)
    {
        return;
    }
    if (m_ended.size() >= m_forgetAt)
    {
        Forget();
    }
    m_ended.insert_or_assign(record.key,
                             Ended{record.op,
                                   record.lastJoin,
                                   record.rootJoin,
                                   record.end - record.choice->hidden,
                                   record.group,
                                   record.members});
    if (auto held = m_held.extract(record.key))
    {
        for (Held& wait : held.mapped())
        {
            PassOnOrHold(std::move(wait));
        }
    }
}

void
WaitParts::ComputeEnded(const ComputeRecord& record)
{
    RunObservers::ComputeEnded(record);
    SawUntil(record.rank, record.end);
}

void
WaitParts::AwaitEnded(const AwaitRecord& record)
{
    PassOnOrHold({record,
                  std::string(record.layer),
                  {record.collectives.begin(), record.collectives.end()},
                  std::max(record.sent, record.start)});
    SawUntil(record.rank, record.end);
}

void
WaitParts::RankFinished(int rank, TimePs now)
{
    RunObservers::RankFinished(rank, now);
    SawUntil(rank, std::numeric_limits<TimePs>::max());
}

TimePs
WaitParts::Ended::ReachedFor(TimePs partEnd) const
{
    // All data come from the root, so a wait reaches back to its join; ranks between may join
    // later.
    if (op == CollectiveOp::Broadcast || op == CollectiveOp::Scatter)
    {
        return rootJoin;
    }
    // A rank that was done before the last rank joined did not depend on it.
    return lastJoin <= partEnd ? lastJoin : 0;
}

void
WaitParts::PassOnOrHold(Held wait)
{
    while (!wait.left.empty())
    {
        const auto [key, partEnd] = wait.left.back();
        const auto ended = m_ended.find(key);
        if (ended == m_ended.end())
        {
            m_held[key].push_back(std::move(wait));
            return;
        }
        wait.reached = std::max(wait.reached, ended->second.ReachedFor(partEnd));
        wait.left.pop_back();
    }
    PassOn(wait);
}

void
WaitParts::PassOn(const Held& wait)
{
    const AwaitRecord& told = wait.record;
    WaitRecord part{told.rank,
                    wait.layer,
                    told.position,
                    told.group,
                    WaitReason::OtherRanks,
                    told.start,
                    std::min(wait.reached, told.end)};
    if (part.end > part.start)
    {
        RunObservers::WaitEnded(part);
    }
    part.reason = WaitReason::Collective;
    part.start = part.end;
    part.end = told.end;
    if (part.end > part.start)
    {
        RunObservers::WaitEnded(part);
    }
}

void
WaitParts::SawUntil(int rank, TimePs time)
{
    TimePs& seen = m_sawUntil[rank];
    seen = std::max(seen, time);
}

void
WaitParts::Forget()
{
    std::erase_if(m_ended, [this](const auto& entry) {
        const Ended& ended = entry.second;
        const auto sawIt = [this, &ended](int rank) {
            const auto seen = m_sawUntil.find(rank);
            return seen != m_sawUntil.end() && seen->second >= ended.end;
        };
        return std::ranges::count_if(ended.group->ranks, sawIt) >= ended.members;
    });
    m_forgetAt = std::max<std::size_t>(1024, 2 * m_ended.size());
}

void
WaitParts::Finish()
{
    for (const auto& [key, waits] : std::exchange(m_held, {}))
    {
        for (const Held& wait : waits)
        {
            PassOn(wait);
        }
    }
}

} // namespace AstraSim
