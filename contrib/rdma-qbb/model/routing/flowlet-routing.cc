/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flowlet-routing.h"

#include "port-load.h"

#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/switch-node.h"

#include <algorithm>
#include <fmt/format.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FlowletRouting");

NS_OBJECT_ENSURE_REGISTERED(FlowletRouting);
NS_OBJECT_ENSURE_REGISTERED(AdaptiveFlowletRouting);

namespace
{

/// Where paths' delays differ by no more.
constexpr int64_t LEAST_GAP_PS = 50'000'000;

} // namespace

TypeId
FlowletRouting::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FlowletRouting")
            .SetParent<RoutingPolicy>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<FlowletRouting>()
            .AddAttribute("Gap",
                          "Pause of a flow after which it may take another path. 0: 50 us, or the "
                          "difference of the paths' delays if that is longer",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&FlowletRouting::m_gap),
                          MakeTimeChecker(Time(0)));
    return tid;
}

FlowletRouting::FlowletRouting()
    : FlowletRouting(true)
{
}

FlowletRouting::FlowletRouting(bool atRandom)
    : m_gapForPathsPs(LEAST_GAP_PS),
      m_atRandom(atRandom),
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
    const int64_t gapPs = m_gap.IsZero() ? m_gapForPathsPs : m_gap.GetTimeStep();
    const bool stays = nowPs - flowlet.lastPs <= gapPs &&
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

std::string
FlowletRouting::FitToPaths(int64_t spreadPs)
{
    m_gapForPathsPs = std::max(LEAST_GAP_PS, spreadPs);
    if (m_gap.IsZero() || m_gap.GetTimeStep() >= spreadPs)
    {
        return "";
    }
    return fmt::format("ns3::FlowletRouting::Gap of {:g} us is below the difference of paths' "
                       "delays, {:g} us: frames overtake each other and count as lost",
                       static_cast<double>(m_gap.GetTimeStep()) / 1e6,
                       static_cast<double>(spreadPs) / 1e6);
}

int64_t
FlowletRouting::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
