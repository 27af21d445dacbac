/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/paced-queue.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace ns3
{

namespace
{

/// What the queue is to do, by a search through everything.
class PlainQueue
{
  public:
    void Push(int64_t timePs)
    {
        m_entries.push_back({timePs, m_order++, nullptr});
    }

    PacedQueue::Entry Pop()
    {
        const auto first =
            std::min_element(m_entries.begin(), m_entries.end(), [](const auto& a, const auto& b) {
                return std::pair(a.timePs, a.order) < std::pair(b.timePs, b.order);
            });
        const PacedQueue::Entry entry = *first;
        m_entries.erase(first);
        return entry;
    }

    bool IsEmpty() const
    {
        return m_entries.empty();
    }

  private:
    std::vector<PacedQueue::Entry> m_entries;
    uint64_t m_order{0};
};

} // namespace

TEST(PacedQueue, OrdersByTimeAndEqualTimesAsTheyCame)
{
    std::mt19937 random(3);
    // Gaps of one rate, of several rates, and times in no order.
    for (const int64_t spread : {0, 5, 1000})
    {
        PacedQueue queue;
        PlainQueue plain;
        int64_t nowPs = 0;
        for (int step = 0; step < 5000; ++step)
        {
            // Grows to a few hundred entries, shrinks to none, and so on.
            const bool growing = step / 500 % 2 == 0;
            if (random() % 10 < (growing ? 7U : 3U))
            {
                const int64_t timePs = nowPs + 20 + static_cast<int64_t>(random() % (spread + 1));
                queue.Push(timePs, nullptr);
                plain.Push(timePs);
            }
            else if (!plain.IsEmpty())
            {
                const PacedQueue::Entry front = queue.Front();
                const PacedQueue::Entry entry = queue.Pop();
                const PacedQueue::Entry expected = plain.Pop();
                EXPECT_EQ(front.order, entry.order);
                EXPECT_EQ(entry.order, expected.order);
                EXPECT_EQ(entry.timePs, expected.timePs);
                nowPs = std::max(nowPs, entry.timePs);
            }
            ASSERT_EQ(queue.IsEmpty(), plain.IsEmpty());
        }
    }
}

} // namespace ns3
