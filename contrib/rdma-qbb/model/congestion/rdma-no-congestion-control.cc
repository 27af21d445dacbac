/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-no-congestion-control.h"

#include "ns3/log.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNoCongestionControl");

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
RdmaNoCongestionControl::OnQpInit(RdmaQueuePair& qp)
{
    NS_LOG_FUNCTION(this << qp.Describe());
}

void
RdmaNoCongestionControl::OnAck(RdmaQueuePair&, const RdmaAckView&)
{
}

} // namespace ns3
