/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FRESH_SIMULATION_H
#define FRESH_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "plain-simulation.h"

#include "ns3/carried-traffic.h"
#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <functional>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates each pattern on a network that is made for it, in the process itself.
 *
 * For networks that cost little to make and draw nothing at random. SideSimulation serves all
 * others.
 */
class FreshSimulation : public PatternSimulation
{
  public:
    /// A network on which nothing has happened yet.
    struct Network
    {
        std::function<RankNetwork&(int)> ofRank;
        std::function<void()> run; ///< simulate until nothing is left
        std::function<ns3::CarriedTraffic()> carried;
    };

    /**
     * @param make makes networks; each is gone when its functions are
     * @param nccl carries collectives out; borrowed
     */
    FreshSimulation(std::function<Network()> make, CollectiveImplementation& nccl);

    PartOutcome Simulate(const PartPattern& pattern) override;

  private:
    std::function<Network()> m_make;
    const Network* m_network{nullptr}; ///< of the pattern that is being simulated
    /// One for all networks, so that numbers of operations are unique: plans keep the state of an
    /// unfinished one by its number.
    PlainSimulation m_simulation;
};

} // namespace AstraSim

#endif /* FRESH_SIMULATION_H */
