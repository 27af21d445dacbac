/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/random-variable-stream.h"
#include "ns3/routing-policy.h"
#include "ns3/switch-node.h"

#include <cstdint>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SprayRouting");

namespace
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
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::SprayRouting")
                                .SetParent<RoutingPolicy>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<SprayRouting>();
        return tid;
    }

    SprayRouting()
        : SprayRouting(false)
    {
    }

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override
    {
        const auto count = static_cast<uint32_t>(ports.size());
        if (m_atRandom)
        {
            return ports[m_random->GetInteger(0, count - 1)];
        }
        const uint32_t slot = 2U * ports.front() + (frame.kind == QbbFrameKind::Data ? 0 : 1);
        if (slot >= m_turns.size())
        {
            m_turns.resize(slot + 1);
        }
        uint32_t& turn = m_turns[slot];
        turn = turn + 1 < count ? turn + 1 : 0;
        NS_LOG_LOGIC("switch " << node.GetId() << " sprays a frame of host " << frame.src
                               << " to host " << frame.dst << " out of port " << ports[turn]);
        return ports[turn];
    }

    int64_t AssignStreams(int64_t stream) override
    {
        m_random->SetStream(stream);
        return 1;
    }

  protected:
    /// @param atRandom take a port at random instead of the next in turn
    explicit SprayRouting(bool atRandom)
        : m_atRandom(atRandom),
          m_random(CreateObject<UniformRandomVariable>())
    {
    }

  private:
    bool m_atRandom;
    std::vector<uint32_t> m_turns; ///< by first port of a set, data and answers apart
    Ptr<UniformRandomVariable> m_random;
};

/// @brief Packet spray at random.
class RandomSprayRouting : public SprayRouting
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RandomSprayRouting")
                                .SetParent<SprayRouting>()
                                .SetGroupName("RdmaQbb")
                                .AddConstructor<RandomSprayRouting>();
        return tid;
    }

    RandomSprayRouting()
        : SprayRouting(true)
    {
    }
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(SprayRouting);
NS_OBJECT_ENSURE_REGISTERED(RandomSprayRouting);

} // namespace ns3
