/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PATTERN_SIMULATION_H
#define PATTERN_SIMULATION_H

#include "part-pattern.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

class RepeatingSimulation;

/**
 * @ingroup astra-frontend
 * @brief Knows what comes of patterns, each on a network on which nothing has happened yet.
 *
 * What comes of a pattern follows from the pattern alone, whatever was asked for before.
 */
class PatternSimulation
{
  public:
    virtual ~PatternSimulation() = default;

    /**
     * @return what comes of @p pattern
     * @throw ns3::InputError if its simulation failed; that of the run would, too
     */
    virtual PartOutcome Simulate(const PartPattern& pattern) = 0;

    /// As Simulate(), to compare with: it is simulated for sure.
    virtual PartOutcome SimulateAgain(const PartPattern& pattern)
    {
        return Simulate(pattern);
    }

    /// @return the object, if it can have collectives carried out again and again; else null
    virtual RepeatingSimulation* AsRepeating()
    {
        return nullptr;
    }
};

/// Knows what comes of collectives that are carried out again and again, too.
class RepeatingSimulation : public PatternSimulation
{
  public:
    RepeatingSimulation* AsRepeating() override
    {
        return this;
    }

    /**
     * Have a collective carried out again and again: each rank begins anew some time after its end.
     * That can go on until something else is asked for.
     *
     * @param first a collective that no rank can leave before all have begun
     * @param gaps by rank: from its end to when it begins again
     * @return what comes of the first time
     * @throw ns3::InputError as Simulate()
     */
    virtual PartRound Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps) = 0;

    /// @return a number of its own for the repetition that can go on; 0 if there is none
    virtual uint64_t GetRepetition() const = 0;

    /// Let the repetition go on. @return what comes of the next time, counted from the first begin
    virtual PartRound GoOn() = 0;
};

} // namespace AstraSim

#endif /* PATTERN_SIMULATION_H */
