/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SWIFT_H
#define RDMA_SWIFT_H

#include "ns3/nstime.h"
#include "ns3/rdma-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Swift: windows from delay targets of the fabric and of the endpoint (Kumar et al., "Swift:
 * Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020).
 *
 * Two windows, each with the paper's additive increase and delay-proportional decrease at most once
 * per round trip; the smaller is in force. Below one frame the pair sends a frame every rtt /
 * window. The remote host's delay is the time from a frame's arrival to its acknowledgement's
 * departure; the rest of the round trip is the fabric's.
 *
 * The fabric's target is the paper's: a base, a part per switch on the path, and flow scaling. The
 * base is the pair's idle round trip, which is known here (or BaseTarget), and QueueTarget. Windows
 * grow only while they limit the sender. Left out: the paper's engine and NIC scheduling delays,
 * which the simulated hosts do not have.
 */
class RdmaSwift : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    Telemetry GetTelemetry() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    std::string DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;
    void OnNack(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override;

    /// @return the pair's congestion window in frames
    double GetCongestionWindow(const RdmaQueuePair& qp) const;

    /// @return the delay target of the fabric for a pair at its present window, in picoseconds
    double GetFabricTargetPs(const RdmaQueuePair& qp) const;

  private:
    struct State;
    struct Window;

    void React(Window& window,
               double delayPs,
               double targetPs,
               double ackedFrames,
               bool limited,
               const State& state,
               int64_t nowPs) const;
    void OnLoss(RdmaQueuePair& qp, int64_t nowPs);
    void Apply(RdmaQueuePair& qp, const State& state) const;
    double FlowScalingPs(double window) const;
    /// @return a window in frames, at most MaxWindow
    double Bounded(double frames) const;

    Time m_baseTarget;
    Time m_queueTarget;
    Time m_hopTarget;
    Time m_endpointTarget;
    Time m_scalingRange;
    double m_scalingMinWindow;
    double m_scalingMaxWindow;
    double m_additiveIncrease;
    double m_beta;
    double m_maxDecrease;
    double m_minWindow;
    double m_maxWindow;
    uint32_t m_resetThreshold;
};

} // namespace ns3

#endif /* RDMA_SWIFT_H */
