/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef HTSIM_TOPOLOGY_H
#define HTSIM_TOPOLOGY_H

#include "cluster-topology.h"

#include "ns3/input-lines.h"

#include <string_view>

namespace ns3
{

/// @return whether a file whose first word is this one is a topology of htsim
bool BeginsHtsimTopology(std::string_view word);

/**
 * Read a fat tree as htsim describes it (a .topo file): the hosts of each pod, and per tier the
 * links down and up of a switch with their rate and delay.
 *
 * Hosts have the first node ids, then come the switches of tier 0 (ToR), 1 (aggregation) and 2
 * (core). Half of a switch's latency is added to the delay of each of its links, so that a path has
 * the delay that it has in htsim.
 * @param lines at the first line of the file
 * @return the topology, before Index()
 * @throw InputError for its first mistake, and for a key that has no counterpart here
 */
ClusterTopology ReadHtsimTopology(InputLines& lines);

} // namespace ns3

#endif /* HTSIM_TOPOLOGY_H */
