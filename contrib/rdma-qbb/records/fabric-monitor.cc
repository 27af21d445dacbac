/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-monitor.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricMonitor);

TypeId
FabricMonitor::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricMonitor").SetParent<Object>().SetGroupName("RdmaQbb");
    return tid;
}

} // namespace ns3
