/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-policy.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(BufferPolicy);

TypeId
BufferPolicy::GetTypeId()
{
    static TypeId tid = TypeId("ns3::BufferPolicy").SetParent<Object>().SetGroupName("RdmaQbb");
    return tid;
}

} // namespace ns3
