/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_HEADER_H
#define CCLO_HEADER_H

#include "ns3/header.h"

#include <cstdint>

namespace ns3
{

/// Type of a message between engines.
enum class CcloMessageType : uint8_t
{
    Eager = 0,             ///< a header and data for an rx buffer or a stream
    RendezvousData = 1,    ///< data written to an address; no header on the wire
    RendezvousAddress = 2, ///< "write to this address"; a header only
    RendezvousDone = 3     ///< "the data have been written"; a header only
};

/**
 * @ingroup accl-cclo
 * @brief The header of a message between engines: 40 bytes in the first 64-byte word.
 *
 * Fields are little-endian. The first 32 bytes are ACCL's, in its order (Xilinx/ACCL@723d8ec,
 * eth_intf.h); the communicator's identity takes bytes that ACCL leaves unused.
 */
class CcloHeader : public Header
{
  public:
    static constexpr uint32_t BYTES = 64;

    uint32_t count{0};    ///< bytes of data; of RendezvousAddress: elements
    uint32_t tag{0};      ///< of the message
    uint32_t source{0};   ///< sender's rank in its communicator
    uint32_t sequence{0}; ///< of eager messages from this rank
    uint32_t stream{0};   ///< kernel stream that gets the data; 0: memory
    uint16_t session{0};  ///< receiver's connection or queue pair
    CcloMessageType type{CcloMessageType::Eager};
    uint8_t host{0};          ///< whether the address is in the host's memory
    uint64_t address{0};      ///< of rendezvous data
    uint64_t communicator{0}; ///< CcloCommunicator::GetIdentity() of the sender's

    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
    void Print(std::ostream& os) const override;
};

} // namespace ns3

#endif /* CCLO_HEADER_H */
