/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "max-min-solver.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

// Solve() keeps a set of affected flows, at first the new ones and those held by relaxed
// resources, and repeats two steps until the set grows no more. Fill() shares the room that
// other flows leave among the affected ones by progressive filling: all rates rise together; the
// resource that is full first freezes its flows at its level, and so on (FillMany). Flows that
// meet no contested resource get their rate alone, without that loop (FindContested).
// FindViolations() then looks at the touched resources for flows that max-min fairness forbids:
// held by a resource that is not full, slower there than the fastest, or faster than the flows
// that it holds; these become affected, too. On a resource that also holds flows that are not
// affected, the others may have the rate of these as long as that overfills it by no more than the
// tolerance (ShareOf): without this, one flow that becomes faster would meet a resource without
// room and take in all that are there. A change thus costs the flows that it reaches, not all.
// After MAX_STEPS rounds, all flows connected by full resources are taken in at once.

namespace
{

/// Shares that differ by less, relatively, are equal.
constexpr double RATE_ROUNDING = 1e-9;

/// After so many fillings, Solve() takes in all flows connected by full resources at once.
constexpr int MAX_STEPS = 16;

/// Changes of a load after which it is summed up anew, against rounding errors.
constexpr uint32_t MAX_UPDATES = 1024;

/// A resource that holds fewer flows is soon shared anew: it has less than the whole tolerance.
constexpr uint32_t MANY_HELD = 5;

/// Equal flows reach equal rates by different sums; cutting the last bits off makes them equal.
double
Trim(double rate)
{
    int exponent;
    const double mantissa = std::frexp(rate, &exponent);
    constexpr double STEPS = 1099511627776.0; // 2^40
    return std::ldexp(std::nearbyint(mantissa * STEPS), exponent - 40);
}

constexpr auto HIGHER = [](const auto& a, const auto& b) { return a.rate > b.rate; };

} // namespace

MaxMinSolver::MaxMinSolver(double tolerance)
    : m_tolerance(tolerance)
{
}

uint32_t
MaxMinSolver::AddResource(double capacity)
{
    m_resources.emplace_back();
    m_resources.back().capacity = capacity;
    return static_cast<uint32_t>(m_resources.size() - 1);
}

void
MaxMinSolver::SetCapacity(uint32_t resource, double capacity)
{
    m_resources[resource].capacity = capacity;
    Relax(resource);
}

double
MaxMinSolver::ShareOf(const Resource& resource, double weight)
{
    const double lent = std::min(resource.level * weight, resource.residual + resource.slack);
    return std::max({resource.residual, lent, 0.0}) / weight;
}

double
MaxMinSolver::LevelOf(const Resource& resource)
{
    return ShareOf(resource, resource.open);
}

double
MaxMinSolver::RoomOf(const Resource& resource)
{
    return resource.capacity - std::min(resource.following, resource.capacity / 2);
}

double
MaxMinSolver::ExcessOf(const Resource& resource)
{
    return (resource.load - resource.following - RoomOf(resource)) / resource.capacity;
}

bool
MaxMinSolver::IsFull(const Resource& resource) const
{
    return resource.load - resource.following >= RoomOf(resource) - SlackOf(resource);
}

double
MaxMinSolver::ToleranceOf(const Resource& resource) const
{
    const uint32_t held = std::clamp(resource.bottlenecked, 1U, MANY_HELD);
    return m_tolerance * held / MANY_HELD;
}

double
MaxMinSolver::SlackOf(const Resource& resource) const
{
    return resource.capacity * ToleranceOf(resource);
}

double
MaxMinSolver::ShiftOf(const Resource& resource) const
{
    return ToleranceOf(resource) * (resource.slack > 0 ? 1 : m_precision);
}

void
MaxMinSolver::AddLoad(Resource& resource, bool follows, double load)
{
    resource.load += load;
    resource.following += follows ? load : 0;
    ++resource.updates;
}

void
MaxMinSolver::Relax(uint32_t index)
{
    Resource& resource = m_resources[index];
    if (!resource.relaxed)
    {
        resource.relaxed = true;
        m_relaxed.push_back(index);
    }
}

void
MaxMinSolver::SetBottleneck(Flow& flow, uint32_t resource)
{
    if (flow.bottleneck != NONE)
    {
        --m_resources[flow.bottleneck].bottlenecked;
    }
    flow.bottleneck = resource;
    if (resource != NONE)
    {
        ++m_resources[resource].bottlenecked;
    }
}

