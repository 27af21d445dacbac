/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wait-parts.h"

#include <algorithm>
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
    const Starts starts{record.op, record.lastStart, record.rootStart};
    if (const auto held = m_held.extract(record.key))
    {
        for (HeldWait& wait : held.mapped())
        {
            wait.record.layer = wait.layer;
            PassOnParts(wait.record, starts);
        }
    }
    if (const TimePs now = record.end - record.choice->hidden; now > m_endedAt)
    {
        m_ended.clear();
        m_endedAt = now;
    }
    m_ended.insert_or_assign(record.key, starts);
}

void
WaitParts::WaitEnded(const WaitRecord& record)
{
    if (!record.collective)
    {
        RunObservers::WaitEnded(record);
        return;
    }
    if (const auto ended = m_ended.find(*record.collective); ended != m_ended.end())
    {
        PassOnParts(record, ended->second);
        return;
    }
    m_held[*record.collective].push_back({record, std::string(record.layer)});
}

TimePs
WaitParts::Starts::AwaitedBy(const WaitRecord& wait) const
{
    // Data come from the root alone, through ranks that may begin later than their successors end.
    if (op == CollectiveOp::Broadcast || op == CollectiveOp::Scatter)
    {
        return root;
    }
    // A rank that was done before the last one began did not depend on it.
    return last <= wait.end ? last : wait.start;
}

void
WaitParts::PassOnParts(const WaitRecord& record, const Starts& starts)
{
    const TimePs begun = std::clamp(starts.AwaitedBy(record), record.start, record.end);
    WaitRecord part = record;
    part.collective.reset();
    part.reason = WaitReason::OtherRanks;
    part.end = begun;
    if (part.end > part.start)
    {
        RunObservers::WaitEnded(part);
    }
    part.reason = WaitReason::Collective;
    part.start = begun;
    part.end = record.end;
    if (part.end > part.start)
    {
        RunObservers::WaitEnded(part);
    }
}

void
WaitParts::Finish()
{
    for (auto& [key, waits] : std::exchange(m_held, {}))
    {
        for (HeldWait& wait : waits)
        {
            wait.record.layer = wait.layer;
            wait.record.collective.reset();
            RunObservers::WaitEnded(wait.record);
        }
    }
}

} // namespace AstraSim
