/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/flow-hash.h"
#include "ns3/nstime.h"
#include "ns3/qbb-net-device.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/routing-policy.h"
#include "ns3/switch-node.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ns3
{

/**
 * A tag of congestion signalling (CSIG: draft-ravi-ippm-csig-01, and Ultra Ethernet 1.1 as SAI
 * describes it), the wide one of 8 bytes: EtherType, type, flags, value, and locator, the switch
 * that wrote the value. Its first bit here is the most significant of the frame's field.
 */
struct CsigTag
{
    /// Types of signals.
    enum : uint32_t
    {
        BANDWIDTH = 0, ///< least available bandwidth, in Mb/s
        SHARE = 1,     ///< the same as a part of the link's rate; MOST is all of it
        DELAY = 2,     ///< longest delay of a hop, in ns
    };

    static constexpr uint64_t ETHER_TYPE = 0x9900; ///< as FBOSS has it; none is assigned yet
    static constexpr uint64_t MOST = (1U << 20) - 1;

    explicit CsigTag(uint64_t bits)
        : value(bits >> 16 & MOST),
          isWritten(bits >> 48 == ETHER_TYPE)
    {
    }

    static uint64_t Pack(uint32_t signal, uint64_t value, uint32_t locator)
    {
        return ETHER_TYPE << 48 | uint64_t{signal} << 44 | value << 16 | (locator & 0xffff);
    }

    uint64_t value;
    bool isWritten;
};

/**
 * ECMP at switches that write CSIG tags: each compares the tag of a data frame with the signal of
 * the port by which it leaves, and replaces it if that is worse. Receivers reflect the tag on
 * acknowledgements. A trimmed frame keeps its tag (bit d). Bandwidth is measured by what a port has
 * sent in an interval. Left out: the compact tag of 4 bytes with its 32 levels.
 */
class CsigRouting : public RoutingPolicy
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::CsigRouting")
                .SetParent<RoutingPolicy>()
                .AddConstructor<CsigRouting>()
                .AddAttribute("Signal",
                              "Type of the tags. 0: least available bandwidth; 1: least available "
                              "part of a link; 2: longest delay of a hop",
                              UintegerValue(CsigTag::SHARE),
                              MakeUintegerAccessor(&CsigRouting::m_signal),
                              MakeUintegerChecker<uint32_t>(CsigTag::BANDWIDTH, CsigTag::DELAY))
                .AddAttribute("Interval",
                              "Time over which a port measures its bandwidth",
                              TimeValue(MicroSeconds(16)),
                              MakeTimeAccessor(&CsigRouting::m_interval),
                              MakeTimeChecker(NanoSeconds(1)));
        return tid;
    }

    uint16_t Choose(std::span<const uint16_t> ports,
                    const QbbFrame& frame,
                    const SwitchNode& node,
                    int64_t) override
    {
        const auto choices = static_cast<uint32_t>(ports.size());
        return ports[EcmpChoice(frame.hash, node.GetEcmpSeed(), choices)];
    }

    bool Reorders() const override
    {
        return false;
    }

    bool WatchesFrames() const override
    {
        return true;
    }

    uint32_t GetFieldBytes() const override
    {
        return 8;
    }

    void OnForward(QbbFrame& frame,
                   uint16_t outPort,
                   const SwitchNode& node,
                   int64_t nowPs) override
    {
        if (frame.kind != QbbFrameKind::Data || !frame.telemetry || frame.payloadBytes == 0)
        {
            return;
        }
        const CsigTag tag(frame.telemetry->routingField);
        const uint64_t own = std::min(SignalOf(outPort, node, nowPs), CsigTag::MOST);
        const bool isWorse = m_signal == CsigTag::DELAY ? own > tag.value : own < tag.value;
        if (!tag.isWritten || isWorse)
        {
            frame.telemetry->routingField = CsigTag::Pack(m_signal, own, node.GetId());
        }
    }

  private:
    /// The bytes that a port has sent.
    struct Meter
    {
        uint64_t txBytes{0};
        int64_t sincePs{0};
        double usedBps{0}; ///< of the latest interval that is over
    };

    uint64_t SignalOf(uint16_t outPort, const SwitchNode& node, int64_t nowPs)
    {
        const QbbNetDevice& port = node.GetPort(outPort);
        const auto rateBps = static_cast<double>(port.GetRateBps());
        if (m_signal == CsigTag::DELAY)
        {
            uint64_t bytes = 0;
            for (uint8_t priority = 0; priority < QbbNetDevice::PRIORITIES; ++priority)
            {
                bytes += port.GetQueueBytes(priority);
            }
            return static_cast<uint64_t>(static_cast<double>(bytes) * 8e9 / rateBps);
        }
        m_meters.resize(std::max<std::size_t>(m_meters.size(), outPort + 1));
        Meter& meter = m_meters[outPort];
        if (const int64_t lastedPs = nowPs - meter.sincePs; lastedPs >= m_interval.GetTimeStep())
        {
            const uint64_t txBytes = port.GetTxBytes();
            meter.usedBps =
                static_cast<double>(txBytes - meter.txBytes) * 8e12 / static_cast<double>(lastedPs);
            meter.txBytes = txBytes;
            meter.sincePs = nowPs;
        }
        const double freeBps = std::max(0.0, rateBps - meter.usedBps);
        return static_cast<uint64_t>(m_signal == CsigTag::SHARE ? freeBps / rateBps * CsigTag::MOST
                                                                : freeBps / 1e6);
    }

    uint32_t m_signal{CsigTag::SHARE};
    Time m_interval;
    std::vector<Meter> m_meters; ///< by port
};

