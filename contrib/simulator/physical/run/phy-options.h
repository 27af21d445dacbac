/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_OPTIONS_H
#define PHY_OPTIONS_H

#include "simulator/options/run-options.h"
#include "simulator/physical/physical-loop.h"

#include <cstdint>
#include <string>
#include <vector>

namespace AstraSim
{

/// Options of SimAI_phynet.
struct PhyOptions
{
    RunOptions run; ///< options of simulations, too: workload, topology, output, ...
    std::string provider{"auto"};
    std::vector<std::string> devices; ///< --nic or --interface: one per rail, used in turn
    ComputeMode compute{ComputeMode::Sleep};
    bool verify{false};
    bool reduce{false};
    uint32_t warmup{1};
    uint32_t iterations{1};
    double timeoutSeconds{5}; ///< a rank that is silent for so long is taken for dead

    /**
     * @param arguments of the program, its name not included
     * @throw ns3::InputError naming the flag or variable that is wrong
     */
    static PhyOptions Parse(const std::vector<std::string>& arguments,
                            const NcclOptions::Lookup& environment);
};

} // namespace AstraSim

#endif /* PHY_OPTIONS_H */
