/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-hpcc-base.h"

#include "ns3/double.h"
#include "ns3/log.h"
#include "ns3/pint-encoder.h"
#include "ns3/qbb-frame.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaHpccPint");

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief HPCC with probabilistic telemetry (Ben Basat et al., "PINT: Probabilistic In-band Network
 * Telemetry", SIGCOMM 2020).
 *
 * Frames carry one coded utilisation, the greatest of their path, that switches work out
 * (PintEncoder); the sender applies HPCC's law to it without smoothing, which the switches did.
 * FeedbackProbability stands for the part of frames that carry a digest.
 */
class RdmaHpccPint : public RdmaHpccBase
{
  public:
    static TypeId GetTypeId()
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

    RdmaHpccPint()
        : m_random(CreateObject<UniformRandomVariable>())
    {
    }

    std::string GetName() const override
    {
        return "HPCC-PINT";
    }

    Telemetry GetTelemetry() const override
    {
        return Telemetry::Pint;
    }

    uint32_t GetTelemetryWireBytes() const override
    {
        return m_telemetryBytes;
    }

    void OnQpInit(RdmaQueuePair& qp) override
    {
        auto state = std::make_unique<RoundState>();
        InitRound(qp, *state);
        qp.congestion = std::move(state);
    }

    void OnAck(RdmaQueuePair& qp, const RdmaAckView& ack) override
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

    int64_t AssignStreams(int64_t stream) override
    {
        m_random->SetStream(stream);
        return 1;
    }

  private:
    void SetLogBase(double base)
    {
        m_logBase = base;
        m_code = PintCode(base);
    }

    double GetLogBase() const
    {
        return m_logBase;
    }

    double m_logBase{0};
    double m_feedbackProbability;
    uint32_t m_telemetryBytes;
    PintCode m_code{1.05};
    Ptr<UniformRandomVariable> m_random;
};

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaHpccPint);

} // namespace ns3
