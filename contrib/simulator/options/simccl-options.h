/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMCCL_OPTIONS_H
#define SIMCCL_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// The command line of SimCCL.
struct SimCclOptions
{
    std::string op;
    uint64_t size;
    uint32_t ranks;
    uint32_t nodes;
    uint32_t gpusPerNode;
    std::string gpuType;
    double nvlinkGBps;
    double nicGbps;
    int root;
    std::string gpuTable;
    std::string pairs;
    std::string workload;
    std::string topology;
    std::string output;
    uint64_t maxFlows;
    bool quiet{false};
    std::string answer; ///< text to print instead of a run; empty: run

    /// @param arguments without the program's name @throw ns3::InputError for a mistake in them
    static SimCclOptions Parse(const std::vector<std::string>& arguments);
};

} // namespace AstraSim

#endif /* SIMCCL_OPTIONS_H */
