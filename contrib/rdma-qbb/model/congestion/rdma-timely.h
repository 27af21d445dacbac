/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_TIMELY_H
#define RDMA_TIMELY_H

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/rdma-congestion-ops.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief TIMELY: rate from the gradient of the round trip time (Mittal et al., "TIMELY: RTT-based
 * Congestion Control for the Datacenter", SIGCOMM 2015).
 *
 * The variants below have the same attributes with their own defaults:
 *  - RdmaTimely: the paper's parameters;
 *  - RdmaTimelyHpccArtifact: the HPCC simulator's code (CC_MODE 7).
 *
 * One update per completed segment (SegmentBytes) with the round trip time of its last frame,
 * measured from when the sender's NIC began to send it. Left out: the paper subtracts the segment's
 * serialization from the time, which frames sent one by one do not need; its senders' start at a
 * share of the line rate (here: line rate). Ours: MaxDecrease bounds a cut, as the step from an
 * empty to a full queue is a gradient that would stop a flow for good.
 */
class RdmaTimelyBase : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    Telemetry GetTelemetry() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    std::string DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;

  protected:
    /// Default values of a variant's attributes.
    struct Defaults
    {
        uint64_t segmentBytes;
        double maxDecrease;
        const char* rateAi;
        const char* rateHai;
        uint32_t haiThreshold;
        bool scaleIncrease;
        bool haiBelowTLow;
    };

    /// Give a variant's TypeId the attributes of all variants with its own defaults.
    static TypeId AddAttributes(TypeId tid, const Defaults& defaults);

  private:
    struct State;

    void Update(RdmaQueuePair& qp, State& state, double rttPs) const;
    double IncreaseStep(const State& state) const;

    /// @return the factor on RateAi and RateHai at a port
    double IncreaseScale(double lineRateBps) const;

    /// @return how long a rate takes from MinRate to half of the port's, if nothing delays its
    /// frames; 0 with one update per round trip, which is short
    double RecoverySeconds(double lineRateBps) const;

    Time m_tLow;
    Time m_tHigh;
    Time m_minRtt;
    double m_beta;
    double m_maxDecrease;
    double m_ewmaWeight;
    DataRate m_rateAi;
    DataRate m_rateHai;
    DataRate m_minRate;
    uint32_t m_haiThreshold;
    uint32_t m_haiFactor;
    uint64_t m_segmentBytes;
    bool m_scaleIncrease;
    bool m_haiBelowTLow;
};

/// TIMELY with the parameters of the SIGCOMM 2015 paper.
class RdmaTimely : public RdmaTimelyBase
{
  public:
    static TypeId GetTypeId();
    std::string GetName() const override;
};

/// TIMELY as the HPCC simulator has it: one update per round trip, cuts without a bound, and a step
/// of its own for hyper increase. That begins with the sixth rise in a row, below TLow as well.
///
/// CC_MODE 7.
class RdmaTimelyHpccArtifact : public RdmaTimelyBase
{
  public:
    static TypeId GetTypeId();
    std::string GetName() const override;
};

} // namespace ns3

#endif /* RDMA_TIMELY_H */
