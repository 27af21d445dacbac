/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: attributes, and the objects of a host. Connections are in rdma-hw-connections.cc, their
 * two ends in rdma-hw-transport.cc and rdma-hw-receive.cc.
 */
#include "rdma-hw.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/pointer.h"
#include "ns3/shared-log.h"
#include "ns3/string.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

NS_OBJECT_ENSURE_REGISTERED(RdmaHw);

TypeId
RdmaHw::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaHw")
            .SetParent<Object>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<RdmaHw>()
            .AddAttribute("Mtu",
                          "Payload bytes of a full data frame",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(1000),
                          MakeUintegerAccessor(&RdmaHw::m_mtu),
                          MakeUintegerChecker<uint32_t>(1, 65000))
            .AddAttribute("DataOverhead",
                          "Bytes on the wire besides the payload of a data frame: Ethernet 14, "
                          "IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, preamble and gap 20",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(82),
                          MakeUintegerAccessor(&RdmaHw::m_dataOverhead),
                          MakeUintegerChecker<uint32_t>(0, 1000))
            .AddAttribute("NvlinkOverhead",
                          "Bytes besides the payload of a frame on NVLink",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaHw::m_nvlinkOverhead),
                          MakeUintegerChecker<uint32_t>(0, 10000))
            .AddAttribute("AckBytes",
                          "Bytes on the wire of an ACK, NACK or CNP frame, telemetry not included",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          UintegerValue(QbbNetDevice::MIN_WIRE_BYTES),
                          MakeUintegerAccessor(&RdmaHw::m_ackBytes),
                          MakeUintegerChecker<uint32_t>(1, 10000))
            .AddAttribute("AckInterval",
                          "Bytes received in order before an acknowledgement is due (message ends "
                          "are always acknowledged); 1: every frame",
                          UintegerValue(1),
                          MakeUintegerAccessor(&RdmaHw::m_ackInterval),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute("NvlinkAckInterval",
                          "The same for NVLink, which has its own link-level flow control",
                          UintegerValue(1 << 20),
                          MakeUintegerAccessor(&RdmaHw::m_losslessAckInterval),
                          MakeUintegerChecker<uint64_t>(1, 1U << 30))
            .AddAttribute(
                "AckHighPriority",
                "Acknowledgements use priority 0 instead of their data's, in switches too",
                BooleanValue(false),
                MakeBooleanAccessor(&RdmaHw::m_ackHighPriority),
                MakeBooleanChecker())
            .AddAttribute("AckIgnoresPause",
                          "Acknowledgements leave this host in spite of a pause of their priority",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaHw::m_ackIgnoresPause),
                          MakeBooleanChecker())
            .AddAttribute(
                "CongestionControl",
                "Class of the congestion control: an RdmaCongestionOps",
                TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                StringValue("ns3::RdmaDcqcn"),
                MakeTypeIdAccessor(&RdmaHw::SetCongestionType, &RdmaHw::GetCongestionType),
                MakeTypeIdChecker())
            .AddAttribute("CongestionOps",
                          "The object of that class",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&RdmaHw::GetCongestionOps),
                          MakePointerChecker<RdmaCongestionOps>())
            .AddAttribute(
                "LossRecoveryType",
                "Class of the loss recovery: an RdmaLossRecovery",
                StringValue("ns3::RdmaGoBackN"),
                MakeTypeIdAccessor(&RdmaHw::SetLossRecoveryType, &RdmaHw::GetLossRecoveryType),
                MakeTypeIdChecker())
            .AddAttribute("LossRecovery",
                          "The object of that class",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&RdmaHw::GetLossRecovery),
                          MakePointerChecker<RdmaLossRecovery>())
            .AddAttribute("TransportType",
                          "Class of the transport, an RdmaTransport; that itself: RoCE",
                          TypeId::ATTR_GET | TypeId::ATTR_CONSTRUCT,
                          StringValue("ns3::RdmaTransport"),
                          MakeTypeIdAccessor(&RdmaHw::SetTransportType, &RdmaHw::GetTransportType),
                          MakeTypeIdChecker())
            .AddAttribute("Transport",
                          "The object of that class; null for RoCE",
                          TypeId::ATTR_GET,
                          PointerValue(),
                          MakePointerAccessor(&RdmaHw::GetTransport),
                          MakePointerChecker<RdmaTransport>())
            .AddAttribute("MaxRetries",
                          "Timeouts in a row after which a queue pair gives up; 0: never",
                          UintegerValue(10),
                          MakeUintegerAccessor(&RdmaHw::m_maxRetries),
                          MakeUintegerChecker<uint8_t>())
            .AddAttribute("GiveUpTime",
                          "Time without an answer before which a queue pair does not give up, "
                          "however often it has sent again; 0: MaxRetries alone counts",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaHw::m_giveUpTime),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("MaxBackoff",
                          "How often the timeout doubles while nothing is acknowledged",
                          UintegerValue(6),
                          MakeUintegerAccessor(&RdmaHw::m_maxBackoff),
                          MakeUintegerChecker<uint8_t>(0, 16))
            .AddAttribute("MaxPausedTimeouts",
                          "Timeouts in a row that find the port paused before they count as losses "
                          "(250: a second with the default timeout)",
                          UintegerValue(250),
                          MakeUintegerAccessor(&RdmaHw::m_maxPausedTimeouts),
                          MakeUintegerChecker<uint8_t>())
            .AddTraceSource("MessageSent",
                            "The last byte of a message has been acknowledged",
                            MakeTraceSourceAccessor(&RdmaHw::m_messageSent),
                            "ns3::RdmaHw::MessageCallback")
            .AddTraceSource("MessageDelivered",
                            "A whole message has been received",
                            MakeTraceSourceAccessor(&RdmaHw::m_messageDelivered),
                            "ns3::RdmaHw::DeliveryCallback")
            .AddTraceSource("QpOpen",
                            "A queue pair has been set up",
                            MakeTraceSourceAccessor(&RdmaHw::m_qpOpen),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("QpNamed",
                            "A queue pair between partitions learns the receiver's number after it "
                            "has been set up; its frames name that from now on",
                            MakeTraceSourceAccessor(&RdmaHw::m_qpNamed),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("QpClose",
                            "A queue pair ends",
                            MakeTraceSourceAccessor(&RdmaHw::m_qpClose),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("QpFailed",
                            "A queue pair gives up: its retries are used up",
                            MakeTraceSourceAccessor(&RdmaHw::m_qpFailed),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("CnpReceived",
                            "A congestion notification reached a sender",
                            MakeTraceSourceAccessor(&RdmaHw::m_cnpReceived),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("NackReceived",
                            "A sender was asked for bytes again",
                            MakeTraceSourceAccessor(&RdmaHw::m_nackReceived),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("Timeout",
                            "A retransmission timer ran out",
                            MakeTraceSourceAccessor(&RdmaHw::m_timeout),
                            "ns3::RdmaHw::QpCallback")
            .AddTraceSource("RateChange",
                            "The congestion control changed the sending rate of a queue pair",
                            MakeTraceSourceAccessor(&RdmaHw::m_rateChange),
                            "ns3::RdmaHw::ChangeCallback")
            .AddTraceSource("WindowChange",
                            "The window in force of a queue pair changed, with its rate if the "
                            "window follows that",
                            MakeTraceSourceAccessor(&RdmaHw::m_windowChange),
                            "ns3::RdmaHw::ChangeCallback");
    return tid;
}

RdmaHw::RdmaHw() = default;

RdmaHw::~RdmaHw() = default;

void
RdmaHw::DoDispose()
{
    RemoveLinkPorts();
    m_nics.clear();
    m_devices.clear();
    m_senders.Clear();
    m_receivers.Clear();
    m_congestion = nullptr;
    m_recovery = nullptr;
    m_inNetwork = nullptr;
    Object::DoDispose();
}

uint16_t
RdmaHw::AddNic(Ptr<QbbNetDevice> device)
{
    const uint16_t port = AddLinkPort(*device, *device->GetNode());
    m_devices.push_back(PeekPointer(device));
    device->SetRdmaMtu(m_mtu);
    m_nics.push_back(std::make_unique<RdmaNic>(this, PeekPointer(device)));
    return port;
}

void
RdmaHw::SetDivided(uint32_t server)
{
    m_server = server;
    PrepareForPair(); // now, as ns-3 makes objects on one thread only
}

void
RdmaHw::TraceRate(const RdmaQueuePair& qp, uint64_t beforeBps) const
{
    if (qp.m_open)
    {
        m_rateChange(qp, beforeBps, qp.m_rateBps);
    }
}

void
RdmaHw::TraceWindow(const RdmaQueuePair& qp, uint64_t beforeBytes) const
{
    if (qp.m_open)
    {
        m_windowChange(qp, beforeBytes, qp.m_effectiveWindow);
    }
}

void
RdmaHw::PrepareForPair()
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
RdmaHw::GetRecordBytes() const
{
    return GetCongestionOps()->GetTelemetryWireBytes() + m_routingFieldBytes +
           (m_transport ? m_transport->GetFieldBytes() : 0);
}

uint32_t
RdmaHw::GetAnswerRecordBytes() const
{
    return GetCongestionOps()->GetTelemetryWireBytes() + m_routingFieldBytes +
           (m_transport ? m_transport->GetAnswerFieldBytes() : 0);
}

void
RdmaHw::SetTransportType(TypeId type)
{
    const TypeId base = RdmaTransport::GetTypeId();
    NS_ABORT_MSG_IF(m_freeSenders.size() < m_senders.Size(),
                    "queue pairs have state of the transport there was");
    NS_ABORT_MSG_UNLESS(type == base || type.IsChildOf(base),
                        type.GetName() << " is not an RdmaTransport");
    m_transport = nullptr;
    if (type != base)
    {
        ObjectFactory factory;
        factory.SetTypeId(type);
        m_transport = factory.Create<RdmaTransport>();
    }
}

TypeId
RdmaHw::GetTransportType() const
{
    return m_transport ? m_transport->GetInstanceTypeId() : RdmaTransport::GetTypeId();
}

void
RdmaHw::SetCongestionOps(Ptr<RdmaCongestionOps> ops)
{
    NS_ABORT_MSG_IF(m_controlled.any(),
                    "queue pairs have state of the congestion control there was");
    m_congestion = ops;
    m_congestionType = ops->GetInstanceTypeId();
}

void
RdmaHw::SetCongestionType(TypeId type)
{
    NS_ABORT_MSG_IF(m_controlled.any(),
                    "queue pairs have state of the congestion control there was");
    NS_ABORT_MSG_UNLESS(type.IsChildOf(RdmaCongestionOps::GetTypeId()),
                        type.GetName() << " is not an RdmaCongestionOps");
    m_congestionType = type;
    m_congestion = nullptr;
}

TypeId
RdmaHw::GetCongestionType() const
{
    return m_congestionType;
}

void
RdmaHw::SetLossRecoveryType(TypeId type)
{
    NS_ABORT_MSG_IF(m_freeSenders.size() < m_senders.Size(),
                    "queue pairs have state of the loss recovery there was");
    NS_ABORT_MSG_UNLESS(type.IsChildOf(RdmaLossRecovery::GetTypeId()),
                        type.GetName() << " is not an RdmaLossRecovery");
    m_recoveryType = type;
    m_recovery = nullptr;
}

TypeId
RdmaHw::GetLossRecoveryType() const
{
    return m_recoveryType;
}

Ptr<RdmaCongestionOps>
RdmaHw::MakeCongestionOps() const
{
    ObjectFactory factory;
    factory.SetTypeId(m_transport ? m_transport->ChooseCongestionControl(m_congestionType)
                                  : m_congestionType);
    m_congestion = factory.Create<RdmaCongestionOps>();
    if (m_stream >= 0)
    {
        m_congestion->AssignStreams(m_stream);
    }
    return m_congestion;
}

Ptr<RdmaLossRecovery>
RdmaHw::MakeLossRecovery() const
{
    ObjectFactory factory;
    factory.SetTypeId(m_transport ? m_transport->ChooseLossRecovery(m_recoveryType)
                                  : m_recoveryType);
    m_recovery = factory.Create<RdmaLossRecovery>();
    if (m_reorders)
    {
        m_recovery->ExpectReordering(m_lossTime);
    }
    return m_recovery;
}

void
RdmaHw::ExpectReordering(Time lossTime)
{
    NS_ABORT_MSG_IF(m_recovery, "the loss recovery has been made");
    m_reorders = true;
    m_lossTime = lossTime;
}

RdmaHwCounters
RdmaHw::GetCounters() const
{
    return Present(m_counters);
}

std::vector<const RdmaQueuePair*>
RdmaHw::GetOpenQueuePairs() const
{
    std::vector<const RdmaQueuePair*> open;
    for (std::size_t index = 0; index < m_senders.Size(); ++index)
    {
        if (m_senders[index].m_open)
        {
            open.push_back(&m_senders[index]);
        }
    }
    return open;
}

uint32_t
RdmaHw::GetDataWireBytes(uint32_t payload, bool lossless) const
{
    if (lossless)
    {
        return payload + m_nvlinkOverhead;
    }
    return std::max(payload + m_dataOverhead + GetRecordBytes(), QbbNetDevice::MIN_WIRE_BYTES);
}

uint32_t
RdmaHw::GetAckWireBytes(bool lossless) const
{
    return m_ackBytes + (lossless ? 0 : GetAnswerRecordBytes());
}

int64_t
RdmaHw::AssignStreams(int64_t stream)
{
    m_stream = stream;
    if (m_congestion)
    {
        m_congestion->AssignStreams(stream);
    }
    return 1;
}

} // namespace ns3
