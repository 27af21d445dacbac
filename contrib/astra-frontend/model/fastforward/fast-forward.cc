/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fast-forward-part.h"

#include <algorithm>
#include <utility>

namespace AstraSim
{

FastForward::FastForward(FastForwardConfig config,
                         RankNetwork& clock,
                         ShapeFinder& shapes,
                         PatternSimulation& patterns,
                         PlainSimulation* inPlace)
    : m_config(config),
      m_clock(clock),
      m_shapes(shapes),
      m_patterns(patterns),
      m_repeating(patterns.AsRepeating()),
      m_inPlace(inPlace),
      m_store(config.memoryBytes),
      m_users(shapes.CountLinks())
{
}

FastForward::~FastForward() = default;

void
FastForward::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_clock.Schedule(delay, handler, arg);
}

// --- what begins

FastForward::Operation&
FastForward::Open(PartOperation what, const OperationShape& shape, EndHandler ended)
{
    Operation& operation = Open(std::move(what), std::move(ended));
    operation.known = &shape;
    return operation;
}

FastForward::Operation&
FastForward::Open(PartOperation what, const DeferredShape& shape, EndHandler ended)
{
    Operation& operation = Open(std::move(what), std::move(ended));
    operation.deferred = &shape;
    return operation;
}

FastForward::Operation&
FastForward::Open(PartOperation what, EndHandler ended)
{
    Part& part = m_parts.emplace_back();
    part.owner = this;
    part.self = std::prev(m_parts.end());
    auto& operation = part.operations.emplace_back(std::make_unique<Operation>());
    const std::size_t ranks = what.group.ranks.size();
    operation->what = std::move(what);
    operation->ended = std::move(ended);
    operation->owner = this;
    operation->part = &part;
    operation->starts.assign(ranks, NO_TIME);
    operation->ends.assign(ranks, NO_TIME);
    operation->told.assign(ranks, false);
    return *operation;
}

void
FastForward::Begin(Operation& operation, uint32_t rank)
{
    operation.starts[rank] = Now();
    ++operation.begun;
    if (operation.inPlace)
    {
        operation.inPlace->Begin(rank);
    }
    else if (operation.begun == 1 && MayRunInPlace(operation))
    {
        operation.isUndecided = true;
        m_undecided.push_back(&operation);
        Schedule(
            0,
            [](void* arg) { static_cast<FastForward*>(arg)->Decide(); },
            this);
    }
    if (!operation.isUndecided)
    {
        TakeIn(operation);
    }
}

void
FastForward::TakeIn(Operation& operation)
{
    const TimePs now = Now();
    // What a rank can send before the others begin is little.
    const bool counts =
        operation.HasBegun() || m_config.tail == 0 || !NeedsAllRanks(operation.what);
    if (!counts)
    {
        return;
    }
    if (!operation.holdsLinks)
    {
        operation.order = m_nextOrder++;
        JoinPart(operation);
    }
    Part& part = *operation.part;
    ++part.starts;
    part.lastStart = now;
    if (part.isInPlace)
    {
        return;
    }
    KeepNow();
    part.changed = part.changed == NO_TIME ? now : part.changed;
    // What a rank sends before the others begin may also change the order of others' messages, so
    // that they end sooner.
    if (operation.HasBegun() || m_config.tolerance == 0 || !NeedsAllRanks(operation.what))
    {
        Plan(part, now + ShortestTime(operation));
    }
}

void
FastForward::JoinPart(Operation& operation)
{
    const TimePs now = Now();
    ++operation.part->underWay;
    operation.holdsLinks = true;
    if (m_holding++ == 0)
    {
        m_lone = &operation;
        return;
    }
    EnterLone();
    for (const uint32_t link : operation.Shape().links)
    {
        auto& users = m_users[link];
        for (std::size_t i = users.size(); i-- > 0;)
        {
            Operation& user = *users[i];
            if (user.part == operation.part)
            {
                continue;
            }
            if (IsNearlyOver(user, now))
            {
                Detach(user);
                continue;
            }
            Merge(*user.part, *operation.part);
        }
        users.push_back(&operation);
    }
}

