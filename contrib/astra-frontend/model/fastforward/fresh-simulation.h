/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FRESH_SIMULATION_H
#define FRESH_SIMULATION_H

#include "pattern-simulation.h"

#include "ns3/carried-traffic.h"
#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates each pattern on a network that is made for it, in the process itself.
 *
 * For networks that cost little to make, and have nothing that is drawn at random. SideSimulation
 * serves all others.
 */
class FreshSimulation : public PatternSimulation
{
  public:
    /// A network on which nothing has happened yet.
    struct Network
    {
        std::function<RankNetwork&(int)> ofRank;
        std::function<void()> run; ///< simulate until nothing is left
        std::function<CarriedTraffic()> carried;
    };

    /**
     * @param make makes networks; each is gone when its functions are
     * @param nccl carries collectives out; borrowed
     */
    FreshSimulation(std::function<Network()> make, CollectiveImplementation& nccl);

    PartOutcome Simulate(const PartPattern& pattern) override;

  private:
    struct Simulated;
    struct Place;

    std::function<Network()> m_make;
    CollectiveImplementation& m_nccl;
    uint32_t m_next{0}; ///< number of an operation: plans know what was not completed by it
};

} // namespace AstraSim

#endif /* FRESH_SIMULATION_H */
