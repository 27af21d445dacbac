/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "paced-queue.h"

namespace ns3
{

/// Orders a heap so that the earliest entry is on top.
bool
PacedQueue::Later(const Entry& a, const Entry& b)
{
    return a.timePs != b.timePs ? a.timePs > b.timePs : static_cast<int32_t>(a.order - b.order) > 0;
}

void
PacedQueue::Grow()
{
    // The ring is full: its entries begin at its head and wrap around.
    const std::size_t size = m_mask + 1;
    std::vector<Entry> grown(2 * size);
    std::rotate_copy(m_ring, m_ring + (m_head & m_mask), m_ring + size, grown.begin());
    m_grown.swap(grown);
    m_ring = m_grown.data();
    m_mask = m_grown.size() - 1;
    m_tail = size;
    m_head = 0;
}

void
PacedQueue::PushIntoHeap(int64_t timePs, RdmaQueuePair* qp, uint32_t bytes)
{
    m_heap.push_back({timePs, m_order++, bytes, qp});
    std::push_heap(m_heap.begin(), m_heap.end(), Later);
}

RdmaQueuePair*
PacedQueue::PopEither()
{
    RdmaQueuePair* qp;
    if (m_head != m_tail && Later(m_heap.front(), m_ring[m_head & m_mask]))
    {
        qp = m_ring[m_head++ & m_mask].qp;
    }
    else
    {
        std::pop_heap(m_heap.begin(), m_heap.end(), Later);
        qp = m_heap.back().qp;
        m_heap.pop_back();
    }
    m_nextPs = m_heap.empty() ? NEVER : m_heap.front().timePs;
    if (m_head != m_tail)
    {
        m_nextPs = std::min(m_nextPs, m_ring[m_head & m_mask].timePs);
    }
    else
    {
        m_lastPs = INT64_MIN;
    }
    return qp;
}

} // namespace ns3
