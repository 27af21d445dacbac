/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef WORKLOAD_THREADS_H
#define WORKLOAD_THREADS_H

#include "run-inputs.h"
#include "run-options.h"

#include "ns3/run-console.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// @return on how many threads to run the network of workloads; nothing if it is not divided
/// @throw ns3::InputError as the ChooseThreads() of all programs does
std::optional<uint32_t> ChooseThreads(const RunOptions& options,
                                      const RunInputs& inputs,
                                      const RunConsole& console);

} // namespace AstraSim

#endif /* WORKLOAD_THREADS_H */
