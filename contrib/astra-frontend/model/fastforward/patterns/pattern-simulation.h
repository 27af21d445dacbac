/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATTERN_SIMULATION_H
#define PATTERN_SIMULATION_H

#include "part-pattern.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Returns the outcome of a pattern on a network on which nothing has happened yet.
 *
 * The outcome depends on the pattern alone, not on earlier calls.
 */
class PatternSimulation
{
  public:
    virtual ~PatternSimulation() = default;

    /**
     * @return the outcome of @p pattern
     * @throw ns3::InputError if its simulation failed; that of the run would, too
     */
    virtual PartOutcome Simulate(const PartPattern& pattern) = 0;

    /// As Simulate(), but never from a store.
    virtual PartOutcome SimulateAgain(const PartPattern& pattern)
    {
        return Simulate(pattern);
    }
};

} // namespace AstraSim

#endif /* PATTERN_SIMULATION_H */
