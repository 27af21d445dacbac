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
#include <utility>
#include <vector>

namespace AstraSim
{

// An operation joins the part of the network that its links are in; if users of these links are
// in several parts, JoinPart() merges the parts, except that it detaches operations that have
// nearly ended. The outcome of a part is needed only when the first of its ends may come, so
// Plan() sets an event for that time, and starts until then enter the same pattern. The event
// calls Evaluate(): Find() looks in the store by KeyOf() (shapes, and the links that operations
// share) and TimesOf() (starts), tries to Infer() the ends from other outcomes, and simulates
// the pattern last. Apply() sets the expected end of each rank, and Arm() an event for the
// earliest. When that comes, OnEnd() first evaluates the part again if operations have begun in
// it meanwhile, then tells ranks their ends; an end that was told is final. A part is erased
// when all its operations are over. The operations of a live part stand for themselves: those that
// begin on their links do not join the part, but are live parts of their own.

namespace
{

/// @return the totals of the same traffic @p times times; maxima stay
ns3::CarriedTraffic
TimesOver(ns3::CarriedTraffic traffic, uint32_t times)
{
    ns3::CarriedTraffic::ForEachField([&](const char*, auto field, auto whole) {
        const bool adds = whole == ns3::CarriedTraffic::Whole::Sum;
        traffic.*field = adds ? traffic.*field * times : traffic.*field;
    });
    return traffic;
}

} // namespace

/// A collective or a message that ranks begin and end.
class FastForward::Operation
{
  public:
    PartOperation what;
    const OperationShape* shape{nullptr};
    EndHandler ended;
    FastForward* owner{nullptr};
    Part* part{nullptr};        ///< the part that has it in its pattern
    uint64_t order{0};          ///< of its first start
    std::vector<TimePs> starts; ///< by rank; NO_TIME if not yet
    std::vector<TimePs> ends;   ///< as expected; NO_TIME if not yet known
    std::vector<bool> told;     ///< by rank: whether its end has been told
    uint32_t begun{0};
    uint32_t over{0};
    uint32_t events{0};      ///< of its ends, in the event loop
    TimePs armed{INT64_MAX}; ///< time of the earliest
    bool holdsLinks{false};  ///< is in the lists of its links' users
    bool isPast{false};      ///< its ends stay as they are, also when others begin in its part
    std::shared_ptr<LiveSimulation::Operation> live; ///< on the run's own network; null: not there

    ~Operation()
    {
        if (live)
        {
            live->Abandon();
        }
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

    /// @return the start that its ends follow: the last one where it needs all ranks, else the
    /// first
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
    bool isMerged{false};      ///< its operations belong to another
    bool hasEnds{false};       ///< they were worked out before: what begins, begins in it again
    bool wasSimulated{false};  ///< its present ends come from a simulation, not from the store
    uint64_t simulatedWork{0}; ///< work of all simulations of this part
    uint64_t workByFlows{0};   ///< of its traffic, if flows stand for packets
    ReusePayoff::Account account;
    ns3::CarriedTraffic traffic; ///< as of the last evaluation

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
                         PatternSimulation& patterns)
    : m_config(config),
      m_clock(clock),
      m_shapes(shapes),
      m_patterns(patterns),
      m_store(config.memoryBytes),
      m_users(shapes.CountLinks()),
      m_payoff(config.patience)
{
}

FastForward::~FastForward() = default;

template <typename T, typename Handler>
void
FastForward::Schedule(T& object, TimePs delay, Handler)
{
    m_clock.Schedule(
        delay,
        [](void* arg) { Handler{}(*static_cast<T*>(arg)); },
        &object);
}

// --- operations that begin

FastForward::Operation&
FastForward::Open(PartOperation what, const OperationShape& shape, EndHandler ended)
{
    Part& part = m_parts.emplace_back();
    part.owner = this;
    part.self = std::prev(m_parts.end());
    auto& operation = part.operations.emplace_back(std::make_unique<Operation>());
    const std::size_t ranks = what.group.ranks.size();
    if (!what.isMessage)
    {
        m_payoff.Begin(1, static_cast<double>(what.request.bytes));
    }
    m_report.choices += shape.hasChoice;
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
    if (operation.live)
    {
        operation.live->Begin(rank);
        return;
    }
    // A collective that needs all ranks counts once all have begun; until then a rank sends little.
    const bool isReady = operation.HasBegun() || !NeedsAllRanks(operation.what);
    const bool meetsLive =
        (isReady || operation.begun == 1) && !operation.holdsLinks && MeetsLive(operation);
    if (!isReady && m_config.tail > 0 && !meetsLive)
    {
        return;
    }
    if (!operation.holdsLinks)
    {
        operation.order = m_nextOrder++;
        if (meetsLive)
        {
            BeginLive(operation);
            return;
        }
        JoinPart(operation);
    }
    Part& part = *operation.part;
    ++part.starts;
    part.lastStart = now;
    part.changed = part.changed == NO_TIME ? now : part.changed;
    // Where times are exact, the little that it sends may change the order of others' messages, so
    // that they end sooner.
    if (isReady || m_config.tolerance == 0)
    {
        Plan(part, now + ShortestTime(operation));
    }
}

template <typename Function>
void
FastForward::TakeLinks(Operation& operation, Function meet)
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
            if (user.part == operation.part || user.live)
            {
                continue;
            }
            if (IsNearlyOver(user, now))
            {
                Detach(user);
                continue;
            }
            meet(*user.part);
        }
        users.push_back(&operation);
    }
}

