/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-environment.h"

#include "ns3/input-error.h"

#include <charconv>

namespace AstraSim
{

RunEnvironment
RunEnvironment::Read(const NcclOptions::Lookup& lookup)
{
    RunEnvironment environment;
    // What is looked up and set is also what run.json tells.
    const NcclOptions::Lookup recording = [&](const std::string& name) {
        const auto value = lookup(name);
        if (value && !value->empty())
        {
            environment.variables[name] = *value;
        }
        return value;
    };
    environment.nccl = NcclOptions::FromEnvironment(recording);
    const auto bandwidth = recording("AS_NET_BW");
    if (bandwidth && !bandwidth->empty())
    {
        double gbps = 0;
        const auto [end, error] =
            std::from_chars(bandwidth->data(), bandwidth->data() + bandwidth->size(), gbps);
        if (error != std::errc() || end != bandwidth->data() + bandwidth->size() || gbps <= 0)
        {
            throw ns3::InputError("environment",
                                  0,
                                  "AS_NET_BW is '" + *bandwidth + "'",
                                  "Gb/s of a NIC link, above 0");
        }
        environment.netBandwidthBps = static_cast<uint64_t>(gbps * 1e9);
    }
    for (const char* name : {"AS_LOG_LEVEL", "AS_SIM_THREADS"})
    {
        const auto value = lookup(name);
        if (value && !value->empty() && *value != "0")
        {
            environment.warnings.push_back(std::string(name) + " is accepted and has no effect");
        }
    }
    return environment;
}

} // namespace AstraSim
