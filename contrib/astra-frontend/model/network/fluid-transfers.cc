/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fluid-transfers.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

namespace
{

constexpr double PS_BITS_PER_BYTE = 8e12;

/// Acknowledgements, a hundredth of the bytes, join all links of a ring; what they change in the
/// shares of the link after the next is less than a frame in most messages.
constexpr double SHARE_TOLERANCE = 1e-3;

} // namespace

FluidTransfers::FluidTransfers(EventLoop& loop)
    : m_loop(loop),
      m_solver(SHARE_TOLERANCE)
{
    m_loop.SetBeforeAdvance([](void* self) { static_cast<FluidTransfers*>(self)->UpdateRates(); },
                            this);
}

uint32_t
FluidTransfers::AddLink(uint64_t rateBps)
{
    m_carried.push_back(0);
    m_beginners.emplace_back();
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
    transfer->left = request.bytes;
    transfer->held = request.held;
    transfer->framePs = request.framePs;
    transfer->firstLink = request.uses.front().resource;
    TakeTurns(*transfer);
    transfer->credited = request.bytes;
    transfer->updatedPs = m_loop.Now();
    transfer->armedPs = INT64_MAX;
    transfer->active = true;
    transfer->onReached = request.onReached;
    transfer->onDrained = request.onDrained;
    transfer->owner = request.owner;
    transfer->engine = this;
    Enter(*transfer, request.uses, request.cap);
    return transfer;
}

void
FluidTransfers::TakeTurns(FluidTransfer& transfer)
{
    constexpr std::size_t MAX_BEGINNERS = 64;
    Beginners& beginners = m_beginners[transfer.firstLink];
    const TimePs now = m_loop.Now();
    const double gap = static_cast<double>(now - beginners.lastPs) / transfer.framePs;
    beginners.lastPs = now;
    if (gap >= 1)
    {
        beginners.transfers.clear();
    }
    for (FluidTransfer* earlier : beginners.transfers)
    {
        earlier->turnsAfter += 1 - gap;
    }
    if (beginners.transfers.size() < MAX_BEGINNERS)
    {
        beginners.transfers.push_back(&transfer);
    }
}

void
FluidTransfers::Enter(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap)
{
    transfer.flow = m_solver.Add(uses, cap);
    transfer.rate = 0;
    if (m_byFlow.size() <= transfer.flow)
    {
        m_byFlow.resize(transfer.flow + 1, nullptr);
    }
    m_byFlow[transfer.flow] = &transfer;
}

void
FluidTransfers::Leave(FluidTransfer& transfer)
{
    Credit(transfer);
    m_solver.Remove(transfer.flow);
    m_byFlow[transfer.flow] = nullptr;
}

void
FluidTransfers::Move(FluidTransfer& transfer, std::span<const MaxMinSolver::Use> uses, double cap)
{
    Advance(transfer);
    Leave(transfer);
    Enter(transfer, uses, cap);
    Plan(transfer);
}

void
FluidTransfers::Advance(FluidTransfer& transfer)
{
    const TimePs now = m_loop.Now();
    const double moved = transfer.rate * static_cast<double>(now - transfer.updatedPs);
    transfer.left = std::max(transfer.left - moved, 0.0);
    transfer.updatedPs = now;
}

void
FluidTransfers::Credit(FluidTransfer& transfer)
{
    const double bytes = transfer.credited - transfer.left;
    transfer.credited = transfer.left;
    m_solver.ForEachUse(transfer.flow,
                        [&](uint32_t link, float weight) { m_carried[link] += bytes * weight; });
}

void
FluidTransfers::Plan(FluidTransfer& transfer)
{
    if (transfer.rate <= 0)
    {
        transfer.duePs = INT64_MAX;
        return;
    }
    transfer.threshold = 0;
    if (!transfer.reached)
    {
        const double early = transfer.rate * transfer.turnsAfter * transfer.framePs;
        transfer.threshold = transfer.held > 0 ? transfer.held : early;
    }
    const double toGo = std::max(transfer.left - transfer.threshold, 0.0);
    const TimePs delay = std::llround(toGo / transfer.rate);
    transfer.duePs = m_loop.Now() + delay;
    if (transfer.duePs < transfer.armedPs)
    {
        transfer.armedPs = transfer.duePs;
        ++transfer.events;
        m_loop.Schedule(
            delay,
            [](void* arg) {
                auto* late = static_cast<FluidTransfer*>(arg);
                late->engine->OnEvent(*late);
            },
            &transfer);
    }
}

void
FluidTransfers::OnEvent(FluidTransfer& transfer)
{
    --transfer.events;
    const TimePs now = m_loop.Now();
    if (transfer.active && now == transfer.armedPs)
    {
        transfer.armedPs = INT64_MAX;
        if (now < transfer.duePs)
        {
            Advance(transfer);
            Plan(transfer); // it has become slower since the event was made
        }
        else if (!transfer.reached)
        {
            Reach(transfer);
        }
        if (transfer.reached && (transfer.left == 0 || now >= transfer.duePs))
        {
            transfer.left = 0;
            transfer.active = false;
            Leave(transfer);
            std::erase(m_beginners[transfer.firstLink].transfers, &transfer);
            transfer.onDrained(transfer.owner);
        }
    }
    if (!transfer.active && transfer.events == 0)
    {
        m_pool.GiveBack(&transfer);
    }
}

void
FluidTransfers::Reach(FluidTransfer& transfer)
{
    Advance(transfer);
    transfer.reached = true;
    transfer.left = std::min(transfer.left, transfer.threshold);
    if (transfer.left > 0)
    {
        Plan(transfer);
    }
    transfer.onReached(transfer.owner);
}

void
FluidTransfers::UpdateRates()
{
    if (!m_solver.IsDirty())
    {
        return;
    }
    for (const MaxMinSolver::FlowId flow : m_solver.Solve())
    {
        FluidTransfer& transfer = *m_byFlow[flow];
        Advance(transfer);
        transfer.rate = m_solver.GetRate(flow);
        Plan(transfer);
    }
}

void
FluidTransfers::UpdateCarried()
{
    ForEach([this](FluidTransfer& transfer) {
        Advance(transfer);
        Credit(transfer);
    });
}

} // namespace AstraSim
