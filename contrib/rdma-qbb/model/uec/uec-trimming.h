/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UEC_TRIMMING_H
#define UEC_TRIMMING_H

#include "ns3/buffer-thresholds.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A switch of Ultra Ethernet: short queues, marks from a part of their length on, and packet
 * trimming where they are full.
 *
 * A queue of a lossy priority holds what its link sends in the round trip of the network. A packet
 * beyond goes on without its payload, in priority 0, ahead of all data. In the last part of the
 * queue, from TrimLow on, a packet does so with a probability that grows from 0 to 1, so that of
 * senders in step not always the same loses. Packets that leave are marked CE with a probability
 * that grows from 0 at EcnLow to 1 at EcnHigh. This is in place of the marking thresholds of the
 * configuration, as those are for other queues.
 *
 * Lossless priorities are paused as ever, and nothing of them is trimmed.
 */
class UecTrimming : public DynamicThresholds
{
  public:
    static TypeId GetTypeId();

    void FitToPaths(SwitchNode& node, int64_t longestRttPs) override;
    Verdict OnArrival(const QbbFrame& frame,
                      uint16_t outPort,
                      const SwitchNode& node,
                      int64_t nowPs) override;

  private:
    /// @return whether a packet that makes a queue so long is to be trimmed
    bool DrawTrim(uint64_t queue, uint64_t limit, uint32_t hash);

    uint64_t m_queueBytes{0};
    double m_ecnLow{0.2};
    double m_ecnHigh{0.8};
    double m_trimLow{0.875};
    bool m_marksEdge{true};
    uint32_t m_draws{0};
    std::vector<uint64_t> m_limits; ///< by port
};

} // namespace ns3

#endif /* UEC_TRIMMING_H */
