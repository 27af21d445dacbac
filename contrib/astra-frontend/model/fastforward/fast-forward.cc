/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fast-forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <list>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

/// A collective or a message that ranks are about.
class FastForward::Operation
{
  public:
    PartOperation what;
    const OperationShape* known{nullptr};   ///< its shape; null if it is still to be worked out
    const DeferredShape* deferred{nullptr}; ///< then
    EndHandler ended;
    FastForward* owner{nullptr};
    Part* part{nullptr};        ///< whose pattern it belongs to
    uint64_t order{0};          ///< of its first start
    std::vector<TimePs> starts; ///< by rank; NO_TIME if not yet
    std::vector<TimePs> ends;   ///< as foreseen; NO_TIME if not yet known
    std::vector<bool> told;
    uint32_t begun{0};
    uint32_t over{0};
    uint32_t events{0};      ///< of its ends, in the event loop
    TimePs armed{INT64_MAX}; ///< time of the earliest
    bool holdsLinks{false};  ///< is under way, as seen by others
    bool isPast{false};      ///< its ends are settled, whatever comes of its part
    bool isUndecided{false}; ///< nobody knows yet whether it will run in place
    bool isGhost{false};     ///< runs in place although its ends are foreseen
    /// Carries it out in place; null if its ends are foreseen from its first start on.
    std::unique_ptr<PlainSimulation::Operation> inPlace;

    const OperationShape& Shape() const
    {
        return known ? *known : deferred->Get();
    }

    /// @return the same for operations of the same shape
    const Digest& RoughShape() const
    {
        return known ? known->digest : deferred->GetRough();
    }

    /// @return what names its shape, which may not have been worked out
    const void* NameOfShape() const
    {
        return known ? static_cast<const void*>(known) : deferred;
    }

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

    /// @return whether packets of it are under way in place, or may be
    bool IsRunning() const
    {
        return inPlace && inPlace->IsRunning();
    }

