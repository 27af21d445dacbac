/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_DCTCP_H
#define RDMA_DCTCP_H

#include "ns3/data-rate.h"
#include "ns3/rdma-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief DCTCP: reaction to the fraction of marked bytes (Alizadeh et al., "Data Center TCP",
 * SIGCOMM 2010).
 *
 * Once per window of data alpha takes in the fraction of bytes in marked frames; the first
 * mark of a window cuts by alpha/2, and a window without a cut adds one frame. Window based
 * (default, as in the paper): the window starts at line rate x base RTT instead of slow start,
 * grows only while it limits the sender, and frames leave at line rate. RateBased, as in the HPCC
 * simulator: the rate is cut and grows by RateAi, the window is left to the host's configuration.
 *
 * Left out: TCP's loss recovery (the queue pair's own is used). Marking at one threshold is the
 * switch's part: kmin = kmax.
 */
class RdmaDctcp : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    bool UsesEcn() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;

    /// @return the pair's alpha
    double GetAlpha(const RdmaQueuePair& qp) const;

  private:
    struct State;

    void Cut(RdmaQueuePair& qp, State& state) const;
    void Grow(RdmaQueuePair& qp, State& state, const RdmaAckView& ack, bool windowEnds) const;

    double m_gain;
    bool m_rateBased;
    DataRate m_rateAi;
    DataRate m_minRate;
    uint64_t m_initialWindow;
};

} // namespace ns3

#endif /* RDMA_DCTCP_H */
