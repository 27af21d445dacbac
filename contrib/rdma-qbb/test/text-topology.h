/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_TOPOLOGY_H
#define TEXT_TOPOLOGY_H

#include "ns3/cluster-topology.h"

#include <sstream>
#include <string>

namespace ns3
{

/// @param text of a topology file @param name what to call it in errors
inline ClusterTopology
ReadTopology(const std::string& text, const std::string& name = "topology")
{
    std::istringstream stream(text);
    return ClusterTopology::Read(stream, name);
}

} // namespace ns3

#endif /* TEXT_TOPOLOGY_H */
