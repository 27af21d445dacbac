/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "adaptive-routing.h"

#include "port-load.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(AdaptiveRouting);

TypeId
AdaptiveRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::AdaptiveRouting")
                            .SetParent<RoutingPolicy>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<AdaptiveRouting>();
    return tid;
}

uint16_t
AdaptiveRouting::Choose(std::span<const uint16_t> ports,
                        const QbbFrame& frame,
                        const SwitchNode& node,
                        int64_t nowPs)
{
    return LeastLoadedPort(ports, frame.priority, node, nowPs, m_turn++);
}

} // namespace ns3
