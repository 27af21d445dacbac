/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_OPTIONS_H
#define IDLE_OPTIONS_H

#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/system/workload.h"
#include "simulator/options/run-options.h"

#include <string>
#include <vector>

namespace AstraSim
{

/// @return a warning for each of --tp, --ep and --pp without effect, as the workload's file gives
/// the sizes of its groups
std::vector<std::string> DescribeIdleSizes(const Workload& workload, const ParallelSizes& given);

/// @return a warning for each flag about chunks of collectives where NCCL's algorithms have none
std::vector<std::string> DescribeIdleFlags(const SystemConfig& system, const RunOptions& options);

/// @return a warning for each flag and key of a system file that has no effect on this workload:
/// those of remote memory if it loads nothing from there, of rooflines if it has times, and of the
/// spread of GPUs if it has no kernels
std::vector<std::string> DescribeIdleFlags(const Workload& workload,
                                           const SystemConfig& system,
                                           const RunOptions& options);

} // namespace AstraSim

#endif /* IDLE_OPTIONS_H */
