/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATTERN_SIMULATION_H
#define PATTERN_SIMULATION_H

#include "part-pattern.h"

#include <cstdint>

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

    /**
     * As Simulate(), after something began in a part.
     * @param known work of the part without it
     */
    virtual PartOutcome SimulateLonger(const PartPattern& pattern, uint64_t known)
    {
        return Simulate(pattern);
    }

    /// As Simulate(), but never from a store.
    virtual PartOutcome SimulateAgain(const PartPattern& pattern)
    {
        return Simulate(pattern);
    }
};

} // namespace AstraSim

#endif /* PATTERN_SIMULATION_H */
