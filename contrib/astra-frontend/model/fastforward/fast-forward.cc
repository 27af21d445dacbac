/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fast-forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace AstraSim
{

/// A collective or a message that ranks are about.
class FastForward::Operation
{
  public:
    PartOperation what;
    const OperationShape* shape{nullptr};
    EndHandler ended;
    FastForward* owner{nullptr};
    Part* part{nullptr};        ///< whose pattern it belongs to
    uint64_t order{0};          ///< of its first start
    std::vector<TimePs> starts; ///< by rank; NO_TIME if not yet
    std::vector<TimePs> ends;   ///< as foreseen; NO_TIME if not yet known
    std::vector<bool> told;
    uint32_t begun{0};
    uint32_t over{0};
    uint32_t events{0};          ///< of its ends, in the event loop
    TimePs armed{INT64_MAX};     ///< time of the earliest
    bool holdsLinks{false};      ///< is under way, as seen by others
    bool isPast{false};          ///< its ends are settled, whatever comes of its part

    uint32_t CountRanks() const
    {
        return static_cast<uint32_t>(starts.size());
    }

    bool HasBegun() const
    {
        return begun == CountRanks();
    }

    bool IsOver() const
    {
        return over == CountRanks();
    }

    /// @return what its ends follow: the last start where it needs all ranks, else the first
    TimePs Anchor() const
    {
        const bool last = NeedsAllRanks(what.request.op);
        TimePs anchor = last ? 0 : INT64_MAX;
        for (const TimePs start : starts)
        {
            if (start != NO_TIME)
            {
                anchor = last ? std::max(anchor, start) : std::min(anchor, start);
            }
        }
        return anchor;
    }
};

/// Operations that share links while they are under way.
struct FastForward::Part
{
    FastForward* owner{nullptr};
    std::list<Part>::iterator self;
    std::vector<std::unique_ptr<Operation>> operations; ///< in the order of their first starts
    uint32_t underWay{0};      ///< of them
    uint32_t events{0};        ///< evaluations in the event loop
    uint32_t starts{0};        ///< of all ranks, ever
    uint32_t startsSeen{0};    ///< when the next evaluation was planned
    TimePs lastStart{0};
    TimePs changed{NO_TIME};   ///< when the first began that the last evaluation did not know
    TimePs nextEvaluation{INT64_MAX};
    bool isMerged{false};       ///< its operations belong to another
    bool wasSimulated{false};  ///< what its ends are from was simulated for it
    uint64_t simulatedWork{0}; ///< for it, all times together
    CarriedTraffic traffic;    ///< as of the last evaluation

    TimePs Begin() const
    {
        TimePs begin = INT64_MAX;
        for (const auto& operation : operations)
        {
            for (const TimePs start : operation->starts)
            {
                begin = start == NO_TIME ? begin : std::min(begin, start);
            }
        }
        return begin;
    }
};

FastForward::FastForward(FastForwardConfig config,
                         AstraNetworkAPI& clock,
                         ShapeFinder& shapes,
                         SideSimulation& side)
    : m_config(config),
      m_clock(clock),
      m_shapes(shapes),
      m_side(side),
      m_store(config.memoryBytes),
      m_users(shapes.CountLinks())
{
}

FastForward::~FastForward() = default;

void
FastForward::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    m_clock.sim_schedule(MakeTimespec(delay), handler, arg);
}

// --- what begins

FastForward::Operation&
FastForward::Open(PartOperation what, const OperationShape& shape, EndHandler ended)
{
    Part& part = m_parts.emplace_back();
    part.owner = this;
    part.self = std::prev(m_parts.end());
    auto& operation = part.operations.emplace_back(std::make_unique<Operation>());
    const std::size_t ranks = what.group.ranks.size();
    operation->what = std::move(what);
    operation->shape = &shape;
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
    const TimePs now = Now();
    operation.starts[rank] = now;
    ++operation.begun;
    // What a rank can send before the others begin is little.
    const bool counts = operation.HasBegun() || m_config.tail == 0 ||
                        !NeedsAllRanks(operation.what.request.op);
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
    part.changed = part.changed == NO_TIME ? now : part.changed;
    if (operation.HasBegun() || !NeedsAllRanks(operation.what.request.op))
    {
        Plan(part, now + ShortestTime(operation));
    }
}

TimePs
FastForward::ShortestTime(const Operation& operation) const
{
    const auto known = m_shortest.find(operation.shape->digest);
    return known == m_shortest.end() ? 0 : known->second / 2;
}

void
FastForward::LearnTimes(const Part& part, const PartOutcome& outcome)
{
    for (std::size_t i = 0; i < part.operations.size(); ++i)
    {
        const Operation& operation = *part.operations[i];
        const auto& starts = operation.starts;
        const auto& ends = outcome.ends[i];
        if (!operation.HasBegun())
        {
            continue;
        }
        const TimePs last = *std::max_element(starts.begin(), starts.end()) - operation.Anchor();
        const TimePs shortest = *std::min_element(ends.begin(), ends.end()) - last;
        const auto [known, isNew] = m_shortest.try_emplace(operation.shape->digest, shortest);
        known->second = std::max<TimePs>(std::min(known->second, shortest), 0);
    }
}

void
FastForward::JoinPart(Operation& operation)
{
    const TimePs now = Now();
    ++operation.part->underWay;
    operation.holdsLinks = true;
    for (const uint32_t link : operation.shape->links)
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
    m_report.cutTails += std::any_of(operation.ends.begin(), operation.ends.end(), [now](TimePs end) {
        return end > now;
    });
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
    for (const uint32_t link : operation.shape->links)
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
    into.changed = into.changed == NO_TIME ? Now() : into.changed;
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
            return !operation->IsOver() && (operation->HasBegun() || !NeedsAllRanks(operation->what.request.op));
        });
    if (!somethingEnds)
    {
        return; // not before another rank begins
    }
    part.changed = NO_TIME;
    Apply(part, Find(part));
}

