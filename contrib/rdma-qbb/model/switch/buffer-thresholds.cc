/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-thresholds.h"

#include "switch-mmu.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(DynamicThresholds);
NS_OBJECT_ENSURE_REGISTERED(StaticThresholds);

TypeId
DynamicThresholds::GetTypeId()
{
    static TypeId tid = TypeId("ns3::DynamicThresholds")
                            .SetParent<BufferPolicy>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<DynamicThresholds>();
    return tid;
}

uint64_t
DynamicThresholds::GetThreshold(const SwitchMmu& mmu,
                                uint32_t port,
                                uint8_t priority,
                                uint64_t sharedUsed) const
{
    return mmu.GetLimits().DynamicThreshold(port, priority, sharedUsed);
}

TypeId
StaticThresholds::GetTypeId()
{
    static TypeId tid = TypeId("ns3::StaticThresholds")
                            .SetParent<DynamicThresholds>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<StaticThresholds>();
    return tid;
}

uint64_t
StaticThresholds::GetThreshold(const SwitchMmu& mmu,
                               uint32_t port,
                               uint8_t priority,
                               uint64_t sharedUsed) const
{
    return mmu.GetLimits().IsLossless(priority)
               ? mmu.GetLimits().GetStaticThreshold()
               : mmu.GetLimits().DynamicThreshold(port, priority, sharedUsed);
}

} // namespace ns3
