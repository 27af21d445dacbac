/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/fastforward/patterns/operation-shape.h"
#include "astra-frontend/model/fastforward/patterns/varying-operations.h"

#include <gtest/gtest.h>
#include <vector>

using AstraSim::OperationShape;
using AstraSim::TimePs;
using AstraSim::VaryingOperations;

TEST(VaryingOperations, GapsCountOnceTheyCameTwice)
{
    VaryingOperations varying;
    const OperationShape shape;
    EXPECT_TRUE(varying.GapsOf(&shape, {0, 0}, 5).empty()) << "nothing was before";
    varying.Ended(&shape, {1000, 1200});
    EXPECT_TRUE(varying.GapsOf(&shape, {1100, 1350}, 5).empty()) << "nothing was before these";
    varying.Ended(&shape, {2000, 2200});
    EXPECT_EQ(varying.GapsOf(&shape, {2103, 2345}, 5), (std::vector<TimePs>{103, 145}));
    varying.Ended(&shape, {3000, 3200});
    EXPECT_TRUE(varying.GapsOf(&shape, {3109, 3345}, 5).empty()) << "the first was 103";
    const OperationShape other;
    EXPECT_TRUE(varying.GapsOf(&other, {4000, 4000}, 5).empty()) << "another group";
}

TEST(VaryingOperations, TheLastGapsAreExpectedWhereTheRanksThatHaveBegunKeepThem)
{
    VaryingOperations varying;
    const OperationShape shape;
    EXPECT_TRUE(varying.ExpectGaps(&shape, {7, AstraSim::NO_TIME}, 5).empty());
    varying.Ended(&shape, {1000, 1200});
    varying.GapsOf(&shape, {1100, 1350}, 5);
    varying.Ended(&shape, {2000, 2200});
    const std::vector<TimePs> last{100, 150};
    EXPECT_EQ(varying.ExpectGaps(&shape, {2104, AstraSim::NO_TIME}, 5), last);
    EXPECT_EQ(varying.ExpectGaps(&shape, {AstraSim::NO_TIME, 2346}, 5), last);
    EXPECT_TRUE(varying.ExpectGaps(&shape, {2106, AstraSim::NO_TIME}, 5).empty()) << "100 then";
    EXPECT_TRUE(varying.ExpectGaps(&shape, {2100, 2300}, 5).empty()) << "150 then";
}

TEST(VaryingOperations, ThoseThatBeginBeforeTheLastEndsHaveNoGaps)
{
    VaryingOperations varying;
    const OperationShape shape;
    for (TimePs time = 0; time < 3; ++time)
    {
        varying.Ended(&shape, {1000 * time, 1000 * time});
        EXPECT_TRUE(varying.GapsOf(&shape, {1000 * time + 10, 1000 * time - 10}, 5).empty());
    }
}

TEST(VaryingOperations, AClassHoldsMeansWithinAFactorOfTwo)
{
    const auto classOf = VaryingOperations::ClassOf;
    constexpr TimePs US = 1'000'000;
    EXPECT_EQ(classOf({70 * US, 130 * US}), classOf({120 * US, 120 * US})) << "100 and 120 us";
    EXPECT_NE(classOf({100 * US}), classOf({200 * US}));
    EXPECT_NE(classOf({}), classOf({0}));
}
