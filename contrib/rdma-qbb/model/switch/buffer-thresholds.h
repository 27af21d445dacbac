/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BUFFER_THRESHOLDS_H
#define BUFFER_THRESHOLDS_H

#include "ns3/buffer-policy.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief An ingress may hold a share of the free part of the shared pool.
 *
 * The share is SwitchMmu's Alpha times the port's scale at a lossless priority, and LossyAlpha at a
 * lossy one (Choudhury and Hahne, IEEE/ACM Transactions on Networking 1998). SwitchMmu carries this
 * out itself when it is chosen, without a call.
 */
class DynamicThresholds : public BufferPolicy
{
  public:
    static TypeId GetTypeId();

    uint64_t GetThreshold(const SwitchMmu& mmu,
                          uint32_t port,
                          uint8_t priority,
                          uint64_t sharedUsed) const override;
};

/**
 * @ingroup rdma-qbb
 * @brief An ingress of a lossless priority may hold SwitchMmu's StaticThreshold.
 *
 * One of a lossy priority may hold as much as with DynamicThresholds. SwitchMmu carries this out
 * itself, too.
 */
class StaticThresholds : public DynamicThresholds
{
  public:
    static TypeId GetTypeId();

    uint64_t GetThreshold(const SwitchMmu& mmu,
                          uint32_t port,
                          uint8_t priority,
                          uint64_t sharedUsed) const override;
};

} // namespace ns3

#endif /* BUFFER_THRESHOLDS_H */
