/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMULATION_CLOCK_H
#define SIMULATION_CLOCK_H

#include "ns3/rank-network.h"

#include <functional>

namespace AstraSim
{

/// Simulated time, and a way to be called again later.
class SimulationClock
{
  public:
    virtual ~SimulationClock() = default;

    /// @return the current simulated time
    virtual TimePs Now() const = 0;

    /// Run @p action after @p delay of simulated time.
    virtual void Schedule(TimePs delay, std::function<void()> action) = 0;

    /// @return whether nothing at all is scheduled
    virtual bool IsIdle() const = 0;
};

} // namespace AstraSim

#endif /* SIMULATION_CLOCK_H */
