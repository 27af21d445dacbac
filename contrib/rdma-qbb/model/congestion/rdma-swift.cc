/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-swift.h"

#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaSwift");

NS_OBJECT_ENSURE_REGISTERED(RdmaSwift);

struct RdmaSwift::Window
{
    double frames{1};
    int64_t lastDecreasePs{INT64_MIN / 2};
};

struct RdmaSwift::State : public RdmaCongestionState
{
    Window fabric;
    Window endpoint;
    int64_t rttPs{0};     ///< latest round trip
    double frameBits{0};  ///< of a full frame on the wire
    uint32_t timeouts{0}; ///< in a row
    uint32_t switches{1}; ///< on the path of the latest frame

    double GetFrames() const
    {
        return std::min(fabric.frames, endpoint.frames);
    }
};

TypeId
RdmaSwift::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaSwift")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaSwift>()
            .AddAttribute("BaseTarget",
                          "Fabric delay target before QueueTarget, HopTarget and flow scaling; 0: "
                          "the pair's idle round trip.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaSwift::m_baseTarget),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("QueueTarget",
                          "Queueing delay in the fabric that is aimed at, besides HopTarget.",
                          TimeValue(MicroSeconds(3)),
                          MakeTimeAccessor(&RdmaSwift::m_queueTarget),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("HopTarget",
                          "Queueing delay that is aimed at per switch on the path.",
                          TimeValue(MicroSeconds(2)),
                          MakeTimeAccessor(&RdmaSwift::m_hopTarget),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("EndpointTarget",
                          "Delay target of the remote endpoint.",
                          TimeValue(MicroSeconds(50)),
                          MakeTimeAccessor(&RdmaSwift::m_endpointTarget),
                          MakeTimeChecker(NanoSeconds(1)))
            .AddAttribute("ScalingRange",
                          "Most that flow scaling adds to the fabric's target (fs_range).",
                          TimeValue(MicroSeconds(20)),
                          MakeTimeAccessor(&RdmaSwift::m_scalingRange),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ScalingMinWindow",
                          "Window in frames up to which flow scaling adds all of ScalingRange.",
                          DoubleValue(0.1),
                          MakeDoubleAccessor(&RdmaSwift::m_scalingMinWindow),
                          MakeDoubleChecker<double>(1e-6, 1e6))
            .AddAttribute("ScalingMaxWindow",
                          "Window in frames from which flow scaling adds nothing.",
                          DoubleValue(100),
                          MakeDoubleAccessor(&RdmaSwift::m_scalingMaxWindow),
                          MakeDoubleChecker<double>(1e-6, 1e6))
            .AddAttribute("AdditiveIncrease",
                          "Frames added to a window per round trip.",
                          DoubleValue(1.0),
                          MakeDoubleAccessor(&RdmaSwift::m_additiveIncrease),
                          MakeDoubleChecker<double>(1e-9, 1e3))
            .AddAttribute("Beta",
                          "Weight of the excess delay in a decrease.",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&RdmaSwift::m_beta),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("MaxDecrease",
                          "Largest part of a window that one decrease takes (max_mdf).",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaSwift::m_maxDecrease),
                          MakeDoubleChecker<double>(0.0, 1.0))
            .AddAttribute("MinWindow",
                          "Least window in frames.",
                          DoubleValue(0.01),
                          MakeDoubleAccessor(&RdmaSwift::m_minWindow),
                          MakeDoubleChecker<double>(1e-6, 1.0))
            .AddAttribute("MaxWindow",
                          "Largest window in frames; 0: no bound but the targets.",
                          DoubleValue(0),
                          MakeDoubleAccessor(&RdmaSwift::m_maxWindow),
                          MakeDoubleChecker<double>(0.0, 1e9))
            .AddAttribute("ResetThreshold",
                          "Timeouts in a row after which the window falls to MinWindow.",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaSwift::m_resetThreshold),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

std::string
RdmaSwift::GetName() const
{
    return "Swift";
}

RdmaCongestionOps::Telemetry
RdmaSwift::GetTelemetry() const
{
    return Telemetry::Timestamp;
}

double
RdmaSwift::GetCongestionWindow(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).GetFrames();
}

