/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-limits.h"

#include "ns3/clock-range.h"
#include "ns3/units.h"

#include <string_view>
#include <utility>

namespace AstraSim
{

namespace
{

int64_t
ReadTime(const std::string& flag, const std::string& text)
{
    const auto time = ns3::ParseTimePs(text);
    if (!time || *time == 0)
    {
        RefuseFlag(flag + " is '" + text + "'", "a time above 0, such as 90s, 10min or 2ms");
    }
    return *time;
}

uint64_t
ReadMemory(const std::string& text)
{
    std::string_view number = text;
    int64_t unit = 1;
    for (const auto& [name, bytes] : {std::pair<std::string_view, int64_t>{"KiB", int64_t{1} << 10},
                                      {"MiB", int64_t{1} << 20},
                                      {"GiB", int64_t{1} << 30},
                                      {"TiB", int64_t{1} << 40},
                                      {"kB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"TB", 1'000'000'000'000},
                                      {"B", 1}})
    {
        if (number.ends_with(name))
        {
            number.remove_suffix(name.size());
            unit = bytes;
            break;
        }
    }
    const auto bytes = ns3::ParseScaled(number, unit);
    if (!bytes || *bytes == 0)
    {
        RefuseFlag("--max-memory is '" + text + "'", "a size above 0, such as 512MiB or 4GiB");
    }
    return static_cast<uint64_t>(*bytes);
}

} // namespace

void
AddTimeLimit(FlagTable& flags, RunLimits& limits, const std::string& help)
{
    flags.AddText(
        FlagSubject::Limit,
        "max-time",
        [&limits](const std::string& text) {
            limits.seconds = static_cast<double>(ReadTime("--max-time", text)) / 1e12;
        },
        help);
}

void
AddMemoryLimit(FlagTable& flags, RunLimits& limits, const std::string& help)
{
    flags.AddText(
        FlagSubject::Limit,
        "max-memory",
        [&limits](const std::string& text) { limits.memoryBytes = ReadMemory(text); },
        help);
}

void
AddLimits(FlagTable& flags, RunLimits& limits)
{
    AddTimeLimit(
        flags,
        limits,
        "stop after this wall time (90s, 10min), write results so far and say what is missing");
    flags.AddText(
        FlagSubject::Model, // as it cuts off traffic
        "max-sim-time",
        [&limits](const std::string& text) { limits.simulated = ReadTime("--max-sim-time", text); },
        "the same after this simulated time (2ms)");
    AddMemoryLimit(flags, limits, "the same when this much memory is in use (4GiB)");
}

} // namespace AstraSim
