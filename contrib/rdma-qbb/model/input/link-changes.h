/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_CHANGES_H
#define LINK_CHANGES_H

#include "cluster-topology.h"
#include "fabric-conf.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/// Links that fail or come back together: the effect of one line of a configuration.
struct LinkChange
{
    int64_t timePs{0};           ///< from the start of the simulation
    std::vector<uint32_t> links; ///< into ClusterTopology::links
    bool up{false};              ///< whether they come up or go down
};

/**
 * Find the links that LINK_DOWN, LINK_UP, NODE_DOWN and NODE_UP mean. Parallel links between the
 * same nodes change together unless a line has the number of one.
 * @return a change for each line, in the order of the configuration
 * @throw InputError for a link or a node that is not there
 */
std::vector<LinkChange> FindLinkChanges(const FabricConf& conf, const ClusterTopology& topology);

/// @return a line for each change that changed nothing: the run ended before, or nothing had failed
std::vector<std::string> DescribeIdleChanges(const FabricConf& conf, int64_t endPs);

/// @return the nodes of an event as its line names them, and the number of a link of a bundle
std::string EndsOf(const LinkEvent& event);

/// @return the key that a change of links was given by
std::string KeyOf(const LinkEvent& event);

} // namespace ns3

#endif /* LINK_CHANGES_H */