MaxMinSolver::FlowId
MaxMinSolver::Add(std::span<const Use> uses, double cap)
{
    FlowId id;
    if (m_free.empty())
    {
        id = static_cast<FlowId>(m_flows.size());
        m_flows.emplace_back();
        m_demands.emplace_back();
    }
    else
    {
        id = m_free.back();
        m_free.pop_back();
    }
    m_flows[id] = {.present = true};
    Demand& demand = m_demands[id];
    demand.cap = cap;
    demand.places.clear();
    for (const bool follows : {false, true})
    {
        for (const Use& use : uses)
        {
            if (use.follows == follows)
            {
                auto& members = m_resources[use.resource].members;
                const auto place = static_cast<uint32_t>(demand.places.size());
                demand.places.push_back(
                    {use.resource, use.weight, static_cast<uint32_t>(members.size()), follows});
                members.push_back({id, place, use.weight, follows});
            }
        }
        demand.sharing = follows ? demand.sharing : static_cast<uint32_t>(demand.places.size());
    }
    m_new.push_back(id);
    return id;
}

void
MaxMinSolver::SetCount(FlowId id, uint32_t count)
{
    Flow& flow = m_flows[id];
    for (const Place& place : m_demands[id].places)
    {
        Resource& resource = m_resources[place.resource];
        AddLoad(resource, place.follows, place.weight * (count - flow.count) * flow.rate);
        if (count < flow.count && resource.bottlenecked > 0)
        {
            Relax(place.resource);
        }
    }
    flow.count = count;
    m_new.push_back(id);
}

void
MaxMinSolver::Remove(FlowId id)
{
    Flow& flow = m_flows[id];
    for (const Place& place : m_demands[id].places)
    {
        Resource& resource = m_resources[place.resource];
        const Member last = resource.members.back();
        resource.members[place.index] = last;
        m_demands[last.flow].places[last.place].index = place.index;
        resource.members.pop_back();
        const double load = place.weight * flow.count * flow.rate;
        AddLoad(resource, place.follows, -load);
        if (resource.members.empty())
        {
            resource.load = 0;
            resource.following = 0;
        }
        if (resource.bottlenecked > 0 && (!place.follows || load > SlackOf(resource)))
        {
            Relax(place.resource);
        }
    }
    SetBottleneck(flow, NONE);
    flow.present = false;
    m_free.push_back(id);
}

void
MaxMinSolver::Affect(FlowId id)
{
    Flow& flow = m_flows[id];
    if (flow.affected != m_solve)
    {
        flow.affected = m_solve;
        m_demands[id].before = flow.rate;
        m_affected.push_back(id);
    }
}

std::span<const MaxMinSolver::FlowId>
MaxMinSolver::Solve()
{
    m_changed.clear();
    m_affected.clear();
    ++m_solve;
    for (const FlowId id : m_new)
    {
        if (m_flows[id].present)
        {
            Affect(id);
        }
    }
    m_new.clear();
    SeedFromRelaxed();

    std::size_t known = 0;
    m_shifted = false;
    for (int step = 0; known < m_affected.size() || (m_shifted && step <= MAX_STEPS); ++step)
    {
        known = m_affected.size();
        m_shifted = false;
        m_precision = step == 0 ? 1 : 1.0 / 16; // each filling brings followers nearer
        Fill();
        FindViolations();
        if (known < m_affected.size() && step == MAX_STEPS)
        {
            TakeInConnected();
        }
    }
    for (const FlowId id : m_affected)
    {
        if (m_flows[id].rate != m_demands[id].before)
        {
            m_changed.push_back(id);
        }
    }
    return m_changed;
}

void
MaxMinSolver::SeedFromRelaxed()
{
    for (const uint32_t index : m_relaxed)
    {
        Resource& resource = m_resources[index];
        resource.relaxed = false;
        const bool tooFull = resource.load > resource.capacity + SlackOf(resource);
        if (!tooFull && (resource.bottlenecked == 0 || IsFull(resource)))
        {
            continue;
        }
        for (const Member& member : resource.members)
        {
            if (m_flows[member.flow].bottleneck == index || (tooFull && !member.follows))
            {
                Affect(member.flow);
            }
        }
    }
    m_relaxed.clear();
}

void
MaxMinSolver::Fill()
{
    ++m_filling;
    m_fillCount += m_affected.size();
    Touch();
    if (m_affected.size() == 1)
    {
        FillOne();
    }
    else
    {
        FillMany();
    }
}

