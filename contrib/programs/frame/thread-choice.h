/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THREAD_CHOICE_H
#define THREAD_CHOICE_H

#include "run-console.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace AstraSim
{

/// A request of the user that keeps a run on one thread.
struct ThreadObstacle
{
    bool applies;
    std::string name; ///< as its user wrote it
};

/**
 * @return whether one of the obstacles keeps the network whole, which is said
 * @param wanted -t
 * @throw ns3::InputError if the run is one of several processes
 */
bool StaysWhole(std::span<const ThreadObstacle> obstacles,
                uint32_t wanted,
                const RunConsole& console);

/// Requests that look at several nodes at once: results are the same on one thread.
struct ThreadWatchers
{
    bool checks;       ///< --check
    bool captures;     ///< --pcap
    bool tracesFrames; ///< TRACE_FILE
    bool monitors;     ///< MONITOR
};

/**
 * @param wanted -t
 * @param console prints the obstacle to dividing the network or to more than one thread, or that
 * there are fewer cores
 * @return on how many threads to run the network, at most one for each core; nothing if it is not
 * divided
 * @throw ns3::InputError with a simulator implementation that has no threads, or if a watcher meets
 * ns3::RdmaFabric::PartitionPerNode
 */
std::optional<uint32_t> ChooseThreads(std::optional<uint32_t> wanted,
                                      const ThreadWatchers& watchers,
                                      const RunConsole& console);

} // namespace AstraSim

#endif /* THREAD_CHOICE_H */
