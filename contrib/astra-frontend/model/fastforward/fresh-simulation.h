/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FRESH_SIMULATION_H
#define FRESH_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/operation-begin.h"
#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "astra-frontend/model/network/unused-network.h"

#include "ns3/collective-implementation.h"

#include <cstdint>
#include <functional>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates each pattern on a network that is made for it, in the process itself.
 *
 * For networks that cost little to make: those of flows and of formulas.
 *
 * @code
 * FreshSimulation fresh([&] { return MakeUnused(); }, nccl, numbers);
 * const PartOutcome outcome = fresh.Simulate(pattern);
 * @endcode
 */
class FreshSimulation : public PatternSimulation
{
  public:
    /**
     * @param make makes networks; each is gone when its functions are
     * @param nccl carries collectives out
     * @param numbers of the run's operations; both borrowed
     * @param standsForPackets whether outcomes are those of packets, whose hops their traffic has
     */
    FreshSimulation(std::function<UnusedNetwork()> make,
                    CollectiveImplementation& nccl,
                    OperationNumbers& numbers,
                    bool standsForPackets = false);

    PartOutcome Simulate(const PartPattern& pattern) override;

  private:
    class Execution;

    std::function<UnusedNetwork()> m_make;
    CollectiveImplementation& m_nccl;
    OperationNumbers& m_numbers;
    bool m_standsForPackets;
};

} // namespace AstraSim

#endif /* FRESH_SIMULATION_H */
