/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_INPUTS_H
#define RUN_INPUTS_H

#include "astra-frontend/model/formula/dimensional-paths.h"
#include "programs/frame/run-console.h"
#include "rdma-qbb/model/input/idle-keys.h"
#include "simulator/options/run-options.h"

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/// The network a run is asked for: configuration and topology, with the flags' changes made.
struct RunInputs
{
    ns3::FabricConf conf;
    ns3::ClusterTopology topology;
    /// Rate of the NICs' links over the line rate: the network kind's efficiency, and room for the
    /// headers and acknowledgements that it does not count.
    double nicRatePart{1};
    std::vector<NetworkDimension> dimensions;    ///< of ASTRA-sim's analytical network; empty: none
    std::vector<ns3::GivenAttribute> attributes; ///< defaults from flags and environment
    std::vector<uint32_t> traceNodes;            ///< nodes with packet traces; empty without a file

    /**
     * Read the configuration and the topology.
     * @param console is told which file was taken where that is not evident, and the warnings
     * @throw ns3::InputError for a mistake in them, or if there is no topology
     */
    static RunInputs Read(const RunOptions& options, const RunConsole& console);

    /// Warn of each key of `--set` and each attribute that changes nothing. Call it when all that
    /// follows the configuration is made.
    void WarnOfIdle(const RunOptions& options, const RunConsole& console) const;

    /// @return a line on GPUs that no switch joins, so that messages between them never arrive;
    /// empty if all are joined, or if links fail or return during the run
    std::string DescribeSplitRails() const;
};

/// @param payload of a full frame; without it, the configuration's
/// @return rate of a NIC's link over the line rate, for messages to reach the kind's efficiency
double NicRatePart(const NetworkKind& kind, std::optional<uint32_t> payload = std::nullopt);

/// Give the links of NICs a rate, or part of the one they have. GPUs that share a NIC have links of
/// their own to it, and it has one to the network.
void SetNicRates(ns3::ClusterTopology& topology, std::optional<uint64_t> rateBps, double part);

/// Flows that run beside the workloads.
struct BackgroundFlows
{
    std::string file; ///< empty for none
    std::string key;  ///< that names it
    uint64_t count{0};
    std::vector<std::string> warnings; ///< about the contents

    /**
     * Find the file of --background-flows or FLOW_FILE. PFC protects the priorities it names, too,
     * unless a flag says which it protects (ns3::SwitchMmu::LosslessMask).
     * @throw ns3::InputError if the file is wrong
     */
    static BackgroundFlows Find(const RunOptions& options, const RunInputs& inputs);
};

} // namespace AstraSim

#endif /* RUN_INPUTS_H */
