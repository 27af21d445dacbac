/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-nscc.h"

#include "uec-transport.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/path-timing.h"
#include "ns3/qbb-frame.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

// Hot path: OnAck runs once per answer.

NS_LOG_COMPONENT_DEFINE("UecNscc");

NS_OBJECT_ENSURE_REGISTERED(UecNscc);

namespace
{

// The specification's constants, for the reference network.
constexpr double REFERENCE_BDP_BYTES = 150'000; ///< 100 Gb/s times 12 us
constexpr double REFERENCE_RTT_PS = 12e6;
constexpr double PROPORTIONAL = 4.0; ///< frames per round trip at no delay and REFERENCE_RTT_PS
constexpr double FAIR = 5.0;         ///< frames per round trip
constexpr double STEADY = 0.15;      ///< frames per adjustment period
constexpr double FAST = 0.25;        ///< of the bytes that have arrived
constexpr double AVERAGE_GAIN = 0.0125;
constexpr double LEAST_PART = 0.5;    ///< that a decrease leaves
constexpr uint32_t ADJUST_FRAMES = 8; ///< increases are carried out after so many

} // namespace

struct UecNscc::State : public RdmaCongestionState
{
    // constants of the pair
    double mtu{0};
    double scale{1}; ///< of the network to the reference network
    double baseRttPs{0};
    double networkRttPs{0};
    double targetPs{0};
    double maxWindow{0};

    double window{0};     ///< bytes
    double averagePs{0};  ///< of the delay
    double increase{0};   ///< bytes times window, not yet carried out
    double arrived{0};    ///< bytes since the last adjustment
    double achieved{0};   ///< bytes since the last look of quick adapt
    double ignoreLeft{0}; ///< bytes whose marks count no more after quick adapt
    double fastBytes{0};  ///< arrived in a row at almost no delay
    bool isFast{false};
    bool wantsQuick{false}; ///< a packet was trimmed
    int64_t quickEndPs{0};  ///< when quick adapt looks next
    int64_t decreasePs{INT64_MIN / 2};
    int64_t adjustPs{0};
};

TypeId
UecNscc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::UecNscc")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<UecNscc>()
            .AddAttribute("Target",
                          "Queueing delay that is aimed at; 0: three quarters of the longest idle "
                          "round trip of any two hosts",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&UecNscc::m_target),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("NetworkRtt",
                          "Longest idle round trip of any two hosts, by which constants scale; 0: "
                          "that of the fabric",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&UecNscc::m_networkRtt),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("FastDelay",
                          "Delay below which the window may grow quickly",
                          TimeValue(MicroSeconds(1)),
                          MakeTimeAccessor(&UecNscc::m_fastDelay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("WindowFactor",
                          "Largest window, and the first, in bandwidth-delay products of the path",
                          DoubleValue(1.5),
                          MakeDoubleAccessor(&UecNscc::m_windowFactor),
                          MakeDoubleChecker<double>(0.01, 1000))
            .AddAttribute("DecreaseGain",
                          "Weight of the excess delay in a decrease",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&UecNscc::m_decreaseGain),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("QuickShift",
                          "Quick adapt acts if fewer bytes arrive than the largest window divided "
                          "by 2 to the power of this",
                          UintegerValue(3),
                          MakeUintegerAccessor(&UecNscc::m_quickShift),
                          MakeUintegerChecker<uint32_t>(0, 16));
    return tid;
}

std::string
UecNscc::GetName() const
{
    return "NSCC";
}

RdmaCongestionOps::Telemetry
UecNscc::GetTelemetry() const
{
    return Telemetry::Timestamp;
}

bool
UecNscc::UsesEcn() const
{
    return true;
}

double
UecNscc::GetCongestionWindow(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).window;
}

double
UecNscc::GetTargetPs(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).targetPs;
}

void
UecNscc::OnQpInit(RdmaQueuePair& qp)
{
    int64_t networkRttPs = m_networkRtt.GetTimeStep();
    if (networkRttPs == 0)
    {
        const auto transport = qp.hw ? DynamicCast<UecTransport>(qp.hw->GetTransport()) : nullptr;
        networkRttPs = std::max(qp.baseRttPs, transport ? transport->GetNetworkRttPs() : 0);
    }
    auto state = std::make_unique<State>();
    state->mtu = qp.mtu;
    state->baseRttPs = static_cast<double>(qp.baseRttPs);
    state->networkRttPs = static_cast<double>(networkRttPs);
    state->scale =
        static_cast<double>(BdpBytes(qp.lineRateBps, networkRttPs)) / REFERENCE_BDP_BYTES;
    state->targetPs = m_target.IsZero() ? 0.75 * state->networkRttPs
                                        : static_cast<double>(m_target.GetTimeStep());
    state->maxWindow =
        std::max(state->mtu,
                 m_windowFactor * static_cast<double>(BdpBytes(qp.lineRateBps, qp.baseRttPs)));
    state->window = state->maxWindow;
    qp.SetVariableWindow(false);
    Apply(qp, *state);
    qp.congestion = std::move(state);
}

void
UecNscc::Average(State& state, double delayPs, bool isMarked)
{
    // A long delay without a mark is the end of a queue that has been marked already.
    const double sample = !isMarked && delayPs > state.targetPs ? state.baseRttPs / 4 : delayPs;
    state.averagePs += AVERAGE_GAIN * (sample - state.averagePs);
}

