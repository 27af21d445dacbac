/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-hpcc-base.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaHpccBase");

NS_OBJECT_ENSURE_REGISTERED(RdmaHpccBase);

namespace
{

/// A flow sees the queue in steps of a frame: a smaller additive step does not make shares equal.
constexpr double WINDOW_AI_PER_MTU = 0.08;

/// A step of less than the paper's, divided by this, causes a warning.
constexpr double LEAST_PART_OF_STEP = 8;

} // namespace

TypeId
RdmaHpccBase::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaHpccBase")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("RdmaQbb")
            .AddAttribute("TargetUtilization",
                          "Utilisation eta of the busiest link that the law steers to (U_TARGET).",
                          DoubleValue(0.95),
                          MakeDoubleAccessor(&RdmaHpccBase::m_targetUtilization),
                          MakeDoubleChecker<double>(0.01, 1.0))
            .AddAttribute("MaxStage",
                          "Additive rounds before a multiplicative one (MI_THRESH); 0: always "
                          "multiplicative.",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaHpccBase::m_maxStage),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute(
                "WindowAi",
                "Additive increase W_AI in bytes, used if RateAi is 0; 0: 8% of a full frame's "
                "payload, the paper's 80 bytes for its 1000.",
                UintegerValue(0),
                MakeUintegerAccessor(&RdmaHpccBase::m_windowAi),
                MakeUintegerChecker<uint32_t>())
            .AddAttribute("RateAi",
                          "Additive increase as a rate; 0: WindowAi over the base RTT.",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&RdmaHpccBase::m_rateAi),
                          MakeDataRateChecker())
            .AddAttribute("MinRate",
                          "Least rate of a queue pair.",
                          DataRateValue(DataRate("100Mbps")),
                          MakeDataRateAccessor(&RdmaHpccBase::m_minRate),
                          MakeDataRateChecker())
            .AddAttribute(
                "RateBased",
                "Set the rate only and leave the window to the host's configuration, as the "
                "HPCC simulator does.",
                BooleanValue(false),
                MakeBooleanAccessor(&RdmaHpccBase::m_rateBased),
                MakeBooleanChecker())
            .AddAttribute("FastReact",
                          "React to each acknowledgement; else once per round trip.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaHpccBase::m_fastReact),
                          MakeBooleanChecker())
            .AddAttribute("BaseRtt",
                          "Base RTT T of all queue pairs; 0: each pair's own.",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaHpccBase::m_baseRtt),
                          MakeTimeChecker(Time(0)));
    return tid;
}

std::string
RdmaHpccBase::DescribeMisfit(const RdmaQueuePair& qp, uint64_t bdpBytes) const
{
    if (!m_baseRtt.IsZero() && m_baseRtt.GetPicoSeconds() < qp.baseRttPs)
    {
        return fmt::format(
            "ns3::RdmaHpccBase::BaseRtt of {:g} us is below the idle round trip of a path, {:g} us",
            m_baseRtt.GetPicoSeconds() / 1e6,
            qp.baseRttPs / 1e6);
    }
    const auto stepBps = static_cast<double>(m_rateAi.GetBitRate());
    const double stepBytes = stepBps * static_cast<double>(qp.baseRttPs) / 8e12;
    const double stepOfPaper = WINDOW_AI_PER_MTU * qp.mtu;
    if (stepBps > 0 && stepBytes < stepOfPaper / LEAST_PART_OF_STEP)
    {
        return fmt::format(
            "RATE_AI of {:g} Mb/s adds {:.3g} bytes in HPCC's round trip of {:g} us, where its "
            "paper has 8% of a frame, {:.3g} bytes: flows that share a link stay unequal, and the "
            "last ends late. Without RATE_AI the step follows the frame",
            stepBps / 1e6,
            stepBytes,
            qp.baseRttPs / 1e6,
            stepOfPaper);
    }
    if (stepBps > (1 - m_targetUtilization) * static_cast<double>(qp.lineRateBps))
    {
        return fmt::format("RATE_AI of {:g} Mb/s is more than the share of {} Gb/s that HPCC "
                           "leaves free (1 - U_TARGET): one flow alone makes a queue",
                           stepBps / 1e6,
                           static_cast<double>(qp.lineRateBps) / 1e9);
    }
    return "";
}

void
RdmaHpccBase::InitRound(RdmaQueuePair& qp, RoundState& state) const
{
    const double lineBps = static_cast<double>(qp.lineRateBps);
    const int64_t baseRttPs = m_baseRtt.IsZero() ? qp.baseRttPs : m_baseRtt.GetPicoSeconds();
    state.baseRttPs = static_cast<double>(std::max<int64_t>(1, baseRttPs));
    const double windowAi = m_windowAi ? m_windowAi : WINDOW_AI_PER_MTU * qp.mtu;
    const double windowAiBps = windowAi * 8e12 / state.baseRttPs;
    const uint64_t minBps = std::max<uint64_t>(1, m_minRate.GetBitRate());
    state.law = {.targetUtilization = m_targetUtilization,
                 .maxStage = m_maxStage,
                 .additiveBps = m_rateAi.GetBitRate() ? static_cast<double>(m_rateAi.GetBitRate())
                                                      : windowAiBps,
                 .minBps = std::min(lineBps, static_cast<double>(minBps)),
                 .maxBps = lineBps};
    // A configured window above B x T leaves room for delayed acknowledgements: the window grows, T
    // stays the idle path's.
    const double paperBytes = lineBps * state.baseRttPs / 8e12;
    const bool widens = m_baseRtt.IsZero() && qp.GetWindow() != RdmaQueuePair::NO_WINDOW;
    const double hostBytes = widens ? static_cast<double>(qp.GetWindow()) : 0;
    state.windowPs = state.baseRttPs * std::max(1.0, hostBytes / paperBytes);
    state.whole = {.referenceBps = lineBps};
    state.roundEndSeq = qp.GetSndNxt();
    qp.SetMinRate(minBps);
    if (!m_rateBased)
    {
        qp.SetVariableWindow(false);
    }
    Apply(qp, state, lineBps);
}

bool
RdmaHpccBase::EndRound(RdmaQueuePair& qp, RoundState& state, const RdmaAckView& ack)
{
    if (ack.ackSeq <= state.roundEndSeq)
    {
        return false;
    }
    state.roundEndSeq = qp.GetSndNxt();
    NS_LOG_LOGIC(qp.Describe() << " ends a round at byte " << ack.ackSeq);
    return true;
}

void
RdmaHpccBase::Apply(RdmaQueuePair& qp, const RoundState& state, double rateBps) const
{
    NS_LOG_INFO(qp.Describe() << " takes " << rateBps << " bps, reference "
                              << state.whole.referenceBps << " bps, round ends at byte "
                              << state.roundEndSeq);
    qp.SetRate(static_cast<uint64_t>(std::llround(rateBps)));
    if (!m_rateBased)
    {
        const double windowBytes = rateBps * state.windowPs / 8e12;
        qp.SetWindow(static_cast<uint64_t>(std::max(1.0, std::round(windowBytes))));
    }
}

} // namespace ns3
