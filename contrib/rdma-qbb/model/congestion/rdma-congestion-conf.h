/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CONGESTION_CONF_H
#define RDMA_CONGESTION_CONF_H

#include "rdma-congestion-ops.h"

#include "ns3/pint-encoder.h"

#include <cstdint>

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

/**
 * Make what switches need for HPCC-PINT.
 * @param conf the configuration: its PINT_LOG_BASE is the senders' too
 * @param longestRttPs base RTT of the longest path, over which utilisations are smoothed; 0 for the
 * encoder's own default
 */
Ptr<PintEncoder> CreatePintEncoder(const FabricConf& conf, int64_t longestRttPs);

} // namespace ns3

#endif /* RDMA_CONGESTION_CONF_H */
