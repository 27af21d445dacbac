/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "adaptive-routing.h"

#include "port-load.h"

#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/switch-node.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("AdaptiveRouting");

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
    const uint16_t port = LeastLoadedPort(ports, frame.priority, node, nowPs, m_turn++);
    NS_LOG_LOGIC("switch " << node.GetId() << " sends a frame of host " << frame.src << " to host "
                           << frame.dst << " out of port " << port << ", the least loaded of "
                           << ports.size());
    return port;
}

} // namespace ns3
