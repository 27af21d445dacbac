/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOWS_OPTIONS_H
#define FLOWS_OPTIONS_H

#include "programs/frame/run-limits.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// The command line of qbb-flows.
struct FlowsOptions
{
    std::string conf;
    std::string topology;
    std::string flows;
    std::string output;
    std::vector<std::string> keys;
    std::vector<std::string> pcap;
    std::optional<uint32_t> threads; ///< -t; without it, one
    bool check{false};               ///< --check; always in the checking build
    bool quiet{false};
    std::string answer; ///< text to print instead of a run; empty: run
    std::vector<std::string> ns3Flags;
    RunLimits limits; ///< --max-time, --max-sim-time, --max-memory

    /// @param arguments without the program's name @throw ns3::InputError for a mistake in them
    static FlowsOptions Parse(const std::vector<std::string>& arguments);
};

} // namespace AstraSim

#endif /* FLOWS_OPTIONS_H */
