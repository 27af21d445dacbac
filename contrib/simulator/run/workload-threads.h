/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_THREADS_H
#define WORKLOAD_THREADS_H

#include "programs/frame/run-console.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/options/run-options.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// @param mayReuse whether traffic may be reused; else the network is that of a run without the
/// flag
/// @return on how many threads to run the network of workloads; nothing if it is not divided
/// @throw ns3::InputError as the ChooseThreads() of all programs does
std::optional<uint32_t> ChooseThreads(const RunOptions& options,
                                      const RunInputs& inputs,
                                      const RunConsole& console,
                                      bool mayReuse);

} // namespace AstraSim

#endif /* WORKLOAD_THREADS_H */
