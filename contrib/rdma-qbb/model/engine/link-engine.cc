/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-engine.h"

#include "link-wire.h"

#include "ns3/boolean.h"
#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("LinkEngine");

NS_OBJECT_ENSURE_REGISTERED(LinkEngine);

TypeId
LinkEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::LinkEngine")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<LinkEngine>()
            .AddAttribute("ArrivalEvents",
                          "Make every arrival of a frame an event, those included that only change "
                          "what a host on NVLink has counted",
                          BooleanValue(false),
                          MakeBooleanAccessor(&LinkEngine::m_arrivalEvents),
                          MakeBooleanChecker())
            .AddAttribute("SendEvents",
                          "Make every end of a transmission for which a frame waits, and every end "
                          "of a gap between two frames of a queue pair, an event",
                          BooleanValue(false),
                          MakeBooleanAccessor(&LinkEngine::m_sendEvents),
                          MakeBooleanChecker());
    return tid;
}

LinkEngine::LinkEngine() = default;

LinkEngine::~LinkEngine() = default;

void
LinkEngine::DoDispose()
{
    m_wires.clear();
    Object::DoDispose();
}

void
LinkEngine::AddWireToEndpoint(Ptr<LinkWire> wire)
{
    m_wires.push_back(wire);
}

void
LinkEngine::OnDisorder()
{
    if (m_arrivalEvents)
    {
        return;
    }
    NS_LOG_INFO("every arrival is an event from now on");
    m_arrivalEvents = true;
    for (const auto& wire : m_wires)
    {
        wire->ForbidQuiet();
    }
}

} // namespace ns3
