/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_NSCC_H
#define UEC_NSCC_H

#include "ns3/nstime.h"
#include "ns3/rdma-congestion-ops.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Network-signalled congestion control (NSCC) of Ultra Ethernet 1.0: a window per
 * connection, from marks and queueing delay.
 *
 * Each answer is one of four cases. Without a mark, the window grows: in proportion to how far the
 * delay is below its target (proportional increase, and quickly while the delay is near 0), or by
 * the same for all if it is above (fair increase). With a mark and a delay that is above its target
 * on average, the window shrinks by the excess, at most once per round trip; a mark alone only
 * changes paths. A trimmed packet takes its size from the window. Once in a round trip and a
 * target, after trimming or at a long delay, quick adapt sets the window to the bytes that arrived
 * in that time, if these are few, and ignores the answers of packets sent before.
 *
 * Constants are those of the specification for 100 Gb/s and 12 us, scaled by the product of line
 * rate and longest round trip of the network. The delay is that of the answer's packet, from its
 * first bit at the sender to its answer, less the idle round trip of the path.
 *
 * Left out: the receiver's penalty for a full host, and context shared by connections.
 */
class UecNscc : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    Telemetry GetTelemetry() const override;
    bool UsesEcn() const override;
    void OnQpInit(RdmaQueuePair& qp) override;
    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override;
    void OnNack(RdmaQueuePair& qp, int64_t nowPs) override;
    void OnTimeout(RdmaQueuePair& qp, int64_t nowPs) override;

    /// @return the pair's congestion window in bytes
    double GetCongestionWindow(const RdmaQueuePair& qp) const;

    /// @return queueing delay that the pair aims at, in picoseconds
    double GetTargetPs(const RdmaQueuePair& qp) const;

  private:
    struct State;

    /// Set the window to what arrives, if it is time and there is reason to.
    /// @return whether the answer counts no further
    bool QuickAdapt(State& state,
                    const RdmaQueuePair& qp,
                    bool isLoss,
                    bool isMarked,
                    int64_t nowPs) const;
    void Increase(State& state, double bytes, double delayPs) const;
    void Decrease(State& state, int64_t nowPs) const;
    /// Add what increases have come to.
    void Fulfil(State& state, int64_t nowPs) const;
    static void Average(State& state, double delayPs, bool isMarked);
    static void Bound(State& state);
    static void Apply(RdmaQueuePair& qp, const State& state);

    Time m_target;
    Time m_networkRtt;
    Time m_fastDelay;
    double m_windowFactor;
    double m_decreaseGain;
    uint32_t m_quickShift;
};

} // namespace ns3

#endif /* UEC_NSCC_H */
