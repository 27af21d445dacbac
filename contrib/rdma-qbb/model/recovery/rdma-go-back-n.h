/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_GO_BACK_N_H
#define RDMA_GO_BACK_N_H

#include "ns3/nstime.h"
#include "ns3/rdma-loss-recovery.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Go-back-N, as RoCEv2 NICs recover: the receiver discards frames out of order.
 *
 * A gap is answered by a NACK for the byte expected, repeated for the same gap only after
 * NackInterval; a duplicate is acknowledged again (InfiniBand Architecture Specification, C9-110),
 * so that a lost acknowledgement cannot stall the sender. A timeout sends again from the first byte
 * not acknowledged. With BackToZero the connection goes back to the start of the chunk of
 * ChunkBytes that the lost frame belongs to.
 */
class RdmaGoBackN : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId();

    void OnReceiverInit(RdmaRxQueuePair& rx) override;
    Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs) override;
    void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) override;
    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override;
    int64_t GetTimeoutPs(const RdmaQueuePair& qp) const override;
    bool AllowsForQueues(const RdmaQueuePair& qp) const override;
    std::string DescribeMisfit(const RdmaQueuePair& qp,
                               uint64_t bdpBytes,
                               int64_t spreadPs) const override;

  private:
    /// @return a NACK, unless the last one for this gap is young
    Verdict AskAgain(RdmaRxQueuePair& rx, int64_t nowPs) const;
    /// @return the least time between two NACKs for one gap
    int64_t GetNackIntervalPs(const RdmaRxQueuePair& rx) const;
    /// Send again from a byte, or from its chunk's first one.
    void GoBackTo(RdmaQueuePair& qp, uint64_t seq) const;

    Time m_nackInterval;
    Time m_timeout;
    uint64_t m_chunkBytes{4000};
    bool m_backToZero{false};
};

} // namespace ns3

#endif /* RDMA_GO_BACK_N_H */
