/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3/units.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

using namespace ns3;

TEST(Units, WholeNumbersMayHaveZerosAfterThePoint)
{
    EXPECT_EQ(ParseWhole("8388608.0"), 8'388'608u);
    EXPECT_EQ(ParseWhole("7"), 7u);
    for (const char* text : {"", ".0", "8.5", "8.0.0", "-8.0", "8.0x"})
    {
        EXPECT_EQ(ParseWhole(text), std::nullopt) << text;
    }
}

TEST(Units, RatesOfEverySpellingBecomeBitsPerSecond)
{
    EXPECT_EQ(ParseDataRateBps("400Gbps"), 400'000'000'000u);
    EXPECT_EQ(ParseDataRateBps("2880Gbps"), 2'880'000'000'000u);
    EXPECT_EQ(ParseDataRateBps("50Mb/s"), 50'000'000u);
    EXPECT_EQ(ParseDataRateBps("12.5GB/s"), 100'000'000'000u);
    EXPECT_EQ(ParseDataRateBps("1MBps"), 8'000'000u);
    EXPECT_EQ(ParseDataRateBps("3Kibps"), 3072u);
    EXPECT_EQ(ParseDataRateBps("50"), 50u);
    EXPECT_EQ(ParseRateWithUnit("50bps"), 50u);
    EXPECT_EQ(ParseRateWithUnit("1.5e2MB/s"), 1'200'000'000u);
    EXPECT_EQ(ParseRateWithUnit("0"), 0u);
    for (const char* bare : {"50", "50.", "1e9", "0.5"})
    {
        EXPECT_EQ(ParseRateWithUnit(bare), std::nullopt) << bare;
    }
    EXPECT_EQ(ParseDataRateBps("1.6Tbps"), 1'600'000'000'000u);
    EXPECT_EQ(ParseDataRateBps("25000000000"), 25'000'000'000u);
    EXPECT_EQ(ParseDataRateBps("1e9bps"), 1'000'000'000u);
}

TEST(Units, TextThatIsNoRateIsRefused)
{
    for (const char* text : {"",
                             "Gbps",
                             "400 Gbps",
                             "400Gb",
                             "-1Gbps",
                             "400Xbps",
                             "4.0.0Gbps",
                             "400Gbpss",
                             "99999999999Gbps",
                             "nan",
                             "400Gibit"})
    {
        EXPECT_EQ(ParseDataRateBps(text), std::nullopt) << text;
    }
}

TEST(Units, TimesAreExactWhereDoublesAreNot)
{
    EXPECT_EQ(ParseTimePs("0.000025ms"), 25'000);
    EXPECT_EQ(ParseTimePs("0.0005ms"), 500'000);
    EXPECT_EQ(ParseTimePs("1000ns"), 1'000'000);
    EXPECT_EQ(ParseTimePs("0.001ms"), 1'000'000);
    EXPECT_EQ(ParseTimePs("2"), 2'000'000'000'000);
    EXPECT_EQ(ParseTimePs("2.000000000001s"), 2'000'000'000'001);
    EXPECT_EQ(ParseTimePs("1500fs"), 2) << "half a picosecond rounds up";
    EXPECT_EQ(ParseTimePs("1499fs"), 1);
    EXPECT_EQ(ParseTimePs("5e-7s"), 500'000);
    EXPECT_EQ(ParseTimePs("106d"), 106LL * 86'400 * 1'000'000'000'000);
}

TEST(Units, TimesThatAreNoTimesOrDoNotFitAreRefused)
{
    for (const char* text : {"", "ms", "soon", "-1ns", "1 ns", "107d", "1e30s", "1nss", "."})
    {
        EXPECT_EQ(ParseTimePs(text), std::nullopt) << text;
    }
}

TEST(Units, ANumberThatIsTooLargeIsToldFromNoNumber)
{
    bool tooLarge = false;
    EXPECT_EQ(ParseScaled("40000000000000.00", 1'000'000'000'000, &tooLarge), std::nullopt);
    EXPECT_TRUE(tooLarge);
    tooLarge = false;
    EXPECT_EQ(ParseScaled("forever", 1, &tooLarge), std::nullopt);
    EXPECT_FALSE(tooLarge);
    EXPECT_EQ(ParseScaled("4.00", 1'000'000'000'000), 4'000'000'000'000);
}

TEST(Units, ANumberIsTheWholeText)
{
    for (const char* text : {"", "5x", "x5", "5 ", "1.2.3", "5e", "0x5"})
    {
        EXPECT_EQ(ParseScaled(text, 1), std::nullopt) << text;
        EXPECT_EQ(ParseReal(text), std::nullopt) << text;
        EXPECT_EQ(ParseUnsigned(text), std::nullopt) << text;
    }
}

TEST(Units, ANumberEndsWhereItsTextEnds)
{
    const std::string_view longer = "12345ns";
    EXPECT_EQ(ParseScaled(longer.substr(0, 2), 1), 12);
    EXPECT_EQ(ParseReal(longer.substr(0, 2)), 12.0);
    EXPECT_EQ(ParseUnsigned(longer.substr(0, 2)), 12u);
    EXPECT_EQ(ParseTimePs(longer.substr(0, 6)), std::nullopt) << "12345n";
}

TEST(Units, SharesArePercentOrParts)
{
    EXPECT_EQ(ParseShare("1%"), 0.01);
    EXPECT_EQ(ParseShare("0.25"), 0.25);
    EXPECT_EQ(ParseShare("0"), 0.0);
    EXPECT_EQ(ParseShare("100%"), 1.0);
    for (const char* text : {"", "%", "1.5", "101%", "-1%", "1 %", "1%%", "nan", "one"})
    {
        EXPECT_EQ(ParseShare(text), std::nullopt) << text;
    }
}

TEST(Units, DigitsBeyondThoseThatFitCountByTheirPlace)
{
    const std::string zeros(35, '0');
    EXPECT_EQ(ParseTimePs("1" + zeros + "e-30s"), 100'000'000'000'000'000) << "100,000 s";
    EXPECT_EQ(ParseTimePs("1." + zeros + "s"), 1'000'000'000'000);
    EXPECT_EQ(ParseTimePs("0." + zeros + "1e36s"), 1'000'000'000'000);
    EXPECT_EQ(ParseScaled("9223372036854775807", 1), INT64_MAX);
    EXPECT_EQ(ParseScaled("9223372036854775808", 1), std::nullopt);
    EXPECT_EQ(ParseScaled("0.4", 1), 0);
    EXPECT_EQ(ParseScaled("0.5", 1), 1);
    EXPECT_EQ(ParseScaled("0.04", 1), 0);
    EXPECT_EQ(ParseScaled("1e1", 1), 10);
    EXPECT_EQ(ParseScaled("1E+1", 1), 10);
    EXPECT_EQ(ParseScaled("100e-1", 1), 10);
}

TEST(Units, FormattedRatesReadBack)
{
    for (const uint64_t rate :
         std::vector<uint64_t>{400'000'000'000, 1'600'000'000'000, 50'000'000, 1'500, 7})
    {
        EXPECT_EQ(ParseDataRateBps(FormatDataRate(rate)), rate) << FormatDataRate(rate);
    }
    EXPECT_EQ(FormatDataRate(400'000'000'000), "400Gbps");
}
