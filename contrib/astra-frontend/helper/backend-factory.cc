/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "backend-factory.h"

#include "analytical-backend.h"
#include "flow-level-backend.h"
#include "packet-backend.h"

namespace AstraSim
{

std::unique_ptr<SimulationBackend>
MakeBackend(const RunOptions& options,
            const RunInputs& inputs,
            const BackgroundFlows& background,
            const std::string& output,
            std::optional<uint32_t> threads,
            std::vector<std::string>& warnings)
{
    switch (options.network)
    {
    case NetworkModel::Packet:
        return std::make_unique<PacketBackend>(options,
                                               inputs,
                                               background,
                                               output,
                                               threads,
                                               warnings);
    case NetworkModel::Analytical:
        return AnalyticalBackend::Make(options, inputs, background, warnings);
    case NetworkModel::Flow:
        return std::make_unique<FlowLevelBackend>(options, inputs, background, output, warnings);
    }
    return nullptr;
}

} // namespace AstraSim