void
FastForward::JoinPart(Operation& operation)
{
    // Parts are connected components: an operation joins those of all users of its links into one.
    TakeLinks(operation, [this, &operation](Part& part) { Merge(part, *operation.part); });
}

// --- operations on the run's own network

bool
FastForward::MeetsLive(const Operation& operation) const
{
    return m_liveNow > 0 && std::ranges::any_of(operation.shape->links, [this](uint32_t link) {
               return std::ranges::any_of(m_users[link], [](const Operation* user) {
                   return user->live != nullptr;
               });
           });
}

void
FastForward::BeginLive(Operation& operation)
{
    TakeLinks(operation, [this](Part& part) { GoLive(part); });
    OpenLive(operation);
    for (uint32_t rank = 0; rank < operation.CountRanks(); ++rank)
    {
        if (operation.starts[rank] != NO_TIME)
        {
            operation.live->Begin(rank);
        }
    }
}

void
FastForward::OpenLive(Operation& operation)
{
    m_liveNow += !operation.IsOver();
    ++m_report.live;
    operation.live = m_live->Open(operation.what, [this, &operation](uint32_t rank) {
        OnLiveEnd(operation, rank);
    });
}

void
FastForward::GoLive(Part& part)
{
    struct Start
    {
        TimePs time;
        Operation* operation;
        uint32_t rank;
    };

    std::vector<Start> starts;
    for (const auto& operation : part.operations)
    {
        OpenLive(*operation);
        for (uint32_t rank = 0; rank < operation->CountRanks(); ++rank)
        {
            if (operation->starts[rank] != NO_TIME)
            {
                starts.push_back({operation->starts[rank], operation.get(), rank});
            }
            if (!operation->isPast && !operation->told[rank])
            {
                operation->ends[rank] = NO_TIME;
            }
        }
    }
    std::ranges::stable_sort(starts, {}, &Start::time);
    part.changed = NO_TIME;
    part.nextEvaluation = INT64_MAX;
    const TimePs begin = starts.front().time;
    m_isCatchingUp = true;
    m_live->CatchUp(begin, [this, begin, &starts] {
        for (Start& start : starts)
        {
            Schedule(start, start.time - begin, [](const Start& due) {
                due.operation->live->Begin(due.rank);
            });
        }
    });
    m_isCatchingUp = false;
    for (Operation* operation : std::exchange(m_endedBefore, {}))
    {
        Arm(*operation);
    }
}

void
FastForward::OnLiveEnd(Operation& operation, uint32_t rank)
{
    if (operation.told[rank] || operation.isPast)
    {
        return;
    }
    operation.ends[rank] = Now();
    if (m_isCatchingUp)
    {
        m_endedBefore.push_back(&operation);
        return;
    }
    Arm(operation);
}

