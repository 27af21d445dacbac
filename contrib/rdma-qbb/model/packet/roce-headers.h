/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ROCE_HEADERS_H
#define ROCE_HEADERS_H

#include "ns3/header.h"

#include <cstdint>

namespace ns3
{

/// UDP destination port of RoCEv2.
constexpr uint16_t ROCE_UDP_PORT = 4791;

/// InfiniBand opcodes that this model sends (InfiniBand Architecture Specification, section 9.2).
enum class RoceOpcode : uint8_t
{
    RcWriteFirst = 0x06,
    RcWriteMiddle = 0x07,
    RcWriteLast = 0x08,
    RcWriteOnly = 0x0a,
    RcAcknowledge = 0x11,
    Cnp = 0x81,
    Control = 0xc0, ///< the first of those that InfiniBand leaves to manufacturers
};

/// @return whether packets with this opcode carry a RoceReth after the RoceBth
constexpr bool
CarriesReth(RoceOpcode opcode)
{
    return opcode == RoceOpcode::RcWriteFirst || opcode == RoceOpcode::RcWriteOnly;
}

/// A header or trailer of T::BYTES bytes that ns-3 knows as T::NAME.
template <typename T, typename Base = Header>
class FixedHeader : public Base
{
  public:
    static TypeId GetTypeId()
    {
        static const TypeId tid = [] {
            TypeId made(T::NAME);
            made.SetParent<Base>();
            made.SetGroupName("RdmaQbb");
            made.AddConstructor<T>();
            return made;
        }();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return T::BYTES;
    }
};

/// InfiniBand base transport header, 12 bytes, with RoCEv2's FECN and BECN bits.
class RoceBth : public FixedHeader<RoceBth>
{
  public:
    static constexpr const char* NAME = "ns3::RoceBth";
    static constexpr uint32_t BYTES = 12;

    RoceOpcode opcode{RoceOpcode::RcWriteMiddle};
    uint8_t padCount{0};           ///< bytes that fill the payload up to a multiple of 4, 0..3
    uint16_t partitionKey{0xffff}; ///< the default partition
    bool fecn{false};              ///< forward congestion notification
    bool becn{false};              ///< backward congestion notification
    uint32_t destinationQp{0};     ///< 24 bits
    bool ackRequest{false};
    uint32_t psn{0}; ///< packet sequence number, 24 bits

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
};

/// RDMA extended transport header, 16 bytes: where a write goes.
class RoceReth : public FixedHeader<RoceReth>
{
  public:
    static constexpr const char* NAME = "ns3::RoceReth";
    static constexpr uint32_t BYTES = 16;

    uint64_t virtualAddress{0};
    uint32_t remoteKey{0};
    uint32_t dmaLength{0}; ///< bytes of the message

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
};

/// Acknowledgement extended transport header, 4 bytes.
class RoceAeth : public FixedHeader<RoceAeth>
{
  public:
    static constexpr const char* NAME = "ns3::RoceAeth";
    static constexpr uint32_t BYTES = 4;

    /// An acknowledgement with an invalid credit count: no end-to-end flow control.
    static constexpr uint8_t ACK = 0x1f;
    /// A negative acknowledgement for a gap in the sequence numbers.
    static constexpr uint8_t NAK_SEQUENCE_ERROR = 0x60;

    uint8_t syndrome{ACK};
    uint32_t messageSequence{0}; ///< 24 bits

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
};

/// Payload of a congestion notification packet after its RoceBth: 16 bytes, reserved, zero.
class RoceCnpPayload : public FixedHeader<RoceCnpPayload>
{
  public:
    static constexpr const char* NAME = "ns3::RoceCnpPayload";
    static constexpr uint32_t BYTES = 16;

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
};

} // namespace ns3

#endif /* ROCE_HEADERS_H */
