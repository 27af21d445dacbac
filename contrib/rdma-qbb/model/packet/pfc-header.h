/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PFC_HEADER_H
#define PFC_HEADER_H

#include "roce-headers.h"

#include "ns3/mac48-address.h"

#include <array>
#include <cstdint>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief Priority-based flow control frame (IEEE 802.1Qbb, clause 31 of 802.3): the part after the
 * Ethernet header, padded to the least Ethernet payload of 46 bytes.
 *
 * Each priority with its bit set in enableVector gets a pause time; 0 resumes it.
 */
class PfcHeader : public FixedHeader<PfcHeader>
{
  public:
    static constexpr const char* NAME = "ns3::PfcHeader";
    static constexpr uint32_t BYTES = 46;         ///< with padding
    static constexpr uint16_t ETHERTYPE = 0x8808; ///< MAC control
    static constexpr uint16_t OPCODE = 0x0101;    ///< class-based pause

    /// @return the reserved group address that pause frames go to and that no bridge forwards
    static Mac48Address Destination();

    uint8_t enableVector{0};               ///< bit p: pauseQuanta[p] is valid
    std::array<uint16_t, 8> pauseQuanta{}; ///< in units of 512 bit times

    /// @return whether Deserialize() found the opcode of class-based pause
    bool IsPfc() const
    {
        return m_opcode == OPCODE;
    }

    void Print(std::ostream& os) const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;

  private:
    uint16_t m_opcode{OPCODE};
};

} // namespace ns3

#endif /* PFC_HEADER_H */
