/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_MESSAGE_WIRE_H
#define RDMA_MESSAGE_WIRE_H

#include "rdma-message.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

// Hot path: a push and a pop per message.

/**
 * @ingroup rdma-qbb
 * @brief Tells the receiver of a connection the bounds of the messages in its bytes.
 *
 * On a real network the last packet of a message marks its end (immediate data). A QbbFrame has no
 * room for that in its one cache line, so the bounds travel beside the wire: the sender appends a
 * message's facts when it posts the message, by mail (QbbMail::Post()) if the receiver may be in
 * another partition. The receiver removes them when all bytes of the message have arrived. First
 * in, first out, as messages are delivered.
 */
class RdmaMessageWire
{
  public:
    RdmaMessageWire() = default;
    RdmaMessageWire(const RdmaMessageWire&) = delete;
    RdmaMessageWire& operator=(const RdmaMessageWire&) = delete;

    /// A message has been posted.
    void Put(const RdmaExpectedMessage& message)
    {
        if (m_tail - m_head == m_mask + 1) [[unlikely]]
        {
            Grow();
        }
        m_ring[m_tail++ & m_mask] = message;
    }

    /// @return whether the receiver lacks some of a message
    bool IsEmpty() const
    {
        return m_head == m_tail;
    }

    /// @return the oldest message of which the receiver lacks some; there is one
    const RdmaExpectedMessage& Front() const
    {
        return m_ring[m_head & m_mask];
    }

    /// The receiver has all of the oldest message.
    void Pop()
    {
        ++m_head;
    }

    /// The connection has ended.
    void Clear()
    {
        m_head = m_tail;
    }

  private:
    static constexpr uint32_t FIRST = 2; ///< messages without a way to elsewhere

    void Grow()
    {
        const uint32_t size = m_mask + 1;
        std::vector<RdmaExpectedMessage> grown(2 * size);
        std::rotate_copy(m_ring, m_ring + (m_head & m_mask), m_ring + size, grown.begin());
        m_grown.swap(grown);
        m_ring = m_grown.data();
        m_mask = 2 * size - 1;
        m_tail = size;
        m_head = 0;
    }

    RdmaExpectedMessage* m_ring{m_first.data()};
    uint32_t m_mask{FIRST - 1}; ///< size of the ring, a power of two, minus 1
    uint32_t m_head{0};         ///< counts all messages taken out; wraps around
    uint32_t m_tail{0};         ///< counts all messages put in; wraps around
    std::array<RdmaExpectedMessage, FIRST> m_first;
    std::vector<RdmaExpectedMessage> m_grown;
};

} // namespace ns3

#endif /* RDMA_MESSAGE_WIRE_H */
