/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_ENVIRONMENT_H
#define RUN_ENVIRONMENT_H

#include "collectives/model/nccl/nccl-options.h"
#include "programs/frame/run-console.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// @return the value of an environment variable of this process, as NcclOptions::Lookup wants it
std::optional<std::string> EnvironmentVariable(const std::string& name);

/// Values of the environment variables of the programs.
struct RunEnvironment
{
    NcclOptions nccl;
    std::optional<uint64_t> netBandwidthBps;      ///< AS_NET_BW: rate of NIC links
    std::map<std::string, std::string> variables; ///< those that were set, by name
    LogLevel logLevel{LogLevel::Info};            ///< AS_LOG_LEVEL
    std::optional<uint32_t> threads;              ///< AS_SIM_THREADS: -t, unless that is given
    std::vector<std::string> warnings;            ///< possible mistakes, a line each

    /// @throw ns3::InputError naming a variable with an unusable value
    static RunEnvironment Read(const NcclOptions::Lookup& lookup);

    /// @return the variables, as Rows::ToCsv() has them
    static std::string Describe();
};

} // namespace AstraSim

#endif /* RUN_ENVIRONMENT_H */
