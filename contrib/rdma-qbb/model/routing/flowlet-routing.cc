/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flowlet-routing.h"

#include "port-load.h"

#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/switch-node.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FlowletRouting");

NS_OBJECT_ENSURE_REGISTERED(FlowletRouting);
NS_OBJECT_ENSURE_REGISTERED(AdaptiveFlowletRouting);

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

FlowletRouting::FlowletRouting()
    : FlowletRouting(true)
{
}

FlowletRouting::FlowletRouting(bool atRandom)
    : m_atRandom(atRandom),
      m_random(CreateObject<UniformRandomVariable>())
{
}

TypeId
AdaptiveFlowletRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::AdaptiveFlowletRouting")
                            .SetParent<FlowletRouting>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<AdaptiveFlowletRouting>();
    return tid;
}

AdaptiveFlowletRouting::AdaptiveFlowletRouting()
    : FlowletRouting(false)
{
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
    const auto count = static_cast<uint32_t>(ports.size());
    flowlet.port =
        m_atRandom
            ? ports[m_random->GetInteger(0, count - 1)]
            // Among equally loaded ports the hash decides, so that flows spread on an idle switch.
            : LeastLoadedPort(ports,
                              frame.priority,
                              node,
                              nowPs,
                              EcmpChoice(frame.hash, node.GetId(), count));
    NS_LOG_LOGIC("switch " << node.GetId() << " begins a flowlet of host " << frame.src
                           << " to host " << frame.dst << " at port " << flowlet.port);
    return flowlet.port;
}

int64_t
FlowletRouting::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
