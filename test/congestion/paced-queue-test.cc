/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/paced-queue.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <utility>

namespace ns3
{

namespace
{

/// An entry that tells when it came; the queue never looks at what it points to.
RdmaQueuePair*
Nth(uintptr_t number)
{
    return reinterpret_cast<RdmaQueuePair*>(number);
}

} // namespace

TEST(PacedQueue, OrdersByTimeAndEqualTimesAsTheyCame)
{
    std::mt19937 random(3);
    // Gaps of one rate, of several rates, and times in no order.
    for (const int64_t spread : {0, 5, 1000})
    {
        PacedQueue queue;
        std::set<std::pair<int64_t, uintptr_t>> plain; // what the queue is to hold
        int64_t nowPs = 0;
        for (uintptr_t step = 0; step < 5000; ++step)
        {
            // Grows to a few hundred entries, shrinks to none, and so on.
            const bool growing = step / 500 % 2 == 0;
            if (random() % 10 < (growing ? 7U : 3U))
            {
                const int64_t timePs = nowPs + 20 + static_cast<int64_t>(random() % (spread + 1));
                queue.Push(timePs, Nth(step));
                plain.emplace(timePs, step);
            }
            else if (!plain.empty())
            {
                nowPs = std::max(nowPs, plain.begin()->first);
                EXPECT_EQ(queue.Pop(), Nth(plain.begin()->second));
                plain.erase(plain.begin());
            }
            ASSERT_EQ(queue.NextPs(), plain.empty() ? PacedQueue::NEVER : plain.begin()->first);
        }
    }
}

} // namespace ns3
