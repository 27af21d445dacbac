/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "idle-options.h"

#include "astra-frontend/model/system/remote-memory.h"
#include "astra-frontend/model/workload/chakra-workload.h"
#include "astra-frontend/model/workload/layer-workload.h"
#include "rdma-qbb/model/input/idle-keys.h"
#include "simulator/options/astra-network-file.h"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

namespace AstraSim
{

namespace
{

using ns3::FabricConfKey;
using Names = std::vector<std::string_view>;

bool
HasName(const FabricConfKey& key, const Names& names)
{
    return std::find(names.begin(), names.end(), key.name) != names.end();
}

/// Attributes that both of the networks without packets read.
const Names READ_BY_FORMULAS{"ns3::RdmaHw::Mtu",
                             "ns3::RdmaHw::DataOverhead",
                             "ns3::RdmaHw::AckBytes",
                             "ns3::RdmaHw::NvlinkOverhead",
                             "ns3::RdmaHw::CongestionControl",
                             "ns3::RdmaFabric::QpsPerConnection",
                             "ns3::RdmaFabric::ErrorRatePerLink", // the network warns itself
                             "ns3::CollectiveOffload::Engine"};
/// Attributes that flows read, too.
const Names READ_BY_FLOWS{"ns3::RdmaHw::AckInterval",
                          "ns3::RdmaFabric::PersistentQueuePairs",
                          "ns3::RdmaFabric::RouteUpdateDelay",
                          "ns3::SwitchNode::EcmpSeed",
                          "ns3::SwitchNode::RoutingPolicyType"};

/// @return whether the network without packets reads one of the attributes that the key stands for
bool
IsRead(const FabricConfKey& key, NetworkModel network)
{
    constexpr std::string_view TELEMETRY = "::TelemetryBytes"; // of frames, as the overhead is
    return std::ranges::any_of(key.attributes, [&](std::string_view attribute) {
        const auto isIn = [attribute](const Names& names) {
            return std::ranges::find(names, attribute) != names.end();
        };
        return isIn(READ_BY_FORMULAS) || attribute.ends_with(TELEMETRY) ||
               (network == NetworkModel::Flow && isIn(READ_BY_FLOWS));
    });
}

/// @return whether only packets follow the key: queues, marks, pauses, congestion control, losses
bool
IsOfPackets(const FabricConfKey& key, NetworkModel network)
{
    static const Names names{"INT_MULTI",
                             "ENABLE_TRACE",
                             "TRACE_FILE",
                             "TRACE_OUTPUT_FILE",
                             "PFC_OUTPUT_FILE",
                             "QLEN_MON_FILE",
                             "BW_MON_FILE",
                             "RATE_MON_FILE",
                             "CNP_MON_FILE",
                             "MON_START",
                             "MON_END",
                             "QP_MON_INTERVAL",
                             "QLEN_MON_INTERVAL",
                             "BW_MON_INTERVAL",
                             "QLEN_MON_START",
                             "QLEN_MON_END",
                             "MONITOR"};
    return HasName(key, names) || (!key.attributes.empty() && !IsRead(key, network));
}

/// @return whether formulas do not follow the key, though flows that share links do
bool
IsOfSharedLinks(const FabricConfKey& key)
{
    static const Names names{"ROUTING_AT", "FCT_OUTPUT_FILE"};
    return HasName(key, names);
}

/// @return whether a network file of ASTRA-sim leaves nothing to the key: links and bytes are its
/// own
bool
IsOfTopologies(const FabricConfKey& key)
{
    static const Names names{"TOPOLOGY_FILE",
                             "GPUS_PER_SERVER",
                             "PACKET_PAYLOAD_SIZE",
                             "CC_MODE",
                             "QPS_PER_CONNECTION"};
    return HasName(key, names);
}

std::string
ReasonOf(const FabricConfKey& key, const RunOptions& options)
{
    const NetworkModel network = options.network;
    if (key.name == "SEED" && options.gpuSpread != 0)
    {
        return ""; // GPUs' speeds are drawn by it
    }
    if (IsAstraNetworkFile(options.conf) && IsOfTopologies(key))
    {
        return "with " + options.conf;
    }
    if (!options.topology.empty() && key.name == "TOPOLOGY_FILE")
    {
        return "with -n " + options.topology;
    }
    if (!options.backgroundFlows.empty() && key.name == "FLOW_FILE")
    {
        return "with --background-flows " + options.backgroundFlows;
    }
    if (network == NetworkModel::Flow && IsOfPackets(key, network))
    {
        return "with --network flow";
    }
    if (network == NetworkModel::Analytical && (IsOfPackets(key, network) || IsOfSharedLinks(key)))
    {
        return "with --network analytical";
    }
    return "";
}

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
DescribeIdleKeys(const ns3::FabricConf& conf,
                 const std::vector<ns3::GivenAttribute>& attributes,
                 const RunOptions& options)
{
    const auto reason = [&](const FabricConfKey& key) {
        const std::string own = ReasonOf(key, options);
        return own.empty() ? ns3::ReasonToBeIdle(conf, key) : own;
    };
    std::vector<std::string> warnings = ns3::DescribeIdleKeys(conf, reason);
    const auto idle = ns3::DescribeIdleAttributes(attributes, reason);
    warnings.insert(warnings.end(), idle.begin(), idle.end());
    return warnings;
}

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
