/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-no-congestion-control.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaNoCongestionControl);

TypeId
RdmaNoCongestionControl::GetTypeId()
{
    static TypeId tid = TypeId("ns3::RdmaNoCongestionControl")
                            .SetParent<RdmaCongestionOps>()
                            .SetGroupName("RdmaQbb")
                            .AddConstructor<RdmaNoCongestionControl>();
    return tid;
}

std::string
RdmaNoCongestionControl::GetName() const
{
    return "none";
}

void
RdmaNoCongestionControl::OnQpInit(RdmaQueuePair&)
{
}

void
RdmaNoCongestionControl::OnAck(RdmaQueuePair&, const RdmaAckView&)
{
}

} // namespace ns3
