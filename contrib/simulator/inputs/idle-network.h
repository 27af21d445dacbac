/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IDLE_NETWORK_H
#define IDLE_NETWORK_H

#include "astra-frontend/model/estimate/idle-machine.h"
#include "collectives/model/gpu/machine-model.h"
#include "collectives/model/nccl/network-kind.h"

#include "ns3/cluster-topology.h"

#include <optional>

namespace AstraSim
{

/**
 * @param kind of the network between servers
 * @param[in,out] machine gets the kind's packets
 * @param[in,out] topology of the machine, if one was given; NICs get the kind's rate. Outlives the
 * result
 * @return the network of collectives: the topology, unless flags give the machine other links
 */
IdleNetwork MakeIdleNetwork(const NetworkKind& kind,
                            MachineModel& machine,
                            std::optional<ns3::ClusterTopology>& topology);

} // namespace AstraSim

#endif /* IDLE_NETWORK_H */
