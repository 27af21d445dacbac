/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_RX_BUFFERS_H
#define CCLO_RX_BUFFERS_H

#include "cclo-memory.h"

#include "ns3/cclo-exchange-memory.h"
#include "ns3/cclo-header.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief The rx buffers of an engine: where eager messages wait until a move asks for them.
 *
 * Idle buffers are posted (ENQUEUED) in the order of their numbers, then of their release; a
 * message takes the first. It is RESERVED from then until the move that read it has ended. A move
 * finds its message by source, tag and sequence number among all that have arrived, by a linear
 * scan, as ACCL's hardware does. All states are in exchange memory, where the host sees them.
 *
 * Besides the source's rank, a message's communicator must be right too, so that communicators in
 * which other hosts have the same rank do not mix.
 */
class CcloRxBuffers
{
  public:
    /// Result of a search.
    struct Match
    {
        bool found{false};
        uint32_t scanned{0}; ///< entries looked at
        uint32_t buffer{0};
        uint32_t bytes{0};
        uint64_t address{0};
    };

    CcloRxBuffers(CcloExchangeMemory& exchange, CcloMemory& memory);

    /// Read the table and post all buffers in it.
    void Start();

    /// @return whether a buffer waits for a message
    bool HasEnqueued() const
    {
        return !m_enqueued.empty();
    }

    /// @return number of buffers
    uint32_t GetCount() const
    {
        return m_count;
    }

    /// @return bytes that fit into one
    uint32_t GetSize() const
    {
        return m_size;
    }

    /// Put a message into the first posted buffer; it is RESERVED. @return the buffer
    uint32_t Fill(const CcloHeader& header, std::span<const uint8_t> data);

    /// The message in a buffer may be found from now on.
    void Announce(uint32_t buffer);

    /// Look for a message, and take it from those that wait.
    Match Seek(uint64_t communicator, uint32_t source, uint32_t tag, uint32_t sequence);

    /// A move has read a buffer: it is IDLE, then posted again.
    void Release(uint32_t buffer);

    /// @return one line per message that waits, for people
    std::vector<std::string> DescribeWaiting() const;

  private:
    struct Waiting
    {
        uint32_t buffer;
        uint64_t communicator; ///< its identity
        uint32_t source;
        uint32_t tag;
        uint32_t sequence;
        uint32_t bytes;
    };

    uint32_t Get(uint32_t buffer, CcloRxBufferTable::Field field) const;
    void Set(uint32_t buffer, CcloRxBufferTable::Field field, uint32_t value);
    uint64_t AddressOf(uint32_t buffer) const;

    CcloExchangeMemory& m_exchange;
    CcloMemory& m_memory;
    CcloRxBufferTable m_table;
    uint32_t m_count{0};
    uint32_t m_size{0};
    std::deque<uint32_t> m_enqueued;
    std::vector<Waiting> m_filled;  ///< messages in buffers, by buffer
    std::vector<Waiting> m_waiting; ///< announced, in the order of arrival
};

} // namespace ns3

#endif /* CCLO_RX_BUFFERS_H */
