/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROUTING_POLICY_FACTORY_H
#define ROUTING_POLICY_FACTORY_H

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"
#include "ns3/path-survey.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * Gives each network switch its policy: the default of SwitchNode's RoutingPolicyType, or the
 * one that ROUTING_AT sets for some.
 * @return by node id; ECMP for all that are no network switches
 * @throw InputError if ROUTING_AT names a switch that the topology lacks
 */
std::vector<TypeId> RoutingBySwitch(const ClusterTopology& topology, const FabricConf& conf);

/// @return whether frames of one connection take several paths whatever the switches do: they have
/// hashes of their own
bool TransportSpreadsFrames();

/// @return how many of the shortest paths a connection takes. @param routing by node id
PathUse PathUseOf(const std::vector<TypeId>& routing);

/// @return whether frames of one queue pair may overtake each other with that policy
bool ReordersFrames(TypeId policy);

/**
 * @return by node id, how far a network switch is from the nearest host: 1 for access switches, 2
 * above them, and so on; 0 for other nodes
 */
std::vector<uint32_t> SwitchLayers(const ClusterTopology& topology);

} // namespace ns3

#endif /* ROUTING_POLICY_FACTORY_H */
