/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLUID_WATCH_H
#define FLUID_WATCH_H

#include "max-min-solver.h"

#include <span>

namespace AstraSim
{

struct FluidTransfer;

/// Receives the beginnings, moves and ends of transfers of a FluidTransfers.
class FluidWatch
{
  public:
    virtual ~FluidWatch() = default;

    /// A transfer of so many bytes has begun.
    virtual void Started(const FluidTransfer& transfer,
                         std::span<const MaxMinSolver::Use> uses,
                         double bytes) = 0;

    /// The rest of a transfer goes on over other links.
    virtual void Moved(const FluidTransfer& transfer,
                       std::span<const MaxMinSolver::Use> uses,
                       double left) = 0;

    /// A transfer is through; it is still there.
    virtual void Ended(const FluidTransfer& transfer) = 0;

    /// Rates have been worked out.
    virtual void RatesChanged() = 0;
};

} // namespace AstraSim

#endif /* FLUID_WATCH_H */
