/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fluid-check.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// Sums of many terms differ in their last digits.
constexpr double CHECK_ROUNDING = 1e-6;

/// A link above this part of its capacity counts as full: the solver leaves that much free, and
/// acknowledgements take their own share.
constexpr double FULL = 0.99;

/// Part of its time by which a transfer may end early, where rates are worked out for several
/// changes together.
constexpr double EARLY = 0.01;

/// With n transfers under way, all rates are checked once for n / 64 changes: checks after each
/// change would take the square of n.
constexpr std::size_t LOOKED_AT_TOGETHER = 64;

} // namespace

FluidCheck::FluidCheck(const EventLoop& loop,
                       FluidTransfers& transfers,
                       Report report,
                       NameOf nameOf)
    : m_loop(loop),
      m_transfers(transfers),
      m_report(std::move(report)),
      m_nameOf(std::move(nameOf)),
      m_demand(transfers.GetLinkCount(), 0),
      m_load(transfers.GetLinkCount(), 0)
{
    for (uint32_t link = 0; link < transfers.GetLinkCount(); ++link)
    {
        m_capacity.push_back(transfers.GetSolver().GetCapacity(link));
    }
    m_transfers.SetWatch(this);
}

FluidCheck::~FluidCheck()
{
    m_transfers.SetWatch(nullptr);
}

void
FluidCheck::Fail(const std::string& what) const
{
    m_report(fmt::format("at {} ps: {}", m_loop.Now(), what));
}

void
FluidCheck::Book(std::span<const MaxMinSolver::Use> uses, double bytes)
{
    for (const MaxMinSolver::Use& use : uses)
    {
        m_demand[use.resource] += bytes * use.weight;
    }
}

void
FluidCheck::Started(const FluidTransfer& transfer,
                    std::span<const MaxMinSolver::Use> uses,
                    double bytes)
{
    Book(uses, bytes);
    double rate = MaxMinSolver::NO_CAP;
    for (const MaxMinSolver::Use& use : uses)
    {
        rate = use.follows ? rate : std::min(rate, m_capacity[use.resource] / use.weight);
    }
    if (!m_underWay.try_emplace(&transfer, Entry{bytes, bytes / rate}).second)
    {
        Fail(fmt::format("a transfer of {} bytes begins before it has ended", bytes));
    }
}

void
FluidCheck::Moved(const FluidTransfer& transfer,
                  std::span<const MaxMinSolver::Use> uses,
                  double left)
{
    const auto entry = m_underWay.find(&transfer);
    if (entry == m_underWay.end() || left < 0 || left > entry->second.left * (1 + CHECK_ROUNDING))
    {
        Fail(
            fmt::format("a transfer that is not under way with {} bytes takes another path", left));
        return;
    }
    // The bytes left move to the new links; Finish() finds the rest on the old ones.
    Book(transfer.bundle->uses, -left);
    Book(uses, left);
    entry->second = {left, 0};
}

void
FluidCheck::Ended(const FluidTransfer& transfer)
{
    const auto entry = m_underWay.find(&transfer);
    if (entry == m_underWay.end())
    {
        Fail("a transfer ends that has not begun");
        return;
    }
    const TimePs now = m_loop.Now();
    const double alonePs = entry->second.alonePs;
    if (static_cast<double>(now - transfer.beganPs) < alonePs * (1 - EARLY) - 1)
    {
        Fail(fmt::format("a transfer of {} bytes over {} takes {} ps; alone it would take {:.0f}",
                         entry->second.left,
                         m_nameOf(transfer.firstLink),
                         now - transfer.beganPs,
                         alonePs));
    }
    m_underWay.erase(entry);
}

void
FluidCheck::RatesChanged()
{
    if (++m_changes > m_underWay.size() / LOOKED_AT_TOGETHER)
    {
        m_changes = 0;
        CheckRates();
    }
}

void
FluidCheck::CheckRates()
{
    const MaxMinSolver& solver = m_transfers.GetSolver();
    std::ranges::fill(m_load, 0);
    m_transfers.ForEach([this](const FluidTransfer& transfer) {
        for (const MaxMinSolver::Use& use : transfer.bundle->uses)
        {
            m_load[use.resource] += transfer.bundle->rate * use.weight;
        }
    });
    for (uint32_t link = 0; link < m_load.size(); ++link)
    {
        const double capacity = solver.GetCapacity(link);
        if (m_load[link] > capacity * (1 + FluidTransfers::SHARE_TOLERANCE))
        {
            Fail(fmt::format("{} carries {:.6g} of {:.6g} bit/s",
                             m_nameOf(link),
                             m_load[link] * 8e12,
                             capacity * 8e12));
        }
    }
    m_transfers.ForEach([&](const FluidTransfer& transfer) {
        const FluidBundle& bundle = *transfer.bundle;
        const bool atCap = bundle.rate >= bundle.cap * (1 - CHECK_ROUNDING);
        if (bundle.rate > bundle.cap * (1 + CHECK_ROUNDING))
        {
            Fail(fmt::format("a transfer over {} has {:.6g} bit/s and a limit of {:.6g}",
                             m_nameOf(transfer.firstLink),
                             bundle.rate * 8e12,
                             bundle.cap * 8e12));
        }
        const bool isHeld =
            atCap || std::ranges::any_of(bundle.uses, [&](const MaxMinSolver::Use& use) {
                return m_load[use.resource] >= FULL * solver.GetCapacity(use.resource);
            });
        if (!isHeld)
        {
            Fail(fmt::format("a transfer over {} has {:.6g} bit/s, and none of its links is full",
                             m_nameOf(transfer.firstLink),
                             bundle.rate * 8e12));
        }
    });
}

void
FluidCheck::Finish(bool drained)
{
    m_transfers.UpdateCarried();
    // A transfer on a cut link waits for good, and the run says so.
    uint64_t left = 0;
    m_transfers.ForEach([&](const FluidTransfer& transfer) { left += transfer.bundle->rate > 0; });
    if (drained && left > 0)
    {
        Fail(fmt::format("{} transfers go on, and nothing is left to happen", left));
    }
    const bool allEnded = drained && m_underWay.empty();
    for (uint32_t link = 0; link < m_demand.size(); ++link)
    {
        const double carried = m_transfers.GetCarried(link);
        const double slack = 1 + CHECK_ROUNDING * m_demand[link];
        if (carried > m_demand[link] + slack || (allEnded && carried < m_demand[link] - slack))
        {
            Fail(fmt::format("{} has carried {:.0f} bytes, and its transfers have {:.0f}",
                             m_nameOf(link),
                             carried,
                             m_demand[link]));
        }
    }
}

} // namespace AstraSim
