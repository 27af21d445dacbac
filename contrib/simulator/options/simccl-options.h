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
    std::string op{"AllReduce"};
    uint64_t size{0};
    uint32_t ranks{0};
    uint32_t nodes{1};
    uint32_t gpusPerNode{8};
    std::string gpuType{"H100"};
    double nvlinkGBps{0};
    double nicGbps{400};
    int root{0};
    std::string gpuTable;
    std::string pairs;
    std::string workload;
    std::string topology;
    std::string output{"."};
    uint64_t maxFlows{2'000'000};
    bool quiet{false};
    std::vector<std::string> warnings; ///< about flags without effect
    std::string answer;                ///< text to print instead of a run; empty: run

    /// @param arguments without the program's name @throw ns3::InputError for a mistake in them
    static SimCclOptions Parse(const std::vector<std::string>& arguments);
};

} // namespace AstraSim

#endif /* SIMCCL_OPTIONS_H */
