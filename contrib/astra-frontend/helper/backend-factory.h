/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BACKEND_FACTORY_H
#define BACKEND_FACTORY_H

#include "run-inputs.h"
#include "run-options.h"
#include "simulation-backend.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @return the network that @p options name
 * @param inputs outlives the result
 * @param background flows beside the workloads
 * @param output directory of the backend's own files
 * @param threads of a packet-level network; nothing: it is not divided
 * @param warnings gets a line for each thing a user should know
 * @throw ns3::InputError for a mistake in an input, or one that this network has no use for
 */
std::unique_ptr<SimulationBackend> MakeBackend(const RunOptions& options,
                                               const RunInputs& inputs,
                                               const BackgroundFlows& background,
                                               const std::string& output,
                                               std::optional<uint32_t> threads,
                                               std::vector<std::string>& warnings);

} // namespace AstraSim

#endif /* BACKEND_FACTORY_H */
