/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/formula/dimensional-paths.h"

#include <gtest/gtest.h>

namespace AstraSim
{
namespace
{

using Shape = NetworkDimension::Shape;

/// 100 bytes/ns and 500 ns a link.
NetworkDimension
Dimension(Shape shape, uint32_t npus)
{
    return {shape, npus, 100, 500'000};
}

TimePs
Alone(DimensionalPaths& paths, uint32_t src, uint32_t dst)
{
    return paths.Find(src, dst, 0, 10'000, 0)->alone;
}

constexpr TimePs BYTES_TIME = 100'000; // 10,000 bytes at 100 bytes/ns

TEST(DimensionalPaths, ARingTakesTheShorterWay)
{
    DimensionalPaths ring({Dimension(Shape::Ring, 8)});
    EXPECT_EQ(ring.GetRankCount(), 8);
    for (uint32_t dst = 1; dst < 8; ++dst)
    {
        EXPECT_EQ(Alone(ring, 0, dst), std::min(dst, 8 - dst) * 500'000 + BYTES_TIME);
    }
    // Its two directions do not share bandwidth; two messages in one do.
    EXPECT_NE(ring.Find(0, 1, 0, 1, 0)->egress, ring.Find(0, 7, 0, 1, 0)->egress);
    EXPECT_EQ(ring.Find(0, 1, 0, 1, 0)->egress, ring.Find(0, 2, 0, 1, 0)->egress);
}

TEST(DimensionalPaths, ASwitchHasTwoLinksAndAFullMeshOne)
{
    DimensionalPaths star({Dimension(Shape::Switch, 5)});
    DimensionalPaths mesh({Dimension(Shape::FullyConnected, 5)});
    EXPECT_EQ(Alone(star, 1, 4), 2 * 500'000 + BYTES_TIME);
    EXPECT_EQ(Alone(mesh, 1, 4), 500'000 + BYTES_TIME);
}

TEST(DimensionalPaths, DimensionsMultiplyWithTheFirstInside)
{
    auto slow = Dimension(Shape::Switch, 3);
    slow.bytesPerNs = 50;
    DimensionalPaths paths({Dimension(Shape::Ring, 4), slow});
    EXPECT_EQ(paths.GetRankCount(), 12);
    EXPECT_EQ(Alone(paths, 4, 7), 500'000 + BYTES_TIME);          // once around back
    EXPECT_EQ(Alone(paths, 1, 9), 2 * 500'000 + 2 * BYTES_TIME);  // same place, other group
    EXPECT_EQ(Alone(paths, 0, 10), 4 * 500'000 + 2 * BYTES_TIME); // two around, and the switch
    EXPECT_EQ(paths.Find(4, 5, 0, 10'000, 8'000'000'000)->limited, 500'000 + 10'000'000);
}

} // namespace
} // namespace AstraSim
