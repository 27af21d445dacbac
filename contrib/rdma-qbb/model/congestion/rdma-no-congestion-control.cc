/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/log.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNoCongestionControl");

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief No congestion control (CC_MODE 0): line rate, bounded only by the window that the host
 * gives its queue pairs, if any, and by PFC.
 */
class RdmaNoCongestionControl : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RdmaNoCongestionControl")
                                .SetParent<RdmaCongestionOps>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<RdmaNoCongestionControl>();
        return tid;
    }

    std::string GetName() const override
    {
        return "none";
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        NS_LOG_FUNCTION(this << qp.Describe());
    }

    void OnAck(RdmaQueuePair&, const RdmaAckView&) override
    {
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaNoCongestionControl);

} // namespace ns3
