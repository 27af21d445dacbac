/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TOPOLOGY_OF_MACHINE_H
#define TOPOLOGY_OF_MACHINE_H

#include "collectives/model/gpu/machine-model.h"

#include "ns3/cluster-topology.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @return servers of a machine whose NICs meet in an ideal switch, one for the first NICs of all
 * GPUs, one for the second, and so on. MachineOfTopology() gives the machine's numbers back.
 */
ns3::ClusterTopology TopologyOfMachine(const MachineModel& machine, uint32_t servers);

/// Give the NICs that GPUs share part of their rate.
void ScaleSharedNics(ns3::ClusterTopology& topology, double part);

} // namespace AstraSim

#endif /* TOPOLOGY_OF_MACHINE_H */
