/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_DEPACKETIZER_H
#define CCLO_DEPACKETIZER_H

#include "cclo-protocol-engine.h"

#include "ns3/packet.h"

#include <array>
#include <cstdint>
#include <functional>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief Cuts the bytes of one session into messages: a header of 64 bytes, as many bytes of data
 * as it says, the next header.
 *
 * Follows tcp_depacketizer.cpp and udp_depacketizer.cpp of Xilinx/ACCL@723d8ec, which count the
 * remaining bytes of a session's message and take the bytes after them for a header.
 */
class CcloDepacketizer
{
  public:
    /// Told each whole message.
    using Sink = std::function<void(CcloMessage&&)>;

    /**
     * @param isPadded whether data are padded to whole words of 64 bytes
     * @param contents whether data are kept
     */
    CcloDepacketizer(bool isPadded, bool contents)
        : m_isPadded(isPadded),
          m_contents(contents)
    {
    }

    /// Take arrived bytes. @param sink receives the messages that they complete
    void Take(const Packet& packet, const Sink& sink);

    /// @return whether a message has begun and not ended
    bool IsWithinMessage() const
    {
        return m_headerBytes > 0;
    }

  private:
    void TakeHeader(const uint8_t* bytes, uint32_t count);

    bool m_isPadded;
    bool m_contents;
    std::array<uint8_t, CcloHeader::BYTES> m_header{};
    uint32_t m_headerBytes{0}; ///< of the message under way
    uint64_t m_remaining{0};   ///< bytes of data and padding
    CcloMessage m_message;
};

} // namespace ns3

#endif /* CCLO_DEPACKETIZER_H */
