/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/graph/ring-order.h"
#include "symbolic-graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace AstraSim
{

TEST(RingOrder, WithoutCrossingNicsRingsAreThoseNcclPrints)
{
    // NVIDIA/nccl issue 1453, three servers of eight GPUs: "Channel 05/16 : 0 7 6 13 12 11 ..." and
    // so on. NCCL begins at rank 0; a ring is the same wherever it begins.
    const std::map<uint32_t, std::vector<uint32_t>> printed = {
        {0, {0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9, 16, 23, 22, 21, 20, 19, 18, 17}},
        {1, {0, 7, 6, 5, 4, 3, 2, 9, 8, 15, 14, 13, 12, 11, 10, 17, 16, 23, 22, 21, 20, 19, 18, 1}},
        {5, {0, 7, 6, 13, 12, 11, 10, 9, 8, 15, 14, 21, 20, 19, 18, 17, 16, 23, 22, 5, 4, 3, 2, 1}},
        {6, {0, 7, 14, 13, 12, 11, 10, 9, 8, 15, 22, 21, 20, 19, 18, 17, 16, 23, 6, 5, 4, 3, 2, 1}},
        {7, {0, 15, 14, 13, 12, 11, 10, 9, 8, 23, 22, 21, 20, 19, 18, 17, 16, 7, 6, 5, 4, 3, 2, 1}},
    };
    for (const auto& [channel, ring] : printed)
    {
        auto order = RingOrder(MakeShape(24, 8), channel, false);
        std::rotate(order.begin(), std::find(order.begin(), order.end(), 0U), order.end());
        EXPECT_EQ(order, ring) << "channel " << channel;
    }
}

} // namespace AstraSim