void
FastForward::EnterLone()
{
    if (Operation* lone = std::exchange(m_lone, nullptr))
    {
        for (const uint32_t link : lone->Shape().links)
        {
            m_users[link].push_back(lone);
        }
    }
}

bool
FastForward::IsNearlyOver(const Operation& operation, TimePs now) const
{
    const bool isCertain = operation.part->changed == NO_TIME || operation.part->changed == now;
    if (!operation.HasBegun() || (m_config.tail == 0 && !isCertain))
    {
        return false;
    }
    TimePs last = 0;
    TimePs first = INT64_MAX;
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (operation.ends[rank] == NO_TIME)
        {
            return false;
        }
        last = std::max(last, operation.ends[rank]);
        first = std::min(first, operation.starts[rank]);
    }
    return static_cast<double>(last - now) <= m_config.tail * static_cast<double>(last - first);
}

void
FastForward::Detach(Operation& operation)
{
    const TimePs now = Now();
    m_report.cutTails += std::any_of(operation.ends.begin(),
                                     operation.ends.end(),
                                     [now](TimePs end) { return end > now; });
    operation.isPast = true;
    Release(operation);
}

void
FastForward::Release(Operation& operation)
{
    if (!operation.holdsLinks)
    {
        return;
    }
    operation.holdsLinks = false;
    --m_holding;
    if (m_lone == &operation)
    {
        m_lone = nullptr;
        return;
    }
    for (const uint32_t link : operation.Shape().links)
    {
        auto& users = m_users[link];
        const auto self = std::find(users.begin(), users.end(), &operation);
        if (self != users.end())
        {
            users.erase(self);
        }
    }
}

void
FastForward::Merge(Part& into, Part& from)
{
    if (into.isInPlace != from.isInPlace)
    {
        ForeseeAfterAll(into.isInPlace ? into : from);
    }
    for (auto& operation : from.operations)
    {
        operation->part = &into;
        into.operations.push_back(std::move(operation));
    }
    std::sort(into.operations.begin(), into.operations.end(), [](const auto& a, const auto& b) {
        return a->order < b->order;
    });
    into.underWay += from.underWay;
    into.starts += from.starts;
    into.simulatedWork += from.simulatedWork;
    into.lastStart = std::max(into.lastStart, from.lastStart);
    if (!into.isInPlace && into.changed == NO_TIME)
    {
        into.changed = Now();
    }
    Plan(into, from.nextEvaluation);
    from.operations.clear();
    from.underWay = 0;
    from.isMerged = true;
    if (from.events == 0)
    {
        End(from);
    }
}

// --- what comes of it

void
FastForward::Plan(Part& part, TimePs time)
{
    if (time >= part.nextEvaluation)
    {
        return;
    }
    part.nextEvaluation = time;
    part.startsSeen = part.starts;
    ++part.events;
    Schedule(
        time - Now(),
        [](void* arg) {
            Part& due = *static_cast<Part*>(arg);
            due.owner->OnPlanned(due);
        },
        &part);
}

void
FastForward::OnPlanned(Part& part)
{
    --part.events;
    const TimePs now = Now();
    if (part.underWay == 0)
    {
        if (part.events == 0)
        {
            End(part);
        }
        return;
    }
    if (part.nextEvaluation != now)
    {
        return;
    }
    part.nextEvaluation = INT64_MAX;
    if (part.lastStart == now && part.startsSeen != part.starts)
    {
        Plan(part, now); // others begin at the same time
    }
    else if (part.changed != NO_TIME)
    {
        Evaluate(part);
    }
}

void
FastForward::Evaluate(Part& part)
{
    const bool somethingEnds =
        std::any_of(part.operations.begin(), part.operations.end(), [](const auto& operation) {
            return !operation->IsOver() &&
                   (operation->HasBegun() || !NeedsAllRanks(operation->what));
        });
    if (!somethingEnds)
    {
        return; // not before another rank begins
    }
    part.changed = NO_TIME;
    KeepNow();
    SortByLikeness(part);
    Apply(part, Find(part));
}

