/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/flow-hash.h"
#include "ns3/nstime.h"
#include "ns3/qbb-net-device.h"
#include "ns3/routing-policy.h"
#include "ns3/switch-node.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace ns3
{

/**
 * Routing by the congestion of whole paths, as CONGA does it (Alizadeh et al., SIGCOMM 2014). The
 * first switch with a choice puts its number and the chosen port into a data frame; every switch
 * on the way raises the frame's congestion to that of its own link. The acknowledgement brings
 * both back, and the first switch sends the next flowlet by the path with the least.
 *
 * The congestion of a link is its load averaged over AveragingTime, in Levels steps. Left out:
 * tables by leaf switch (this one's are by host), and feedback on data in the other direction.
 */
class CongaRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::CongaRouting")
                .SetParent<RoutingPolicy>()
                .AddConstructor<CongaRouting>()
                .AddAttribute("FlowletGap",
                              "Pause in a flow after which it may take another path",
                              TimeValue(MicroSeconds(50)),
                              MakeTimeAccessor(&CongaRouting::m_gap),
                              MakeTimeChecker(Time(0)))
                .AddAttribute("AveragingTime",
                              "Time over which the load of a link is averaged",
                              TimeValue(MicroSeconds(160)),
                              MakeTimeAccessor(&CongaRouting::m_average),
                              MakeTimeChecker(NanoSeconds(1)))
                .AddAttribute("Age",
                              "Time after which a path counts as idle if nothing is heard of it",
                              TimeValue(MilliSeconds(1)),
                              MakeTimeAccessor(&CongaRouting::m_age),
                              MakeTimeChecker(Time(0)))
                .AddAttribute("Levels",
                              "Steps of congestion that a frame's field can hold",
                              UintegerValue(8),
                              MakeUintegerAccessor(&CongaRouting::m_levels),
                              MakeUintegerChecker<uint32_t>(2, 256));
        return tid;
    }

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t nowPs) override
    {
        if (frame.kind != QbbFrameKind::Data || !frame.telemetry)
        {
            return ports[EcmpChoice(frame.hash,
                                    node.GetEcmpSeed(),
                                    static_cast<uint32_t>(ports.size()))];
        }
        Flowlet& flowlet = m_flowlets[frame.hash];
        const bool isGone = std::ranges::find(ports, flowlet.port) == ports.end();
        if (isGone || nowPs - flowlet.lastPs > m_gap.GetTimeStep())
        {
            flowlet.port = LeastCongested(ports, frame.dst, node, nowPs);
        }
        flowlet.lastPs = nowPs;
        if (frame.telemetry->routingField == 0)
        {
            frame.telemetry->routingField = Field{node.GetId() + 1, flowlet.port, 0}.Packed();
        }
        return flowlet.port;
    }

    bool WatchesFrames() const override
    {
        return true;
    }

    uint32_t GetFieldBytes() const override
    {
        return 4;
    }

    void OnForward(QbbFrame& frame,
                   uint16_t outPort,
                   const SwitchNode& node,
                   int64_t nowPs) override
    {
        Add(m_loads[outPort], frame.wireBytes, nowPs);
        const bool hasField = frame.kind == QbbFrameKind::Data || frame.kind == QbbFrameKind::Ack;
        if (!hasField || !frame.telemetry || frame.telemetry->routingField == 0)
        {
            return;
        }
        Field field(frame.telemetry->routingField);
        if (frame.kind == QbbFrameKind::Data)
        {
            field.level = std::max(field.level, LevelOf(outPort, node, nowPs));
            frame.telemetry->routingField = field.Packed();
        }
        else if (field.leaf == node.GetId() + 1)
        {
            m_paths[PathKey(frame.src, field.port)] = {field.level, nowPs};
        }
    }

  private:
    /// The content of a frame's field.
    struct Field
    {
        uint32_t leaf; ///< id of the switch that chose, and 1
        uint16_t port; ///< that it chose
        uint16_t level;

        Field(uint32_t leafNumber, uint16_t chosen, uint16_t congestion)
            : leaf(leafNumber),
              port(chosen),
              level(congestion)
        {
        }

        explicit Field(uint64_t packed)
            : leaf(static_cast<uint32_t>(packed)),
              port(static_cast<uint16_t>(packed >> 32)),
              level(static_cast<uint16_t>(packed >> 48))
        {
        }

        uint64_t Packed() const
        {
            return leaf | uint64_t{port} << 32 | uint64_t{level} << 48;
        }
    };

    struct Flowlet
    {
        int64_t lastPs{INT64_MIN / 2};
        uint16_t port{UINT16_MAX};
    };

    /// Bytes sent, of which each counts less the longer ago it was.
    struct Load
    {
        double bytes{0};
        int64_t lastPs{0};
    };

    struct Path
    {
        uint16_t level{0};
        int64_t heardPs{INT64_MIN / 2};
    };

    static uint64_t PathKey(uint32_t host, uint16_t port)
    {
        return uint64_t{host} << 16 | port;
    }

    void Add(Load& load, uint32_t bytes, int64_t nowPs) const
    {
        load.bytes *= std::exp(static_cast<double>(load.lastPs - nowPs) / m_average.GetTimeStep());
        load.bytes += bytes;
        load.lastPs = nowPs;
    }

    uint16_t LevelOf(uint16_t port, const SwitchNode& node, int64_t nowPs)
    {
        Load& load = m_loads[port];
        Add(load, 0, nowPs);
        const double full =
            static_cast<double>(node.GetPort(port).GetRateBps()) / 8e12 * m_average.GetTimeStep();
        const double level = load.bytes / full * m_levels;
        return static_cast<uint16_t>(std::min<double>(level, m_levels - 1));
    }

    uint16_t LeastCongested(std::span<const uint16_t> ports,
                            uint32_t host,
                            const SwitchNode& node,
                            int64_t nowPs)
    {
        uint16_t best = ports.front();
        uint16_t least = UINT16_MAX;
        ++m_turn;
        for (std::size_t i = 0; i < ports.size(); ++i)
        {
            const uint16_t port = ports[(i + m_turn) % ports.size()];
            const Path& path = m_paths[PathKey(host, port)];
            const bool isFresh = nowPs - path.heardPs <= m_age.GetTimeStep();
            const uint16_t far = isFresh ? path.level : uint16_t{0};
            const uint16_t level = std::max(LevelOf(port, node, nowPs), far);
            if (level < least)
            {
                least = level;
                best = port;
            }
        }
        return best;
    }

    Time m_gap;
    Time m_average;
    Time m_age;
    uint32_t m_levels{8};
    uint32_t m_turn{0};
    std::unordered_map<uint32_t, Flowlet> m_flowlets; ///< by the flow's hash
    std::unordered_map<uint16_t, Load> m_loads;       ///< by port
    std::unordered_map<uint64_t, Path> m_paths;       ///< by PathKey()
};

NS_OBJECT_ENSURE_REGISTERED(CongaRouting);

} // namespace ns3
