/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: attributes, and the objects of a host. Connections are in rdma-hw-connections.cc, control
 * frames in rdma-hw-control.cc.
 */
#include "rdma-hw.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/ethernet-header.h"
#include "ns3/flow-hash.h"
#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/pointer.h"
#include "ns3/qbb-processes.h"
#include "ns3/shared-log.h"
#include "ns3/string.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

namespace
{

constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;

} // namespace

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
            .AddTraceSource("RxQpClose",
                            "The receiving side of a queue pair ends",
                            MakeTraceSourceAccessor(&RdmaHw::m_rxQpClose),
                            "ns3::RdmaHw::RxQpCallback")
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
    m_sender.Clear();
    m_receiver.Clear();
    m_congestion = nullptr;
    m_recovery = nullptr;
    m_inNetwork = nullptr;
    Object::DoDispose();
}

uint16_t
RdmaHw::AddNic(Ptr<QbbNetDevice> device)
{
    const uint16_t port = device->JoinNode(*this, *device->GetNode());
    m_devices.push_back(PeekPointer(device));
    device->SetRdmaMtu(m_mtu);
    m_nics.push_back(std::make_unique<RdmaNic>(m_sender, PeekPointer(device)));
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
    if (qp.IsOpen())
    {
        m_rateChange(qp, beforeBps, qp.GetRate());
    }
}

void
RdmaHw::TraceWindow(const RdmaQueuePair& qp, uint64_t beforeBytes) const
{
    if (qp.IsOpen())
    {
        m_windowChange(qp, beforeBytes, qp.GetEffectiveWindow());
    }
}

RdmaHwCounters
RdmaHw::GetCounters() const
{
    return Present(m_counters);
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

void
RdmaHw::PostMessage(RdmaQueuePair& qp,
                    uint64_t bytes,
                    std::function<void()> sent,
                    std::function<void()> delivered,
                    std::optional<int64_t> startPs)
{
    NS_ABORT_MSG_IF(delivered && qp.m_isAfar && QbbProcesses::Get(),
                    "another process cannot call a function of this one");
    PostMessage(qp, bytes, m_functions.Take(std::move(sent), std::move(delivered)), startPs);
}

void
RdmaHw::PostMessage(RdmaQueuePair& qp,
                    uint64_t bytes,
                    RdmaMessage& message,
                    std::optional<int64_t> startPs)
{
    m_sender.Post(qp, bytes, message, startPs);
}

void
RdmaHw::Wake(RdmaQueuePair& qp)
{
    m_sender.Reconsider(qp, NowPs());
}

void
RdmaHw::RequestRepair(RdmaRxQueuePair& rx, uint16_t port, bool selective)
{
    m_receiver.RequestRepair(rx, port, selective);
}

// --- hooks of the ports

void
RdmaHw::OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    switch (frame->kind)
    {
    case QbbFrameKind::Data:
        m_receiver.OnData(port, frame, nowPs);
        return;
    case QbbFrameKind::Other:
        m_devices[port]->ReceiveOther(frame);
        return;
    case QbbFrameKind::Control:
        OnControl(port, frame, nowPs);
        return;
    default:
        m_sender.OnAnswer(frame, nowPs);
        return;
    }
}

LinkNode::ArrivalCall
RdmaHw::GetArrivalCall() const
{
    return ArrivalCallOf<RdmaHw>();
}

bool
RdmaHw::IsEndpoint() const
{
    return true;
}

void
RdmaHw::OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs)
{
    if (m_ackIgnoresPause && frame.kind != QbbFrameKind::Data && frame.kind != QbbFrameKind::Other)
    {
        RdmaReceiver::RestorePriority(frame);
    }
    if (frame.kind != QbbFrameKind::Other && frame.telemetry)
    {
        frame.telemetry->acknowledgedPs = nowPs;
    }
}

void
RdmaHw::OnOtherSend(uint16_t port, QbbFrame& frame, const Packet& packet, uint16_t protocol)
{
    frame.src = m_hostIndex;
    if (protocol != ETHERTYPE_IPV4 || !m_resolver)
    {
        return;
    }
    Ptr<Packet> copy = packet.Copy();
    EthernetHeader ethernet(false);
    copy->RemoveHeader(ethernet);
    Ipv4Header ip;
    if (copy->PeekHeader(ip))
    {
        frame.dst = m_resolver(ip.GetDestination().Get());
        frame.hash = FlowHash(frame.src, frame.dst, ip.GetProtocol(), 0);
        frame.ecn = static_cast<EcnCodepoint>(ip.GetTos() & 3);
    }
}

} // namespace ns3
