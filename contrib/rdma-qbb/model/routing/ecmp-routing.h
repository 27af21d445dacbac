/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ECMP_ROUTING_H
#define ECMP_ROUTING_H

#include "ns3/routing-policy.h"

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Equal-cost multipath: the hash of the 5-tuple, mixed with the switch's seed, decides.
 *
 * SwitchNode carries it out itself when it is chosen, without a call; the class names it.
 */
class EcmpRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId();

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override;

    bool Reorders() const override
    {
        return false;
    }
};

} // namespace ns3

#endif /* ECMP_ROUTING_H */
