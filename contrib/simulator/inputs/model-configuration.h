/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MODEL_CONFIGURATION_H
#define MODEL_CONFIGURATION_H

#include "run-inputs.h"
#include "simulator/options/run-options.h"

#include "ns3/sha256.h"

#include <string>

namespace AstraSim
{

/**
 * All that the models of a run are configured with, and the program they are part of: two runs with
 * the same text carry the same traffic in the same way. The choice of the traffic (the
 * workload and its flags), and where results go, is no part of it.
 *
 * It holds everything that was given rather than a list of things that matter: all flags but those
 * known to make no difference (RunOptions::modelFlags), all variables that were read, all files but
 * workloads, byte by byte, and the defaults of all of ns-3's attributes as they are in force.
 *
 * @throw ns3::InputError if a file cannot be read any more
 */
std::string DescribeModels(const RunOptions& options, const RunInputs& inputs);

/// @return SHA-256 of DescribeModels()
Sha256::Value DigestOfModels(const RunOptions& options, const RunInputs& inputs);

} // namespace AstraSim

#endif /* MODEL_CONFIGURATION_H */