void
MaxMinSolver::Touch()
{
    m_touched.clear();
    for (const FlowId id : m_affected)
    {
        const Flow& flow = m_flows[id];
        for (const Place& place : m_demands[id].places)
        {
            Resource& resource = m_resources[place.resource];
            if (resource.filling != m_filling)
            {
                resource.filling = m_filling;
                resource.open = 0;
                resource.openFlows = 0;
                resource.demand = 0;
                resource.openHeld = 0;
                resource.residual = RoomOf(resource) - (resource.load - resource.following);
                m_touched.push_back(place.resource);
            }
            if (place.follows)
            {
                continue;
            }
            const double weight = place.weight * flow.count;
            resource.residual += weight * flow.rate;
            resource.open += weight;
            ++resource.openFlows;
            resource.openHeld += flow.bottleneck == place.resource ? 1 : 0;
        }
    }
    for (const uint32_t index : m_touched)
    {
        Resource& resource = m_resources[index];
        const bool holdsOthers = resource.bottlenecked > resource.openHeld;
        resource.slack = holdsOthers ? SlackOf(resource) : 0;
    }
}

void
MaxMinSolver::FillOne()
{
    const FlowId id = m_affected.front();
    const double count = m_flows[id].count;
    double rate = m_demands[id].cap;
    uint32_t bottleneck = NONE;
    for (const Place& place : m_demands[id].Sharing())
    {
        const double share = ShareOf(m_resources[place.resource], place.weight * count);
        if (share < rate)
        {
            rate = share;
            bottleneck = place.resource;
        }
    }
    Freeze(id, rate, bottleneck);
}

void
MaxMinSolver::FindContested()
{
    // No flow gets more than it would alone. Where all these rates fit, no flow limits another.
    for (const FlowId id : m_affected)
    {
        const double count = m_flows[id].count;
        Demand& demand = m_demands[id];
        demand.alone = demand.cap;
        demand.aloneAt = NONE;
        for (const Place& place : demand.Sharing())
        {
            const double share = ShareOf(m_resources[place.resource], place.weight * count);
            if (share < demand.alone)
            {
                demand.alone = share;
                demand.aloneAt = place.resource;
            }
        }
        for (const Place& place : demand.Sharing())
        {
            m_resources[place.resource].demand += place.weight * count * demand.alone;
        }
    }
    m_levels.clear();
    for (const uint32_t index : m_touched)
    {
        Resource& resource = m_resources[index];
        resource.contested =
            resource.openFlows > 1 && resource.demand > resource.residual + resource.slack;
        if (resource.contested)
        {
            m_levels.push_back({LevelOf(resource), index});
        }
    }
}

void
MaxMinSolver::FillMany()
{
    FindContested();
    m_bounded.clear();
    for (const FlowId id : m_affected)
    {
        const Demand& demand = m_demands[id];
        const auto isContested = [this](const Place& place) {
            return m_resources[place.resource].contested;
        };
        if (std::ranges::any_of(demand.Sharing(), isContested))
        {
            m_bounded.push_back({demand.alone, id});
        }
        else
        {
            Freeze(id, demand.alone, demand.aloneAt);
        }
    }
    std::make_heap(m_levels.begin(), m_levels.end(), HIGHER);
    std::ranges::sort(m_bounded, {}, &Bound::rate);

    auto next = m_bounded.begin();
    while (!m_levels.empty())
    {
        std::pop_heap(m_levels.begin(), m_levels.end(), HIGHER);
        const Level lowest = m_levels.back();
        m_levels.pop_back();
        const Resource& resource = m_resources[lowest.resource];
        if (resource.openFlows == 0)
        {
            continue;
        }
        // Shares only grow while flows freeze below them: one that has grown goes back.
        const double level = LevelOf(resource);
        if (level > lowest.rate * (1 + RATE_ROUNDING))
        {
            m_levels.push_back({level, lowest.resource});
            std::push_heap(m_levels.begin(), m_levels.end(), HIGHER);
            continue;
        }
        bool frozen = false;
        for (; next != m_bounded.end() && next->rate <= level; ++next)
        {
            if (m_flows[next->flow].filled != m_filling)
            {
                Freeze(next->flow, next->rate, m_demands[next->flow].aloneAt);
                frozen = true;
            }
        }
        if (frozen)
        {
            m_levels.push_back(lowest);
            std::push_heap(m_levels.begin(), m_levels.end(), HIGHER);
            continue;
        }
        for (std::size_t i = 0; resource.openFlows > 0 && i < resource.members.size(); ++i)
        {
            const Member member = resource.members[i];
            const Flow& flow = m_flows[member.flow];
            if (flow.affected == m_solve && flow.filled != m_filling && !member.follows)
            {
                Freeze(member.flow, level, lowest.resource);
            }
        }
    }
}