void
UecNscc::Bound(State& state)
{
    state.window = std::clamp(state.window, state.mtu, state.maxWindow);
}

bool
UecNscc::QuickAdapt(State& state,
                    const RdmaQueuePair& qp,
                    bool isLoss,
                    bool isMarked,
                    int64_t nowPs) const
{
    bool isDone = isMarked && state.ignoreLeft > 0;
    if (!isDone && nowPs > state.quickEndPs)
    {
        const double few = state.maxWindow / static_cast<double>(1U << m_quickShift);
        if (state.quickEndPs != 0 && (state.wantsQuick || isLoss) && state.achieved < few)
        {
            state.window = std::max(state.achieved, state.mtu);
            const uint64_t resolved = qp.recovery ? qp.hw->GetResolved(qp) : 0;
            state.ignoreLeft = static_cast<double>(qp.GetInFlight() - resolved);
            state.wantsQuick = false;
            isDone = true;
            NS_LOG_INFO(qp.Describe() << " adapts its window to " << state.window << " bytes");
        }
        state.achieved = 0;
        state.quickEndPs = nowPs + static_cast<int64_t>(state.baseRttPs + state.targetPs);
    }
    if (isDone)
    {
        state.increase = 0;
        state.arrived = 0;
    }
    return isDone;
}

void
UecNscc::Increase(State& state, double bytes, double delayPs) const
{
    if (delayPs >= state.targetPs)
    {
        state.increase += FAIR * state.mtu * state.scale * bytes;
        return;
    }
    if (delayPs < static_cast<double>(m_fastDelay.GetTimeStep()))
    {
        state.fastBytes += bytes;
        if (state.isFast || state.fastBytes > state.window)
        {
            state.window += FAST * state.scale * bytes;
            state.isFast = true;
            return;
        }
    }
    else
    {
        state.fastBytes = 0;
    }
    state.isFast = false;
    state.increase += PROPORTIONAL * state.mtu * state.scale * bytes * (state.targetPs - delayPs) /
                      REFERENCE_RTT_PS;
}

void
UecNscc::Decrease(State& state, int64_t nowPs) const
{
    state.isFast = false;
    state.fastBytes = 0;
    const double excessPs = state.averagePs - state.targetPs;
    if (excessPs > 0 && static_cast<double>(nowPs - state.decreasePs) > state.baseRttPs)
    {
        state.window *= std::max(1 - m_decreaseGain * excessPs / state.averagePs, LEAST_PART);
        state.decreasePs = nowPs;
    }
}

void
UecNscc::Fulfil(State& state, int64_t nowPs) const
{
    const bool isPeriod = static_cast<double>(nowPs - state.adjustPs) >= state.networkRttPs;
    if (!isPeriod && state.arrived <= ADJUST_FRAMES * state.mtu)
    {
        return;
    }
    state.window += state.increase / state.window;
    state.increase = 0;
    state.arrived = 0;
    if (isPeriod)
    {
        state.window += STEADY * state.mtu * state.scale;
        state.adjustPs = nowPs;
    }
}

void
UecNscc::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    if (!ack.telemetry || ack.newlyArrived == 0)
    {
        return;
    }
    State& state = static_cast<State&>(*qp.congestion);
    const auto bytes = static_cast<double>(ack.newlyArrived);
    state.achieved += bytes;
    state.arrived += bytes;
    state.ignoreLeft -= bytes;
    const double delayPs =
        std::max(0.0, static_cast<double>(ack.nowPs - ack.telemetry->sentPs) - state.baseRttPs);
    Average(state, delayPs, ack.ecnEcho);
    if (!QuickAdapt(state, qp, delayPs > 4 * state.targetPs, ack.ecnEcho, ack.nowPs))
    {
        if (!ack.ecnEcho)
        {
            Increase(state, bytes, delayPs);
        }
        else if (delayPs >= state.targetPs)
        {
            Decrease(state, ack.nowPs);
        }
        Bound(state);
        Fulfil(state, ack.nowPs);
        Bound(state);
    }
    Apply(qp, state);
}

void
UecNscc::OnNack(RdmaQueuePair& qp, int64_t nowPs)
{
    State& state = static_cast<State&>(*qp.congestion);
    state.ignoreLeft -= state.mtu;
    Average(state, state.networkRttPs, true); // a full queue, as switches of Ultra Ethernet have it
    state.wantsQuick = true;
    if (!QuickAdapt(state, qp, true, true, nowPs))
    {
        state.window -= state.mtu;
        Bound(state);
    }
    Apply(qp, state);
}

void
UecNscc::OnTimeout(RdmaQueuePair& qp, int64_t /* nowPs */)
{
    State& state = static_cast<State&>(*qp.congestion);
    state.window -= state.mtu;
    Bound(state);
    Apply(qp, state);
}

void
UecNscc::Apply(RdmaQueuePair& qp, const State& state)
{
    // A frame is sent while less than the window is in flight: so that one more fits wholly.
    qp.SetWindow(static_cast<uint64_t>(state.window - state.mtu) + 1);
}

} // namespace ns3
