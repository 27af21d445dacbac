/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIDE_SIMULATION_H
#define SIDE_SIMULATION_H

#include "astra-frontend/model/fastforward/patterns/pattern-simulation.h"
#include "waiting-copies.h"

#include "ns3/collective-implementation.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Simulates patterns beside the run, each on a network on which nothing has happened yet.
 *
 * A copy of the process (fork) is made before the run begins and keeps the untouched network; for
 * each pattern it makes a copy of itself, which simulates the pattern, reports and ends. So an
 * outcome depends on its pattern alone, not on earlier ones, and the run's own clock and network
 * are not touched. gem5 samples processors in the same way.
 *
 * Where the last rank of a pattern has begun, its copy makes another one, which simulates the rest,
 * and waits: a pattern that begins in the same way goes on from there (WaitingCopies), with the
 * same results as from its first start.
 *
 * If the network is divided, copies run on its threads. Outcomes do not depend on the number of
 * threads, and no copy waits.
 *
 * @code
 * SideSimulation side({network, nccl, run, carried});
 * side.Start(); // before anything is scheduled
 * const PartOutcome outcome = side.Simulate(pattern);
 * @endcode
 */
class SideSimulation : public PatternSimulation
{
  public:
    /// The network that copies simulate on; everything borrowed.
    struct Setup
    {
        std::function<RankNetwork&(int)> network; ///< of a rank
        /// Of a rank's partition, which shares nothing with others while run() goes on.
        std::function<CollectiveImplementation&(uint32_t partition)> nccl;
        std::function<void()> run; ///< simulate until nothing is left
        std::function<ns3::CarriedTraffic()> carried;
        std::function<uint32_t(int)> partition{[](int) { return 0U; }}; ///< of a rank
        /// Whether run() stays on one thread: a copy of the process has no other.
        bool isOneThread{true};
        /// In the copy that keeps the network: have it record nothing that only files would get.
        std::function<void()> unwatch{[] {}};
    };

    explicit SideSimulation(Setup setup);
    ~SideSimulation() override;
    SideSimulation(const SideSimulation&) = delete;
    SideSimulation& operator=(const SideSimulation&) = delete;

    /// Make the copy that keeps the network as it is now. @throw ns3::InputError if it cannot be
    void Start();

    PartOutcome Simulate(const PartPattern& pattern) override;

  private:
    class Copy;

    [[noreturn]] void Serve(int socket);
    /// In a copy: simulate a pattern. @param more socket for patterns that continue it, or -1
    [[noreturn]] void RunCopy(const OwnedPattern& pattern, int socket, int more);
    /// Simulate a pattern in a copy that ends with it. @return whether it went well
    bool SimulateOnce(const OwnedPattern& pattern, int socket);
    /// Simulate a pattern in a copy that waits for more: one that has simulated the beginning of
    /// it, or a new one. @return whether it went well
    bool SimulateOn(const OwnedPattern& pattern,
                    const ns3::QbbBytes& block,
                    int socket,
                    WaitingCopies& waiting);

    Setup m_setup;
    int m_socket{-1};
    pid_t m_server{-1};
};

} // namespace AstraSim

#endif /* SIDE_SIMULATION_H */
