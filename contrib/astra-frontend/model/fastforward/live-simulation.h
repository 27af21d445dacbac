/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LIVE_SIMULATION_H
#define LIVE_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/operation-begin.h"

#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Carries operations on the run's own network, in step with its clock.
 *
 * Nothing of them is simulated again, whatever begins beside them, and nothing is known before it
 * happens.
 *
 * @code
 * auto operation = live.Open(what, [](uint32_t rank) { ... }); // at each end
 * operation->Begin(0);
 * @endcode
 */
class LiveSimulation
{
  public:
    /// The network; all borrowed.
    struct Setup
    {
        std::function<RankNetwork&(int)> network; ///< of a rank
        CollectiveImplementation& nccl;           ///< carries collectives out
        OperationNumbers& numbers;                ///< of the run's operations
        /// Simulate what @p begin schedules on a clock set back to @p from, up to now.
        std::function<void(TimePs from, const std::function<void()>& begin)> catchUp;
        /// The next connection of two ranks is the first of them again.
        std::function<void(int src, int dst)> forget;
    };

    explicit LiveSimulation(Setup setup)
        : m_setup(std::move(setup))
    {
    }

    /// Called at an end, from the event loop, once per rank that began.
    using EndHandler = std::function<void(uint32_t rank)>;

    /// An operation on the network.
    class Operation
    {
      public:
        Operation(LiveSimulation& live, uint32_t number, PartOperation what, EndHandler ended);

        /// A rank begins its part now.
        void Begin(uint32_t rank);

        /// Tell nobody of ends from now on.
        void Abandon()
        {
            m_ended = nullptr;
        }

      private:
        /// A rank, as an argument of handlers.
        struct Place
        {
            Operation* operation;
            uint32_t rank;
            std::unique_ptr<RankCollective> collective;
        };

        void OnEnd(uint32_t rank);

        LiveSimulation& m_live;
        PartOperation m_what;
        EndHandler m_ended;
        uint32_t m_number;
        std::shared_ptr<const CollectivePlan> m_plan; ///< null for a message
        std::vector<Place> m_places;                  ///< by rank
        std::size_t m_left;                           ///< ranks that have not ended
    };

    /// @return an operation, which stays until its ranks have ended
    std::shared_ptr<Operation> Open(const PartOperation& what, EndHandler ended);

    /// Simulate the past of operations that share no links with others on the network.
    /// @param from their first start @param begin schedules their starts from there on
    void CatchUp(TimePs from, const std::function<void()>& begin)
    {
        m_setup.catchUp(from, begin);
    }

  private:
    Setup m_setup;
    /// By number: those to which the network refers.
    boost::unordered_flat_map<uint32_t, std::shared_ptr<Operation>> m_operations;
};

} // namespace AstraSim

#endif /* LIVE_SIMULATION_H */
