/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACED_QUEUE_H
#define PACED_QUEUE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class RdmaQueuePair;

// Hot path: a push and a pop per frame of a pair that sends below the line rate.

/**
 * @brief Queue pairs ordered by the time at which each may send; equal times first in, first out.
 *
 * Pairs of one rate come in the order of their times, so most entries join the end of a ring in
 * constant time. Only an entry earlier than the last one goes to a binary heap.
 */
class PacedQueue
{
  public:
    struct Entry
    {
        int64_t timePs;
        uint64_t order; ///< keeps equal times first in, first out
        RdmaQueuePair* qp;
    };

    /// @return whether nothing waits
    bool IsEmpty() const
    {
        return m_head == m_tail && m_heap.empty();
    }

    /// @return the earliest entry; the queue is not empty
    const Entry& Front() const
    {
        return RingIsFirst() ? m_ring[m_head & m_mask] : m_heap.front();
    }

    /// Add an entry.
    void Push(int64_t timePs, RdmaQueuePair* qp)
    {
        const Entry entry{timePs, m_order++, qp};
        if (m_head != m_tail && timePs < m_ring[(m_tail - 1) & m_mask].timePs)
        {
            m_heap.push_back(entry);
            std::push_heap(m_heap.begin(), m_heap.end(), Later);
            return;
        }
        if (m_tail - m_head == m_ring.size()) [[unlikely]]
        {
            Grow();
        }
        m_ring[m_tail++ & m_mask] = entry;
    }

    /// Take the earliest entry out; the queue is not empty.
    Entry Pop()
    {
        if (RingIsFirst())
        {
            return m_ring[m_head++ & m_mask];
        }
        std::pop_heap(m_heap.begin(), m_heap.end(), Later);
        const Entry entry = m_heap.back();
        m_heap.pop_back();
        return entry;
    }

  private:
    static constexpr std::size_t FIRST_SIZE = 8; ///< of the ring; a power of two

    /// Orders a heap so that the earliest entry is on top.
    static bool Later(const Entry& a, const Entry& b)
    {
        return a.timePs != b.timePs ? a.timePs > b.timePs : a.order > b.order;
    }

    bool RingIsFirst() const
    {
        return m_heap.empty() ||
               (m_head != m_tail && Later(m_heap.front(), m_ring[m_head & m_mask]));
    }

    void Grow()
    {
        // The ring is full: what it holds begins at its head and wraps around.
        std::rotate(m_ring.begin(),
                    m_ring.begin() + static_cast<std::ptrdiff_t>(m_head & m_mask),
                    m_ring.end());
        m_tail -= m_head;
        m_head = 0;
        m_ring.resize(std::max(FIRST_SIZE, 2 * m_ring.size()));
        m_mask = m_ring.size() - 1;
    }

    std::vector<Entry> m_ring;
    std::size_t m_mask{0};
    std::size_t m_head{0}; ///< counts all entries taken from the ring
    std::size_t m_tail{0}; ///< counts all entries put into it
    std::vector<Entry> m_heap;
    uint64_t m_order{0};
};

} // namespace ns3

#endif /* PACED_QUEUE_H */
