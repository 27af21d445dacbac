/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_LOSS_RECOVERY_FACTORY_H
#define RDMA_LOSS_RECOVERY_FACTORY_H

#include "rdma-loss-recovery.h"

namespace ns3
{

struct FabricConf;

/// @return the loss recovery that LOSS_RECOVERY names, with RTO and the L2_ keys in force
Ptr<RdmaLossRecovery> CreateLossRecovery(const FabricConf& conf);

} // namespace ns3

#endif /* RDMA_LOSS_RECOVERY_FACTORY_H */
