/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SPRAY_ROUTING_H
#define SPRAY_ROUTING_H

#include "ns3/random-variable-stream.h"
#include "ns3/routing-policy.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Packet spray: each frame of any flow takes another of the shortest paths.
 *
 * In turn (round robin) every port gets the same number of frames, to within one; at random
 * (RandomSprayRouting; RPS: Dixit et al., "On the impact of packet spraying in data center
 * networks", INFOCOM 2013) it does so on average, and switches that see the same traffic do not
 * fall into step. Data and answers take turns of their own, so that a pattern of large and small
 * frames stays even.
 *
 * Receivers must put frames in order: see RdmaLossRecovery's reorder buffer.
 */
class SprayRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId();

    SprayRouting();

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override;

    int64_t AssignStreams(int64_t stream) override;

  protected:
    /// @param atRandom take a port at random instead of the next in turn
    explicit SprayRouting(bool atRandom);

  private:
    bool m_atRandom;
    std::vector<uint32_t> m_turns; ///< by first port of a set, data and answers apart
    Ptr<UniformRandomVariable> m_random;
};

/// @brief Packet spray at random.
class RandomSprayRouting : public SprayRouting
{
  public:
    static TypeId GetTypeId();

    RandomSprayRouting();
};

} // namespace ns3

#endif /* SPRAY_ROUTING_H */