    /// @return what its ends follow: the last start where it needs all ranks, else the first
    TimePs Anchor() const
    {
        const bool last = NeedsAllRanks(what);
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
    /// The same, in an order that parts of the same kind share whichever of their operations begins
    /// first.
    std::vector<Operation*> byLikeness;
    uint32_t underWay{0};   ///< of them
    uint32_t events{0};     ///< evaluations in the event loop
    uint32_t starts{0};     ///< of all ranks, ever
    uint32_t startsSeen{0}; ///< when the next evaluation was planned
    TimePs lastStart{0};
    TimePs changed{NO_TIME}; ///< when the first began that the last evaluation did not know
    TimePs nextEvaluation{INT64_MAX};
    bool isMerged{false};        ///< its operations belong to another
    bool isInPlace{false};       ///< its operations run in place, which tells their ends
    bool wasSimulated{false};    ///< what its ends are from was simulated for it
    uint64_t simulatedWork{0};   ///< for it, all times together
    ns3::CarriedTraffic traffic; ///< as of the last evaluation
    /// What came of it in place, and is to be kept as soon as something else may repeat it.
    std::optional<PartOutcome> toKeep;

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

// --- FastForward: operations that run on the network of the run, as there is nothing to
//     reuse.

bool
FastForward::MayRunInPlace(const Operation& operation)
{
    // What is left of ghosts on the network is no part of anything.
    return m_inPlace && m_ghosts == 0 &&
           (!HasBegunBefore(operation) || IsToBeSampled(operation) ||
            (operation.what.isMessage && MeetsWhatIsInPlace(operation)));
}

bool
FastForward::HasBegunBefore(const Operation& operation)
{
    const auto known = m_begunRoughly.find(operation.RoughShape());
    if (known == m_begunRoughly.end())
    {
        return false;
    }
    if (const DeferredShape* first = std::exchange(known->second, nullptr))
    {
        m_begun.insert(first->Get().digest);
    }
    return m_begun.contains(operation.Shape().digest);
}

void
FastForward::NoteBegun(const Operation& operation)
{
    const auto [known, isFirst] =
        m_begunRoughly.try_emplace(operation.RoughShape(), operation.deferred);
    if (!isFirst || !operation.deferred)
    {
        m_begun.insert(operation.Shape().digest);
    }
}

void
FastForward::Decide()
{
    const std::vector<Operation*> undecided = std::exchange(m_undecided, {});
    boost::unordered_flat_map<Digest, uint32_t, Digest::Hash> roughly;
    boost::unordered_flat_map<Digest, uint32_t, Digest::Hash> alike;
    for (const Operation* operation : undecided)
    {
        ++roughly[operation->RoughShape()];
    }
    const auto isOneOfSeveral = [&roughly](const Operation& operation) {
        return roughly[operation.RoughShape()] > 1;
    };
    for (const Operation* operation : undecided)
    {
        if (isOneOfSeveral(*operation))
        {
            ++alike[operation->Shape().digest];
        }
    }
    for (Operation* operation : undecided)
    {
        operation->isUndecided = false;
        const bool joins = operation->what.isMessage && MeetsWhatIsInPlace(*operation);
        // Several of a shape at once repeat each other.
        const bool isNew = !HasBegunBefore(*operation) &&
                           (!isOneOfSeveral(*operation) || alike[operation->Shape().digest] == 1);
        NoteBegun(*operation);
        const bool isSampled = IsToBeSampled(*operation);
        if ((isNew || joins || isSampled) && m_ghosts == 0 && MeetsNothingForwarded(*operation))
        {
            m_report.sampled += isSampled;
            OpenInPlace(*operation);
        }
        TakeIn(*operation);
    }
}

bool
FastForward::MeetsWhatIsInPlace(const Operation& operation)
{
    if (m_holding == 0)
    {
        return false;
    }
    EnterLone();
    const auto& links = operation.Shape().links;
    return std::any_of(links.begin(), links.end(), [this](uint32_t link) {
        const auto& users = m_users[link];
        return std::any_of(users.begin(), users.end(), [](const Operation* user) {
            return user->part->isInPlace;
        });
    });
}

bool
FastForward::MeetsNothingForwarded(const Operation& operation)
{
    if (m_holding == 0 || (m_lone && m_lone->part->isInPlace))
    {
        return true;
    }
    EnterLone();
    // A collective counts once all have begun: what ranks have left by now will be over then.
    const bool waits = m_config.tail > 0 && !operation.HasBegun() && NeedsAllRanks(operation.what);
    const auto isInTheWay = [&](const Operation* user) {
        return !user->part->isInPlace && !IsNearlyOver(*user, Now()) && !(waits && user->over > 0);
    };
    const auto& links = operation.Shape().links;
    return std::none_of(links.begin(), links.end(), [&](uint32_t link) {
        return std::any_of(m_users[link].begin(), m_users[link].end(), isInTheWay);
    });
}

void
FastForward::OpenInPlace(Operation& operation)
{
    ++m_report.inPlace;
    if (m_running++ == 0)
    {
        m_alone = {operation.NameOfShape(), m_inPlace->GetCarried()};
    }
    else if (m_alone.shape != operation.NameOfShape())
    {
        m_alone.shape = nullptr;
    }
    operation.part->isInPlace = true;
    operation.inPlace = m_inPlace->Open(operation.what, [this, &operation](uint32_t rank) {
        OnEndInPlace(operation, rank);
    });
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (operation.starts[rank] != NO_TIME)
        {
            operation.inPlace->Begin(rank);
        }
    }
}

void
FastForward::OnEndInPlace(Operation& operation, uint32_t rank)
{
    const bool isThrough = !operation.IsRunning();
    m_running -= isThrough;
    if (!operation.isGhost)
    {
        operation.ends[rank] = Now();
        Arm(operation);
    }
    else if (isThrough)
    {
        --m_ghosts;
        ScheduleEnd(operation, 0); // it may have waited for that alone
    }
}

void
FastForward::KeepIfAlone(Operation& operation)
{
    Part& part = *operation.part;
    if (m_alone.shape != operation.NameOfShape() || part.operations.size() > 1)
    {
        m_sampled.erase(operation.NameOfShape());
        return;
    }
    const ns3::CarriedTraffic carried = m_inPlace->GetCarried();
    ns3::CarriedTraffic own = carried;
    own -= m_alone.before;
    const bool isSampled = m_sampled.contains(operation.NameOfShape());
    if (NeedsAllRanks(operation.what) && (isSampled || own.HasDraws()))
    {
        m_alone.before = carried; // the next of its kind may have begun
        Sample(operation, own);
        return;
    }
    if (carried.HasDraws())
    {
        return; // connections are no longer in their first state, or it comes otherwise next time
    }
    part.toKeep = OutcomeOf(operation, own);
    m_toKeep.push_back(&part);
    constexpr std::size_t MOST_RANKS = 1 << 20; // some tens of bytes for each
    m_ranksToKeep += operation.CountRanks();
    if (m_ranksToKeep > MOST_RANKS)
    {
        KeepNow();
    }
}

PartOutcome
FastForward::OutcomeOf(const Operation& operation, const ns3::CarriedTraffic& traffic)
{
    PartOutcome outcome{{operation.ends}, traffic};
    for (TimePs& end : outcome.ends.front())
    {
        end -= operation.Anchor();
    }
    return outcome;
}

void
FastForward::KeepNow()
{
    for (Part* part : std::exchange(m_toKeep, {}))
    {
        PartOutcome outcome = std::move(*part->toKeep);
        part->toKeep.reset();
        SortByLikeness(*part);
        auto [key, times] = AddressOf(*part);
        LearnTimes(*part, m_store.Put(key, std::move(times), std::move(outcome))->outcome);
    }
    m_ranksToKeep = 0;
    m_keptParts.clear();
}

void
FastForward::ForeseeAfterAll(Part& part)
{
    part.isInPlace = false;
    for (const auto& operation : part.operations)
    {
        operation->isGhost = true;
        m_sampled.erase(operation->NameOfShape());
        ++m_report.ghosts;
        m_ghosts += operation->IsRunning();
    }
    part.changed = Now();
    Plan(part, Now());
}

void
FastForward::DiscountGhosts(const Part& part)
{
    PartPattern ghosts;
    for (const auto& operation : part.operations)
    {
        if (operation->isGhost)
        {
            ghosts.push_back({&operation->what, operation->starts});
        }
    }
    if (ghosts.empty())
    {
        return;
    }
    const ns3::CarriedTraffic twice =
        m_patterns.Simulate(SinceFirstStart(std::move(ghosts))).traffic;
    m_ghostTraffic += twice;
    m_report.simulatedWork += twice.Work();
    m_report.repeatedWork += 2 * twice.Work();
}

std::string
FastForward::DescribeWait(const Operation& operation, uint32_t rank)
{
    return operation.inPlace && !operation.isGhost
               ? operation.inPlace->DescribeWait(rank)
               : "is fast-forwarded, and waits for its end or for other ranks to begin";
}

// --- FastForward: the pattern of a part, and what comes of it.

TimePs
FastForward::ShortestTime(const Operation& operation) const
{
    // Alone, an operation may be more than twice as fast as any that was seen.
    const auto known =
        m_config.tolerance == 0 ? m_soonest.end() : m_soonest.find(operation.Shape().digest);
    return known == m_soonest.end() ? 0 : known->second / 2;
}

void
FastForward::LearnTimes(const Part& part, const PartOutcome& outcome)
{
    for (std::size_t i = 0; i < part.byLikeness.size(); ++i)
    {
        const Operation& operation = *part.byLikeness[i];
        const auto& starts = operation.starts;
        const auto& ends = outcome.ends[i];
        if (!operation.HasBegun())
        {
            continue;
        }
        const TimePs last = *std::max_element(starts.begin(), starts.end()) - operation.Anchor();
        const TimePs shortest = *std::min_element(ends.begin(), ends.end()) - last;
        LearnTime(m_shortest, operation, shortest);
        LearnTime(m_soonest, operation, shortest);
    }
}

void
FastForward::LearnTime(TimeByShape& times, const Operation& operation, TimePs time)
{
    const auto [known, isNew] = times.try_emplace(operation.Shape().digest, time);
    known->second = std::max<TimePs>(std::min(known->second, time), 0);
}

PartPattern
FastForward::PatternOf(const Part& part)
{
    PartPattern pattern;
    for (const auto& operation : part.operations)
    {
        pattern.push_back({&operation->what, operation->starts});
    }
    return SinceFirstStart(std::move(pattern));
}

PartPattern
FastForward::SinceFirstStart(PartPattern pattern)
{
    TimePs first = INT64_MAX;
    for (const TimedOperation& timed : pattern)
    {
        for (const TimePs start : timed.starts)
        {
            first = start == NO_TIME ? first : std::min(first, start);
        }
    }
    for (TimedOperation& timed : pattern)
    {
        for (TimePs& start : timed.starts)
        {
            start = start == NO_TIME ? NO_TIME : start - first;
        }
    }
    return pattern;
}

void
FastForward::SortByLikeness(Part& part)
{
    std::vector<const OperationShape*> shapes;
    for (const auto& operation : part.operations)
    {
        shapes.push_back(&operation->Shape());
    }
    const std::vector<Digest> likeness = LikenessOf(shapes);
    std::vector<std::size_t> order(likeness.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&likeness](std::size_t a, std::size_t b) {
        return likeness[a] < likeness[b];
    });
    part.byLikeness.clear();
    for (const std::size_t number : order)
    {
        part.byLikeness.push_back(part.operations[number].get());
    }
}

