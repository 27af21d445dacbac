/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ecmp-routing.h"

#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/switch-node.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("EcmpRouting");

NS_OBJECT_ENSURE_REGISTERED(EcmpRouting);

TypeId
EcmpRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::EcmpRouting")
                            .SetParent<RoutingPolicy>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<EcmpRouting>();
    return tid;
}

uint16_t
EcmpRouting::Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs)
{
    const uint16_t port =
        ports[EcmpChoice(frame.hash, node.GetEcmpSeed(), static_cast<uint32_t>(ports.size()))];
    NS_LOG_LOGIC("switch " << node.GetId() << " sends a frame of host " << frame.src << " to host "
                           << frame.dst << " out of port " << port << ", hash " << frame.hash);
    return port;
}

} // namespace ns3
