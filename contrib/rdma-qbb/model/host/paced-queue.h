/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACED_QUEUE_H
#define PACED_QUEUE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaQueuePair;

// Hot path: a push and a pop per frame of a pair that sends below the line rate.

/**
 * @ingroup rdma-qbb
 * @brief Queue pairs ordered by the time at which each may send; equal times first in, first out.
 *
 * Pairs of one rate come in the order of their times, so most entries join the end of a ring in
 * constant time. Only an entry earlier than the last one goes to a binary heap.
 */
class PacedQueue
{
  public:
    static constexpr int64_t NEVER = INT64_MAX; ///< result of NextPs() if nothing waits

    PacedQueue() = default;
    PacedQueue(const PacedQueue&) = delete;
    PacedQueue& operator=(const PacedQueue&) = delete;

    /// @return the time of the earliest entry
    int64_t NextPs() const
    {
        return m_nextPs;
    }

    /// @return a pair that is likely to be popped next; null if none is known
    const RdmaQueuePair* GuessNext() const
    {
        return m_head != m_tail ? m_ring[m_head & m_mask].qp : nullptr;
    }

    /// @return Push()'s argument for the entry that is popped next if it is sure that no other has
    /// the same time, else 0
    uint32_t GetNextBytes() const
    {
        const bool two = m_tail - m_head > 1 && m_ring[(m_head + 1) & m_mask].timePs == m_nextPs;
        return m_heap.empty() && !two ? m_ring[m_head & m_mask].bytes : 0;
    }

    /**
     * Add an entry.
     * @param timePs when the pair may send
     * @param bytes of the frame that it will send then
     */
    void Push(int64_t timePs, RdmaQueuePair* qp, uint32_t bytes = 0)
    {
        m_nextPs = std::min(m_nextPs, timePs);
        if (timePs < m_lastPs) [[unlikely]]
        {
            PushIntoHeap(timePs, qp, bytes);
            return;
        }
        m_lastPs = timePs;
        if (m_tail - m_head == m_mask + 1) [[unlikely]]
        {
            Grow();
        }
        m_ring[m_tail++ & m_mask] = {timePs, m_order++, bytes, qp};
    }

    /// Take the earliest entry out; the queue is not empty.
    RdmaQueuePair* Pop()
    {
        if (!m_heap.empty()) [[unlikely]]
        {
            return PopEither();
        }
        RdmaQueuePair* qp = m_ring[m_head++ & m_mask].qp;
        if (m_head != m_tail)
        {
            m_nextPs = m_ring[m_head & m_mask].timePs;
        }
        else
        {
            m_nextPs = NEVER;
            m_lastPs = INT64_MIN;
            m_head = 0; // where the next ones find their line in the cache
            m_tail = 0;
        }
        return qp;
    }

  private:
    struct Entry
    {
        int64_t timePs;
        uint32_t order; ///< keeps equal times first in, first out; wraps around
        uint32_t bytes;
        RdmaQueuePair* qp;
    };

    static constexpr std::size_t FIRST = 4; ///< entries without a way to elsewhere

    static bool Later(const Entry& a, const Entry& b);
    void Grow();
    void PushIntoHeap(int64_t timePs, RdmaQueuePair* qp, uint32_t bytes);
    /// Pop() while the heap holds entries.
    RdmaQueuePair* PopEither();

    int64_t m_nextPs{NEVER};
    Entry* m_ring{m_first.data()};
    std::size_t m_mask{FIRST - 1}; ///< size of the ring, a power of two, minus 1
    std::size_t m_head{0};         ///< counts all entries taken from the ring
    std::size_t m_tail{0};         ///< counts all entries put into it
    int64_t m_lastPs{INT64_MIN};   ///< time of the ring's last entry
    std::vector<Entry> m_heap;     ///< entries earlier than the ring's last one when they came
    uint32_t m_order{0};
    std::array<Entry, FIRST> m_first; ///< the ring, until it has to grow
    std::vector<Entry> m_grown;       ///< the ring, then
};

} // namespace ns3

#endif /* PACED_QUEUE_H */
