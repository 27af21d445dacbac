/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_HPCC_PINT_H
#define RDMA_HPCC_PINT_H

#include "rdma-hpcc-base.h"

#include "ns3/pint-encoder.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief HPCC with probabilistic telemetry (Ben Basat et al., "PINT: Probabilistic In-band Network
 * Telemetry", SIGCOMM 2020).
 *
 * Frames carry one coded utilisation, the greatest of their path, that switches work out
 * (PintEncoder); the sender applies HPCC's law to it without smoothing, which the switches did.
 * FeedbackProbability stands for the part of frames that carry a digest.
 */
class RdmaHpccPint : public RdmaHpccBase
{
  public:
    static TypeId GetTypeId();
    RdmaHpccPint();

    std::string GetName() const override;
    Telemetry GetTelemetry() const override;
    uint32_t GetTelemetryWireBytes() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;
    int64_t AssignStreams(int64_t stream) override;

  private:
    void SetLogBase(double base);
    double GetLogBase() const;

    double m_logBase{0};
    double m_feedbackProbability;
    uint32_t m_telemetryBytes;
    PintCode m_code{1.05};
    Ptr<UniformRandomVariable> m_random;
};

} // namespace ns3

#endif /* RDMA_HPCC_PINT_H */
