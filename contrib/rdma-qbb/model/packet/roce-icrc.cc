/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "roce-icrc.h"

#include "ns3/assert.h"
#include "ns3/crc32.h"

#include <algorithm>
#include <ostream>
#include <vector>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RoceIcrcTrailer);

constexpr std::size_t ROUTE_HEADER_BYTES = 8;

// Offsets from the start of the IPv4 header.
constexpr std::size_t IPV4_TOS = 1;
constexpr std::size_t IPV4_TTL = 8;
constexpr std::size_t IPV4_CHECKSUM = 10;
constexpr std::size_t UDP_CHECKSUM = 20 + 6;
constexpr std::size_t BTH_CONGESTION = 20 + 8 + 4;

uint32_t
ComputeRoceIcrc(std::span<const uint8_t> packet)
{
    NS_ASSERT_MSG(packet.size() > BTH_CONGESTION, "too short for a RoCEv2 packet");
    std::vector<uint8_t> masked(ROUTE_HEADER_BYTES, 0xff);
    masked.insert(masked.end(), packet.begin(), packet.end());
    uint8_t* const start = masked.data() + ROUTE_HEADER_BYTES;
    start[IPV4_TOS] = 0xff;
    start[IPV4_TTL] = 0xff;
    std::fill_n(start + IPV4_CHECKSUM, 2, 0xff);
    std::fill_n(start + UDP_CHECKSUM, 2, 0xff);
    start[BTH_CONGESTION] = 0xff;
    return CRC32Calculate(masked.data(), static_cast<int>(masked.size()));
}

void
RoceIcrcTrailer::Compute(Ptr<const Packet> packet)
{
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), packet->GetSize());
    icrc = ComputeRoceIcrc(bytes);
}

void
RoceIcrcTrailer::Print(std::ostream& os) const
{
    os << "icrc=" << icrc;
}

void
RoceIcrcTrailer::Serialize(Buffer::Iterator end) const
{
    end.Prev(BYTES);
    end.WriteU32(icrc);
}

uint32_t
RoceIcrcTrailer::Deserialize(Buffer::Iterator end)
{
    end.Prev(BYTES);
    icrc = end.ReadU32();
    return BYTES;
}

} // namespace ns3