void
FastForward::Apply(Part& part, const PartOutcome& outcome)
{
    const TimePs now = Now();
    m_expectedWork += outcome.traffic.Work() - part.traffic.Work();
    part.traffic = outcome.traffic;
    for (std::size_t i = 0; i < part.byLikeness.size(); ++i)
    {
        Operation& operation = *part.byLikeness[i];
        if (operation.isPast || operation.IsOver())
        {
            continue;
        }
        const TimePs anchor = operation.Anchor();
        for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
        {
            const TimePs end = outcome.ends[i][rank];
            if (operation.told[rank])
            {
                continue;
            }
            m_report.late += end != NO_TIME && anchor + end < now;
            operation.ends[rank] = end == NO_TIME ? NO_TIME : std::max(anchor + end, now);
        }
        Arm(operation);
    }
}

// --- what ends

void
FastForward::Arm(Operation& operation)
{
    TimePs next = INT64_MAX;
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (!operation.told[rank] && operation.ends[rank] != NO_TIME)
        {
            next = std::min(next, operation.ends[rank]);
        }
    }
    // An event that comes too early looks again; one is enough.
    if (next >= operation.armed)
    {
        return;
    }
    operation.armed = next;
    ScheduleEnd(operation, next - Now());
}

void
FastForward::ScheduleEnd(Operation& operation, TimePs delay)
{
    ++operation.events;
    Schedule(
        delay,
        [](void* arg) {
            auto& due = *static_cast<Operation*>(arg);
            due.owner->OnEnd(due);
        },
        &operation);
}

void
FastForward::OnEnd(Operation& operation)
{
    const TimePs now = Now();
    --operation.events;
    if (operation.armed <= now)
    {
        operation.armed = INT64_MAX;
    }
    Part& part = *operation.part;
    if (!operation.isPast && part.changed != NO_TIME && part.changed < now)
    {
        Evaluate(part); // what began since may have put this off
    }
    const bool wasOver = operation.IsOver();
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (!operation.told[rank] && operation.ends[rank] != NO_TIME && operation.ends[rank] <= now)
        {
            operation.told[rank] = true;
            ++operation.over;
            if (operation.IsOver())
            {
                Release(operation);
            }
            operation.ended(rank);
        }
    }
    if (!operation.IsOver())
    {
        Arm(operation);
        return;
    }
    if (!wasOver && part.isInPlace)
    {
        KeepIfAlone(operation);
    }
    if (!wasOver && m_config.drawError > 0 && NeedsAllRanks(operation.what))
    {
        m_varying.Ended(operation.NameOfShape(), operation.ends);
    }
    if (operation.events == 0 && !operation.IsRunning())
    {
        Leave(operation);
    }
}

void
FastForward::Leave(Operation& operation)
{
    Part& part = *operation.part;
    if (--part.underWay == 0 && part.events == 0)
    {
        End(part);
    }
}

void
FastForward::End(Part& part)
{
    const uint64_t work = part.traffic.Work();
    m_expectedWork -= work;
    if (!part.isMerged)
    {
        m_report.carried += part.traffic;
        ++m_report.parts;
        m_report.reusedWork += part.wasSimulated ? 0 : work;
        m_report.repeatedWork += part.simulatedWork - (part.wasSimulated ? work : 0);
        DiscountGhosts(part);
    }
    if (part.toKeep)
    {
        m_keptParts.splice(m_keptParts.end(), m_parts, part.self);
        return;
    }
    m_parts.erase(part.self);
}

FastForwardReport
FastForward::GetReport() const
{
    FastForwardReport report = m_report;
    if (m_inPlace)
    {
        const ns3::CarriedTraffic carried = m_inPlace->GetCarried();
        report.carried += carried;
        report.carried -= m_ghostTraffic;
        report.inPlaceWork = carried.Work();
        report.simulatedWork += carried.Work();
    }
    report.meanError = m_report.verified ? m_errorSum / static_cast<double>(m_report.verified) : 0;
    report.storedPatterns = m_store.GetSize() + m_toKeep.size();
    report.storedBytes = m_store.GetBytes();
    report.forgottenPatterns = m_store.GetForgotten();
    return report;
}

} // namespace AstraSim
