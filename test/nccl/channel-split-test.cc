/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/graph/channel-split.h"

#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{

namespace
{

std::vector<uint64_t>
PartsOf(const ChannelSplit& split)
{
    std::vector<uint64_t> parts;
    for (uint32_t channel = 0; channel < split.GetChannels(); ++channel)
    {
        parts.push_back(split.GetBytes(channel));
    }
    return parts;
}

} // namespace

TEST(ChannelSplit, TheLastChannelTakesWhatEqualPartsOfWholeCellsLeave)
{
    // AllReduce: every byte is two bytes of traffic, a cell of 32 KiB traffic is 16 KiB, so 4 MiB
    // are 256 cells. 8 MiB / 24 channels is 10.67 cells, rounded up 11: 23 x 11 = 253, 3 are left.
    const ChannelSplit split(CollectiveOp::AllReduce, NcclProtocol::Simple, 8, 4 << 20, 24);
    const auto parts = PartsOf(split);
    ASSERT_EQ(parts.size(), 24U);
    for (uint32_t channel = 0; channel < 23; ++channel)
    {
        EXPECT_EQ(parts[channel], 11 * 16384U);
        EXPECT_EQ(split.GetBegin(channel), channel * 11 * 16384U);
    }
    EXPECT_EQ(parts[23], 3 * 16384U);
}

TEST(ChannelSplit, TheLastChannelTakesACellMoreThanAllPartsHold)
{
    // Six cells of 16 KiB and a byte of a seventh: two cells for each of three channels.
    const ChannelSplit split(CollectiveOp::AllReduce, NcclProtocol::Simple, 8, 6 * 16384 + 1, 3);
    EXPECT_EQ(PartsOf(split), (std::vector<uint64_t>{32768, 32768, 32769}));
}

TEST(ChannelSplit, SmallCollectivesLeaveChannelsEmpty)
{
    // 40000 bytes are 3 cells of 16 KiB; a channel gets one at least.
    const ChannelSplit split(CollectiveOp::AllReduce, NcclProtocol::Simple, 8, 40000, 24);
    EXPECT_EQ(PartsOf(split), (std::vector<uint64_t>{16384, 16384, 40000 - 2 * 16384}));
}

TEST(ChannelSplit, LowLatencyProtocolsTrafficCountsFourTimes)
{
    // 8 bytes of traffic per byte: cells of 4 KiB.
    const ChannelSplit split(CollectiveOp::AllReduce, NcclProtocol::Ll, 8, 8192, 24);
    EXPECT_EQ(PartsOf(split), (std::vector<uint64_t>{4096, 4096}));
}

TEST(ChannelSplit, AllGatherDividesEveryRanksBlock)
{
    // 4 ranks: a cell is 8 KiB of each block. 1 MiB / 3 channels is 10.67 cells of 32 KiB: 11,
    // 11, 10.
    const ChannelSplit split(CollectiveOp::AllGather, NcclProtocol::Simple, 4, 1 << 20, 3);
    EXPECT_EQ(PartsOf(split), (std::vector<uint64_t>{11 * 32768, 11 * 32768, 10 * 32768}));
}

TEST(ChannelSplit, PartsFollowEachOtherAndCoverEverything)
{
    for (const CollectiveOp op : {CollectiveOp::AllReduce,
                                  CollectiveOp::AllGather,
                                  CollectiveOp::ReduceScatter,
                                  CollectiveOp::Broadcast})
    {
        for (uint64_t bytes = 0; bytes < 3000000; bytes = bytes * 3 / 2 + 17)
        {
            for (uint32_t channels = 1; channels <= 32; ++channels)
            {
                const ChannelSplit split(op, NcclProtocol::Simple, 5, bytes, channels);
                ASSERT_GE(split.GetChannels(), 1U);
                ASSERT_LE(split.GetChannels(), channels);
                uint64_t next = 0;
                for (uint32_t channel = 0; channel < split.GetChannels(); ++channel)
                {
                    ASSERT_EQ(split.GetBegin(channel), next);
                    ASSERT_TRUE(split.GetBytes(channel) > 0 || bytes == 0);
                    next += split.GetBytes(channel);
                }
                ASSERT_EQ(next, bytes);
            }
        }
    }
}

} // namespace AstraSim
