/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_CONF_H
#define RDMA_CONGESTION_CONF_H

#include "rdma-congestion-ops.h"

namespace ns3
{

struct FabricConf;

/**
 * Make the congestion control that a configuration chooses, with the parameters that it gives.
 *
 * Keys that the configuration does not give leave the algorithm's own defaults (ns-3 attribute
 * defaults included); keys of other algorithms change nothing. RATE_AI and DCTCP_RATE_AI come from
 * configurations of the HPCC simulator, whose HPCC and DCTCP work on rates: they also select
 * RateBased.
 *
 * @throw InputError if CC_MODE names no algorithm or a value is outside its attribute's range
 */
Ptr<RdmaCongestionOps> CreateCongestionOps(const FabricConf& conf);

/// Set the attributes of an algorithm that a configuration gives; throws as CreateCongestionOps()
/// does.
void ApplyFabricConf(RdmaCongestionOps& ops, const FabricConf& conf);

} // namespace ns3

#endif /* RDMA_CONGESTION_CONF_H */