bool
FastForward::IsNearlyOver(const Operation& operation, TimePs now) const
{
    // Ends may change until the part's last starts have been taken in.
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
    m_report.cutTails +=
        std::ranges::any_of(operation.ends, [now](TimePs end) { return end > now; });
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
        const auto self = std::ranges::find(users, &operation);
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
    std::ranges::sort(into.operations,
                      [](const auto& a, const auto& b) { return a->order < b->order; });
    into.underWay += from.underWay;
    into.starts += from.starts;
    into.simulatedWork += from.simulatedWork;
    into.account += from.account;
    into.hasEnds |= from.hasEnds;
    into.lastStart = std::max(into.lastStart, from.lastStart);
    if (into.changed == NO_TIME)
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

// --- when the ends of a part are worked out

void
FastForward::Plan(Part& part, TimePs time)
{
    // A pattern is simulated when its first end may be next, not at each start, so that starts that
    // follow soon are in it. Events are not cancelled: one that is no longer the next does nothing.
    if (time >= part.nextEvaluation)
    {
        return;
    }
    part.nextEvaluation = time;
    part.startsSeen = part.starts;
    ++part.events;
    Schedule(part, time - Now(), [](Part& due) { due.owner->OnPlanned(due); });
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
    const bool somethingEnds = std::ranges::any_of(part.operations, [](const auto& operation) {
        return !operation->IsOver() && (operation->HasBegun() || !NeedsAllRanks(operation->what));
    });
    if (!somethingEnds || HasGivenUp())
    {
        return; // not before another rank begins, or never
    }
    part.changed = NO_TIME;
    SortByLikeness(part);
    if (const PartOutcome* outcome = Find(part))
    {
        Apply(part, *outcome);
    }
}

void
FastForward::Apply(Part& part, const PartOutcome& outcome)
{
    const TimePs now = Now();
    part.hasEnds = true;
    part.traffic = outcome.traffic;
    for (std::size_t i = 0; i < part.byLikeness.size(); ++i)
    {
        Operation& operation = *part.byLikeness[i];
        if (operation.isPast || operation.IsOver())
        {
            continue;
        }
        // Within the tolerance starts may differ from the outcome's; ends move with the anchor.
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

// --- operations that end

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
    Schedule(operation, std::max<TimePs>(next - Now(), 0), [](Operation& due) {
        due.owner->OnEnd(due);
    });
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
        Evaluate(part); // operations that began since may delay this end
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
                m_liveNow -= operation.live != nullptr;
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
    if (!part.operations.empty() && part.operations.front()->live)
    {
        ++m_report.parts;
        m_report.repeatedWork += part.simulatedWork;
    }
    else if (!part.isMerged)
    {
        const uint64_t work = part.traffic.Work();
        m_report.carried += part.traffic;
        ++m_report.parts;
        const uint64_t simulated = part.wasSimulated ? work - part.workByFlows : 0;
        m_report.reusedWork += part.wasSimulated ? 0 : work;
        m_report.workByFlows += part.wasSimulated ? part.workByFlows : 0;
        m_report.repeatedWork += part.simulatedWork - simulated;
    }
    m_parts.erase(part.self);
}

// --- operations that are alone

std::optional<FastForward::Alone>
FastForward::FindAlone(const PartOperation& what, const OperationShape& shape)
{
    if (m_config.verifies || HasGivenUp())
    {
        return std::nullopt;
    }
    Part part;
    Operation& operation = *part.operations.emplace_back(std::make_unique<Operation>());
    operation.what = what;
    operation.shape = &shape;
    operation.starts.assign(what.group.ranks.size(), Now());
    operation.begun = operation.CountRanks();
    SortByLikeness(part);
    const PartOutcome* outcome = Find(part);
    if (!outcome)
    {
        return std::nullopt;
    }
    m_report.repeatedWork += part.simulatedWork; // until CountAlone() needs it
    const auto [first, last] = std::ranges::minmax(outcome->ends.front());
    return Alone{first,
                 last,
                 outcome->traffic,
                 WorkOf(part, *outcome),
                 part.workByFlows,
                 part.wasSimulated};
}

void
FastForward::CountAlone(Alone& alone, uint32_t times)
{
    // FindAlone() has accounted for one occurrence as it does for those of Open().
    const uint64_t found = std::exchange(alone.isCounted, true) ? 0 : std::min<uint32_t>(times, 1);
    const uint64_t simulated = alone.wasSimulated ? found : 0;
    m_report.carried += TimesOver(alone.traffic, times);
    m_report.parts += times;
    m_report.reuses += times - found;
    m_report.reusedWork += (times - simulated) * alone.traffic.Work();
    m_report.workByFlows += simulated * alone.workByFlows;
    m_report.repeatedWork -= simulated * (alone.traffic.Work() - alone.workByFlows);
    m_payoff.Saved((times - found) * alone.work);
    m_payoff.Begin(times, 0);
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

// --- how long operations take

TimePs
FastForward::ShortestTime(const Operation& operation) const
{
    // The factor of 2: alone, an operation may be faster than any seen so far.
    const auto known =
        m_config.tolerance == 0 ? m_shortest.end() : m_shortest.find(operation.shape->digest);
    return known == m_shortest.end() ? 0 : known->second / 2;
}

void
FastForward::LearnTimes(const Part& part, const PartOutcome& outcome)
{
    for (std::size_t i = 0; i < part.byLikeness.size(); ++i)
    {
        const Operation& operation = *part.byLikeness[i];
        if (!operation.HasBegun())
        {
            continue;
        }
        const auto& starts = operation.starts;
        const auto& ends = outcome.ends[i];
        const TimePs last = *std::ranges::max_element(starts) - operation.Anchor();
        const TimePs shortest = *std::ranges::min_element(ends) - last;
        const auto [known, isNew] = m_shortest.try_emplace(operation.shape->digest, shortest);
        known->second = std::max<TimePs>(std::min(known->second, shortest), 0);
    }
}

// --- the pattern of a part

PartPattern
FastForward::PatternOf(const Part& part)
{
    const TimePs begin = part.Begin();
    PartPattern pattern;
    for (const auto& operation : part.operations)
    {
        TimedOperation& timed = pattern.emplace_back(&operation->what, operation->starts);
        for (TimePs& start : timed.starts)
        {
            start = start == NO_TIME ? NO_TIME : start - begin;
        }
    }
    return pattern;
}

void
FastForward::SortByLikeness(Part& part)
{
    // Equal parts must have equal keys, whichever of their operations began first. So operations
    // are sorted by digests of their shapes and of those that they meet.
    std::vector<const OperationShape*> shapes;
    for (const auto& operation : part.operations)
    {
        shapes.push_back(operation->shape);
    }
    const std::vector<Digest> likeness = LikenessOf(shapes);
    std::vector<std::size_t> order(likeness.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&likeness](std::size_t a, std::size_t b) {
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
        const auto known = m_shortest.find(operation->shape->digest);
        shortest = known == m_shortest.end() ? 0 : std::min(shortest, known->second);
    }
    return static_cast<TimePs>(m_config.tolerance * static_cast<double>(shortest));
}

TimePs
FastForward::EarliestStart(const Part& part) const
{
    const Operation& only = *part.operations.front();
    const auto known = m_shortest.find(only.shape->digest);
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
FastForward::KeyOf(const Part& part)
{
    Digest key;
    for (const Operation* operation : part.byLikeness)
    {
        key.Add(operation->shape->digest);
        for (const TimePs start : operation->starts)
        {
            key.Add(uint64_t{start == NO_TIME});
        }
    }
    if (part.byLikeness.size() == 1)
    {
        return key;
    }
    // Shapes say how an operation's links are joined. The key also needs to say which links of one
    // operation are links of another: pairs of (operation, place among its links).
    boost::unordered_flat_map<uint32_t, uint64_t> first; // link: operation and place where it was
    for (uint64_t number = 0; number < part.byLikeness.size(); ++number)
    {
        const auto& links = part.byLikeness[number]->shape->links;
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

// --- its outcome

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

const PartOutcome*
FastForward::Find(Part& part)
{
    const Digest kind = KeyOf(part);
    Digest key = kind;
    std::vector<TimePs> times = TimesOf(part);
    if (m_config.tolerance == 0)
    {
        // Times must be equal, so they are part of the key.
        for (const TimePs time : std::exchange(times, {}))
        {
            key.Add(static_cast<uint64_t>(time));
        }
    }
    const PartOutcome* found = nullptr;
    if (PartStore::Entry* known = m_store.Find(key, times, ToleranceOf(part)))
    {
        found = &known->outcome;
        // The 1st, 2nd, 4th, 8th ... reuse of each.
        if (m_config.verifies && std::has_single_bit(++known->uses))
        {
            Verify(part, *found);
        }
    }
    else
    {
        found = Infer(part, key, times);
    }
    if (!found)
    {
        if (IsBetterLive(part))
        {
            m_payoff.Drop(part.account);
            GoLive(part);
            return nullptr;
        }
        if (WouldBeInVain(part, kind))
        {
            GiveUp();
            return nullptr;
        }
        return &FindNew(part, kind, key, std::move(times));
    }
    part.wasSimulated = false;
    ++m_report.reuses;
    m_payoff.Reused(part.account, WorkOf(part, *found), part.hasEnds);
    return found;
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
    ++m_report.inferred;
    if (const uint64_t uses = m_store.UseAll(key); m_config.verifies && std::has_single_bit(uses))
    {
        Verify(part, m_inferred);
    }
    return &m_inferred;
}

const PartOutcome&
FastForward::FindNew(Part& part, const Digest& kind, const Digest& key, std::vector<TimePs> times)
{
    PartOutcome simulated = m_patterns.SimulateLonger(PatternOf(part), part.traffic.Work());
    const auto last = static_cast<double>(std::max<TimePs>(simulated.LastEnd(), 1));
    const double simulatedShare =
        simulated.isContinued ? 1 - static_cast<double>(part.lastStart - part.Begin()) / last : 1;
    m_report.largestDoubt =
        std::max(m_report.largestDoubt, static_cast<double>(simulated.doubtPs) / last);
    PartOutcome outcome = InOrderOfLikeness(part, std::move(simulated));
    if (m_config.tolerance > 0 && IsOneCollective(part))
    {
        const auto bounds = m_store.BoundEnds(key, times);
        if (bounds && bounds->Contradict(outcome.ends.front(), ToleranceOf(part)))
        {
            m_store.Distrust(key);
        }
    }
    const PartOutcome& made = m_store.Put(key, std::move(times), std::move(outcome))->outcome;
    LearnTimes(part, made);
    const uint64_t work = made.traffic.Work();
    part.wasSimulated = true;
    part.workByFlows = made.isByFlows ? work : 0;
    part.simulatedWork += work - part.workByFlows;
    m_report.simulatedWork += work - part.workByFlows;
    ++m_report.simulations;
    const uint64_t effort = WorkOf(part, made);
    m_payoff.Simulated(part.account,
                       kind,
                       {effort, CostOf(part, made)},
                       part.hasEnds ? simulatedShare * static_cast<double>(effort) : 0);
    return made;
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

// --- whether reuse pays

void
FastForward::SetGiveUpHandler(std::function<void()> handler)
{
    m_giveUp = std::move(handler);
}

uint64_t
FastForward::ConnectionsOf(const Part& part)
{
    uint64_t connections = 0;
    for (const auto& operation : part.operations)
    {
        connections += operation->shape->connections;
    }
    return connections;
}

uint64_t
FastForward::WorkOf(const Part& part, const PartOutcome& outcome)
{
    // On networks of flows, reductions in switches are no messages, but take as long to simulate.
    return std::max(outcome.traffic.Work(), ConnectionsOf(part));
}

uint64_t
FastForward::CostOf(const Part& part, const PartOutcome& outcome) const
{
    return outcome.isByFlows ? m_payoff.CostOfFlows(outcome.traffic.flows)
                             : WorkOf(part, outcome) + m_payoff.GetOverhead(ConnectionsOf(part));
}

bool
FastForward::IsBetterLive(const Part& part) const
{
    return m_live && part.hasEnds &&
           m_payoff.IsBetterLive(part.account, part.traffic.Work(), m_config.againWork);
}

bool
FastForward::WouldBeInVain(const Part& part, const Digest& kind) const
{
    return m_giveUp && m_payoff.WouldBeInVain(part.account,
                                              kind,
                                              part.traffic.Work(),
                                              m_payoff.GetOverhead(ConnectionsOf(part)));
}

void
FastForward::GiveUp()
{
    m_hasGivenUp = true;
    m_giveUp();
}

} // namespace AstraSim