TimePs
FastForward::ToleranceOf(const Part& part) const
{
    TimePs shortest = INT64_MAX;
    for (const Operation* operation : part.byLikeness)
    {
        const auto known = m_shortest.find(operation->Shape().digest);
        shortest = known == m_shortest.end() ? 0 : std::min(shortest, known->second);
    }
    return static_cast<TimePs>(m_config.tolerance * static_cast<double>(shortest));
}

TimePs
FastForward::EarliestStart(const Part& part) const
{
    const Operation& only = *part.operations.front();
    const auto known = m_shortest.find(only.Shape().digest);
    const bool matters = m_config.tolerance == 0 || part.operations.size() > 1 ||
                         known == m_shortest.end() || !NeedsAllRanks(only.what);
    return matters ? INT64_MIN : -known->second;
}

std::vector<TimePs>
FastForward::TimesOf(const Part& part) const
{
    const TimePs origin = part.byLikeness.front()->Anchor();
    const TimePs earliest = EarliestStart(part);
    std::vector<TimePs> times;
    for (const Operation* operation : part.byLikeness)
    {
        const TimePs anchor = operation->Anchor();
        times.push_back(anchor - origin);
        for (const TimePs start : operation->starts)
        {
            times.push_back(start == NO_TIME ? 0 : std::max(start - anchor, earliest));
        }
    }
    return times;
}

