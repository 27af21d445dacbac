/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-protocol-engine.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CcloProtocolEngine);

TypeId
CcloProtocolEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloProtocolEngine").SetParent<Object>().SetGroupName("AcclCclo");
    return tid;
}

void
CcloProtocolEngine::DoDispose()
{
    m_listener = nullptr;
    m_opened = nullptr;
    Object::DoDispose();
}

} // namespace ns3
