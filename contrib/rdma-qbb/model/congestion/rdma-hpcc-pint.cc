/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-hpcc-pint.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/qbb-frame.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaHpccPint");

NS_OBJECT_ENSURE_REGISTERED(RdmaHpccPint);

TypeId
RdmaHpccPint::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaHpccPint")
            .SetParent<RdmaHpccBase>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaHpccPint>()
            .AddAttribute(
                "LogBase",
                "Base of the digest's powers (PINT_LOG_BASE); PintEncoder's must be the same.",
                DoubleValue(1.05),
                MakeDoubleAccessor(&RdmaHpccPint::SetLogBase, &RdmaHpccPint::GetLogBase),
                MakeDoubleChecker<double>(PintCode::LEAST_BASE, 2.0))
            .AddAttribute("FeedbackProbability",
                          "Part of the acknowledgements whose digest is used (PINT_PROB).",
                          DoubleValue(1.0),
                          MakeDoubleAccessor(&RdmaHpccPint::m_feedbackProbability),
                          MakeDoubleChecker<double>(1e-6, 1.0))
            .AddAttribute("TelemetryBytes",
                          "Bytes that the digest adds to a frame on the wire.",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(1),
                          MakeUintegerAccessor(&RdmaHpccPint::m_telemetryBytes),
                          MakeUintegerChecker<uint32_t>(0, 256));
    return tid;
}

RdmaHpccPint::RdmaHpccPint()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

std::string
RdmaHpccPint::GetName() const
{
    return "HPCC-PINT";
}

RdmaCongestionOps::Telemetry
RdmaHpccPint::GetTelemetry() const
{
    return Telemetry::Pint;
}

uint32_t
RdmaHpccPint::GetTelemetryWireBytes() const
{
    return m_telemetryBytes;
}

void
RdmaHpccPint::SetLogBase(double base)
{
    m_logBase = base;
    m_code = PintCode(base);
}

double
RdmaHpccPint::GetLogBase() const
{
    return m_logBase;
}

int64_t
RdmaHpccPint::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

void
RdmaHpccPint::OnQpInit(RdmaQueuePair& qp)
{
    auto state = std::make_unique<RoundState>();
    InitRound(qp, *state);
    qp.congestion = std::move(state);
}

void
RdmaHpccPint::OnAck(RdmaQueuePair& qp, const RdmaAckView& ack)
{
    if (!ack.telemetry)
    {
        return;
    }
    if (m_feedbackProbability < 1 && m_random->GetValue() >= m_feedbackProbability)
    {
        return;
    }
    RoundState& state = static_cast<RoundState&>(*qp.congestion);
    const bool roundEnds = EndRound(qp, state, ack);
    if (!roundEnds && !m_fastReact)
    {
        return;
    }
    const double utilization = m_code.Decode(ack.telemetry->pintPower);
    NS_LOG_LOGIC(qp.Describe() << " decodes a utilization of " << utilization);
    Apply(qp, state, state.law.Compute(state.whole, utilization, roundEnds));
}

} // namespace ns3