void
MaxMinSolver::Freeze(FlowId id, double rate, uint32_t bottleneck)
{
    Flow& flow = m_flows[id];
    const double trimmed = Trim(rate);
    flow.filled = m_filling;
    for (const Place& place : m_demands[id].places)
    {
        Resource& resource = m_resources[place.resource];
        const double weight = place.weight * flow.count;
        AddLoad(resource, place.follows, weight * (trimmed - flow.rate));
        if (!place.follows)
        {
            resource.residual -= weight * trimmed;
            resource.open -= weight;
            --resource.openFlows;
        }
    }
    flow.rate = trimmed;
    SetBottleneck(flow, bottleneck);
    if (bottleneck != NONE)
    {
        Resource& resource = m_resources[bottleneck];
        resource.level = resource.slack > 0 ? std::max(resource.level, trimmed) : trimmed;
    }
}

void
MaxMinSolver::SumUp(Resource& resource) const
{
    resource.load = 0;
    resource.following = 0;
    for (const Member& member : resource.members)
    {
        const Flow& flow = m_flows[member.flow];
        AddLoad(resource, member.follows, member.weight * flow.count * flow.rate);
    }
    resource.updates = 0;
}

void
MaxMinSolver::FindViolations()
{
    for (const uint32_t index : m_touched)
    {
        Resource& resource = m_resources[index];
        if (resource.updates > MAX_UPDATES)
        {
            SumUp(resource);
        }
        // Followers may overfill a resource that limits no flow.
        if (resource.bottlenecked > 0 ||
            (resource.following > 0 && ExcessOf(resource) > ShiftOf(resource)))
        {
            CheckResource(index);
        }
    }
}

void
MaxMinSolver::CheckResource(uint32_t index)
{
    Resource& resource = m_resources[index];
    double load = 0;
    double following = 0;
    double fastest = 0;
    double slowest = NO_CAP; // of those that this resource holds
    double held = NO_CAP;    // of these, the affected ones
    for (const Member& member : resource.members)
    {
        const Flow& flow = m_flows[member.flow];
        const double rate = member.weight * flow.count * flow.rate;
        load += rate;
        following += member.follows ? rate : 0;
        if (!member.follows)
        {
            fastest = std::max(fastest, flow.rate);
            if (flow.bottleneck == index)
            {
                slowest = std::min(slowest, flow.rate);
                held = flow.affected == m_solve ? std::min(held, flow.rate) : held;
            }
        }
    }
    resource.load = load; // summed up, as by SumUp()
    resource.following = following;
    resource.updates = 0;
    const bool full = IsFull(resource);
    const bool shifted = resource.following > 0 && std::abs(ExcessOf(resource)) > ShiftOf(resource);
    const bool overfull = shifted && resource.load - resource.following > RoomOf(resource);
    m_shifted |= shifted;
    const double least = fastest * (1 - m_tolerance);
    const double most = held * (1 + m_tolerance);
    if (!overfull && full && !shifted && slowest >= least && fastest <= most)
    {
        return;
    }
    for (const Member& member : resource.members)
    {
        const Flow& flow = m_flows[member.flow];
        const bool isTooSlow = flow.bottleneck == index && (!full || shifted || flow.rate < least);
        if (!member.follows && (overfull || isTooSlow || flow.rate > most))
        {
            Affect(member.flow);
        }
    }
}

void
MaxMinSolver::TakeInConnected()
{
    for (std::size_t i = 0; i < m_affected.size(); ++i)
    {
        for (const Place& place : m_demands[m_affected[i]].places)
        {
            Resource& resource = m_resources[place.resource];
            if (place.follows || resource.takenIn == m_solve || !IsFull(resource))
            {
                continue;
            }
            resource.takenIn = m_solve;
            for (const Member& member : resource.members)
            {
                if (!member.follows)
                {
                    Affect(member.flow);
                }
            }
        }
    }
}

} // namespace AstraSim
