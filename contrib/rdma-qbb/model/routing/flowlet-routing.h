/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOWLET_ROUTING_H
#define FLOWLET_ROUTING_H

#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/routing-policy.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <string>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Flowlet switching: a flow may change its path after a gap.
 *
 * Bursts of a flow with pauses longer than the difference of path delays between them can go
 * different ways without overtaking each other (Kandula et al., "Dynamic load balancing without
 * packet reordering", CCR 2007). A new burst takes a port at random (LetFlow, Vanini et al., NSDI
 * 2017) or, as AdaptiveFlowletRouting, the one with the least work before it.
 *
 * Flows are told apart by their 5-tuple hash. Left out: ageing of idle entries (a run is short) and
 * congestion feedback from beyond the next hop.
 */
class FlowletRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId();

    FlowletRouting();

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override;

    bool Reorders() const override
    {
        return false;
    }

    std::string FitToPaths(int64_t spreadPs) override;
    int64_t AssignStreams(int64_t stream) override;

  protected:
    /// @param atRandom take a port at random instead of the least loaded
    explicit FlowletRouting(bool atRandom);

  private:
    struct Flowlet
    {
        int64_t lastPs{0};
        uint16_t port{UINT16_MAX};
    };

    Time m_gap;
    int64_t m_gapForPathsPs; ///< in force if m_gap is 0
    bool m_atRandom;
    Ptr<UniformRandomVariable> m_random;
    boost::unordered_flat_map<uint64_t, Flowlet> m_flowlets; ///< by 5-tuple hash and destination
};

/// @brief Flowlet switching where a new burst takes the least loaded port.
class AdaptiveFlowletRouting : public FlowletRouting
{
  public:
    static TypeId GetTypeId();

    AdaptiveFlowletRouting();
};

} // namespace ns3

#endif /* FLOWLET_ROUTING_H */
