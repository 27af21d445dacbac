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
#include <span>
#include <string>
#include <vector>

namespace AstraSim
{

/// What a run is asked for that keeps it from using several threads.
struct ThreadObstacle
{
    bool applies;
    std::string name; ///< as its user wrote it
};

/**
 * @param wanted -t
 * @param obstacles what looks at several nodes at once; results are the same with one thread
 * @param console is told of an obstacle
 * @return on how many threads to run
 */
uint32_t ChooseThreads(uint32_t wanted,
                       std::span<const ThreadObstacle> obstacles,
                       const RunConsole& console);

/// Refuse -t with a simulator implementation that has no threads. @throw ns3::InputError
void CheckThreadedSimulator();

/**
 * The same for workloads.
 * @param console is told what keeps the run from dividing its network, or from more than one thread
 * @return on how many threads to run the packet-level network; nothing if it is not divided
 * @throw ns3::InputError with a simulator implementation that has no threads
 */
std::optional<uint32_t> ChooseThreads(const RunOptions& options,
                                      const RunInputs& inputs,
                                      const RunConsole& console);

} // namespace AstraSim

#endif /* THREAD_CHOICE_H */
