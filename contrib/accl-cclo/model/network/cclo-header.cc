/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-header.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CcloHeader);

namespace
{

constexpr uint32_t FIELD_BYTES = 40;

void
WriteLittle(Buffer::Iterator& to, uint64_t value, int bytes)
{
    for (; bytes > 0; --bytes, value >>= 8)
    {
        to.WriteU8(static_cast<uint8_t>(value));
    }
}

uint64_t
ReadLittle(Buffer::Iterator& from, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
    {
        value |= static_cast<uint64_t>(from.ReadU8()) << (8 * i);
    }
    return value;
}

} // namespace

TypeId
CcloHeader::GetTypeId()
{
    static TypeId tid = TypeId("ns3::CcloHeader")
                            .SetParent<Header>()
                            .SetGroupName("AcclCclo")
                            .AddConstructor<CcloHeader>();
    return tid;
}

TypeId
CcloHeader::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
CcloHeader::GetSerializedSize() const
{
    return BYTES;
}

void
CcloHeader::Serialize(Buffer::Iterator start) const
{
    WriteLittle(start, count, 4);
    WriteLittle(start, tag, 4);
    WriteLittle(start, source, 4);
    WriteLittle(start, sequence, 4);
    WriteLittle(start, stream, 4);
    WriteLittle(start, session, 2);
    WriteLittle(start, static_cast<uint8_t>(type), 1);
    WriteLittle(start, host, 1);
    WriteLittle(start, address, 8);
    WriteLittle(start, communicator, 8);
    start.WriteU8(0, BYTES - FIELD_BYTES);
}

uint32_t
CcloHeader::Deserialize(Buffer::Iterator start)
{
    count = static_cast<uint32_t>(ReadLittle(start, 4));
    tag = static_cast<uint32_t>(ReadLittle(start, 4));
    source = static_cast<uint32_t>(ReadLittle(start, 4));
    sequence = static_cast<uint32_t>(ReadLittle(start, 4));
    stream = static_cast<uint32_t>(ReadLittle(start, 4));
    session = static_cast<uint16_t>(ReadLittle(start, 2));
    type = static_cast<CcloMessageType>(ReadLittle(start, 1));
    host = static_cast<uint8_t>(ReadLittle(start, 1));
    address = ReadLittle(start, 8);
    communicator = ReadLittle(start, 8);
    return BYTES;
}

void
CcloHeader::Print(std::ostream& os) const
{
    os << "type=" << static_cast<int>(type) << " source=" << source << " tag=" << tag
       << " sequence=" << sequence << " bytes=" << count;
}

} // namespace ns3
