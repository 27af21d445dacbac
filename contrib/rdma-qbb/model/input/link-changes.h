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

/// Links that fail, come back or change their rate together: the effect of one line of a
/// configuration.
struct LinkChange
{
    int64_t timePs{0};           ///< from the start of the simulation
    std::vector<uint32_t> links; ///< into ClusterTopology::links
    bool up{false};              ///< whether they come up or go down
    uint64_t rateBps{0};         ///< that they have from then on; 0: they go up or down
};

/// A time during which links were down together.
struct LinkOutage
{
    static constexpr int64_t FOR_GOOD = INT64_MAX;

    std::string ends;               ///< as the configuration names them: "0 18", or one node
    bool isOfNode{false};           ///< whether they are all links of a node
    std::vector<uint32_t> links;    ///< into ClusterTopology::links
    int64_t fromPs{0};              ///< from the start of the simulation
    int64_t toPs{FOR_GOOD};         ///< likewise
    std::vector<uint32_t> cutOff{}; ///< hosts without another link to the network, in order
    bool isNvLink{false};           ///< whether a link is one

    /// Losses of packets on account of it.
    struct Losses
    {
        uint64_t drops{0};    ///< frames lost on these links meanwhile
        uint64_t timeouts{0}; ///< retransmission timers that still ran when there was a path again
        int64_t timerPs{0};   ///< from then, until the last of them ran out
    };

    Losses losses{};

    /**
     * @param updateDelayPs from a change of links until routes have changed
     * @return when a pair of hosts has a path again: when routes lead elsewhere, or back
     */
    int64_t PathBackPs(uint32_t src, uint32_t dst, int64_t updateDelayPs) const;
};

/// @return the outages that a configuration asks for, by their begin
std::vector<LinkOutage> FindOutages(const FabricConf& conf, const ClusterTopology& topology);

/**
 * @param knowsPackets whether losses were counted
 * @return a line for people, such as "link 0 18 was down from 200 to 2200 us, ..."
 */
std::string DescribeOutage(const LinkOutage& outage, bool knowsPackets);

/**
 * Find the links that LINK_DOWN, LINK_UP, LINK_RATE, NODE_DOWN and NODE_UP mean. Parallel links
 * between the same nodes change together unless a line has the number of one.
 * @return a change for each line, in the order of the configuration
 * @throw InputError for a link or a node that is not there, or a rate above that of the topology
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
