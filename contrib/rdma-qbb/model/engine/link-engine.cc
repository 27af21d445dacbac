/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-engine.h"

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

} // namespace ns3
