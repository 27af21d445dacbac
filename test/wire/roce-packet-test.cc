/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Real packets made of frames: header layouts, checksums, and the way back.

#include "rdma-qbb/model/packet/pfc-header.h"
#include "rdma-qbb/model/packet/roce-headers.h"
#include "rdma-qbb/model/packet/roce-icrc.h"

#include "ns3/ethernet-header.h"
#include "ns3/ipv4-header.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/udp-header.h"

#include <array>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vector>

using namespace ns3;
using testing::ElementsAre;

namespace
{

constexpr uint32_t MTU = 1000;

QbbFrame
DataFrame(uint64_t seq, uint16_t payload, uint8_t flags = 0)
{
    QbbFrame frame{};
    frame.kind = QbbFrameKind::Data;
    frame.src = 1;
    frame.dst = 258;
    frame.qpn = 0x123446; // plus 16: 0x123456
    frame.sport = 10007;
    frame.dport = 100;
    frame.seq = seq;
    frame.payloadBytes = payload;
    frame.wireBytes = payload + 82;
    frame.priority = 3;
    frame.ecn = EcnCodepoint::Ce;
    frame.flags = flags;
    return frame;
}

QbbFrame
AnswerFrame(QbbFrameKind kind, uint64_t seq, uint8_t flags = 0)
{
    QbbFrame frame = DataFrame(seq, 0, flags);
    frame.kind = kind;
    frame.ecn = EcnCodepoint::NotEct;
    frame.priority = 0;
    frame.wireBytes = 86;
    return frame;
}

Ptr<Packet>
Build(const QbbFrame& frame)
{
    return QbbPacketBuilder(MTU).Build(
        frame,
        {QbbPacketBuilder::PortAddress(7, 1), QbbPacketBuilder::PortAddress(300, 2)});
}

std::vector<uint8_t>
Bytes(const Packet& packet)
{
    std::vector<uint8_t> bytes(packet.GetSize());
    packet.CopyData(bytes.data(), packet.GetSize());
    return bytes;
}

template <class T>
std::vector<uint8_t>
Bytes(const T& header)
{
    Packet packet;
    packet.AddHeader(header);
    return Bytes(packet);
}

/// The headers of a built packet, taken off one by one.
struct Parsed
{
    explicit Parsed(Ptr<Packet> packet)
    {
        packet->RemoveHeader(ethernet);
        Ptr<Packet> covered = packet->CreateFragment(0, packet->GetSize() - 4);
        expected.Compute(covered);
        ip.EnableChecksum();
        packet->RemoveHeader(ip);
        udp.EnableChecksums();
        udp.InitializeChecksum(ip.GetSource(), ip.GetDestination(), 17);
        packet->RemoveHeader(udp);
        packet->RemoveHeader(bth);
        packet->RemoveTrailer(icrc);
        rest = packet;
    }

