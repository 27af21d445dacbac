/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/path-timing.h"
#include "ns3/serialization-delay.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <random>

namespace ns3
{

TEST(SerializationDelay, WholePicosecondsPerByte)
{
    EXPECT_EQ(SerializationDelay(400'000'000'000)(9000), 180'000);
    EXPECT_EQ(SerializationDelay(100'000'000'000)(84), 6'720);
    EXPECT_EQ(SerializationDelay(1'000'000'000)(1), 8'000);
    EXPECT_EQ(SerializationDelay(8'000'000'000'000)(1500), 1500);
}

TEST(SerializationDelay, RoundsUp)
{
    const SerializationDelay nvlink(2'880'000'000'000); // 25/9 ps per byte
    EXPECT_EQ(nvlink(0), 0);
    EXPECT_EQ(nvlink(1), 3);
    EXPECT_EQ(nvlink(9), 25);
    EXPECT_EQ(nvlink(10), 28);
    EXPECT_EQ(nvlink(18), 50);
}

TEST(SerializationDelay, IsWhatADivisionGives)
{
    std::mt19937_64 random(1);
    for (int i = 0; i < 2'000'000; ++i)
    {
        // From 1 kb/s to 4.4 Tb/s, round rates and any.
        const uint64_t rate = (random() >> (22 + random() % 32)) / 1000 * (i % 2 ? 1000 : 1) + 1000;
        const auto bytes = static_cast<uint32_t>(random() >> (44 + random() % 12));
        ASSERT_EQ(SerializationDelay(rate)(bytes), SerializationPs(bytes, rate))
            << bytes << " bytes at " << rate << " bit/s";
    }
}

TEST(SerializationDelay, QueuesOfManyMegabytes)
{
    // 8e12 times so many bytes does not fit into 64 bits.
    for (const uint64_t rate : {2'880'000'000'000, 3'200'000'000'000, 3'000'000'000})
    {
        const uint32_t bytes = 900'000'000;
        EXPECT_EQ(SerializationDelay(rate)(bytes), SerializationPs(bytes, rate)) << rate;
    }
}

} // namespace ns3
