/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-headers.h"

#include "ns3/assert.h"

#include <ostream>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RoceBth);
NS_OBJECT_ENSURE_REGISTERED(RoceReth);
NS_OBJECT_ENSURE_REGISTERED(RoceAeth);
NS_OBJECT_ENSURE_REGISTERED(RoceCnpPayload);

namespace
{

constexpr uint8_t FECN_BIT = 0x80;
constexpr uint8_t BECN_BIT = 0x40;
constexpr uint8_t ACK_REQUEST_BIT = 0x80;
constexpr unsigned PAD_COUNT_SHIFT = 4;

/// Write a byte and the 24 bits that share its 32-bit word.
void
WriteByteAnd24(Buffer::Iterator& i, uint8_t byte, uint32_t value)
{
    NS_ASSERT_MSG(value < 1U << 24, "a 24-bit field cannot hold " << value);
    i.WriteHtonU32(static_cast<uint32_t>(byte) << 24 | value);
}

} // namespace

// --- RoceBth

void
RoceBth::Print(std::ostream& os) const
{
    os << "opcode=" << +static_cast<uint8_t>(opcode) << " qp=" << destinationQp << " psn=" << psn
       << (fecn ? " fecn" : "") << (becn ? " becn" : "") << (ackRequest ? " ackreq" : "");
}

void
RoceBth::Serialize(Buffer::Iterator start) const
{
    Buffer::Iterator i = start;
    i.WriteU8(static_cast<uint8_t>(opcode));
    // Solicited event, migration state and header version stay 0.
    i.WriteU8(padCount << PAD_COUNT_SHIFT);
    i.WriteHtonU16(partitionKey);
    WriteByteAnd24(i, (fecn ? FECN_BIT : 0) | (becn ? BECN_BIT : 0), destinationQp);
    WriteByteAnd24(i, ackRequest ? ACK_REQUEST_BIT : 0, psn);
}

uint32_t
RoceBth::Deserialize(Buffer::Iterator start)
{
    Buffer::Iterator i = start;
    opcode = static_cast<RoceOpcode>(i.ReadU8());
    padCount = i.ReadU8() >> PAD_COUNT_SHIFT & 3;
    partitionKey = i.ReadNtohU16();
    const uint32_t qpWord = i.ReadNtohU32();
    fecn = qpWord >> 24 & FECN_BIT;
    becn = qpWord >> 24 & BECN_BIT;
    destinationQp = qpWord & 0xffffff;
    const uint32_t psnWord = i.ReadNtohU32();
    ackRequest = psnWord >> 24 & ACK_REQUEST_BIT;
    psn = psnWord & 0xffffff;
    return BYTES;
}

// --- RoceReth

void
RoceReth::Print(std::ostream& os) const
{
    os << "va=" << virtualAddress << " rkey=" << remoteKey << " length=" << dmaLength;
}

void
RoceReth::Serialize(Buffer::Iterator start) const
{
    Buffer::Iterator i = start;
    i.WriteHtonU64(virtualAddress);
    i.WriteHtonU32(remoteKey);
    i.WriteHtonU32(dmaLength);
}

uint32_t
RoceReth::Deserialize(Buffer::Iterator start)
{
    Buffer::Iterator i = start;
    virtualAddress = i.ReadNtohU64();
    remoteKey = i.ReadNtohU32();
    dmaLength = i.ReadNtohU32();
    return BYTES;
}

// --- RoceAeth

void
RoceAeth::Print(std::ostream& os) const
{
    os << "syndrome=" << +syndrome << " msn=" << messageSequence;
}

void
RoceAeth::Serialize(Buffer::Iterator start) const
{
    Buffer::Iterator i = start;
    WriteByteAnd24(i, syndrome, messageSequence);
}

uint32_t
RoceAeth::Deserialize(Buffer::Iterator start)
{
    Buffer::Iterator i = start;
    const uint32_t word = i.ReadNtohU32();
    syndrome = word >> 24;
    messageSequence = word & 0xffffff;
    return BYTES;
}

// --- RoceCnpPayload

void
RoceCnpPayload::Print(std::ostream& os) const
{
    os << "reserved";
}

void
RoceCnpPayload::Serialize(Buffer::Iterator start) const
{
    start.WriteU8(0, BYTES);
}

uint32_t
RoceCnpPayload::Deserialize(Buffer::Iterator start)
{
    return BYTES;
}

} // namespace ns3
