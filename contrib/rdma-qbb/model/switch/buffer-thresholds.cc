/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "switch-mmu.h"

#include "ns3/buffer-policy.h"

#include <cstdint>

namespace ns3
{

namespace
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
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::DynamicThresholds")
                                .SetParent<BufferPolicy>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<DynamicThresholds>();
        return tid;
    }

    uint64_t GetThreshold(const SwitchMmu& mmu,
                          uint32_t port,
                          uint8_t priority,
                          uint64_t sharedUsed) const override
    {
        return mmu.DynamicThreshold(port, priority, sharedUsed);
    }
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
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::StaticThresholds")
                                .SetParent<DynamicThresholds>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<StaticThresholds>();
        return tid;
    }

    uint64_t GetThreshold(const SwitchMmu& mmu,
                          uint32_t port,
                          uint8_t priority,
                          uint64_t sharedUsed) const override
    {
        return mmu.IsLossless(priority) ? mmu.GetStaticThreshold()
                                        : mmu.DynamicThreshold(port, priority, sharedUsed);
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(DynamicThresholds);
NS_OBJECT_ENSURE_REGISTERED(StaticThresholds);

} // namespace ns3
