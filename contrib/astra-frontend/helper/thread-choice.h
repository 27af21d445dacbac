/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef THREAD_CHOICE_H
#define THREAD_CHOICE_H

#include "run-console.h"
#include "run-inputs.h"
#include "run-options.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// What a run is asked for that looks at several nodes at once: results are the same on one thread.
struct ThreadWatchers
{
    bool checks;       ///< --check
    bool captures;     ///< --pcap
    bool tracesFrames; ///< TRACE_FILE
};

/**
 * @param wanted -t
 * @param console is told what keeps the run from dividing its network, or from more than one
 * thread, or that there are fewer cores
 * @return on how many threads to run the network, at most one for each core; nothing if it is not
 * divided
 * @throw ns3::InputError with a simulator implementation that has no threads, or if a watcher meets
 * ns3::RdmaFabric::PartitionPerNode
 */
std::optional<uint32_t> ChooseThreads(std::optional<uint32_t> wanted,
                                      const ThreadWatchers& watchers,
                                      const RunConsole& console);

/// The same for workloads.
std::optional<uint32_t> ChooseThreads(const RunOptions& options,
                                      const RunInputs& inputs,
                                      const RunConsole& console);

} // namespace AstraSim

#endif /* THREAD_CHOICE_H */
