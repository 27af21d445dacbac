/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include "roce-headers.h"

#include "ns3/packet.h"
#include "ns3/ptr.h"
#include "ns3/trailer.h"

#include <cstdint>
#include <span>

namespace ns3
{

/**
 * Compute the invariant CRC of a RoCEv2 packet (InfiniBand Architecture Specification, annex A17):
 * the Ethernet CRC-32 over eight bytes of ones (in place of InfiniBand's local route header) and
 * the packet, in which the fields that may change on the way count as ones: the IPv4 type of
 * service, time to live and checksum, the UDP checksum, and the congestion byte of the BTH.
 *
 * @param packet from the IPv4 header (20 bytes, no options) to the end of the payload and its pad
 * @return the CRC, of which the least significant byte is sent first
 */
[[nodiscard]] uint32_t ComputeRoceIcrc(std::span<const uint8_t> packet);

/// The four bytes at the end of a RoCEv2 packet that hold its invariant CRC.
class RoceIcrcTrailer : public FixedHeader<RoceIcrcTrailer, Trailer>
{
  public:
    static constexpr const char* NAME = "ns3::RoceIcrcTrailer";
    static constexpr uint32_t BYTES = 4;

    uint32_t icrc{0};

    /**
     * Compute the CRC and put it into this trailer.
     * @param packet from the IPv4 header to the end of the payload
     */
    void Compute(Ptr<const Packet> packet);

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator end) const override;
    uint32_t Deserialize(Buffer::Iterator end) override;
};

} // namespace ns3

#endif /* ROCE_ICRC_H */
