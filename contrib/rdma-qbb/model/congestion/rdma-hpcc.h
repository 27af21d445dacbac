/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HPCC_H
#define RDMA_HPCC_H

#include "rdma-hpcc-base.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief HPCC: window and rate from in-band telemetry (Li et al., "HPCC: High Precision Congestion
 * Control", SIGCOMM 2019).
 *
 * Each switch port adds its line rate, bytes sent, queue length and time to the frame; the sender
 * estimates how many bytes are in flight on the busiest link relative to its bandwidth-delay
 * product and steers that to TargetUtilization. Line rates are exact (the paper's 3-bit code and
 * the wrap-around of its counters are left out).
 *
 * The HPCC simulator's deviations from the paper are attributes: RateBased, MaxStage 0 (MI_THRESH),
 * MultiRate (a reference rate per hop, the least of the results) and SampleFeedback (within a
 * round, only hops with a queue give feedback).
 */
class RdmaHpcc : public RdmaHpccBase
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    Telemetry GetTelemetry() const override;
    uint32_t GetTelemetryWireBytes() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;

    /// @return the pair's smoothed utilisation U of its busiest link
    double GetUtilization(const RdmaQueuePair& qp) const;

  private:
    struct State;

    void ReactWhole(RdmaQueuePair& qp, State& state, const QbbTelemetry& telemetry, bool roundEnds);
    void ReactPerHop(RdmaQueuePair& qp,
                     State& state,
                     const QbbTelemetry& telemetry,
                     bool roundEnds);
    bool IsSkipped(const QbbTelemetry& telemetry, uint32_t hop, bool roundEnds) const;

    bool m_multiRate;
    bool m_sampleFeedback;
    uint32_t m_telemetryBytes;
};

} // namespace ns3

#endif /* RDMA_HPCC_H */
