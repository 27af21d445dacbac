/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMULATION_BACKEND_H
#define SIMULATION_BACKEND_H

#include "astra-frontend/model/network/unused-network.h"
#include "programs/frame/run-results.h"
#include "simulator/records/run-verdict.h"

#include "ns3/collective-engine.h"
#include "ns3/link-changes.h"
#include "ns3/rank-network.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// A network's account of itself, for people.
struct NetworkDescription
{
    std::string traffic; ///< a phrase for the last line of a run, such as "3 flows, 2 drops"
    /// Obstacles that keep data from arriving (no path, a deadlock), a line each: the cause, where
    /// the next ones tell the consequence.
    std::vector<std::string> obstacles;
    std::vector<std::string> waits; ///< receivers and senders that wait in the network, a line each
    /// Unexpected losses, constants that do not suit a path, failures scheduled after the end, a
    /// line each; complete after Finish().
    std::vector<std::string> trouble{};
    std::vector<ns3::LinkOutage> outages{}; ///< that have begun
};

/**
 * @ingroup simulator
 * @brief A network with its event loop; workloads run on it.
 *
 * The order of calls is: GetNetwork() for every rank that runs something; Run() once;
 * FinishWorkloads() from inside Run() when the last rank has finished; Finish() and the rest after
 * Run(). A stop time is the backend's own matter, as it knows its configuration.
 *
 * All networks have six functions. Only some networks can do more, and GetCapabilities() has that
 * by name:
 *
 * @code
 * if (const auto& engines = backend.GetCapabilities().engines)
 * {
 *     Use(engines->of(kind));
 * }
 * @endcode
 */
class SimulationBackend
{
  public:
    /// For a network in partitions: ranks of different partitions share nothing during Run().
    struct Divided
    {
        std::function<uint32_t(int rank)> partitionOf;
        std::function<bool(int rank)> isHere; ///< whether this process runs a rank
        /// Run a divided network on one list of events: copies of the process, made before, carry
        /// its traffic.
        std::function<void()> runUndivided;
    };

    /// Copies of the process carry traffic in its place.
    struct Copyable
    {
        /// Run the events that are due at once, such as nodes' initialization, so that copies of
        /// the process made afterwards need not.
        std::function<void()> runInitialEvents;
        /// In a copy: record nothing for files, as this network writes none.
        std::function<void()> unwatch;
    };

    /// Operations may be simulated in step with the run, although others are not simulated on it.
    struct Live
    {
        /// Simulate what @p begin schedules on a clock set back to @p from, up to now.
        std::function<void(TimePs from, const std::function<void()>& begin)> catchUp;
        /// The next connection of two ranks is the first of them again.
        std::function<void(int src, int dst)> forget;
        /// Record nothing for files, which would lack the others.
        std::function<void()> unwatch;
    };

    /// Engines beside the GPUs carry collectives out.
    struct Engines
    {
        CollectiveEngine::Lookup of;            ///< makes an engine at the first call
        std::function<uint64_t()> countChecked; ///< collectives with checked results
    };

    using Report = std::function<void(const std::string& what)>;

    /// Abilities that only some networks have; a member is empty where the network lacks it.
    struct Capabilities
    {
        std::optional<Divided> divided;
        std::optional<Copyable> copyable;
        std::optional<Live> live;
        std::optional<Engines> engines;
        /// @return bytes that may queue at a port before a switch marks a frame or pauses a sender
        std::function<double(uint32_t node, uint16_t port)> quietBytes;
        /// Makes a network like this one on which nothing has happened yet, at little cost.
        std::function<UnusedNetwork()> makeUnused;
        /// Keeps trees of network switches, where only so many have room; empty: any have.
        KeepTrees keepTrees;
        /// Checks invariants of any simulation; before Run(). @p report receives violations.
        std::function<void(Report report)> startChecks;
        /// Ends activities without an end of their own: monitors, traffic beside the workloads.
        std::function<void()> finishWorkloads;
        /// Completes the network's own files, and its checks.
        std::function<void()> finish;
    };

    virtual ~SimulationBackend() = default;

    /// @return the simulated time
    virtual TimePs Now() const = 0;

    /// @return the simulated time that was reached lately; may be called by any thread
    virtual TimePs GetReached() const
    {
        return Now();
    }

    const Capabilities& GetCapabilities() const
    {
        return m_can;
    }

    /// @return the network of a rank; valid as long as the backend
    virtual RankNetwork& GetNetwork(int rank) = 0;

    /// Simulate until nothing is left, or the stop time.
    virtual SimulationEnd Run() = 0;

    /// Have Run() return soon. May be called from any thread, once, also before Run().
    virtual void Interrupt() = 0;

    /// @return the traffic carried so far
    virtual NetworkTotals GetTotals() const = 0;

    /// @return the load of each port; nothing if the network has no links. After Finish()
    virtual std::vector<LinkLoad> GetLinkLoads() const
    {
        return {};
    }

    /// @param wallSeconds how long Run() took @param limit of the lines of each kind
    virtual NetworkDescription Describe(double wallSeconds, std::size_t limit) const = 0;

    /// All workloads are done: end monitors and traffic that would never stop.
    void FinishWorkloads()
    {
        if (m_can.finishWorkloads)
        {
            m_can.finishWorkloads();
        }
    }

    /// Run() is over: complete the network's own files and checks.
    void Finish()
    {
        if (m_can.finish)
        {
            m_can.finish();
        }
    }

  protected:
    Capabilities m_can; ///< set by a constructor
};

} // namespace AstraSim

#endif /* SIMULATION_BACKEND_H */
