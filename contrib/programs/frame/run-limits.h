/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_LIMITS_H
#define RUN_LIMITS_H

#include "program-flags.h"

#include <cstdint>
#include <optional>
#include <string>

namespace AstraSim
{

/// Limits of a run; nothing: any amount. A run that takes more stops in an orderly way.
struct RunLimits
{
    std::optional<double> seconds;       ///< of wall time, --max-time
    std::optional<uint64_t> memoryBytes; ///< resident, --max-memory
    std::optional<int64_t> simulated;    ///< of simulated time in ps, --max-sim-time
};

/// Add --max-time. @param limits outlives the table
void AddTimeLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help);

/// Add --max-memory, likewise.
void AddMemoryLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help);

/// Add --max-time, --max-sim-time and --max-memory. @param limits outlives the table
void AddLimits(ProgramFlags& flags, RunLimits& limits);

} // namespace AstraSim

#endif /* RUN_LIMITS_H */
