/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MACHINE_OF_TOPOLOGY_H
#define MACHINE_OF_TOPOLOGY_H

#include "collectives/model/gpu/machine-model.h"

#include "ns3/cluster-topology.h"

namespace AstraSim
{

/// @return the machine as collectives see it, derived from a topology
/// @param nicRatePart rate of the topology's NIC links over the line rate
MachineModel MachineOfTopology(const ns3::ClusterTopology& topology, double nicRatePart = 1);

} // namespace AstraSim

#endif /* MACHINE_OF_TOPOLOGY_H */
