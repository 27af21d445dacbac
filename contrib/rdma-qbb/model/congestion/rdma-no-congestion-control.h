/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NO_CONGESTION_CONTROL_H
#define RDMA_NO_CONGESTION_CONTROL_H

#include "ns3/rdma-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief No congestion control (CC_MODE 0): line rate, bounded only by the window that the host
 * gives its queue pairs, if any, and by PFC.
 */
class RdmaNoCongestionControl : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;
};

} // namespace ns3

#endif /* RDMA_NO_CONGESTION_CONTROL_H */