    EthernetHeader ethernet{false};
    Ipv4Header ip;
    UdpHeader udp;
    RoceBth bth;
    RoceIcrcTrailer icrc;
    RoceIcrcTrailer expected;
    Ptr<Packet> rest;
};

TEST(RoceIcrc, MatchesACnpCapturedFromAConnectX4)
{
    // From the IPv4 header on; the frame is in scapy's tests of its RoCE layer as "captured on
    // ConnectX-4 Lx". Its last four bytes are the ICRC.
    const std::vector<uint8_t> captured{
        0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11,
        0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00,
        0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a};
    const Ptr<Packet> packet = Create<Packet>(captured.data(), captured.size());
    RoceIcrcTrailer onWire;
    packet->RemoveTrailer(onWire);
    EXPECT_EQ(ComputeRoceIcrc({captured.data(), captured.size() - 4}), onWire.icrc);

    // It is invariant: what routers and switches change does not count.
    std::vector<uint8_t> forwarded = captured;
    forwarded[1] = 0x03;   // type of service
    forwarded[8] = 7;      // time to live
    forwarded[10] ^= 0xff; // checksum
    forwarded[32] = 0x80;  // FECN instead of BECN
    EXPECT_EQ(ComputeRoceIcrc({forwarded.data(), forwarded.size() - 4}), onWire.icrc);
    forwarded[35] ^= 1; // queue pair
    EXPECT_NE(ComputeRoceIcrc({forwarded.data(), forwarded.size() - 4}), onWire.icrc);
}

TEST(RoceHeaders, BthHasInfiniBandsLayout)
{
    RoceBth bth;
    bth.opcode = RoceOpcode::RcWriteLast;
    bth.padCount = 3;
    bth.becn = true;
    bth.destinationQp = 0xabcdef;
    bth.ackRequest = true;
    bth.psn = 0x010203;
    EXPECT_THAT(Bytes(bth),
                ElementsAre(8, 0x30, 0xff, 0xff, 0x40, 0xab, 0xcd, 0xef, 0x80, 1, 2, 3));
}

TEST(RoceHeaders, PfcHasTheLayoutOf802Dot1Qbb)
{
    PfcHeader pfc;
    pfc.enableVector = 1 << 3;
    pfc.pauseQuanta[3] = 0x1234;
    std::vector<uint8_t> expected(46, 0);
    expected[0] = 1;
    expected[1] = 1;
    expected[3] = 1 << 3;
    expected[4 + 2 * 3] = 0x12;
    expected[5 + 2 * 3] = 0x34;
    EXPECT_EQ(Bytes(pfc), expected);
}

TEST(RoceHeaders, RoundTripThroughAPacket)
{
    RoceBth bth;
    bth.opcode = RoceOpcode::RcWriteOnly;
    bth.padCount = 2;
    bth.partitionKey = 0x8001;
    bth.fecn = true;
    bth.destinationQp = 0xfedcba;
    bth.psn = 0xffffff;
    RoceReth reth;
    reth.virtualAddress = 0x0123456789abcdef;
    reth.remoteKey = 0xdeadbeef;
    reth.dmaLength = 77;
    RoceAeth aeth;
    aeth.syndrome = RoceAeth::NAK_SEQUENCE_ERROR;
    aeth.messageSequence = 0x654321;
    PfcHeader pfc;
    pfc.enableVector = 0x81;
    pfc.pauseQuanta = {65535, 0, 0, 0, 0, 0, 0, 1};

    Packet packet;
    packet.AddHeader(pfc);
    packet.AddHeader(RoceCnpPayload());
    packet.AddHeader(aeth);
    packet.AddHeader(reth);
    packet.AddHeader(bth);

    RoceBth bthBack;
    RoceReth rethBack;
    RoceAeth aethBack;
    RoceCnpPayload cnpBack;
    PfcHeader pfcBack;
    packet.RemoveHeader(bthBack);
    packet.RemoveHeader(rethBack);
    packet.RemoveHeader(aethBack);
    packet.RemoveHeader(cnpBack);
    packet.RemoveHeader(pfcBack);
    EXPECT_EQ(packet.GetSize(), 0U);
    EXPECT_EQ(bthBack.opcode, bth.opcode);
    EXPECT_EQ(bthBack.padCount, 2);
    EXPECT_EQ(bthBack.partitionKey, 0x8001);
    EXPECT_TRUE(bthBack.fecn);
    EXPECT_FALSE(bthBack.becn);
    EXPECT_EQ(bthBack.destinationQp, 0xfedcbaU);
    EXPECT_FALSE(bthBack.ackRequest);
    EXPECT_EQ(bthBack.psn, 0xffffffU);
    EXPECT_EQ(rethBack.virtualAddress, reth.virtualAddress);
    EXPECT_EQ(rethBack.remoteKey, reth.remoteKey);
    EXPECT_EQ(rethBack.dmaLength, reth.dmaLength);
    EXPECT_EQ(aethBack.syndrome, aeth.syndrome);
    EXPECT_EQ(aethBack.messageSequence, aeth.messageSequence);
    EXPECT_TRUE(pfcBack.IsPfc());
    EXPECT_EQ(pfcBack.enableVector, 0x81);
    EXPECT_EQ(pfcBack.pauseQuanta, pfc.pauseQuanta);
}

TEST(QbbPacketBuilder, DataFrameBecomesARoceV2Packet)
{
    const QbbFrame frame = DataFrame(41000, 1000);
    const Ptr<Packet> packet = Build(frame);
    // Wire bytes less preamble and gap (20) and frame check sequence (4).
    EXPECT_EQ(packet->GetSize(), frame.wireBytes - 24);
    const Parsed parsed(packet);
    EXPECT_EQ(parsed.ethernet.GetSource(), Mac48Address("02:00:00:07:00:01"));
    EXPECT_EQ(parsed.ethernet.GetDestination(), Mac48Address("02:00:01:2c:00:02"));
    EXPECT_EQ(parsed.ethernet.GetLengthType(), 0x0800);
    EXPECT_EQ(parsed.ip.GetSource(), Ipv4Address("11.0.1.1"));
    EXPECT_EQ(parsed.ip.GetDestination(), Ipv4Address("11.1.2.1"));
    EXPECT_EQ(parsed.ip.GetTos(), 3 << 5 | 3);
    EXPECT_TRUE(parsed.ip.IsChecksumOk());
    EXPECT_EQ(parsed.udp.GetSourcePort(), 10007);
    EXPECT_EQ(parsed.udp.GetDestinationPort(), 4791);
    EXPECT_TRUE(parsed.udp.IsChecksumOk());
    EXPECT_EQ(parsed.bth.opcode, RoceOpcode::RcWriteMiddle);
    EXPECT_EQ(parsed.bth.destinationQp, 0x123456U);
    EXPECT_EQ(parsed.bth.psn, 41U);
    EXPECT_EQ(parsed.bth.padCount, 0);
    EXPECT_EQ(parsed.icrc.icrc, parsed.expected.icrc);
    EXPECT_EQ(parsed.rest->GetSize(), 1000U);
}

TEST(QbbPacketBuilder, OpcodeTellsThePlaceInTheMessage)
{
    const auto opcode = [](uint8_t flags) {
        return Parsed(Build(DataFrame(0, 1000, flags))).bth.opcode;
    };
    EXPECT_EQ(opcode(QBB_FLAG_FIRST), RoceOpcode::RcWriteFirst);
    EXPECT_EQ(opcode(0), RoceOpcode::RcWriteMiddle);
    EXPECT_EQ(opcode(QBB_FLAG_LAST), RoceOpcode::RcWriteLast);
    EXPECT_EQ(opcode(QBB_FLAG_FIRST | QBB_FLAG_LAST), RoceOpcode::RcWriteOnly);
}

TEST(QbbPacketBuilder, FirstFrameOfAMessageCarriesAReth)
{
    const Parsed parsed(Build(DataFrame(5000, 600, QBB_FLAG_FIRST | QBB_FLAG_LAST)));
    EXPECT_TRUE(parsed.bth.ackRequest);
    RoceReth reth;
    parsed.rest->RemoveHeader(reth);
    EXPECT_EQ(reth.virtualAddress, 5000U);
    EXPECT_EQ(reth.dmaLength, 600U);
    EXPECT_EQ(parsed.rest->GetSize(), 600U);
}

TEST(QbbPacketBuilder, PayloadIsPaddedToFourBytes)
{
    const Parsed parsed(Build(DataFrame(0, 997)));
    EXPECT_EQ(parsed.bth.padCount, 3);
    EXPECT_EQ(parsed.rest->GetSize(), 1000U);
}

TEST(QbbPacketBuilder, SequenceNumbersWrapAt24Bits)
{
    const uint64_t seq = ((uint64_t{1} << 24) + 5) * MTU;
    EXPECT_EQ(Parsed(Build(DataFrame(seq, 1000))).bth.psn, 5U);
}

TEST(QbbPacketBuilder, AckNamesTheLastPacketAndNakTheOneExpected)
{
    RoceAeth aeth;
    const Parsed ack(Build(AnswerFrame(QbbFrameKind::Ack, 3000)));
    ack.rest->RemoveHeader(aeth);
    EXPECT_EQ(ack.bth.opcode, RoceOpcode::RcAcknowledge);
    EXPECT_EQ(ack.bth.psn, 2U);
    EXPECT_FALSE(ack.bth.becn);
    EXPECT_EQ(aeth.syndrome >> 5, 0);
    EXPECT_EQ(ack.icrc.icrc, ack.expected.icrc);

    const Parsed nak(Build(AnswerFrame(QbbFrameKind::Nack, 3000)));
    nak.rest->RemoveHeader(aeth);
    EXPECT_EQ(nak.bth.psn, 3U);
    EXPECT_EQ(aeth.syndrome, 0x60);
}

TEST(QbbPacketBuilder, AckWithAnEchoedMarkHasTheBecnBit)
{
    EXPECT_TRUE(Parsed(Build(AnswerFrame(QbbFrameKind::Ack, 3000, QBB_ANSWER_MARKED))).bth.becn);
}

TEST(QbbPacketBuilder, CnpHasOpcode0x81AndSixteenReservedBytes)
{
    const Parsed parsed(Build(AnswerFrame(QbbFrameKind::Cnp, 0)));
    EXPECT_EQ(static_cast<int>(parsed.bth.opcode), 0x81);
    EXPECT_TRUE(parsed.bth.becn);
    EXPECT_EQ(Bytes(*parsed.rest), std::vector<uint8_t>(16, 0));
    EXPECT_EQ(parsed.icrc.icrc, parsed.expected.icrc);
}

TEST(QbbPacketBuilder, TelemetryLengthensThePacket)
{
    QbbTelemetry telemetry{};
    QbbFrame frame = DataFrame(0, 1000);
    frame.telemetry = &telemetry;
    frame.wireBytes += 42;
    const Parsed data(Build(frame));
    EXPECT_EQ(data.rest->GetSize(), 1044U);
    EXPECT_EQ(data.bth.padCount, 2);

    QbbFrame ack = AnswerFrame(QbbFrameKind::Ack, 1000);
    ack.telemetry = &telemetry;
    ack.wireBytes += 42;
    EXPECT_EQ(Parsed(Build(ack)).rest->GetSize(), 4 + 44U);
}

TEST(QbbPacketBuilder, PfcFrameIsOneOfTheLeastEthernetSize)
{
    QbbFrame frame{};
    frame.kind = QbbFrameKind::Pfc;
    frame.priority = 3;
    frame.quanta = 0xffff;
    const Ptr<Packet> packet = Build(frame);
    EXPECT_EQ(packet->GetSize(), 60U);
    EthernetHeader ethernet(false);
    PfcHeader pfc;
    packet->RemoveHeader(ethernet);
    packet->RemoveHeader(pfc);
    EXPECT_EQ(ethernet.GetLengthType(), 0x8808);
    EXPECT_EQ(ethernet.GetSource(), Mac48Address("02:00:00:07:00:01"));
    EXPECT_EQ(ethernet.GetDestination(), Mac48Address("01:80:c2:00:00:01"));
    EXPECT_EQ(pfc.enableVector, 8);
    EXPECT_EQ(pfc.pauseQuanta[3], 0xffff);
}

TEST(QbbPacketBuilder, OtherFrameGivesThePacketItCarries)
{
    const std::array<uint8_t, 5> content{1, 2, 3, 4, 5};
    const Ptr<Packet> carried = Create<Packet>(content.data(), content.size());
    QbbFrame frame{};
    frame.kind = QbbFrameKind::Other;
    frame.packet = PeekPointer(carried);
    EXPECT_THAT(Bytes(*Build(frame)), ElementsAre(1, 2, 3, 4, 5));
}

TEST(QbbPacketBuilder, HostAddressesAreThoseOfFctFiles)
{
    EXPECT_EQ(QbbPacketBuilder::HostAddress(0).Get(), 0x0b000001U);
    EXPECT_EQ(QbbPacketBuilder::HostAddress(255).Get(), 0x0b00ff01U);
    EXPECT_EQ(QbbPacketBuilder::HostAddress(256).Get(), 0x0b010001U);
    EXPECT_EQ(QbbPacketBuilder::HostOf(Ipv4Address("11.1.2.1")), 258U);
    EXPECT_EQ(QbbPacketBuilder::HostOf(Ipv4Address("11.1.2.2")), UINT32_MAX);
    EXPECT_EQ(QbbPacketBuilder::HostOf(Ipv4Address("10.0.0.1")), UINT32_MAX);
    EXPECT_EQ(QbbPacketBuilder::HostOf(Ipv4Address("12.0.0.1")), UINT32_MAX);
}

} // namespace
