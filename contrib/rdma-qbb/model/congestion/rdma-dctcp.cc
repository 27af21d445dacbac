/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-dctcp.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaDctcp");

NS_OBJECT_ENSURE_REGISTERED(RdmaDctcp);

struct RdmaDctcp::State : public RdmaCongestionState
{
    double alpha{1};
    double windowBytes{0};
    double rateBps{0};
    uint64_t ackedBytes{0};  ///< in this window of data
    uint64_t markedBytes{0}; ///< of them, in marked frames
    uint64_t windowEndSeq{0};
    uint64_t cutEndSeq{0}; ///< no further cut before an acknowledgement beyond it
    bool cut{false};
};

TypeId
RdmaDctcp::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaDctcp")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaDctcp>()
            .AddAttribute("EwmaGain",
                          "Weight g of the newest window's marked fraction in alpha.",
                          DoubleValue(1.0 / 16),
                          MakeDoubleAccessor(&RdmaDctcp::m_gain),
                          MakeDoubleChecker<double>(1e-9, 1.0))
            .AddAttribute("RateBased",
                          "Change the rate instead of the window, as the HPCC simulator does.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaDctcp::m_rateBased),
                          MakeBooleanChecker())
            .AddAttribute("RateAi",
                          "Increase per window of data if RateBased.",
                          DataRateValue(DataRate("1000Mbps")),
                          MakeDataRateAccessor(&RdmaDctcp::m_rateAi),
                          MakeDataRateChecker())
            .AddAttribute("MinRate",
                          "Least rate of a queue pair if RateBased.",
                          DataRateValue(DataRate("100Mbps")),
                          MakeDataRateAccessor(&RdmaDctcp::m_minRate),
                          MakeDataRateChecker())
            .AddAttribute("InitialWindow",
                          "First window in bytes; 0: line rate x base RTT.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaDctcp::m_initialWindow),
                          MakeUintegerChecker<uint64_t>());
    return tid;
}

std::string
RdmaDctcp::GetName() const
{
    return "DCTCP";
}

bool
RdmaDctcp::UsesEcn() const
{
    return true;
}

double
RdmaDctcp::GetAlpha(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).alpha;
}

void
RdmaDctcp::OnQpInit(RdmaQueuePair& qp)
{
    auto state = std::make_unique<State>();
    state->rateBps = static_cast<double>(qp.lineRateBps);
    state->windowEndSeq = qp.GetSndNxt();
    if (m_rateBased)
    {
        qp.SetMinRate(std::max<uint64_t>(1, m_minRate.GetBitRate()));
    }
    else
    {
        const double bdpBytes =
            static_cast<double>(qp.lineRateBps) * static_cast<double>(qp.baseRttPs) / 8e12;
        state->windowBytes =
            std::max(static_cast<double>(qp.mtu),
                     m_initialWindow ? static_cast<double>(m_initialWindow) : std::ceil(bdpBytes));
        qp.SetVariableWindow(false);
        qp.SetWindow(static_cast<uint64_t>(state->windowBytes));
    }
    qp.congestion = std::move(state);
}

void
RdmaDctcp::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    State& state = static_cast<State&>(*qp.congestion);
    state.ackedBytes += ack.newlyAcked;
    state.markedBytes += ack.ecnEcho ? ack.newlyAcked : 0;
    const bool windowEnds = ack.ackSeq > state.windowEndSeq;
    if (windowEnds)
    {
        const double marked = state.ackedBytes ? static_cast<double>(state.markedBytes) /
                                                     static_cast<double>(state.ackedBytes)
                                               : 0;
        state.alpha = (1 - m_gain) * state.alpha + m_gain * marked;
        state.ackedBytes = 0;
        state.markedBytes = 0;
        state.windowEndSeq = qp.GetSndNxt();
    }
    if (state.cut && ack.ackSeq > state.cutEndSeq)
    {
        state.cut = false;
    }
    if (ack.ecnEcho && !state.cut)
    {
        state.cut = true;
        state.cutEndSeq = qp.GetSndNxt();
        Cut(qp, state);
        NS_LOG_INFO(qp.Describe() << " cuts once for this window, alpha " << state.alpha);
    }
    else if (!state.cut)
    {
        Grow(qp, state, ack, windowEnds);
        NS_LOG_LOGIC(qp.Describe() << " grows after " << ack.newlyAcked << " bytes");
    }
}

void
RdmaDctcp::Cut(RdmaQueuePair& qp, State& state) const
{
    const double factor = 1 - state.alpha / 2;
    if (m_rateBased)
    {
        state.rateBps =
            std::max(state.rateBps * factor, static_cast<double>(m_minRate.GetBitRate()));
        qp.SetRate(static_cast<uint64_t>(std::llround(state.rateBps)));
        return;
    }
    state.windowBytes = std::max(state.windowBytes * factor, static_cast<double>(qp.mtu));
    qp.SetWindow(static_cast<uint64_t>(state.windowBytes));
}

void
RdmaDctcp::Grow(RdmaQueuePair& qp, State& state, const RdmaAckView& ack, bool windowEnds) const
{
    if (m_rateBased)
    {
        if (!windowEnds)
        {
            return;
        }
        state.rateBps = std::min(state.rateBps + static_cast<double>(m_rateAi.GetBitRate()),
                                 static_cast<double>(qp.lineRateBps));
        qp.SetRate(static_cast<uint64_t>(std::llround(state.rateBps)));
        return;
    }
    const bool limited =
        static_cast<double>(qp.GetInFlight() + ack.newlyAcked + qp.mtu) >= state.windowBytes;
    if (limited)
    {
        // One frame per window of data, spread over its acknowledgements.
        state.windowBytes += qp.mtu * static_cast<double>(ack.newlyAcked) / state.windowBytes;
        qp.SetWindow(static_cast<uint64_t>(state.windowBytes));
    }
}

} // namespace ns3