Digest
FastForward::KeyOf(const Part& part) const
{
    Digest key;
    for (const Operation* operation : part.byLikeness)
    {
        key.Add(operation->Shape().digest);
        for (const TimePs start : operation->starts)
        {
            key.Add(uint64_t{start == NO_TIME});
        }
    }
    if (part.byLikeness.size() == 1)
    {
        return key;
    }
    // Which links are the same.
    boost::unordered_flat_map<uint32_t, uint64_t> first; // link: operation and place where it was
    for (uint64_t number = 0; number < part.byLikeness.size(); ++number)
    {
        const auto& links = part.byLikeness[number]->Shape().links;
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
    return InOrderOfLikeness(part, m_patterns.Simulate(PatternOf(part)));
}

PartOutcome
FastForward::InOrderOfLikeness(const Part& part, PartOutcome outcome)
{
    const TimePs begin = part.Begin();
    boost::unordered_flat_map<const Operation*, std::vector<TimePs>> ends;
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        const Operation* operation = part.operations[i].get();
        const TimePs anchor = operation->Anchor();
        for (TimePs& end : outcome.ends[i])
        {
            end = end == NO_TIME ? NO_TIME : begin + end - anchor;
        }
        ends[operation] = std::move(outcome.ends[i]);
    }
    for (std::size_t i = 0; i < outcome.ends.size(); ++i)
    {
        outcome.ends[i] = std::move(ends[part.byLikeness[i]]);
    }
    return outcome;
}