PartPattern
FastForward::PatternOf(const Part& part) const
{
    const TimePs begin = part.Begin();
    PartPattern pattern;
    for (const auto& operation : part.operations)
    {
        TimedOperation timed{&operation->what, operation->starts};
        for (TimePs& start : timed.starts)
        {
            start = start == NO_TIME ? NO_TIME : start - begin;
        }
        pattern.push_back(std::move(timed));
    }
    return pattern;
}

TimePs
FastForward::GrainOf(const Part& part) const
{
    TimePs shortest = INT64_MAX;
    for (const auto& operation : part.operations)
    {
        const auto known = m_shortest.find(operation->shape->digest);
        shortest = known == m_shortest.end() ? 0 : std::min(shortest, known->second);
    }
    const auto grain = static_cast<uint64_t>(m_config.grain * static_cast<double>(shortest));
    return static_cast<TimePs>(std::bit_floor(std::max<uint64_t>(grain, 1)));
}

Digest
FastForward::KeyOf(const Part& part) const
{
    const TimePs origin = part.operations.front()->Anchor();
    const TimePs grain = GrainOf(part);
    const auto add = [grain](Digest& key, TimePs time) {
        const TimePs half = time < 0 ? -grain / 2 : grain / 2;
        key.Add(static_cast<uint64_t>((time + half) / grain));
    };
    Digest key;
    for (const auto& operation : part.operations)
    {
        const TimePs anchor = operation->Anchor();
        key.Add(operation->shape->digest);
        add(key, anchor - origin);
        for (const TimePs start : operation->starts)
        {
            key.Add(uint64_t{start == NO_TIME});
            add(key, start == NO_TIME ? 0 : start - anchor);
        }
    }
    if (part.operations.size() == 1)
    {
        return key;
    }
    // Which links are the same.
    boost::unordered_flat_map<uint32_t, uint64_t> first; // link: operation and place where it was
    for (uint64_t number = 0; number < part.operations.size(); ++number)
    {
        const auto& links = part.operations[number]->shape->links;
        for (uint64_t place = 0; place < links.size(); ++place)
        {
            const auto [known, isNew] = first.try_emplace(links[place], number << 32 | place);
            if (!isNew)
            {
                key.Add(known->second);
                key.Add(number << 32 | place);
            }
        }
    }
    return key;
}

PartOutcome
FastForward::Simulate(const Part& part)
{
    PartOutcome outcome = m_side.Simulate(PatternOf(part));
    const TimePs begin = part.Begin();
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        const TimePs anchor = part.operations[i]->Anchor();
        for (TimePs& end : outcome.ends[i])
        {
            end = end == NO_TIME ? NO_TIME : begin + end - anchor;
        }
    }
    return outcome;
}

const PartOutcome&
FastForward::Find(Part& part)
{
    const Digest key = KeyOf(part);
    if (PartStore::Entry* known = m_store.Find(key))
    {
        part.wasSimulated = false;
        ++m_report.reuses;
        // The 1st, 2nd, 4th, 8th ... reuse of each.
        if (m_config.verifies && std::has_single_bit(++known->uses))
        {
            Verify(part, *known);
        }
        return known->outcome;
    }
    PartStore::Entry* made = m_store.Put(key, Simulate(part));
    LearnTimes(part, made->outcome);
    part.wasSimulated = true;
    part.simulatedWork += made->outcome.traffic.Work();
    m_report.simulatedWork += made->outcome.traffic.Work();
    ++m_report.simulations;
    return made->outcome;
}

void
FastForward::Verify(const Part& part, PartStore::Entry& entry)
{
    const PartOutcome again = Simulate(part);
    for (std::size_t i = 0; i < again.ends.size(); ++i)
    {
        for (std::size_t rank = 0; rank < again.ends[i].size(); ++rank)
        {
            const TimePs end = again.ends[i][rank];
            const TimePs reused = entry.outcome.ends[i][rank];
            if (end == NO_TIME && reused == NO_TIME)
            {
                continue;
            }
            const double error = static_cast<double>(std::abs(end - reused)) /
                                 static_cast<double>(std::max<TimePs>(end, 1));
            ++m_report.verified;
            m_errorSum += error;
            m_report.largestError = std::max(m_report.largestError, error);
        }
    }
}

void
FastForward::Apply(Part& part, const PartOutcome& outcome)
{
    const TimePs now = Now();
    part.traffic = outcome.traffic;
    for (std::size_t i = 0; i < part.operations.size(); ++i)
    {
        Operation& operation = *part.operations[i];
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
    ++operation.events;
    Schedule(
        next - Now(),
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
    if (operation.events == 0)
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
    if (!part.isMerged)
    {
        const uint64_t work = part.traffic.Work();
        m_report.carried += part.traffic;
        ++m_report.parts;
        m_report.reusedWork += part.wasSimulated ? 0 : work;
        m_report.repeatedWork += part.simulatedWork - (part.wasSimulated ? work : 0);
    }
    m_parts.erase(part.self);
}

FastForwardReport
FastForward::GetReport() const
{
    FastForwardReport report = m_report;
    report.meanError = m_report.verified ? m_errorSum / static_cast<double>(m_report.verified) : 0;
    report.storedPatterns = m_store.GetSize();
    report.storedBytes = m_store.GetBytes();
    report.forgottenPatterns = m_store.GetForgotten();
    return report;
}

} // namespace AstraSim
