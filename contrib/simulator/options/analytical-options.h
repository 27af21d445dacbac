/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANALYTICAL_OPTIONS_H
#define ANALYTICAL_OPTIONS_H

#include "astra-frontend/model/estimate/overlap-ratios.h"
#include "programs/frame/run-limits.h"
#include "run-environment.h"

#include "ns3/layer-table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// Options of SimAI_analytical.
struct AnalyticalOptions
{
    std::string workload;
    std::string topology; ///< -n; empty: flags describe the machine
    std::string busbw;    ///< -busbw: file with bus bandwidths; empty for none
    std::string prefix;   ///< -r: beginning of the names of the result files
    std::string folder;   ///< -r_f; empty: results, or results/WORKLOAD_analytical without -r
    std::optional<uint32_t> gpus;
    std::optional<uint32_t> gpusPerServer;
    std::optional<uint32_t> nicsPerServer;
    std::optional<double> nvlinkGBps; ///< of a GPU, one direction
    std::optional<double> nicGBps;    ///< of a NIC
    std::string nicType;              ///< empty: not given
    std::string gpuType;              ///< empty: not given
    std::string gpuTable;             ///< --gpu-table; empty: AS_GPU_TABLE
    OverlapRatios overlap{};          ///< of all but PP
    std::optional<double>
        pipelineOverlap; ///< of PP; else 1, and 0 of micro lines, which compute nothing
    bool visual{false};
    ParallelSizes sizes;
    uint32_t passes{1};
    RunLimits limits; ///< --max-time, --max-sim-time, --max-memory
    bool quiet{false};
    std::string answer; ///< text to print instead of a run; empty: run
    RunEnvironment environment;

    /**
     * @param arguments of the program, its name not included; flags of several letters may have one
     * dash or two, and underscores or dashes within
     * @throw ns3::InputError naming the flag or variable that is wrong
     */
    static AnalyticalOptions Parse(const std::vector<std::string>& arguments,
                                   const NcclOptions::Lookup& environment);
};

} // namespace AstraSim

#endif /* ANALYTICAL_OPTIONS_H */
