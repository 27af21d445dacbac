/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-packet-builder.h"

#include "pfc-header.h"
#include "roce-headers.h"
#include "roce-icrc.h"

#include "ns3/assert.h"
#include "ns3/ethernet-header.h"
#include "ns3/ipv4-header.h"
#include "ns3/udp-header.h"

#include <algorithm>
#include <array>

namespace ns3
{

namespace
{

constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;
constexpr uint8_t PROTOCOL_UDP = 17;
constexpr uint8_t TIME_TO_LIVE = 64;
constexpr uint32_t FIRST_HOST = 0x0b000001; // 11.0.0.1
constexpr uint32_t FIRST_QUEUE_PAIR = 16;
constexpr uint32_t MASK_24 = 0xffffff;

/// Bytes of a data frame on the wire that are not payload or telemetry.
constexpr uint32_t DATA_OVERHEAD = 82;
/// Bytes of an acknowledgement on the wire without telemetry; preamble, gap and FCS included.
constexpr uint32_t ACK_OVERHEAD = DATA_OVERHEAD + 4;

/// @return the headers' number of a queue pair: 0 and 1 are InfiniBand's own, for management
uint32_t
QueuePairNumber(uint32_t qpn)
{
    return (qpn + FIRST_QUEUE_PAIR) & MASK_24;
}

/// @return bytes by which a frame with telemetry is longer than without; its wireBytes may be
/// counted in another way ("Overhead" attributes), in which case nothing shows
uint32_t
TelemetryBytes(const QbbFrame& frame, uint32_t bytesWithout)
{
    return frame.telemetry && frame.wireBytes > bytesWithout ? frame.wireBytes - bytesWithout : 0;
}

/// @return @p value's first bytes, in network byte order, and zeros behind them
Ptr<Packet>
ValueAndZeros(uint64_t value, uint32_t valueBytes, uint32_t zeros)
{
    std::array<uint8_t, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
    {
        bytes[i] = static_cast<uint8_t>(value >> (56 - 8 * i));
    }
    const auto shown = std::min<uint32_t>(valueBytes, bytes.size());
    Ptr<Packet> packet = Create<Packet>(bytes.data(), shown);
    packet->AddAtEnd(Create<Packet>(zeros));
    return packet;
}

/// @return a frame's bytes behind its headers: telemetry, of which the routing policy's field
/// shows, and payload
Ptr<Packet>
TelemetryAndPayload(const QbbFrame& frame, uint32_t telemetryBytes, uint32_t bytes)
{
    const uint64_t field = telemetryBytes ? frame.telemetry->routingField : 0;
    const uint32_t fieldBytes = field ? std::min(telemetryBytes, 8U) : 0;
    return field ? ValueAndZeros(field, fieldBytes, bytes - fieldBytes) : Create<Packet>(bytes);
}

void
AddEthernet(Packet& packet, Mac48Address source, Mac48Address destination, uint16_t type)
{
    EthernetHeader header(false);
    header.SetSource(source);
    header.SetDestination(destination);
    header.SetLengthType(type);
    packet.AddHeader(header);
}

RoceOpcode
WriteOpcode(uint8_t flags)
{
    const bool first = flags & QBB_FLAG_FIRST;
    const bool last = flags & QBB_FLAG_LAST;
    if (first)
    {
        return last ? RoceOpcode::RcWriteOnly : RoceOpcode::RcWriteFirst;
    }
    return last ? RoceOpcode::RcWriteLast : RoceOpcode::RcWriteMiddle;
}

} // namespace

QbbPacketBuilder::QbbPacketBuilder(uint32_t mtu)
    : m_mtu(mtu)
{
    NS_ASSERT_MSG(mtu > 0, "the payload of a full frame is at least one byte");
}

Ipv4Address
QbbPacketBuilder::HostAddress(uint32_t host)
{
    return Ipv4Address(FIRST_HOST + (host / 256 << 16) + (host % 256 << 8));
}

uint32_t
QbbPacketBuilder::HostOf(Ipv4Address address)
{
    const uint32_t distance = address.Get() - FIRST_HOST;
    return distance % 256 == 0 && distance >> 24 == 0 ? distance / 256 : UINT32_MAX;
}

Mac48Address
QbbPacketBuilder::PortAddress(uint32_t node, uint16_t port)
{
    const std::array<uint8_t, 6> bytes{0x02,
                                       static_cast<uint8_t>(node >> 16),
                                       static_cast<uint8_t>(node >> 8),
                                       static_cast<uint8_t>(node),
                                       static_cast<uint8_t>(port >> 8),
                                       static_cast<uint8_t>(port)};
    Mac48Address address;
    address.CopyFrom(bytes.data());
    return address;
}

uint32_t
QbbPacketBuilder::PsnAt(uint64_t seq) const
{
    return seq / m_mtu & MASK_24;
}

Ptr<Packet>
QbbPacketBuilder::Build(const QbbFrame& frame, const QbbLinkAddresses& addresses) const
{
    if (frame.kind == QbbFrameKind::Other)
    {
        return static_cast<const Packet*>(frame.packet)->Copy();
    }
    if (frame.kind == QbbFrameKind::Pfc)
    {
        return BuildPfc(frame, addresses);
    }
    Ptr<Packet> packet = BuildTransport(frame);

    RoceIcrcTrailer icrc;
    UdpHeader udp;
    udp.SetSourcePort(frame.sport);
    udp.SetDestinationPort(ROCE_UDP_PORT);
    // The ICRC belongs to the UDP payload, and its own value covers the length fields.
    udp.ForcePayloadSize(packet->GetSize() + icrc.GetSerializedSize() + udp.GetSerializedSize());

    Ipv4Header ip;
    ip.SetSource(HostAddress(frame.src));
    ip.SetDestination(HostAddress(frame.dst));
    ip.SetProtocol(PROTOCOL_UDP);
    ip.SetTtl(TIME_TO_LIVE);
    ip.SetTos(static_cast<uint8_t>(frame.priority << 5 | static_cast<uint8_t>(frame.ecn)));
    ip.SetDontFragment();
    ip.SetPayloadSize(packet->GetSize() + icrc.GetSerializedSize() + udp.GetSerializedSize());
    ip.EnableChecksum();

    Ptr<Packet> covered = packet->Copy();
    covered->AddHeader(udp);
    covered->AddHeader(ip);
    icrc.Compute(covered);

    packet->AddTrailer(icrc);
    udp.EnableChecksums();
    udp.InitializeChecksum(ip.GetSource(), ip.GetDestination(), PROTOCOL_UDP);
    packet->AddHeader(udp);
    packet->AddHeader(ip);
    AddEthernet(*packet, addresses.source, addresses.destination, ETHERTYPE_IPV4);
    return packet;
}

Ptr<Packet>
QbbPacketBuilder::BuildPfc(const QbbFrame& frame, const QbbLinkAddresses& addresses) const
{
    PfcHeader pfc;
    pfc.enableVector = static_cast<uint8_t>(1U << frame.priority);
    pfc.pauseQuanta[frame.priority] = frame.quanta;
    Ptr<Packet> packet = Create<Packet>();
    packet->AddHeader(pfc);
    AddEthernet(*packet, addresses.source, PfcHeader::Destination(), PfcHeader::ETHERTYPE);
    return packet;
}

Ptr<Packet>
QbbPacketBuilder::BuildTransport(const QbbFrame& frame) const
{
    if (frame.kind == QbbFrameKind::Data)
    {
        return BuildData(frame);
    }
    if (frame.kind == QbbFrameKind::Control)
    {
        return BuildControl(frame);
    }
    if (frame.kind != QbbFrameKind::Cnp)
    {
        return BuildAck(frame);
    }
    RoceBth bth;
    bth.opcode = RoceOpcode::Cnp;
    bth.becn = true;
    bth.destinationQp = QueuePairNumber(frame.qpn);
    Ptr<Packet> packet = Create<Packet>();
    packet->AddHeader(RoceCnpPayload());
    packet->AddHeader(bth);
    return packet;
}

Ptr<Packet>
QbbPacketBuilder::BuildData(const QbbFrame& frame) const
{
    const uint32_t telemetry = TelemetryBytes(frame, frame.payloadBytes + DATA_OVERHEAD);
    const uint32_t bytes = frame.payloadBytes + telemetry;
    RoceBth bth;
    bth.opcode = WriteOpcode(frame.flags);
    bth.padCount = -bytes & 3;
    bth.destinationQp = QueuePairNumber(frame.qpn);
    bth.ackRequest = frame.flags & (QBB_FLAG_ACK_REQUEST | QBB_FLAG_LAST);
    bth.psn = PsnAt(frame.seq);
    Ptr<Packet> packet = TelemetryAndPayload(frame, telemetry, bytes + bth.padCount);
    if (CarriesReth(bth.opcode))
    {
        RoceReth reth;
        reth.virtualAddress = frame.seq;
        reth.remoteKey = frame.qpn;
        reth.dmaLength = frame.payloadBytes;
        packet->AddHeader(reth);
    }
    packet->AddHeader(bth);
    return packet;
}

Ptr<Packet>
QbbPacketBuilder::BuildControl(const QbbFrame& frame) const
{
    RoceBth bth;
    bth.opcode = RoceOpcode::Control;
    bth.destinationQp = QueuePairNumber(frame.qpn);
    bth.psn = frame.controlType;
    constexpr uint32_t LEAST = DATA_OVERHEAD + sizeof(frame.value);
    const uint32_t more = frame.wireBytes > LEAST ? (frame.wireBytes - LEAST) & ~3U : 0;
    Ptr<Packet> packet = ValueAndZeros(frame.value, sizeof(frame.value), more);
    packet->AddHeader(bth);
    return packet;
}

Ptr<Packet>
QbbPacketBuilder::BuildAck(const QbbFrame& frame) const
{
    const bool nack = frame.kind == QbbFrameKind::Nack;
    RoceAeth aeth;
    aeth.syndrome = nack ? RoceAeth::NAK_SEQUENCE_ERROR : RoceAeth::ACK;
    if (nack && (frame.answerFlags & QBB_ANSWER_SELECTIVE))
    {
        aeth.messageSequence = (PsnAt(frame.expectedSeq) + frame.GetNamedMtus()) & MASK_24;
    }
    RoceBth bth;
    bth.opcode = RoceOpcode::RcAcknowledge;
    bth.becn = frame.answerFlags & QBB_ANSWER_MARKED;
    bth.destinationQp = QueuePairNumber(frame.qpn);
    const uint64_t expected = frame.expectedSeq;
    bth.psn = nack || expected == 0 ? PsnAt(expected) : PsnAt(expected - 1);

    const uint32_t telemetry = TelemetryBytes(frame, ACK_OVERHEAD);
    bth.padCount = -telemetry & 3;
    Ptr<Packet> packet = TelemetryAndPayload(frame, telemetry, telemetry + bth.padCount);
    packet->AddHeader(aeth);
    packet->AddHeader(bth);
    return packet;
}

} // namespace ns3
