/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_LINK_GUARDS_H
#define FABRIC_LINK_GUARDS_H

#include "ns3/cluster-topology.h"
#include "ns3/fabric-conf.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Retry and credits of a link.
struct LinkGuards
{
    bool retries{false};     ///< LINK_RETRY
    uint64_t creditBytes{0}; ///< LINK_CREDITS; 0: PFC
};

/**
 * @ingroup rdma-qbb
 * @return those of each link of a topology: the defaults of QbbChannel, which LINK_RETRY and
 * LINK_CREDITS set, or as LINK_RETRY_AT and LINK_CREDITS_AT say; NVLinks have none
 * @throw InputError if one of these names a link that the network lacks
 */
std::vector<LinkGuards> GuardsOfLinks(const ClusterTopology& topology, const FabricConf& conf);

} // namespace ns3

#endif /* FABRIC_LINK_GUARDS_H */
