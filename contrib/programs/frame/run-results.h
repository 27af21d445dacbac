/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_RESULTS_H
#define RUN_RESULTS_H

#include "run-record.h"

#include "ns3/carried-traffic.h"
#include "ns3/link-changes.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// Totals of a network so far, and the events that they took.
struct NetworkTotals : ns3::CarriedTraffic
{
    uint64_t events{0};
    std::optional<uint64_t> backgroundFlows; ///< finished; nothing where there are none
    /// Of flows: time in which packets might have done otherwise.
    std::optional<int64_t> uncertainPs{};
};

/// The end of a simulation.
enum class SimulationEnd : uint8_t
{
    Drained,     ///< nothing is left to simulate
    OutOfTime,   ///< SIMULATOR_STOP_TIME came first
    Deadlock,    ///< data waits in a circle; nothing could ever move
    Interrupted, ///< Interrupt() was called
};

/**
 * @ingroup programs
 * @brief The results of a run, which run.json has by the same names from every program.
 */
struct RunResults
{
    int64_t simulatedPs{0};
    std::optional<double> wallSeconds; ///< of the simulation; nothing where traffic is real
    NetworkTotals totals;
    std::optional<uint64_t> collectives; ///< nothing where there are none
    bool knowsPackets{true};             ///< otherwise only messages are counted

    /// Set them, and how well threads were used.
    void WriteTo(RunRecord& record) const;
};

/// Set the outages of links. @param knowsPackets whether their losses were counted
void RecordOutages(RunRecord& record,
                   const std::vector<ns3::LinkOutage>& outages,
                   bool knowsPackets);

} // namespace AstraSim

#endif /* RUN_RESULTS_H */