FastForward::Address
FastForward::AddressOf(const Part& part) const
{
    Address address{KeyOf(part), TimesOf(part)};
    if (m_config.tolerance == 0)
    {
        for (const TimePs time : address.times)
        {
            address.key.Add(static_cast<uint64_t>(time));
        }
        address.times.clear();
    }
    return address;
}

const PartOutcome&
FastForward::Find(Part& part)
{
    auto [key, times] = AddressOf(part);
    if (const PartOutcome* drawn = FindIfVarying(part, key, times))
    {
        return *drawn;
    }
    const bool mayVary = MayVary(part) && m_store.AreFew(key) && m_store.HasDraws(key);
    PartStore::Entry* known = mayVary ? nullptr : m_store.Find(key, times, ToleranceOf(part));
    if (known)
    {
        part.wasSimulated = false;
        ++m_report.reuses;
        // The 1st, 2nd, 4th, 8th ... reuse of each.
        if (m_config.verifies && std::has_single_bit(++known->uses))
        {
            Verify(part, known->outcome);
        }
        return known->outcome;
    }
    if (const PartOutcome* inferred = Infer(part, key, times))
    {
        return *inferred;
    }
    return FindNew(part, key, std::move(times));
}

bool
FastForward::IsOneCollective(const Part& part)
{
    const Operation& first = *part.operations.front();
    return part.operations.size() == 1 && first.HasBegun() && NeedsAllRanks(first.what);
}

const PartOutcome*
FastForward::Infer(Part& part, const Digest& key, const std::vector<TimePs>& times)
{
    if (m_config.tolerance == 0 || !IsOneCollective(part) || m_store.HasDraws(key))
    {
        return nullptr;
    }
    const auto bounds = m_store.BoundEnds(key, times);
    auto ends = bounds ? bounds->Within(ToleranceOf(part)) : std::nullopt;
    if (!ends)
    {
        return nullptr;
    }
    m_inferred = {{std::move(*ends)}, m_store.GetTraffic(key)};
    part.wasSimulated = false;
    ++m_report.reuses;
    ++m_report.inferred;
    if (const uint64_t uses = m_store.UseAll(key); m_config.verifies && std::has_single_bit(uses))
    {
        Verify(part, m_inferred);
    }
    return &m_inferred;
}

const PartOutcome&
FastForward::FindNew(Part& part, const Digest& key, std::vector<TimePs> times)
{
    PartOutcome outcome = Simulate(part);
    if (m_config.tolerance > 0 && IsOneCollective(part))
    {
        const auto bounds = m_store.BoundEnds(key, times);
        if (bounds && bounds->Contradict(outcome.ends.front(), ToleranceOf(part)))
        {
            m_store.Distrust(key);
        }
    }
    PartStore::Entry* made = m_store.Put(key, std::move(times), std::move(outcome));
    LearnTimes(part, made->outcome);
    part.wasSimulated = true;
    part.simulatedWork += made->outcome.traffic.Work();
    m_report.simulatedWork += made->outcome.traffic.Work();
    ++m_report.simulations;
    GiveUpIfInVain();
    return made->outcome;
}

void
FastForward::SetGiveUpHandler(std::function<void()> handler)
{
    m_giveUp = std::move(handler);
}

void
FastForward::GiveUpIfInVain()
{
    constexpr uint64_t MOST = 3; // times what has come, or is about to come, of the run
    const uint64_t useful = m_report.carried.Work() + m_expectedWork;
    if (m_config.patience > 0 && !m_hasGivenUp &&
        m_report.simulatedWork > MOST * useful + m_config.patience)
    {
        m_hasGivenUp = true;
        m_giveUp();
    }
}

