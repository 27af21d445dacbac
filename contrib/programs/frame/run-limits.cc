/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-limits.h"

#include "ns3/rows.h"
#include "ns3/units.h"

#include <string_view>

namespace AstraSim
{

namespace
{

constexpr const char* TIMES = "a time above 0, such as 90s, 10min or 2ms";
constexpr const char* SIZES = "a size above 0, such as 512MiB or 4GiB";

std::optional<int64_t>
ReadTime(std::string_view text)
{
    const auto time = ns3::ParseTimePs(text);
    return time == 0 ? std::nullopt : time;
}

std::optional<double>
ReadSeconds(std::string_view text)
{
    const auto time = ReadTime(text);
    return time ? std::optional(static_cast<double>(*time) / 1e12) : std::nullopt;
}

std::optional<int64_t>
ReadMemory(std::string_view text)
{
    const auto bytes = ParseBytes(text,
                                  {{"KiB", int64_t{1} << 10},
                                   {"MiB", int64_t{1} << 20},
                                   {"GiB", int64_t{1} << 30},
                                   {"TiB", int64_t{1} << 40},
                                   {"kB", 1'000},
                                   {"MB", 1'000'000},
                                   {"GB", 1'000'000'000},
                                   {"TB", 1'000'000'000'000},
                                   {"B", 1}});
    return bytes == 0 ? std::nullopt : bytes;
}

} // namespace

void
AddTimeLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help)
{
    flags.Add(FlagSubject::Limit,
              {"max-time T", ns3::Parsed(limits.seconds, ReadSeconds, TIMES), help});
}

void
AddMemoryLimit(ProgramFlags& flags, RunLimits& limits, const std::string& help)
{
    flags.Add(FlagSubject::Limit,
              {"max-memory SIZE", ns3::Parsed(limits.memoryBytes, ReadMemory, SIZES), help});
}

void
AddProgressInterval(ProgramFlags& flags, RunLimits& limits)
{
    flags.Add(
        FlagSubject::Output,
        {"progress-interval T",
         ns3::Parsed(limits.progressSeconds, ReadSeconds, TIMES, "1min"),
         "time between two reports of progress, in run.json and, without a terminal, as lines"});
}

void
AddLimits(ProgramFlags& flags, RunLimits& limits)
{
    AddTimeLimit(
        flags,
        limits,
        "stop after this time on the clock, such as 90s or 10min, write the results so far and "
        "name those that are missing");
    flags.Add(FlagSubject::Model, // as it cuts off traffic
              {"max-sim-time T",
               ns3::Parsed(limits.simulated, ReadTime, TIMES),
               "the same after this simulated time, such as 2ms"});
    AddMemoryLimit(flags, limits, "the same when this much memory is in use, such as 4GiB");
    AddProgressInterval(flags, limits);
}

} // namespace AstraSim
