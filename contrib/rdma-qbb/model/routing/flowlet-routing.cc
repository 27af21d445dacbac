/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "port-load.h"

#include "ns3/flow-hash.h"
#include "ns3/log.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/routing-policy.h"
#include "ns3/switch-node.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <fmt/format.h>
#include <string>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FlowletRouting");

namespace
{

/// Where paths' delays differ by no more.
constexpr int64_t LEAST_GAP_PS = 50'000'000;

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
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::FlowletRouting")
                .SetParent<RoutingPolicy>()
                .SetGroupName("RdmaQbb")
                .AddConstructor<FlowletRouting>()
                .AddAttribute(
                    "Gap",
                    "Pause of a flow after which it may take another path. 0: 50 us, or the "
                    "difference of the paths' delays if that is longer",
                    TimeValue(Time(0)),
                    MakeTimeAccessor(&FlowletRouting::m_gap),
                    MakeTimeChecker(Time(0)));
        return tid;
    }

    FlowletRouting()
        : FlowletRouting(true)
    {
    }

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override
    {
        Flowlet& flowlet = m_flowlets[static_cast<uint64_t>(frame.hash) << 32 | frame.dst];
        const int64_t gapPs = m_gap.IsZero() ? m_gapForPathsPs : m_gap.GetTimeStep();
        const bool stays = nowPs - flowlet.lastPs <= gapPs &&
                           std::ranges::find(ports, flowlet.port) != ports.end();
        flowlet.lastPs = nowPs;
        if (stays)
        {
            return flowlet.port;
        }
        const auto count = static_cast<uint32_t>(ports.size());
        flowlet.port = m_atRandom ? ports[m_random->GetInteger(0, count - 1)]
                                  // Among equally loaded ports the hash decides, so that flows
                                  // spread on an idle switch.
                                  : LeastLoadedPort(ports,
                                                    frame.priority,
                                                    node,
                                                    nowPs,
                                                    EcmpChoice(frame.hash, node.GetId(), count));
        NS_LOG_LOGIC("switch " << node.GetId() << " begins a flowlet of host " << frame.src
                               << " to host " << frame.dst << " at port " << flowlet.port);
        return flowlet.port;
    }

    bool Reorders() const override
    {
        return false;
    }

    std::string FitToPaths(int64_t spreadPs) override
    {
        m_gapForPathsPs = std::max(LEAST_GAP_PS, spreadPs);
        if (m_gap.IsZero() || m_gap.GetTimeStep() >= spreadPs)
        {
            return "";
        }
        return fmt::format("ns3::FlowletRouting::Gap of {:g} us is below the difference of paths' "
                           "delays, {:g} us: frames overtake each other and count as lost",
                           static_cast<double>(m_gap.GetTimeStep()) / 1e6,
                           static_cast<double>(spreadPs) / 1e6);
    }

    int64_t AssignStreams(int64_t stream) override
    {
        m_random->SetStream(stream);
        return 1;
    }

  protected:
    /// @param atRandom take a port at random instead of the least loaded
    explicit FlowletRouting(bool atRandom)
        : m_gapForPathsPs(LEAST_GAP_PS),
          m_atRandom(atRandom),
          m_random(CreateObject<UniformRandomVariable>())
    {
    }

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
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::AdaptiveFlowletRouting")
                                .SetParent<FlowletRouting>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<AdaptiveFlowletRouting>();
        return tid;
    }

    AdaptiveFlowletRouting()
        : FlowletRouting(false)
    {
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(FlowletRouting);
NS_OBJECT_ENSURE_REGISTERED(AdaptiveFlowletRouting);

} // namespace ns3
