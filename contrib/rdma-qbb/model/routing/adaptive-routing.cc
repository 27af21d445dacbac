/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "port-load.h"

#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/routing-policy.h"
#include "ns3/switch-node.h"

#include <cstdint>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("AdaptiveRouting");

namespace
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
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::AdaptiveRouting")
                                .SetParent<RoutingPolicy>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<AdaptiveRouting>();
        return tid;
    }

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override
    {
        const uint16_t port = LeastLoadedPort(ports, frame.priority, node, nowPs, m_turn++);
        NS_LOG_LOGIC("switch " << node.GetId() << " sends a frame of host " << frame.src
                               << " to host " << frame.dst << " out of port " << port
                               << ", the least loaded of " << ports.size());
        return port;
    }

  private:
    uint32_t m_turn{0}; ///< where the next search begins
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(AdaptiveRouting);

} // namespace ns3
