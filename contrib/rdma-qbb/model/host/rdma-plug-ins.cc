/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-plug-ins.h"

#include "rdma-sender.h"

#include "ns3/abort.h"
#include "ns3/object-factory.h"

#include <utility>

namespace ns3
{

namespace
{

/// @return a new object of this type
template <typename PlugIn>
Ptr<PlugIn>
Make(TypeId type)
{
    ObjectFactory factory;
    factory.SetTypeId(type);
    return factory.Create<PlugIn>();
}

} // namespace

void
RdmaPlugIns::SetCongestionOps(Ptr<RdmaCongestionOps> ops)
{
    SetCongestionType(ops->GetInstanceTypeId());
    m_congestion = ops;
}

void
RdmaPlugIns::SetCongestionType(TypeId type)
{
    NS_ABORT_MSG_IF(m_openPairs > 0, "queue pairs have state of the congestion control there was");
    NS_ABORT_MSG_UNLESS(type.IsChildOf(RdmaCongestionOps::GetTypeId()),
                        type.GetName() << " is not an RdmaCongestionOps");
    m_congestionType = type;
    m_congestion = nullptr;
}

TypeId
RdmaPlugIns::GetCongestionType() const
{
    return m_congestionType;
}

void
RdmaPlugIns::SetLossRecoveryType(TypeId type)
{
    NS_ABORT_MSG_IF(m_openPairs > 0, "queue pairs have state of the loss recovery there was");
    NS_ABORT_MSG_UNLESS(type.IsChildOf(RdmaLossRecovery::GetTypeId()),
                        type.GetName() << " is not an RdmaLossRecovery");
    m_recoveryType = type;
    m_recovery = nullptr;
}

TypeId
RdmaPlugIns::GetLossRecoveryType() const
{
    return m_recoveryType;
}

void
RdmaPlugIns::SetTransportType(TypeId type)
{
    const TypeId base = RdmaTransport::GetTypeId();
    NS_ABORT_MSG_IF(m_openPairs > 0, "queue pairs have state of the transport there was");
    NS_ABORT_MSG_UNLESS(type == base || type.IsChildOf(base),
                        type.GetName() << " is not an RdmaTransport");
    m_transport = type == base ? nullptr : Make<RdmaTransport>(type);
}

TypeId
RdmaPlugIns::GetTransportType() const
{
    return m_transport ? m_transport->GetInstanceTypeId() : RdmaTransport::GetTypeId();
}

Ptr<RdmaCongestionOps>
RdmaPlugIns::MakeCongestionOps() const
{
    m_congestion = Make<RdmaCongestionOps>(
        m_transport ? m_transport->ChooseCongestionControl(m_congestionType) : m_congestionType);
    if (m_stream >= 0)
    {
        m_congestion->AssignStreams(m_stream);
    }
    return m_congestion;
}

Ptr<RdmaLossRecovery>
RdmaPlugIns::MakeLossRecovery() const
{
    m_recovery = Make<RdmaLossRecovery>(
        m_transport ? m_transport->ChooseLossRecovery(m_recoveryType) : m_recoveryType);
    if (m_reorders)
    {
        m_recovery->ExpectReordering(m_lossTime);
    }
    return m_recovery;
}

void
RdmaPlugIns::ExpectReordering(Time lossTime)
{
    NS_ABORT_MSG_IF(m_recovery, "the loss recovery has been made");
    m_reorders = true;
    m_lossTime = lossTime;
}

int64_t
RdmaPlugIns::AssignStreams(int64_t stream)
{
    m_stream = stream;
    if (m_congestion)
    {
        m_congestion->AssignStreams(stream);
    }
    return 1;
}

void
RdmaPlugIns::PrepareForPair()
{
    GetCongestionOps();
    GetLossRecovery();
    m_wishes.cnpIntervalPs = m_congestion->GetCnpIntervalPs();
    m_wishes.telemetryBytes = GetRecordBytes();
    m_wishes.answerBytes = GetAnswerRecordBytes();
    m_wishes.telemetry = m_congestion->GetTelemetry();
    m_wishes.ecn = m_congestion->UsesEcn() ? EcnCodepoint::Ect0 : EcnCodepoint::NotEct;
    m_wishes.carriesRecord = m_wishes.telemetry != RdmaCongestionOps::Telemetry::None ||
                             m_routingFieldBytes > 0 ||
                             (m_transport && m_transport->GetFieldBytes() > 0);
}

uint32_t
RdmaPlugIns::GetRecordBytes() const
{
    return GetCongestionOps()->GetTelemetryWireBytes() + m_routingFieldBytes +
           (m_transport ? m_transport->GetFieldBytes() : 0);
}

uint32_t
RdmaPlugIns::GetAnswerRecordBytes() const
{
    return GetCongestionOps()->GetTelemetryWireBytes() + m_routingFieldBytes +
           (m_transport ? m_transport->GetAnswerFieldBytes() : 0);
}

void
RdmaPlugIns::OnOpen(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    ++m_openPairs;
    if (!qp.contribution)
    {
        m_recovery->OnQpInit(qp, config.flightBytes);
    }
    if (!qp.lossless)
    {
        m_congestion->OnQpInit(qp);
    }
    if (HasTransport(qp))
    {
        m_transport->OnQpInit(qp);
    }
    NoteMisfits(qp, config);
}

void
RdmaPlugIns::OnClose(RdmaQueuePair& qp)
{
    --m_openPairs;
    if (!qp.lossless)
    {
        m_congestion->OnQpClose(qp);
    }
    if (HasTransport(qp))
    {
        m_transport->OnQpClose(qp);
    }
}

void
RdmaPlugIns::NoteMisfits(const RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    if (qp.lossless || qp.contribution)
    {
        return; // neither is subject to congestion control
    }
    const auto note = [&](RdmaMisfit& longest, const auto& describe) {
        if (qp.baseRttPs <= longest.baseRttPs)
        {
            return;
        }
        std::string text = describe();
        if (!text.empty())
        {
            longest = {qp.baseRttPs, std::move(text)};
        }
    };
    note(m_misfits[0], [&] { return m_congestion->DescribeMisfit(qp, config.bdpBytes); });
    note(m_misfits[1],
         [&] { return m_recovery->DescribeMisfit(qp, config.bdpBytes, config.spreadPs); });
}

} // namespace ns3