void
RdmaSwift::OnQpInit(RdmaQueuePair& qp)
{
    if (m_scalingMinWindow >= m_scalingMaxWindow)
    {
        throw InputError("attributes of ns3::RdmaSwift",
                         0,
                         "ScalingMinWindow is not below ScalingMaxWindow",
                         "0 < ScalingMinWindow < ScalingMaxWindow");
    }
    auto state = std::make_unique<State>();
    const double bdpBytes =
        static_cast<double>(qp.lineRateBps) * static_cast<double>(qp.baseRttPs) / 8e12;
    const double frames = std::max(1.0, Bounded(std::ceil(bdpBytes / static_cast<double>(qp.mtu))));
    state->fabric.frames = frames;
    state->endpoint.frames = frames;
    state->rttPs = qp.baseRttPs;
    state->frameBits = 8.0 * qp.mtu;
    qp.SetMinRate(1);
    qp.SetVariableWindow(false);
    Apply(qp, *state);
    qp.congestion = std::move(state);
}

std::string
RdmaSwift::DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const
{
    const double bdpFrames = static_cast<double>(bdpBytes) / qp.mtu;
    if (Bounded(bdpFrames) < std::floor(bdpFrames))
    {
        return fmt::format("ns3::RdmaSwift::MaxWindow of {:g} frames is below the bandwidth-delay "
                           "product of a path, {:.0f} frames",
                           m_maxWindow,
                           bdpFrames);
    }
    const int64_t targetPs = m_baseTarget.GetPicoSeconds() + m_queueTarget.GetPicoSeconds();
    if (!m_baseTarget.IsZero() && targetPs < qp.baseRttPs)
    {
        return fmt::format("ns3::RdmaSwift::BaseTarget and QueueTarget of {:g} us are below the "
                           "idle round trip of a path, {:g} us: windows fall though nothing waits",
                           targetPs / 1e6,
                           qp.baseRttPs / 1e6);
    }
    return "";
}

double
RdmaSwift::Bounded(double frames) const
{
    return m_maxWindow > 0 ? std::min(frames, m_maxWindow) : frames;
}

double
RdmaSwift::FlowScalingPs(double window) const
{
    const double leastRoot = 1 / std::sqrt(m_scalingMaxWindow);
    const double mostRoot = 1 / std::sqrt(m_scalingMinWindow);
    const double rangePs = static_cast<double>(m_scalingRange.GetPicoSeconds());
    const double scaled = rangePs * (1 / std::sqrt(window) - leastRoot) / (mostRoot - leastRoot);
    return std::clamp(scaled, 0.0, rangePs);
}

double
RdmaSwift::GetFabricTargetPs(const RdmaQueuePair& qp) const
{
    const State& state = static_cast<const State&>(*qp.congestion);
    const int64_t basePs = m_baseTarget.IsZero() ? qp.baseRttPs : m_baseTarget.GetPicoSeconds();
    const int64_t hopsPs = state.switches * m_hopTarget.GetPicoSeconds();
    return static_cast<double>(basePs + m_queueTarget.GetPicoSeconds() + hopsPs) +
           FlowScalingPs(state.fabric.frames);
}

