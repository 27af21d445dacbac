/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHEAPEST_SIMULATION_H
#define CHEAPEST_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates a pattern on a network made for it or, if a part goes on for long, on a copy of
 * the process that has waited at its last start (SideSimulation).
 *
 * Both have the same outcome. A copy costs time for each GPU of the cluster. A new network does
 * not, but it simulates the beginning of the part again.
 */
class CheapestSimulation : public PatternSimulation
{
  public:
    /**
     * @param fresh,side outlive the object
     * @param copyWork work that takes as long as a copy of the process
     */
    CheapestSimulation(PatternSimulation& fresh, PatternSimulation& side, uint64_t copyWork)
        : m_fresh(fresh),
          m_side(side),
          m_copyWork(copyWork)
    {
    }

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        return m_fresh.Simulate(pattern);
    }

    PartOutcome SimulateLonger(const PartPattern& pattern, uint64_t known) override
    {
        if (known <= m_copyWork)
        {
            return m_fresh.Simulate(pattern);
        }
        PartOutcome outcome = m_side.Simulate(pattern);
        outcome.isContinued = true;
        return outcome;
    }

  private:
    PatternSimulation& m_fresh;
    PatternSimulation& m_side;
    uint64_t m_copyWork;
};

} // namespace AstraSim

#endif /* CHEAPEST_SIMULATION_H */
