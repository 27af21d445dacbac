/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-transport.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaTransport);

TypeId
RdmaTransport::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaTransport")
                            .SetParent<Object>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RdmaTransport>();
    return tid;
}

} // namespace ns3
