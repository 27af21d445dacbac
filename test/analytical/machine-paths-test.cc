/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/formula/machine-paths.h"

#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{
namespace
{

MachinePaths::Machine
TwoServers()
{
    MachinePaths::Machine machine;
    machine.ranks = 16;
    machine.gpusPerServer = 8;
    machine.nvlinkGBps = 400;
    machine.nicGBps = 50;
    return machine;
}

TEST(MachinePaths, NvlinksCarryMessagesWithinAServerAndNicsThoseBetween)
{
    MachinePaths paths(TwoServers());
    const auto near = paths.Find(0, 7, 0, 1'000'000, 0);
    const auto far = paths.Find(0, 8, 0, 1'000'000, 0);
    EXPECT_EQ(near->alone, 2'500'000); // 1 MB at 400 GB/s
    EXPECT_EQ(far->alone, 20'000'000); // and at 50 GB/s
    EXPECT_NE(near->egress, far->egress);
    EXPECT_EQ(near->egressTime, near->alone);
    EXPECT_EQ(paths.Find(8, 9, 0, 1'000'000, 0)->alone, near->alone);
}

TEST(MachinePaths, EveryPortHasItsNumber)
{
    MachinePaths paths(TwoServers());
    std::vector<int> uses(paths.GetPortCount(), 0);
    for (uint32_t rank = 0; rank < 16; ++rank)
    {
        const uint32_t near = rank ^ 1;
        const uint32_t far = (rank + 8) % 16;
        ++uses.at(paths.Find(rank, near, 0, 1, 0)->egress);
        ++uses.at(paths.Find(near, rank, 0, 1, 0)->ingress);
        ++uses.at(paths.Find(rank, far, 0, 1, 0)->egress);
        ++uses.at(paths.Find(far, rank, 0, 1, 0)->ingress);
    }
    EXPECT_EQ(uses, std::vector<int>(64, 1));
}

TEST(MachinePaths, ASpeedLimitAndAnOverlapChangeTheTime)
{
    MachinePaths::Machine machine = TwoServers();
    EXPECT_EQ(MachinePaths(machine).Find(0, 8, 0, 1'000'000, 80'000'000'000)->limited, 100'000'000);
    EXPECT_EQ(MachinePaths(machine).Find(0, 8, 0, 1'000'000, 800'000'000'000)->limited, 20'000'000);
    machine.exposed = 0.25;
    EXPECT_EQ(MachinePaths(machine).Find(0, 8, 0, 1'000'000, 0)->alone, 5'000'000);
}

} // namespace
} // namespace AstraSim
