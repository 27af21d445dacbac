/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ADAPTIVE_ROUTING_H
#define ADAPTIVE_ROUTING_H

#include "ns3/routing-policy.h"

#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Adaptive routing per packet: each frame leaves by the port with the least work before it.
 *
 * As InfiniBand and Ethernet switches for AI fabrics do it, on local queues (DRILL, Ghorbani et
 * al., SIGCOMM 2017, with all ports as samples). Among equally loaded ports they take turns, so an
 * idle switch sprays. Left out: congestion feedback from beyond the next hop.
 *
 * Receivers must put frames in order: see RdmaLossRecovery's reorder buffer.
 */
class AdaptiveRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId();

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override;

  private:
    uint32_t m_turn{0}; ///< where the next search begins
};

} // namespace ns3

#endif /* ADAPTIVE_ROUTING_H */
