/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NETWORKS_H
#define NETWORKS_H

#include "astra-frontend/model/flow/flow-level-network.h"
#include "simulation-backend.h"
#include "simulator/inputs/run-inputs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @return every packet simulated, with ns-3's Simulator: there can be one such network at a time
 * @param options ports to capture, ns-3 flags
 * @param inputs outlives the result
 * @param background flows beside the workloads
 * @param output directory of fct.txt, pfc.txt, ...
 * @param threads to run the fabric on; nothing: it is not divided
 * @param warnings gets a line for each thing a user should know
 * @throw ns3::InputError for a mistake in an input
 */
std::unique_ptr<SimulationBackend> MakePacketNetwork(const RunOptions& options,
                                                     const RunInputs& inputs,
                                                     const BackgroundFlows& background,
                                                     const std::string& output,
                                                     std::optional<uint32_t> threads,
                                                     std::vector<std::string>& warnings);

/// @return messages as flows; parameters as those of MakePacketNetwork()
std::unique_ptr<SimulationBackend> MakeFlowNetwork(const RunOptions& options,
                                                   const RunInputs& inputs,
                                                   const BackgroundFlows& background,
                                                   const std::string& output,
                                                   std::vector<std::string>& warnings);

/// @return the ability of a network to keep trees; empty if there is room for any.
/// @param planner outlives the result
KeepTrees KeepTreesOf(ns3::InNetworkPlanner& planner);

/// @return the settings of a network of flows that has the properties of one of packets
FlowLevelConfig FlowLevelConfigOf(const ns3::FabricConf& conf,
                                  const ns3::ClusterTopology& topology);

/// Counts the attributes of reductions in the network as read by a network of flows, whose
/// collectives may ask for trees later.
void CountReductionsAsRead();

} // namespace AstraSim

#endif /* NETWORKS_H */
