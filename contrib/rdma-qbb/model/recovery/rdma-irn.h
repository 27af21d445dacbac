/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_IRN_H
#define RDMA_IRN_H

#include "ns3/nstime.h"
#include "ns3/rdma-loss-recovery.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Selective repeat after IRN (Mittal et al., Revisiting Network Support for RDMA, SIGCOMM
 * 2018): fabrics without PFC stay fast.
 *
 * The receiver keeps frames that come out of order and answers each with a NACK that names the byte
 * expected and that frame. The first NACK puts the sender into recovery: it sends again, once,
 * each frame below the highest one known to have arrived, then new data; recovery ends when
 * everything sent before it is acknowledged. A timeout sends again all that is not known to have
 * arrived; it is short while few frames are in flight, when no later frame may come to tell of a
 * loss. It allows for full buffers on the path, the short one only where PFC keeps frames from
 * being dropped: elsewhere a few frames sent in vain cost less than a late repair. Bytes in flight
 * are bounded by the path's bandwidth-delay product (BDP-FC).
 *
 * Left out: the paper's limits on NIC memory, and its handling of reads and atomics.
 *
 * A NACK names the frame out of order by its distance from the byte expected in units of the MTU.
 * Where several frames fit that (a message of less than an MTU among them), none counts as arrived,
 * so that at worst one is sent in vain.
 */
class RdmaIrn : public RdmaLossRecovery
{
  public:
    static TypeId GetTypeId();

    void OnQpInit(RdmaQueuePair& qp, uint64_t flightBytes) override;
    std::string DescribeMisfit(const RdmaQueuePair& qp,
                               uint64_t bdpBytes,
                               int64_t spreadPs) const override;
    void OnReceiverInit(RdmaRxQueuePair& rx) override;
    Verdict OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    Verdict OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t nowPs) override;
    void OnInOrder(RdmaRxQueuePair& rx, int64_t nowPs) override;
    void OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t nowPs) override;
    void OnAck(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override;
    bool HasRetransmission(const RdmaQueuePair& qp) const override;
    uint64_t NextRetransmission(RdmaQueuePair& qp, int64_t nowPs) override;
    int64_t GetTimeoutPs(const RdmaQueuePair& qp) const override;
    bool AllowsForQueues(const RdmaQueuePair& qp) const override;
    uint64_t GetFlightLimit(const RdmaQueuePair& qp) const override;

  private:
    /// @return whether RtoLow holds
    bool HasFewInFlight(const RdmaQueuePair& qp) const;

    Time m_rtoLow;
    Time m_rtoHigh;
    uint32_t m_rtoLowFrames{3};
    uint64_t m_bdpCapBytes{0};
};

} // namespace ns3

#endif /* RDMA_IRN_H */
