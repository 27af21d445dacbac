/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PLAIN_SIMULATION_H
#define PLAIN_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/part-pattern.h"

#include "ns3/carried-traffic.h"
#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates operations on a network as it is.
 *
 * @code
 * PlainSimulation network(ofRank, &nccl, carried);
 * auto operation = network.Open(what, [](uint32_t rank) { ... });
 * operation->Begin(0);
 * @endcode
 */
class PlainSimulation
{
  public:
    class Operation;

    /// Told that a rank (index in the group) is through; from the event loop.
    using EndHandler = std::function<void(uint32_t rank)>;

    /**
     * @param network of a rank; all have one clock
     * @param nccl carries collectives out, borrowed; null where there are messages only
     * @param carried returns the traffic that the network has carried so far
     */
    PlainSimulation(std::function<RankNetwork&(int)> network,
                    CollectiveImplementation* nccl,
                    std::function<ns3::CarriedTraffic()> carried);

    /// @param what outlives the operation, which is kept until all ranks are through or the network
    /// stops
    std::unique_ptr<Operation> Open(const PartOperation& what, EndHandler ended);

    ns3::CarriedTraffic GetCarried() const
    {
        return m_carried();
    }

  private:
    std::function<RankNetwork&(int)> m_network;
    CollectiveImplementation* m_nccl;
    std::function<ns3::CarriedTraffic()> m_carried;
    uint32_t m_next{0}; ///< number of an operation, which its messages are told apart by
};

/// An operation that ranks carry out.
class PlainSimulation::Operation
{
  public:
    Operation(PlainSimulation& owner, const PartOperation& what, EndHandler ended);
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    /// A rank begins its part now.
    void Begin(uint32_t rank);

  private:
    /// A rank, as an argument of handlers.
    struct Place
    {
        Operation* operation;
        uint32_t rank;
    };

    PlainSimulation& m_owner;
    const PartOperation& m_what;
    EndHandler m_ended;
    uint32_t m_number;
    std::shared_ptr<const CollectivePlan> m_plan; ///< of a collective
    std::vector<std::unique_ptr<RankCollective>> m_ranks;
    std::vector<Place> m_places;
};

} // namespace AstraSim

#endif /* PLAIN_SIMULATION_H */