void
FastForward::Verify(const Part& part, const PartOutcome& outcome)
{
    const PartOutcome again = InOrderOfLikeness(part, m_patterns.SimulateAgain(PatternOf(part)));
    for (std::size_t i = 0; i < again.ends.size(); ++i)
    {
        for (std::size_t rank = 0; rank < again.ends[i].size(); ++rank)
        {
            const TimePs end = again.ends[i][rank];
            const TimePs reused = outcome.ends[i][rank];
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

// --- FastForward: collectives whose packets are marked at random run in place until it is
//     known what to reuse.

bool
FastForward::IsToBeSampled(const Operation& operation)
{
    const auto found = m_sampled.find(operation.NameOfShape());
    if (found == m_sampled.end() || found->second.isKnown)
    {
        return false;
    }
    // From then on for good: on a network that lies idle for a while, rates would recover.
    Sampled& sampled = found->second;
    if (sampled.varies)
    {
        Part& part = *operation.part;
        SortByLikeness(part);
        const std::vector<TimePs> gaps =
            m_varying.ExpectGaps(found->first, operation.starts, ToleranceOf(part));
        sampled.isKnown = m_store.FindSteady(KindOf(sampled.key, gaps), FEWEST).has_value();
    }
    return !sampled.isKnown;
}

void
FastForward::Sample(Operation& operation, const ns3::CarriedTraffic& traffic)
{
    KeepNow();
    Part& part = *operation.part;
    SortByLikeness(part);
    PartOutcome outcome = OutcomeOf(operation, traffic);
    auto [key, times] = AddressOf(part);
    Sampled& sampled = m_sampled[operation.NameOfShape()];
    sampled.key = key;
    if (const auto gaps = FindGapsIfVarying(part, key))
    {
        sampled.varies = true;
        LearnSoonest(operation, outcome);
        m_store.Put(KindOf(key, *gaps), std::move(times), std::move(outcome))->uses = 1;
        return;
    }
    const bool areEnough = !MayVary(part) || !m_store.AreFew(key);
    sampled.isKnown = areEnough && m_store.Find(key, times, ToleranceOf(part));
    if (!sampled.isKnown)
    {
        LearnTimes(part, m_store.Put(key, std::move(times), std::move(outcome))->outcome);
    }
}

// --- FastForward: collectives that take another time whenever they come.

namespace
{

/// @return @p starts, counted from the last of them
std::vector<TimePs>
BesideTheLast(std::vector<TimePs> starts)
{
    const TimePs last = *std::max_element(starts.begin(), starts.end());
    for (TimePs& start : starts)
    {
        start -= last;
    }
    return starts;
}

} // namespace

bool
FastForward::MayVary(const Part& part) const
{
    return m_config.drawError > 0 && m_repeating && IsOneCollective(part);
}

FastForward::Crowding
FastForward::CrowdingOf(const Digest& key, const std::vector<TimePs>& gaps) const
{
    if (gaps.empty())
    {
        return Crowding::None;
    }
    // Four times what has been seen is taken for what may come.
    const PartStore::Spreads spreads = m_store.GetSpreads(key);
    const TimePs gap = *std::min_element(gaps.begin(), gaps.end());
    return spreads.median >= gap        ? Crowding::Steady
           : spreads.largest >= gap / 4 ? Crowding::MayCome
                                        : Crowding::None;
}

Digest
FastForward::KindOf(Digest key, const std::vector<TimePs>& gaps)
{
    key.Add(VaryingOperations::ClassOf(gaps));
    return key;
}

std::optional<std::vector<TimePs>>
FastForward::FindGapsIfVarying(const Part& part, const Digest& key)
{
    if (!MayVary(part))
    {
        return std::nullopt;
    }
    const bool varies = m_store.Varies(key, m_config.drawError);
    if (!varies && !m_store.HasDraws(key))
    {
        return std::nullopt;
    }
    const Operation& only = *part.operations.front();
    std::vector<TimePs> gaps = m_varying.GapsOf(only.NameOfShape(), only.starts, ToleranceOf(part));
    return varies || CrowdingOf(key, gaps) != Crowding::None ? std::optional(std::move(gaps))
                                                             : std::nullopt;
}

const PartOutcome*
FastForward::FindIfVarying(Part& part, const Digest& key, const std::vector<TimePs>& times)
{
    const auto gaps = FindGapsIfVarying(part, key);
    return gaps ? &FindVarying(part, key, times, *gaps) : nullptr;
}

const PartOutcome&
FastForward::FindVarying(Part& part,
                         const Digest& key,
                         const std::vector<TimePs>& times,
                         const std::vector<TimePs>& gaps)
{
    const Digest kind = KindOf(key, gaps);
    PartStore::Entry* found = FindDrawn(kind, gaps);
    if (!found)
    {
        found = SimulateVarying(part, kind, times, gaps);
    }
    part.wasSimulated = found->uses++ == 0;
    if (part.wasSimulated)
    {
        part.simulatedWork += found->outcome.traffic.Work();
    }
    else
    {
        ++m_report.reuses;
        ++m_report.draws;
    }
    return found->outcome;
}

std::optional<PartStore::Steady>
FastForward::FindKnownMean(const Digest& key, const std::vector<TimePs>& gaps) const
{
    // Ranks that are in step until a rare event are simulated for longer: it may come.
    constexpr std::size_t FEWEST_IN_STEP = 32;
    const bool mayCome = CrowdingOf(key, gaps) == Crowding::MayCome;
    const auto steady = m_store.FindSteady(key, mayCome ? FEWEST_IN_STEP : FEWEST);
    return steady && steady->error <= m_config.drawError ? steady : std::nullopt;
}

PartStore::Entry*
FastForward::FindDrawn(const Digest& key, const std::vector<TimePs>& gaps)
{
    const auto steady = FindKnownMean(key, gaps);
    if (!steady)
    {
        return nullptr;
    }
    m_report.drawError = std::max(m_report.drawError, steady->error);
    // Outcomes come in the order in which they were simulated, and all equally often.
    return m_store.Draw(key, steady->first);
}

PartStore::Entry*
FastForward::SimulateVarying(Part& part,
                             const Digest& key,
                             const std::vector<TimePs>& times,
                             const std::vector<TimePs>& gaps)
{
    ++m_report.simulations;
    PartOutcome outcome = gaps.empty() ? Simulate(part) : GoOn(part, key, gaps);
    LearnSoonest(*part.operations.front(), outcome);
    m_report.simulatedWork += outcome.traffic.Work();
    return m_store.Put(key, times, std::move(outcome));
}

void
FastForward::LearnSoonest(const Operation& operation, const PartOutcome& outcome)
{
    const auto& ends = outcome.ends.front();
    LearnTime(m_soonest, operation, *std::min_element(ends.begin(), ends.end()));
}

PartOutcome
FastForward::GoOn(const Part& part, const Digest& key, const std::vector<TimePs>& gaps)
{
    const Operation& only = *part.operations.front();
    const bool goesOn = m_ahead.number && m_ahead.number == m_repeating->GetRepetition() &&
                        m_ahead.key == key && m_ahead.starts == BesideTheLast(only.starts);
    PartRound round =
        goesOn ? m_repeating->GoOn() : m_repeating->Repeat(PatternOf(part).front(), gaps);
    std::vector<TimePs> next = round.outcome.ends.front();
    for (std::size_t rank = 0; rank < next.size(); ++rank)
    {
        next[rank] += gaps[rank];
    }
    m_ahead = {m_repeating->GetRepetition(), key, BesideTheLast(std::move(next))};
    const TimePs last = *std::max_element(round.starts.begin(), round.starts.end());
    for (TimePs& end : round.outcome.ends.front())
    {
        end -= last;
    }
    return std::move(round.outcome);
}

} // namespace AstraSim
