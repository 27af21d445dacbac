/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-hpcc.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <vector>

namespace ns3
{

// Hot path: OnAck runs once per acknowledgement.

NS_LOG_COMPONENT_DEFINE("RdmaHpcc");

NS_OBJECT_ENSURE_REGISTERED(RdmaHpcc);

namespace
{

/// Difference of one hop's two successive records.
struct HopSample
{
    double utilization; ///< u
    double spanPs;      ///< tau: time between the records, at most T
    bool valid;
};

HopSample
Measure(const QbbIntHop& before, const QbbIntHop& now, double baseRttPs)
{
    const int64_t spanPs = now.timePs - before.timePs;
    // A new route may put another port in a hop's place: no difference to the last record is valid.
    if (spanPs <= 0 || now.txBytes < before.txBytes || now.rateBps != before.rateBps)
    {
        return {0, 0, false};
    }
    const double rateBps = static_cast<double>(now.rateBps);
    const double queueBits = 8.0 * static_cast<double>(std::min(now.queueBytes, before.queueBytes));
    const double sentBits = 8.0 * static_cast<double>(now.txBytes - before.txBytes);
    const double txBps = std::min(rateBps, sentBits * 1e12 / static_cast<double>(spanPs));
    return {queueBits * 1e12 / (rateBps * baseRttPs) + txBps / rateBps,
            std::min(static_cast<double>(spanPs), baseRttPs),
            true};
}

double
Smooth(double old, const HopSample& sample, double baseRttPs)
{
    const double weight = sample.spanPs / baseRttPs;
    return (1 - weight) * old + weight * sample.utilization;
}

} // namespace

struct RdmaHpcc::State : public RoundState
{
    struct Hop
    {
        QbbIntHop last;
        double utilization{1}; ///< per hop, used with MultiRate
        RdmaHpccLaw::State law;
    };

    double utilization{1}; ///< U
    std::vector<Hop> hops; ///< none until the first acknowledgement
};

TypeId
RdmaHpcc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaHpcc")
            .SetParent<RdmaHpccBase>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaHpcc>()
            .AddAttribute("MultiRate",
                          "Keep a reference rate per hop and take the least of their results.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaHpcc::m_multiRate),
                          MakeBooleanChecker())
            .AddAttribute("SampleFeedback",
                          "Between a round's ends, take feedback only from hops with a queue.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaHpcc::m_sampleFeedback),
                          MakeBooleanChecker())
            .AddAttribute("TelemetryBytes",
                          "Bytes that the telemetry adds to a frame on the wire; the paper's for "
                          "five switches.",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(42),
                          MakeUintegerAccessor(&RdmaHpcc::m_telemetryBytes),
                          MakeUintegerChecker<uint32_t>(0, 256));
    return tid;
}

std::string
RdmaHpcc::GetName() const
{
    return "HPCC";
}

RdmaCongestionOps::Telemetry
RdmaHpcc::GetTelemetry() const
{
    return Telemetry::Int;
}

uint32_t
RdmaHpcc::GetTelemetryWireBytes() const
{
    return m_telemetryBytes;
}

double
RdmaHpcc::GetUtilization(const RdmaQueuePair& qp) const
{
    return static_cast<const State&>(*qp.congestion).utilization;
}

void
RdmaHpcc::OnQpInit(RdmaQueuePair& qp)
{
    auto state = std::make_unique<State>();
    InitRound(qp, *state);
    qp.congestion = std::move(state);
}

bool
RdmaHpcc::IsSkipped(const QbbTelemetry& telemetry, uint32_t hop, bool roundEnds) const
{
    return m_sampleFeedback && !roundEnds && telemetry.HopAt(hop).queueBytes == 0;
}

void
RdmaHpcc::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    if (!ack.telemetry || ack.telemetry->hopCount == 0)
    {
        return;
    }
    State& state = static_cast<State&>(*qp.congestion);
    const QbbTelemetry& telemetry = *ack.telemetry;
    if (state.hops.size() != telemetry.hopCount)
    {
        // The first acknowledgement, or the first on a route of another length.
        NS_LOG_LOGIC(qp.Describe() << " learns of " << telemetry.hopCount << " hops");
        state.hops.resize(telemetry.hopCount);
        for (uint32_t i = 0; i < telemetry.hopCount; ++i)
        {
            state.hops[i].last = telemetry.HopAt(i);
            state.hops[i].law = state.whole;
        }
        EndRound(qp, state, ack);
        return;
    }
    const bool roundEnds = EndRound(qp, state, ack);
    if (!roundEnds && !m_fastReact)
    {
        return;
    }
    if (m_multiRate)
    {
        ReactPerHop(qp, state, telemetry, roundEnds);
    }
    else
    {
        ReactWhole(qp, state, telemetry, roundEnds);
    }
}

void
RdmaHpcc::ReactWhole(RdmaQueuePair& qp, State& state, const QbbTelemetry& telemetry, bool roundEnds)
{
    HopSample busiest{-1, 0, false};
    for (uint32_t i = 0; i < telemetry.hopCount; ++i)
    {
        if (IsSkipped(telemetry, i, roundEnds))
        {
            continue;
        }
        const QbbIntHop& now = telemetry.HopAt(i);
        const HopSample sample = Measure(state.hops[i].last, now, state.baseRttPs);
        state.hops[i].last = now;
        if (sample.valid && sample.utilization > busiest.utilization)
        {
            busiest = sample;
        }
    }
    if (!busiest.valid)
    {
        return;
    }
    state.utilization = Smooth(state.utilization, busiest, state.baseRttPs);
    NS_LOG_LOGIC(qp.Describe() << " sees its busiest hop used to " << busiest.utilization
                               << ", smoothed " << state.utilization);
    Apply(qp, state, state.law.Compute(state.whole, state.utilization, roundEnds));
}

void
RdmaHpcc::ReactPerHop(RdmaQueuePair& qp,
                      State& state,
                      const QbbTelemetry& telemetry,
                      bool roundEnds)
{
    double leastBps = state.law.maxBps;
    double mostUtilized = 0;
    for (uint32_t i = 0; i < telemetry.hopCount; ++i)
    {
        State::Hop& hop = state.hops[i];
        if (!IsSkipped(telemetry, i, roundEnds))
        {
            const QbbIntHop& now = telemetry.HopAt(i);
            const HopSample sample = Measure(hop.last, now, state.baseRttPs);
            hop.last = now;
            if (sample.valid)
            {
                hop.utilization = Smooth(hop.utilization, sample, state.baseRttPs);
            }
        }
        mostUtilized = std::max(mostUtilized, hop.utilization);
        leastBps = std::min(leastBps, state.law.Compute(hop.law, hop.utilization, roundEnds));
    }
    NS_LOG_LOGIC(qp.Describe() << " sees its busiest hop used to " << mostUtilized);
    state.utilization = mostUtilized;
    state.whole.referenceBps = leastBps;
    Apply(qp, state, leastBps);
}

} // namespace ns3