void
RdmaSwift::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    if (!ack.telemetry || ack.newlyAcked == 0)
    {
        return;
    }
    State& state = static_cast<State&>(*qp.congestion);
    const QbbTelemetry& telemetry = *ack.telemetry;
    state.timeouts = 0;
    state.switches = telemetry.switchCount;
    state.rttPs = std::max<int64_t>(1, ack.nowPs - telemetry.sentPs);
    state.frameBits = std::max(state.frameBits, 8.0 * qp.GetLastTxBytes());
    const int64_t endpointPs =
        std::max<int64_t>(0, telemetry.acknowledgedPs - telemetry.receivedPs);
    const double ackedFrames = static_cast<double>(ack.newlyAcked) / qp.mtu;
    const bool limited = static_cast<double>(qp.GetInFlight() + ack.newlyAcked + qp.mtu) >=
                         state.GetFrames() * qp.mtu;
    React(state.fabric,
          static_cast<double>(state.rttPs - endpointPs),
          GetFabricTargetPs(qp),
          ackedFrames,
          limited,
          state,
          ack.nowPs);
    React(state.endpoint,
          static_cast<double>(endpointPs),
          static_cast<double>(m_endpointTarget.GetPicoSeconds()),
          ackedFrames,
          limited,
          state,
          ack.nowPs);
    Apply(qp, state);
}

void
RdmaSwift::React(Window& window,
                 double delayPs,
                 double targetPs,
                 double ackedFrames,
                 bool limited,
                 const State& state,
                 int64_t nowPs) const
{
    if (delayPs < targetPs)
    {
        if (limited)
        {
            const double perFrame = m_additiveIncrease / std::max(1.0, window.frames);
            window.frames = Bounded(window.frames + perFrame * ackedFrames);
        }
        return;
    }
    if (nowPs - window.lastDecreasePs < state.rttPs)
    {
        return;
    }
    const double factor = std::max(1 - m_beta * (delayPs - targetPs) / delayPs, 1 - m_maxDecrease);
    window.frames = std::max(window.frames * factor, m_minWindow);
    NS_LOG_LOGIC("a delay of " << delayPs << " ps, target " << targetPs << " ps, leaves "
                               << window.frames << " frames");
    window.lastDecreasePs = nowPs;
}

void
RdmaSwift::OnNack(RdmaQueuePair& qp, int64_t nowPs)
{
    static_cast<State&>(*qp.congestion).timeouts = 0;
    OnLoss(qp, nowPs);
}

void
RdmaSwift::OnTimeout(RdmaQueuePair& qp, int64_t nowPs)
{
    State& state = static_cast<State&>(*qp.congestion);
    if (++state.timeouts < m_resetThreshold)
    {
        OnLoss(qp, nowPs);
        return;
    }
    NS_LOG_INFO(qp.Describe() << " falls to its least window after " << state.timeouts
                              << " timeouts");
    state.fabric.frames = m_minWindow;
    state.fabric.lastDecreasePs = nowPs;
    Apply(qp, state);
}

void
RdmaSwift::OnLoss(RdmaQueuePair& qp, int64_t nowPs)
{
    State& state = static_cast<State&>(*qp.congestion);
    if (nowPs - state.fabric.lastDecreasePs < state.rttPs)
    {
        return;
    }
    state.fabric.frames = std::max(state.fabric.frames * (1 - m_maxDecrease), m_minWindow);
    state.fabric.lastDecreasePs = nowPs;
    Apply(qp, state);
}

void
RdmaSwift::Apply(RdmaQueuePair& qp, const State& state) const
{
    const double frames = state.GetFrames();
    NS_LOG_INFO(qp.Describe() << " has a window of " << frames << " frames, fabric "
                              << state.fabric.frames << ", endpoint " << state.endpoint.frames);
    // Whole frames, so that one more is sent only when all of it fits.
    qp.SetWindow(static_cast<uint64_t>(std::max(1.0, std::floor(frames))) * qp.mtu);
    if (frames >= 1)
    {
        qp.SetRate(qp.lineRateBps);
        return;
    }
    const double rateBps = frames * state.frameBits * 1e12 / static_cast<double>(state.rttPs);
    qp.SetRate(static_cast<uint64_t>(std::max(1.0, std::floor(rateBps))));
}

} // namespace ns3
