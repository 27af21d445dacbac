/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-options.h"

#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/workload/chakra-workload.h"
#include "astra-frontend/model/workload/layer-workload.h"

#include <algorithm>
#include <fmt/format.h>

namespace AstraSim
{

namespace
{

bool
HasKernels(const Layer& layer)
{
    return layer.update > 0 ||
           std::ranges::any_of(layer.compute, [](TimePs time) { return time > 0; });
}

/// @return which of the header's keys its policy ignores in part or whole; empty: none
std::string
OfAnotherPolicy(const LayerTable& table)
{
    if (table.policy == ParallelismPolicy::HybridTransformerFwdInBckwd || table.inference)
    {
        return "";
    }
    std::vector<std::string> idle;
    const auto look = [&idle](const char* key, bool isSet) {
        if (isSet)
        {
            idle.emplace_back(key);
        }
    };
    look("ga", table.gradientAccumulation > 1);
    look("checkpoint_initiates", std::ranges::any_of(table.layers, &Layer::initiates));
    std::string said = idle.empty() ? ""
                                    : fmt::format("{} of the header {} no effect",
                                                  fmt::join(idle, ", "),
                                                  idle.size() == 1 ? "has" : "have");
    if (table.sizes.pp > 1)
    {
        said += said.empty() ? "" : "; ";
        said += fmt::format("pp: {} of the header makes groups smaller, and no pipeline",
                            table.sizes.pp);
    }
    return said.empty() ? said
                        : said + " with this policy; only HYBRID_TRANSFORMER_FWD_IN_BCKWD has "
                                 "pipelines, micro-batches and recomputation";
}

} // namespace

std::vector<std::string>
DescribeIdleSizes(const Workload& workload, const ParallelSizes& given)
{
    const auto* layers = dynamic_cast<const LayerWorkload*>(&workload);
    const ParallelSizes own = layers ? layers->GetTable().sizes : ParallelSizes{};
    std::vector<std::string> warnings;
    const auto look = [&](const char* flag, uint32_t size, uint32_t sizeOfFile) {
        if (size == 0 || size == sizeOfFile || (layers && sizeOfFile == 0))
        {
            return;
        }
        warnings.push_back(
            fmt::format("{} {} has no effect: {} says {}",
                        flag,
                        size,
                        workload.GetFileName(),
                        layers ? std::to_string(sizeOfFile) : "what its groups are"));
    };
    look("--tp", given.tp, own.tp);
    look("--ep", given.ep, own.ep);
    look("--pp", given.pp, own.pp);
    const std::string of = layers ? OfAnotherPolicy(layers->GetTable()) : "";
    if (!of.empty())
    {
        warnings.push_back(workload.GetFileName() + ": " + of);
    }
    return warnings;
}

std::vector<std::string>
DescribeIdleFlags(const SystemConfig& system, const RunOptions& options)
{
    std::vector<std::string> warnings;
    const bool native = system.HasNativeAlgorithms();
    const auto look = [&warnings](const std::string& flag, bool isGiven, bool hasEffect) {
        if (isGiven && !hasEffect)
        {
            warnings.push_back(flag + " has no effect: it is of ASTRA-sim's algorithms, which a "
                                      "--system-configuration names");
        }
    };
    look(fmt::format("--injection-scale {}", system.injectionScale),
         system.injectionScale != 1,
         native && !system.memoryBus.shared);
    // SimAI's utilisation of dimensions has a column for each queue.
    look(fmt::format("--num-queues-per-dim {}", system.queuesPerDimension),
         system.queuesPerDimension != 1,
         native || options.simaiFiles);
    return warnings;
}

std::vector<std::string>
DescribeIdleFlags(const Workload& workload, const SystemConfig& system, const RunOptions& options)
{
    std::vector<std::string> warnings;
    const auto* layers = dynamic_cast<const LayerWorkload*>(&workload);
    if (options.gpuSpread != 0 && layers &&
        std::ranges::none_of(layers->GetTable().layers, HasKernels))
    {
        warnings.push_back(fmt::format("--gpu-spread {} has no effect: {} has no kernels",
                                       options.gpuSpread,
                                       workload.GetFileName()));
    }
    const bool isChakra = dynamic_cast<const ChakraWorkload*>(&workload) != nullptr;
    if (!options.logicalTopology.empty() && !system.HasNativeAlgorithms() && !isChakra)
    {
        warnings.push_back("--logical-topology-configuration " + options.logicalTopology +
                           " has no effect: it is of ASTRA-sim's algorithms, which a "
                           "--system-configuration names, and of Chakra's involved_dim");
    }
    if (isChakra && options.passes > 1)
    {
        warnings.push_back(fmt::format("--passes {} has no effect: {} is a Chakra trace, which "
                                       "has all of its iterations",
                                       options.passes,
                                       workload.GetFileName()));
    }
    const auto look = [&](const char* key, bool isSet) {
        if (isSet && !isChakra)
        {
            warnings.push_back(fmt::format("{}: {} has no effect: {} is no Chakra trace",
                                           system.file,
                                           key,
                                           workload.GetFileName()));
        }
    };
    look("roofline-enabled", system.rooflineEnabled);
    look("replay-only", system.replayOnly);
    if (!options.remoteMemory.empty() && !isChakra &&
        ReadRemoteMemoryConfig(options.remoteMemory).type != RemoteMemoryType::NoExpansion)
    {
        warnings.push_back(
            fmt::format("--remote-memory-configuration {} has no effect: {} is no Chakra trace",
                        options.remoteMemory,
                        workload.GetFileName()));
    }
    return warnings;
}

} // namespace AstraSim
