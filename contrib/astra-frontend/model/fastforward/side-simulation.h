/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIDE_SIMULATION_H
#define SIDE_SIMULATION_H

#include "part-pattern.h"

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
 * each pattern it makes a copy of itself, which simulates the pattern, reports and ends. So what
 * comes of a pattern depends on the pattern alone, whatever was simulated before, and the run's own
 * clock and network are not touched. gem5 samples processors in the same way.
 *
 * @code
 * SideSimulation side({network, &nccl, run, carried});
 * side.Start(); // before anything is scheduled
 * const PartOutcome outcome = side.Simulate(pattern);
 * @endcode
 */
class SideSimulation
{
  public:
    /// What the copies work with; everything borrowed.
    struct Setup
    {
        std::function<RankNetwork&(int)> network; ///< of a rank
        CollectiveImplementation* nccl;
        std::function<void()> run; ///< simulate until nothing is left
        std::function<CarriedTraffic()> carried;
    };

    explicit SideSimulation(Setup setup);
    ~SideSimulation();
    SideSimulation(const SideSimulation&) = delete;
    SideSimulation& operator=(const SideSimulation&) = delete;

    /// Make the copy that keeps the network as it is now. @throw ns3::InputError if it cannot be
    void Start();

    /**
     * @return what comes of @p pattern
     * @throw ns3::InputError if its simulation failed; that of the run would, too
     */
    PartOutcome Simulate(const PartPattern& pattern);

    /**
     * Have a collective carried out again and again: each rank begins anew some time after its end.
     * The copy that does it waits then, to go on, until something else is asked for.
     *
     * @param first a collective that no rank can leave before all have begun
     * @param gaps by rank: from its end to when it begins again
     * @return what comes of the first time
     * @throw ns3::InputError as Simulate()
     */
    PartRound Repeat(const TimedOperation& first, const std::vector<TimePs>& gaps);

    /// @return a number of its own for the repetition that can go on; 0 if there is none
    uint64_t GetRepetition() const
    {
        return m_repeats ? m_repetitions : 0;
    }

    /// Let the repetition go on. @return what comes of the next time, counted from the first begin
    PartRound GoOn();

  private:
    class Copy;

    [[noreturn]] void Serve(int socket);
    PartRound Ask(const PartPattern& pattern, const Repetition& repetition);

    Setup m_setup;
    int m_socket{-1};
    pid_t m_server{-1};
    bool m_repeats{false};
    uint64_t m_repetitions{0};
};

} // namespace AstraSim

#endif /* SIDE_SIMULATION_H */
