/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PROVEN_SIMULATION_H
#define PROVEN_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates a pattern by flows, and by packets if their outcome could differ by more than an
 * error.
 *
 * Flows have all that packets have but queues inside the network. So they differ by no more than
 * the time in which packets would have queued there, if no queue became so long that senders slowed
 * down (PartOutcome::doubtPs). If every part of a run is right to a share of its time, so is the
 * run: a rank begins at the latest end of those that it waits for.
 */
class ProvenSimulation : public PatternSimulation
{
  public:
    /**
     * @param flows,packets outlive the object
     * @param maxError the most by which ends may differ, as a share of the part's time
     */
    ProvenSimulation(PatternSimulation& flows, PatternSimulation& packets, double maxError)
        : m_flows(flows),
          m_packets(packets),
          m_maxError(maxError)
    {
    }

    PartOutcome Simulate(const PartPattern& pattern) override
    {
        PartOutcome outcome = m_flows.Simulate(pattern);
        const double most = m_maxError * static_cast<double>(outcome.LastEnd());
        if (outcome.isInterrupted || static_cast<double>(outcome.doubtPs) <= most)
        {
            ++m_proven;
            return outcome;
        }
        return m_packets.Simulate(pattern);
    }

    /// @return simulations whose outcome is that of flows
    uint64_t CountProven() const
    {
        return m_proven;
    }

  private:
    PatternSimulation& m_flows;
    PatternSimulation& m_packets;
    double m_maxError;
    uint64_t m_proven{0};
};

} // namespace AstraSim

#endif /* PROVEN_SIMULATION_H */
