/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flowlet-routing.h"

#include "ns3/flow-hash.h"
#include "ns3/switch-node.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FlowletRouting);

TypeId
FlowletRouting::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FlowletRouting")
            .SetParent<RoutingPolicy>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<FlowletRouting>()
            .AddAttribute("Gap",
                          "Pause of a flow after which it may take another path; longer than the "
                          "paths' delays differ",
                          TimeValue(MicroSeconds(50)),
                          MakeTimeAccessor(&FlowletRouting::m_gap),
                          MakeTimeChecker(Time(0)));
    return tid;
}

uint16_t
FlowletRouting::Choose(std::span<const uint16_t> ports,
                       const QbbFrame& frame,
                       const SwitchNode& node,
                       int64_t nowPs)
{
    Flowlet& flowlet = m_flowlets[static_cast<uint64_t>(frame.hash) << 32 | frame.dst];
    const bool stays = nowPs - flowlet.lastPs <= m_gap.GetTimeStep() &&
                       std::find(ports.begin(), ports.end(), flowlet.port) != ports.end();
    flowlet.lastPs = nowPs;
    if (stays)
    {
        return flowlet.port;
    }
    // Among equally short queues the hash decides, so that flows spread on an idle switch.
    const uint32_t first =
        EcmpChoice(frame.hash, node.GetId(), static_cast<uint32_t>(ports.size()));
    uint64_t shortest = UINT64_MAX;
    for (std::size_t i = 0; i < ports.size(); ++i)
    {
        const uint16_t port = ports[(first + i) % ports.size()];
        const uint64_t queue = node.GetPort(port).GetQueueBytes();
        if (queue < shortest)
        {
            shortest = queue;
            flowlet.port = port;
        }
    }
    return flowlet.port;
}

} // namespace ns3
