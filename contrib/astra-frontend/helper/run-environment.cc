/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-environment.h"

#include "ns3/input-error.h"
#include "ns3/nearest-name.h"
#include "ns3/units.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>
#include <set>
#include <string_view>
#include <unistd.h>

namespace AstraSim
{

namespace
{

constexpr double MIN_GBPS = 1e-6;
constexpr double MAX_GBPS = 1e6;
/// Above it AS_SEND_LAT is a mistake in the unit rather than a slow host.
constexpr TimePs LONGEST_USUAL_LATENCY = 1'000'000'000; // 1000 us

constexpr uint32_t MAX_THREADS = 1024;

LogLevel
ParseLogLevel(const std::string& text)
{
    static constexpr std::array NAMES = {"DEBUG", "INFO", "WARNING", "ERROR"};
    for (std::size_t i = 0; i < NAMES.size(); ++i)
    {
        if (text == NAMES[i] || text == std::to_string(i))
        {
            return static_cast<LogLevel>(i);
        }
    }
    throw ns3::InputError("environment",
                          0,
                          "AS_LOG_LEVEL is '" + text + "'",
                          "DEBUG, INFO, WARNING or ERROR, or 0 to 3");
}

/// Warn of variables whose name begins as SimAI's do and that are none of @p known: typing
/// mistakes.
void
WarnOfUnknown(const std::set<std::string>& known, std::vector<std::string>& warnings)
{
    for (char** each = environ; *each; ++each)
    {
        const std::string_view variable = *each;
        const std::string name(variable.substr(0, variable.find('=')));
        if (name.starts_with("AS_") && !known.contains(name))
        {
            warnings.push_back("environment: " + name +
                               " has no effect, as no variable has that name" +
                               ns3::NearestHint(name, known));
        }
    }
}

} // namespace

std::optional<std::string>
EnvironmentVariable(const std::string& name)
{
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
}

RunEnvironment
RunEnvironment::Read(const NcclOptions::Lookup& lookup)
{
    RunEnvironment environment;
    std::set<std::string> known;
    const NcclOptions::Lookup noting = [&](const std::string& name) {
        known.insert(name);
        return lookup(name);
    };
    // What is looked up and set is also what run.json tells.
    const NcclOptions::Lookup recording = [&](const std::string& name) {
        const auto value = noting(name);
        if (value && !value->empty())
        {
            environment.variables[name] = *value;
        }
        return value;
    };
    environment.nccl = NcclOptions::FromEnvironment(recording);
    if (environment.nccl.sendLatency.value_or(0) > LONGEST_USUAL_LATENCY)
    {
        environment.warnings.push_back(
            "AS_SEND_LAT is " + environment.variables["AS_SEND_LAT"] +
            " microseconds before each flow; SimAI's newer pages write nanoseconds, which would be "
            "AS_SEND_LAT=" +
            fmt::format("{:g}", static_cast<double>(*environment.nccl.sendLatency) / 1e9));
    }
    const auto bandwidth = recording("AS_NET_BW");
    if (bandwidth && !bandwidth->empty())
    {
        double gbps = 0;
        const auto [end, error] =
            std::from_chars(bandwidth->data(), bandwidth->data() + bandwidth->size(), gbps);
        if (error != std::errc() || end != bandwidth->data() + bandwidth->size() ||
            !(gbps >= MIN_GBPS && gbps <= MAX_GBPS))
        {
            throw ns3::InputError("environment",
                                  0,
                                  "AS_NET_BW is '" + *bandwidth + "'",
                                  "Gb/s of a NIC link, from 1e-6 to 1e6");
        }
        environment.netBandwidthBps = static_cast<uint64_t>(gbps * 1e9);
    }
    if (const auto level = noting("AS_LOG_LEVEL"); level && !level->empty())
    {
        environment.logLevel = ParseLogLevel(*level);
    }
    if (const auto threads = noting("AS_SIM_THREADS"); threads && !threads->empty())
    {
        const auto count = ns3::ParseUnsigned(*threads);
        if (!count || *count == 0 || *count > MAX_THREADS)
        {
            throw ns3::InputError("environment",
                                  0,
                                  "AS_SIM_THREADS is '" + *threads + "'",
                                  "a number of threads from 1 to " + std::to_string(MAX_THREADS));
        }
        environment.threads = static_cast<uint32_t>(*count);
    }
    WarnOfUnknown(known, environment.warnings);
    return environment;
}

} // namespace AstraSim
