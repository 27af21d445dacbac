/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spray-routing.h"

#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/switch-node.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SprayRouting");

NS_OBJECT_ENSURE_REGISTERED(SprayRouting);
NS_OBJECT_ENSURE_REGISTERED(RandomSprayRouting);

TypeId
SprayRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::SprayRouting")
                            .SetParent<RoutingPolicy>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<SprayRouting>();
    return tid;
}

SprayRouting::SprayRouting()
    : SprayRouting(false)
{
}

SprayRouting::SprayRouting(bool atRandom)
    : m_atRandom(atRandom),
      m_random(CreateObject<UniformRandomVariable>())
{
}

TypeId
RandomSprayRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RandomSprayRouting")
                            .SetParent<SprayRouting>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RandomSprayRouting>();
    return tid;
}

RandomSprayRouting::RandomSprayRouting()
    : SprayRouting(true)
{
}

uint16_t
SprayRouting::Choose(std::span<const uint16_t> ports,
                     const QbbFrame& frame,
                     const SwitchNode& node,
                     int64_t nowPs)
{
    const auto count = static_cast<uint32_t>(ports.size());
    if (m_atRandom)
    {
        return ports[m_random->GetInteger(0, count - 1)];
    }
    const uint32_t slot = 2U * ports.front() + (frame.kind == QbbFrameKind::Data ? 0 : 1);
    if (slot >= m_turns.size())
    {
        m_turns.resize(slot + 1);
    }
    uint32_t& turn = m_turns[slot];
    turn = turn + 1 < count ? turn + 1 : 0;
    NS_LOG_LOGIC("switch " << node.GetId() << " sprays a frame of host " << frame.src << " to host "
                           << frame.dst << " out of port " << ports[turn]);
    return ports[turn];
}

int64_t
SprayRouting::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
