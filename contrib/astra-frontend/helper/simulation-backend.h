/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMULATION_BACKEND_H
#define SIMULATION_BACKEND_H

#include "run-results.h"
#include "run-verdict.h"
#include "simulation-clock.h"

#include "ns3/collective-implementation.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// How a simulation ended.
enum class SimulationEnd : uint8_t
{
    Drained,     ///< nothing is left to simulate
    OutOfTime,   ///< SIMULATOR_STOP_TIME came first
    Deadlock,    ///< data waits in a circle; nothing could ever move
    Interrupted, ///< Interrupt() was called
};

/**
 * @ingroup astra-frontend
 * @brief A network with its event loop: what a run puts its workloads on.
 *
 * The order of calls is: GetNetwork() for every rank that runs something; Run() once;
 * FinishWorkloads() from inside Run() when the last rank has finished; Finish() and the rest after
 * Run(). A stop time is the backend's own matter, as it knows its configuration.
 */
class SimulationBackend : public SimulationClock
{
  public:
    /// @return the network of a rank; valid as long as the backend
    virtual RankNetwork& GetNetwork(int rank) = 0;

    /// @return the partition of a rank, which shares nothing with others while Run() goes on;
    /// nothing in a run that is not divided
    virtual std::optional<uint32_t> GetPartition(int rank) const
    {
        return std::nullopt;
    }

    /// Run on one list of events in this process, though the network may be divided: its traffic is
    /// that of copies of the process that have been made before.
    virtual void RunUndivided()
    {
    }

    /// Carry out what is due at once, such as nodes' initialization, before anything is scheduled:
    /// copies of the process that are made afterwards need not, nor this one on memory it shares.
    virtual void Settle()
    {
    }

    /// In a copy of the process: nobody looks at this network, so record nothing for files.
    virtual void Unwatch()
    {
    }

    /// @return a network like this one on which nothing has happened yet; null where making one
    /// would cost much
    virtual std::unique_ptr<SimulationBackend> MakeUnused() const
    {
        return nullptr;
    }

    /// @return whether this process runs a rank (ns3::QbbProcesses)
    virtual bool IsHere(int rank) const
    {
        return true;
    }

    /**
     * Check what must hold whatever is simulated, where the network knows it; before Run().
     * @param report told what does not hold
     */
    virtual void StartChecks(std::function<void(const std::string& what)> report)
    {
    }

    /// @return the collective engines of its NICs; null if it has none
    virtual CollectiveImplementation* GetCollectiveEngines()
    {
        return nullptr;
    }

    /// Simulate until nothing is left, or the stop time.
    virtual SimulationEnd Run() = 0;

    /// Have Run() return soon. May be called from any thread, once, also before Run().
    virtual void Interrupt() = 0;

    /// All workloads are done: end what would go on by itself (monitors, background traffic).
    virtual void FinishWorkloads() = 0;

    /// Complete the backend's own output files.
    virtual void Finish() = 0;

    /// @return what has been carried so far
    virtual NetworkTotals GetTotals() const = 0;

    /// @return what each port has carried; nothing if the network has no links. After Finish()
    virtual std::vector<LinkLoad> GetLinkLoads() const
    {
        return {};
    }

    /**
     * @param wallSeconds how long Run() took
     * @return one phrase about the traffic for the last line of a run, such as "3 flows, 2 drops"
     */
    virtual std::string DescribeTraffic(double wallSeconds) const = 0;

    /// @return what in the network keeps data from arriving (no path, a deadlock), at most @p limit
    /// lines: the cause, where @ref DescribeWaits tells the consequence
    virtual std::vector<std::string> DescribeObstacles(std::size_t limit) const
    {
        return {};
    }

    /// @return who waits for what in the network, at most @p limit lines
    virtual std::vector<std::string> DescribeWaits(std::size_t limit) const = 0;
};

} // namespace AstraSim

#endif /* SIMULATION_BACKEND_H */
