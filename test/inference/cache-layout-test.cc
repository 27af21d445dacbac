/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/inference/cache/cache-layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace AstraSim;

namespace
{

bool
operator==(const CacheShare& a, const CacheShare& b)
{
    return a.from == b.from && a.to == b.to && a.heads == b.heads;
}

} // namespace

TEST(CacheLayout, EveryReceiverGetsItsHeadsOnceFromARankThatHasThem)
{
    // Head h of H is on ranks h T/H to (h+1) T/H of T.
    const auto keeps = [](uint32_t rank, uint32_t tp, uint32_t heads, uint32_t head) {
        return rank * heads < (head + 1) * tp && head * tp < (rank + 1) * heads;
    };
    for (const uint32_t heads : {1U, 2U, 4U, 8U})
    {
        for (const uint32_t from : {1U, 2U, 4U, 8U, 16U})
        {
            for (const uint32_t to : {1U, 2U, 4U, 8U, 16U})
            {
                std::map<uint32_t, uint32_t> received;
                for (const auto& share : ShareHeads(heads, from, to))
                {
                    ASSERT_LT(share.from, from);
                    received[share.to] += share.heads;
                    uint32_t common = 0;
                    for (uint32_t head = 0; head < heads; ++head)
                    {
                        common += keeps(share.from, from, heads, head) &&
                                  keeps(share.to, to, heads, head);
                    }
                    EXPECT_LE(share.heads, common) << heads << " " << from << " " << to;
                }
                EXPECT_EQ(received.size(), to);
                for (const auto& [rank, count] : received)
                {
                    EXPECT_EQ(count, HeadsPerRank(heads, to)) << rank;
                }
            }
        }
    }
}

TEST(CacheLayout, CopiesAreTakenFromDifferentRanks)
{
    // One latent of all heads: both sides keep it on every rank.
    const auto shares = ShareHeads(1, 4, 4);
    ASSERT_EQ(shares.size(), 4);
    for (uint32_t rank = 0; rank < 4; ++rank)
    {
        EXPECT_TRUE((shares[rank] == CacheShare{rank, rank, 1}));
    }
}
