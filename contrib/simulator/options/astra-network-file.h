/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ASTRA_NETWORK_FILE_H
#define ASTRA_NETWORK_FILE_H

#include "astra-frontend/model/formula/dimensional-paths.h"

#include "ns3/cluster-topology.h"

#include <string>
#include <vector>

namespace AstraSim
{

/// @return whether a file's name says that it describes a network for ASTRA-sim's analytical back
/// ends
bool IsAstraNetworkFile(const std::string& path);

/**
 * Read the network of ASTRA-sim's analytical back ends: lists `topology` (Ring, FullyConnected,
 * Switch), `npus_count`, `bandwidth` (GB/s; a GB is 2^30 bytes, as in ASTRA-sim) and `latency`
 * (ns), an entry for each dimension, the innermost first.
 * @throw ns3::InputError naming the line that is wrong
 */
std::vector<NetworkDimension> ReadAstraNetworkFile(const std::string& path);

/// @return as many hosts as the network has NPUs, around one switch, for code that counts ranks
ns3::ClusterTopology TopologyOf(const std::vector<NetworkDimension>& dimensions,
                                const std::string& path);

} // namespace AstraSim

#endif /* ASTRA_NETWORK_FILE_H */
