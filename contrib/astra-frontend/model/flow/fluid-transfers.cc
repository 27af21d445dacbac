/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fluid-transfers.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <bit>
#include <boost/functional/hash.hpp>

namespace AstraSim
{

// Transfers over the same links with the same cap are a bundle: one flow of the solver and one
// counter, the bytes that each of them has moved. A transfer ends when the counter reaches its
// own mark, so a heap orders the bundle's transfers, and one event per bundle, for the first of
// the heap, serves all (Plan, Progress). Begins, ends and moves only mark bundles. Just before
// the clock goes on, TellSolver() says how many transfers each has now: as many as before where
// one message follows another. UpdateRates() then solves once for all, advances the counters of
// the changed bundles at their old rates and plans their events anew. Where a change touches many
// flows, updates wait a little and gather changes (MayWait); Correct() then adds the bytes of the
// new rates since the mean time of these changes.

namespace
{

/// Flows that a change concerns, on average, from which on changes wait for each other.
constexpr double MANY_FLOWS = 32;

/// A link that is as full as this is full: the solver lets that much pass.
constexpr double FULL_LINK = 0.99;

/// A transfer with this part of a rate has that rate: acknowledgements take the rest.
constexpr double NEARLY = 0.97;

/// @return bytes its bundle will have moved when the transfer gets somewhere
double
NextMark(const FluidTransfer& transfer)
{
    return transfer.reached ? transfer.end : transfer.end - transfer.held;
}

/// Orders a heap so that the transfer that gets somewhere first is on top.
constexpr auto LATER = [](const FluidTransfer* a, const FluidTransfer* b) {
    const double markA = NextMark(*a);
    const double markB = NextMark(*b);
    return markA != markB ? markA > markB : a->order > b->order;
};

uint64_t
HashOf(std::span<const MaxMinSolver::Use> uses, double cap)
{
    std::size_t hash = std::bit_cast<uint64_t>(cap);
    for (const MaxMinSolver::Use& use : uses)
    {
        boost::hash_combine(hash, use.resource);
        boost::hash_combine(hash, std::bit_cast<uint32_t>(use.weight));
    }
    return hash;
}

bool
IsFor(const FluidBundle& bundle, std::span<const MaxMinSolver::Use> uses, double cap)
{
    return bundle.cap == cap && std::equal(bundle.uses.begin(),
                                           bundle.uses.end(),
                                           uses.begin(),
                                           uses.end(),
                                           [](const auto& a, const auto& b) {
                                               return a.resource == b.resource &&
                                                      a.weight == b.weight &&
                                                      a.follows == b.follows;
                                           });
}

} // namespace

FluidTransfers::FluidTransfers(EventLoop& loop)
    : m_loop(loop),
      m_solver(SHARE_TOLERANCE)
{
    m_loop.SetBeforeAdvance([](void* self) { static_cast<FluidTransfers*>(self)->UpdateRates(); },
                            this);
}

uint32_t
FluidTransfers::AddLink(uint64_t rateBps, double quietBytes)
{
    m_quietBytes.push_back(quietBytes);
    m_queued.push_back(0);
    m_carried.push_back(0);
    m_turns.emplace_back();
    return m_solver.AddResource(static_cast<double>(rateBps) / PS_BITS_PER_BYTE);
}

void
FluidTransfers::SetLinkRate(uint32_t link, uint64_t rateBps)
{
    m_solver.SetCapacity(link, static_cast<double>(rateBps) / PS_BITS_PER_BYTE);
}

FluidTransfer*
FluidTransfers::Start(const Request& request)
{
    FluidTransfer* transfer = m_pool.Take();
    transfer->held = request.held;
    // Part of a frame, or one that a gap follows, takes no turns.
    const bool takesTurns = request.held == 0 && request.uses.front().weight == 1;
    transfer->frameBytes = takesTurns ? request.frameBytes : 0;
    transfer->idleRate = request.idleRate;
    transfer->soonestPs =
        ns3::AddPs(m_loop.Now(), ns3::RoundToPs((request.bytes - request.held) / request.idleRate));
    transfer->firstLink = request.uses.front().resource;
    transfer->startsOnAll = request.startsOnAll;
    transfer->beganPs = m_loop.Now();
    transfer->order = m_order++;
    transfer->onReached = request.onReached;
    transfer->onDrained = request.onDrained;
    transfer->owner = request.owner;
    JoinTurns(*transfer,
              request.startsOnAll ? request.uses : request.uses.first(1),
              request.keepsTurn);
    const auto sharing = static_cast<double>(m_turns[transfer->firstLink].Count());
    Enter(*transfer, request.uses, request.cap, request.bytes);
    MarkChanged(*transfer->bundle, request.bytes / request.idleRate * std::max(sharing, 1.0));
    if (m_watch)
    {
        m_watch->Started(*transfer, request.uses, request.bytes);
    }
    return transfer;
}

std::span<const MaxMinSolver::Use>
FluidTransfers::StartsOf(const FluidTransfer& transfer)
{
    const std::span<const MaxMinSolver::Use> uses(transfer.bundle->uses);
    return transfer.startsOnAll ? uses : uses.first(1);
}

void
FluidTransfers::JoinTurns(FluidTransfer& transfer,
                          std::span<const MaxMinSolver::Use> starts,
                          bool keepsTurn)
{
    if (!std::ranges::all_of(starts,
                             [this](const auto& use) { return m_turns[use.resource].HasPlace(); }))
    {
        transfer.frameBytes = 0;
    }
    for (const auto& [link, weight, follows] : starts)
    {
        if (m_turns[link].Join(transfer, keepsTurn, link == transfer.firstLink))
        {
            m_changedLinks.push_back(link);
        }
    }
}

void
FluidTransfers::LeaveTurns(FluidTransfer& transfer)
{
    for (const auto& [link, weight, follows] : StartsOf(transfer))
    {
        if (m_turns[link].Leave(transfer))
        {
            m_changedLinks.push_back(link);
        }
    }
}

void
FluidTransfers::RenewTurns(uint32_t link)
{
    FluidTurns& turns = m_turns[link];
    turns.ForEach([this](const FluidTransfer& transfer) { Advance(*transfer.bundle); });
    const double capacity = m_solver.GetCapacity(link);
    const bool isFull = capacity > 0 && m_solver.GetLoad(link) >= FULL_LINK * capacity;
    if (!turns.Renew(static_cast<double>(m_loop.Now()), isFull))
    {
        return;
    }
    turns.ForEach([this](const FluidTransfer& transfer) {
        FluidBundle& bundle = *transfer.bundle;
        if (!bundle.isRenewed)
        {
            bundle.isRenewed = true;
            m_renewed.push_back(&bundle);
        }
    });
    for (FluidBundle* bundle : m_renewed)
    {
        bundle->isRenewed = false;
        std::make_heap(bundle->transfers.begin(), bundle->transfers.end(), LATER);
        Plan(*bundle);
    }
    m_renewed.clear();
}

void
FluidTransfers::RenewAllTurns()
{
    for (const uint32_t link : m_changedLinks)
    {
        RenewTurns(link);
    }
    m_changedLinks.clear();
}

FluidBundle&
FluidTransfers::FindBundle(std::span<const MaxMinSolver::Use> uses, double cap)
{
    const uint64_t key = HashOf(uses, cap);
    const auto [it, isNew] = m_bundles.try_emplace(key, nullptr);
    if (!isNew && IsFor(*it->second, uses, cap))
    {
        return *it->second;
    }
    FluidBundle* bundle = m_bundlePool.Take();
    it->second = bundle; // of two bundles with one hash, the later is found
    bundle->key = key;
    bundle->inUse = true;
    bundle->isNew = true;
    bundle->known = 1;
    bundle->uses.assign(uses.begin(), uses.end());
    bundle->cap = cap;
    bundle->beganPs = m_loop.Now();
    bundle->updatedPs = m_loop.Now();
    bundle->armedPs = INT64_MAX;
    bundle->engine = this;
    bundle->flow = m_solver.Add(uses, cap);
    if (m_byFlow.size() <= bundle->flow)
    {
        m_byFlow.resize(bundle->flow + 1, nullptr);
    }
    m_byFlow[bundle->flow] = bundle;
    return *bundle;
}

void
FluidTransfers::Enter(FluidTransfer& transfer,
                      std::span<const MaxMinSolver::Use> uses,
                      double cap,
                      double bytes)
{
    FluidBundle& bundle = FindBundle(uses, cap);
    Advance(bundle);
    bundle.startsOnAll = transfer.startsOnAll;
    transfer.bundle = &bundle;
    transfer.bytes = bytes;
    transfer.end = bundle.moved + bytes;
    transfer.credited = 0;
    bundle.transfers.push_back(&transfer);
    std::push_heap(bundle.transfers.begin(), bundle.transfers.end(), LATER);
}

void
FluidTransfers::MarkChanged(FluidBundle& bundle, double lengthPs)
{
    if (!bundle.isChanged)
    {
        bundle.isChanged = true;
        bundle.changeLengthPs = lengthPs;
        m_changedBundles.push_back(&bundle);
    }
    bundle.changeLengthPs = std::min(bundle.changeLengthPs, lengthPs);
}

void
FluidTransfers::TellSolver()
{
    for (FluidBundle* bundle : m_changedBundles)
    {
        bundle->isChanged = false;
        const auto count = static_cast<uint32_t>(bundle->transfers.size());
        if (bundle->isNew || count != bundle->known)
        {
            NoteChange(bundle->changeLengthPs);
        }
        bundle->isNew = false;
        if (count == 0)
        {
            Remove(*bundle);
            continue;
        }
        if (count != bundle->known)
        {
            m_solver.SetCount(bundle->flow, count);
            bundle->known = count;
        }
        Plan(*bundle);
    }
    m_changedBundles.clear();
}

void
FluidTransfers::Remove(FluidBundle& bundle)
{
    SetUncertain(bundle, false);
    bundle.excess = 0;
    bundle.queued.clear();
    m_solver.Remove(bundle.flow);
    m_byFlow[bundle.flow] = nullptr;
    bundle.inUse = false;
    const auto it = m_bundles.find(bundle.key);
    if (it != m_bundles.end() && it->second == &bundle)
    {
        m_bundles.erase(it);
    }
    GiveBackIfUnused(bundle);
}

void
FluidTransfers::GiveBackIfUnused(FluidBundle& bundle)
{
    if (!bundle.inUse && bundle.events == 0)
    {
        m_bundlePool.GiveBack(&bundle);
    }
}

void
FluidTransfers::Move(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap)
{
    FluidBundle& bundle = *transfer.bundle;
    const double left = LeftBytes(transfer);
    Credit(transfer, left);
    LeaveTurns(transfer);
    if (m_watch)
    {
        m_watch->Moved(transfer, uses, left);
    }
    bundle.transfers.erase(std::ranges::find(bundle.transfers, &transfer));
    std::make_heap(bundle.transfers.begin(), bundle.transfers.end(), LATER);
    Unqueue(bundle);
    MarkChanged(bundle, 0);
    transfer.firstLink = uses.front().resource;
    transfer.startsOnAll = false;
    JoinTurns(transfer, uses.first(1), false);
    Enter(transfer, uses, cap, left);
    MarkChanged(*transfer.bundle, 0);
}

void
FluidTransfers::Advance(FluidBundle& bundle)
{
    // A clock that was set back (EventLoop::RunAside) concerns none that is under way.
    const TimePs now = std::max(m_loop.Now(), bundle.updatedPs);
    const auto passed = static_cast<double>(now - bundle.updatedPs);
    bundle.moved += bundle.rate * passed;
    if (bundle.excess > 0)
    {
        Queue(bundle, bundle.excess * passed);
    }
    bundle.updatedPs = now;
}

double
FluidTransfers::LeftBytes(const FluidTransfer& transfer)
{
    Advance(*transfer.bundle);
    const FluidTurns& turns = m_turns[transfer.firstLink];
    if (transfer.frameBytes > 0)
    {
        turns.ForEach([this](const FluidTransfer& each) { Advance(*each.bundle); });
    }
    return turns.FindLeft(transfer);
}

void
FluidTransfers::Credit(FluidTransfer& transfer, double left)
{
    const FluidBundle& bundle = *transfer.bundle;
    const double moved = std::max(transfer.bytes - left, transfer.credited);
    const double bytes = moved - transfer.credited;
    transfer.credited = moved;
    for (const MaxMinSolver::Use& use : bundle.uses)
    {
        m_carried[use.resource] += bytes * use.weight;
    }
}

void
FluidTransfers::Plan(FluidBundle& bundle)
{
    if (bundle.rate <= 0 || bundle.transfers.empty())
    {
        bundle.duePs = INT64_MAX;
        return;
    }
    const FluidTransfer& first = *bundle.transfers.front();
    const double delay = std::max(NextMark(first) - bundle.moved, 0.0) / bundle.rate;
    bundle.duePs = ns3::AddPs(m_loop.Now(), ns3::RoundToPs(delay));
    if (bundle.duePs < bundle.armedPs)
    {
        bundle.armedPs = bundle.duePs;
        ++bundle.events;
        m_loop.ScheduleFor(bundle, bundle.duePs - m_loop.Now(), [](FluidBundle& due) {
            due.engine->OnEvent(due);
        });
    }
}

bool
FluidTransfers::IsBeyondClock() const
{
    return std::ranges::any_of(m_byFlow, [](const FluidBundle* bundle) {
        return bundle && !bundle->transfers.empty() && bundle->rate > 0 &&
               bundle->duePs == ns3::CLOCK_END_PS;
    });
}

void
FluidTransfers::OnEvent(FluidBundle& bundle)
{
    --bundle.events;
    const TimePs now = m_loop.Now();
    if (bundle.inUse && now == bundle.armedPs)
    {
        bundle.armedPs = INT64_MAX;
        Advance(bundle);
        if (now >= bundle.duePs)
        {
            Progress(bundle);
        }
        Plan(bundle); // also if it has become slower since the event was made
    }
    GiveBackIfUnused(bundle);
}

void
FluidTransfers::Progress(FluidBundle& bundle)
{
    std::pop_heap(bundle.transfers.begin(), bundle.transfers.end(), LATER);
    FluidTransfer& transfer = *bundle.transfers.back();
    bundle.transfers.pop_back();
    const bool isNew = !transfer.reached;
    const bool goesOn = isNew && transfer.held > 0;
    transfer.reached = true;
    if (goesOn)
    {
        bundle.transfers.push_back(&transfer);
        std::push_heap(bundle.transfers.begin(), bundle.transfers.end(), LATER);
        transfer.onReached(transfer.owner);
        return;
    }
    bundle.moved = std::max(bundle.moved, transfer.end); // to the picosecond
    MarkChanged(bundle, static_cast<double>(m_loop.Now() - transfer.beganPs));
    Credit(transfer, 0);
    Unqueue(bundle);
    LeaveTurns(transfer);
    if (m_watch)
    {
        m_watch->Ended(transfer);
    }
    if (isNew)
    {
        transfer.onReached(transfer.owner);
    }
    transfer.onDrained(transfer.owner);
    m_pool.GiveBack(&transfer);
}

void
FluidTransfers::NoteChange(double lengthPs)
{
    const TimePs now = m_loop.Now();
    const TimePs by = ns3::AddPs(now, ns3::RoundToPs(m_waitingShare * lengthPs));
    if (m_changes == 0)
    {
        m_firstChangePs = now;
        m_updateByPs = by;
    }
    ++m_changes;
    m_changeTimes += static_cast<double>(now - m_firstChangePs);
    m_updateByPs = std::min(m_updateByPs, by);
}

bool
FluidTransfers::MayWait()
{
    const TimePs now = m_loop.Now();
    if (m_changes == 0 || m_flowsPerChange < MANY_FLOWS || now >= m_updateByPs)
    {
        return false;
    }
    if (m_updateArmedPs <= now || m_updateByPs < m_updateArmedPs)
    {
        m_updateArmedPs = m_updateByPs;
        m_loop.Schedule(
            m_updateByPs - now,
            [](void*) {}, // the hook follows
            nullptr);
    }
    return true;
}

void
FluidTransfers::Correct(FluidBundle& bundle, double newRate)
{
    const TimePs now = m_loop.Now();
    const double mean = static_cast<double>(now - m_firstChangePs) - m_changeTimes / m_changes;
    const double missed = std::min(mean, static_cast<double>(now - bundle.beganPs));
    bundle.moved += (newRate - bundle.rate) * missed;
}

double
FluidTransfers::FindShare(const FluidBundle& bundle) const
{
    const uint32_t first = bundle.uses.front().resource;
    const auto sharing = static_cast<double>(std::max<std::size_t>(m_turns[first].Count(), 1));
    return std::min(m_solver.GetCapacity(first) / sharing, bundle.cap);
}

void
FluidTransfers::Judge(FluidBundle& bundle)
{
    const std::optional<uint32_t> bottleneck = m_solver.GetBottleneck(bundle.flow);
    bool isUncertain = false;
    double excess = 0;
    if (bundle.inUse && bottleneck &&
        (bundle.startsOnAll || bottleneck == bundle.uses.front().resource))
    {
        const FluidTurns& turns = m_turns[*bottleneck];
        isUncertain = turns.Count() > 1 && !turns.TakesTurns() && bundle.rate < NEARLY * bundle.cap;
    }
    else if (bundle.inUse && bottleneck)
    {
        // Two that begin at one NIC and end at another one are held by both, in either's turns.
        const double share = FindShare(bundle);
        isUncertain = bundle.rate < NEARLY * share;
        const bool isBounded = m_quietBytes[*bottleneck] < NO_RATE; // else nobody asks for queues
        excess = isUncertain && isBounded ? share - bundle.rate : 0;
    }
    SetUncertain(bundle, isUncertain);
    bundle.excess = excess;
    if (excess > 0 && (bundle.queued.empty() || bundle.queued.back().first != *bottleneck))
    {
        bundle.queued.emplace_back(*bottleneck, 0);
    }
}

void
FluidTransfers::SetUncertain(FluidBundle& bundle, bool isUncertain)
{
    if (isUncertain == bundle.isUncertain)
    {
        return;
    }
    const TimePs now = m_loop.Now();
    bundle.isUncertain = isUncertain;
    if (isUncertain)
    {
        m_uncertainSincePs = m_uncertain++ == 0 ? now : m_uncertainSincePs;
    }
    else if (--m_uncertain == 0)
    {
        m_uncertainPs += std::max<TimePs>(now - m_uncertainSincePs, 0);
    }
}

void
FluidTransfers::Queue(FluidBundle& bundle, double bytes)
{
    auto& [link, queued] = bundle.queued.back();
    const double more = bytes * static_cast<double>(bundle.transfers.size());
    queued += more;
    m_queued[link] += more;
    m_hasLongQueues |= m_queued[link] > m_quietBytes[link];
}

void
FluidTransfers::Unqueue(FluidBundle& bundle)
{
    const auto transfers = static_cast<double>(bundle.transfers.size() + 1);
    for (auto& [link, bytes] : bundle.queued)
    {
        m_queued[link] -= bytes / transfers;
        bytes -= bytes / transfers;
    }
}

void
FluidTransfers::UpdateRates()
{
    TellSolver();
    if (!m_solver.IsDirty() || !MayWait())
    {
        Solve();
    }
}

void
FluidTransfers::Settle()
{
    TellSolver();
    Solve();
    m_updateArmedPs = -1;
}

void
FluidTransfers::Solve()
{
    if (!m_solver.IsDirty())
    {
        m_changes = 0;
        m_changeTimes = 0;
        RenewAllTurns();
        return;
    }
    const bool waited = m_changes > 0 && m_firstChangePs < m_loop.Now();
    const auto changed = m_solver.Solve();
    for (const MaxMinSolver::FlowId flow : changed)
    {
        FluidBundle& bundle = *m_byFlow[flow];
        Advance(bundle);
        if (waited)
        {
            Correct(bundle, m_solver.GetRate(flow));
        }
        bundle.rate = m_solver.GetRate(flow);
    }
    RenewAllTurns();
    for (const MaxMinSolver::FlowId flow : changed)
    {
        Judge(*m_byFlow[flow]);
        Plan(*m_byFlow[flow]);
    }
    constexpr double SMOOTHING = 0.125;
    m_flowsPerChange += SMOOTHING * (static_cast<double>(changed.size()) - m_flowsPerChange);
    m_changes = 0;
    m_changeTimes = 0;
    if (m_watch)
    {
        m_watch->RatesChanged();
    }
}

void
FluidTransfers::UpdateCarried()
{
    ForEach([this](FluidTransfer& transfer) { Credit(transfer, LeftBytes(transfer)); });
}

} // namespace AstraSim
