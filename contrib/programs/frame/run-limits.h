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

/// Limits of a run; nothing: any amount. A run that takes more stops in an orderly way. Until then
/// it reports its progress.
struct RunLimits
{
    std::optional<double> seconds;       ///< of wall time, --max-time
    std::optional<uint64_t> memoryBytes; ///< resident, --max-memory
    std::optional<int64_t> simulated;    ///< of simulated time in ps, --max-sim-time
    double progressSeconds{60}; ///< from one report of progress to the next, --progress-interval
};

/// Add --max-time. @param limits outlives the table
void AddTimeLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help);

/// Add --max-memory, likewise.
void AddMemoryLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help);

/// Add --progress-interval, likewise.
void AddProgressInterval(ProgramFlags& flags, RunLimits& limits);

/// Add --max-time, --max-sim-time, --max-memory and --progress-interval. @param limits outlives the
/// table
void AddLimits(ProgramFlags& flags, RunLimits& limits);

} // namespace AstraSim

#endif /* RUN_LIMITS_H */