NS_OBJECT_ENSURE_REGISTERED(CsigRouting);

/**
 * A sender's control by the SHARE of tags: once per round trip and Interval, the rate is multiplied
 * by Target over the utilisation of the bottleneck, or by Cut where that link is full, since the
 * tag does not tell by how much too many send. An increase makes rates equal. N senders at a link
 * of rate C come to Target C + N Increase together. The window of the path bounds the first round
 * trips (HAS_WIN 1, VAR_WIN 1).
 */
class RdmaCsig : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::RdmaCsig")
                .SetParent<RdmaCongestionOps>()
                .AddConstructor<RdmaCsig>()
                .AddAttribute("Target",
                              "Utilisation that is aimed at",
                              DoubleValue(0.9),
                              MakeDoubleAccessor(&RdmaCsig::m_target),
                              MakeDoubleChecker<double>(0.01, 1))
                .AddAttribute("Cut",
                              "Part of the rate that is left where a link is full",
                              DoubleValue(0.7),
                              MakeDoubleAccessor(&RdmaCsig::m_cut),
                              MakeDoubleChecker<double>(0.01, 1))
                .AddAttribute("Increase",
                              "Added to the rate each time",
                              DataRateValue(DataRate("500Mbps")),
                              MakeDataRateAccessor(&RdmaCsig::m_increase),
                              MakeDataRateChecker())
                .AddAttribute("Interval",
                              "Time over which switches measure, and senders wait besides a round "
                              "trip for the effect of their change",
                              TimeValue(MicroSeconds(32)),
                              MakeTimeAccessor(&RdmaCsig::m_interval),
                              MakeTimeChecker(Time(0)));
        return tid;
    }

    std::string GetName() const override
    {
        return "CSIG";
    }

    Telemetry GetTelemetry() const override
    {
        return Telemetry::Timestamp;
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        qp.congestion = std::make_unique<State>();
    }

    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override
    {
        auto& state = static_cast<State&>(*qp.congestion);
        const CsigTag tag(ack.telemetry->routingField);
        if (!tag.isWritten || ack.telemetry->sentPs < state.measuresPs)
        {
            return;
        }
        const double used = 1 - static_cast<double>(tag.value) / CsigTag::MOST;
        const double factor = used > FULL ? m_cut : m_target / std::max(used, m_target / 2);
        const double rateBps = static_cast<double>(qp.GetRate()) * factor +
                               static_cast<double>(m_increase.GetBitRate());
        qp.SetRate(
            static_cast<uint64_t>(std::clamp(rateBps, 1e8, static_cast<double>(qp.lineRateBps))));
        // Frames sent an interval from now on tell of the change.
        state.measuresPs = ack.nowPs + m_interval.GetTimeStep();
    }

  private:
    static constexpr double FULL = 0.99;

    struct State : public RdmaCongestionState
    {
        int64_t measuresPs{0}; ///< tags of frames sent before tell of earlier rates
    };

    double m_target{0.9};
    double m_cut{0.7};
    DataRate m_increase{500'000'000};
    Time m_interval;
};

NS_OBJECT_ENSURE_REGISTERED(RdmaCsig);

} // namespace ns3
