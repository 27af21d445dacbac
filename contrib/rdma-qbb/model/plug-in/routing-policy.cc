/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "routing-policy.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RoutingPolicy);

TypeId
RoutingPolicy::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RoutingPolicy").SetParent<Object>().SetGroupName("RdmaQbb");
    return tid;
}

} // namespace ns3
