/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"

#include "ns3/double.h"
#include "ns3/pint-encoder.h"
#include "ns3/uinteger.h"

#include <cmath>

namespace ns3
{
namespace
{

using RdmaHpccPintTest = CongestionTest;

TEST(PintCode, DecodesToWithinOneBaseOfWhatWasEncoded)
{
    const PintCode code(1.05);
    for (const double u : {0.01, 0.3, 0.95, 1.0, 4.7})
    {
        EXPECT_LE(code.Decode(code.Encode(u, 0.999999)), u * (1 + 1e-9));
        EXPECT_GE(code.Decode(code.Encode(u, 0.0)), u / 1.05);
        EXPECT_LE(code.Decode(code.Encode(u, 0.0)), u * 1.05 * (1 + 1e-9));
    }
}

TEST(PintCode, RandomRoundingIsRightOnAverage)
{
    const PintCode code(1.1);
    const double u = 0.87;
    double sum = 0;
    const int n = 10000;
    for (int i = 0; i < n; ++i)
    {
        sum += code.Decode(code.Encode(u, (i + 0.5) / n));
    }
    EXPECT_NEAR(sum / n, u, 1e-4);
}

TEST(PintCode, UtilisationsBelowTheScaleReadAsOneUnit)
{
    const PintCode code(1.05);
    EXPECT_EQ(code.Encode(0, 0.5), 0);
    EXPECT_DOUBLE_EQ(code.Decode(0), 1.0 / 512);
}

TEST(PintCode, ReachesTheGreatestUtilisationWithTheLeastBase)
{
    for (const double base : {PintCode::LEAST_BASE, 1.05, 2.0})
    {
        const PintCode code(base);
        const double decoded = code.Decode(code.Encode(PintCode::MOST_UTILIZATION, 0));
        EXPECT_NEAR(decoded / PintCode::MOST_UTILIZATION, 1, base - 1) << base;
    }
    auto encoder = CreateObject<PintEncoder>();
    // ln(2048 x 512) / ln(1.0002) = 69,322 powers, more than 16 bits hold.
    EXPECT_FALSE(encoder->SetAttributeFailSafe("LogBase", DoubleValue(1.0002)));
    EXPECT_TRUE(encoder->SetAttributeFailSafe("LogBase", DoubleValue(PintCode::LEAST_BASE)));
}

TEST(PintEncoder, SmoothsThePortOverOneBaseRtt)
{
    auto encoder = CreateObject<PintEncoder>();
    encoder->SetAttribute("BaseRtt", TimeValue(MicroSeconds(10)));
    PintPortState port;
    // 1000 bytes at 1 us at 100 Gb/s: 8000 bits of a BDP of 1e6.
    encoder->OnDequeue(port, nullptr, 1000, 0, 100000000000, 1000000);
    EXPECT_NEAR(port.utilization, 0.008, 1e-12);
    // 1 us later with 12,500 bytes queued: 0.9 x old + 0.1 BDP x 1/10 + 0.008.
    encoder->OnDequeue(port, nullptr, 1000, 12500, 100000000000, 2000000);
    EXPECT_NEAR(port.utilization, 0.9 * 0.008 + 0.01 + 0.008, 1e-12);
    // After an idle time longer than the base RTT nothing is remembered.
    encoder->OnDequeue(port, nullptr, 1000, 0, 100000000000, 90000000);
    EXPECT_NEAR(port.utilization, 0.008, 1e-12);
}

TEST(PintEncoder, FullLinkWithoutQueueReadsAsUtilisationOne)
{
    auto encoder = CreateObject<PintEncoder>();
    encoder->SetAttribute("BaseRtt", TimeValue(MicroSeconds(10)));
    PintPortState port;
    int64_t nowPs = 0;
    for (int i = 0; i < 5000; ++i)
    {
        nowPs += 80000; // 1000 bytes at 100 Gb/s
        encoder->OnDequeue(port, nullptr, 1000, 0, 100000000000, nowPs);
    }
    EXPECT_NEAR(port.utilization, 1.0, 1e-9);
}

TEST(PintEncoder, FrameKeepsTheGreatestDigestOfItsPath)
{
    auto encoder = CreateObject<PintEncoder>();
    PintPortState busy{.utilization = 2, .lastPs = 0};
    PintPortState idle;
    QbbTelemetry telemetry;
    encoder->OnDequeue(busy, &telemetry, 1000, 0, 100000000000, 1);
    const uint16_t power = telemetry.pintPower;
    encoder->OnDequeue(idle, &telemetry, 1000, 0, 100000000000, 1);
    EXPECT_EQ(telemetry.pintPower, power);
    EXPECT_NEAR(PintCode(1.05).Decode(power), 2, 0.1);
}

TEST_F(RdmaHpccPintTest, AppliesHpccsLawToTheDigest)
{
    auto pint = Make("ns3::RdmaHpccPint");
    pint->SetAttribute("MaxStage", UintegerValue(0));
    pint->OnQpInit(m_qp);
    QbbTelemetry telemetry;
    telemetry.pintPower = 140; // 1.05^140 / 512 = 1.8076...
    Ack(*pint, 0, false, &telemetry);
    const double u = std::pow(1.05, 140) / 512;
    EXPECT_NEAR(m_qp.GetRate(), LINE_BPS / (u / 0.95) + 80 * 8 / 10e-6, 2);
}

TEST_F(RdmaHpccPintTest, FeedbackProbabilityIsThePartOfDigestsUsed)
{
    auto pint = Make("ns3::RdmaHpccPint");
    pint->SetAttribute("FeedbackProbability", DoubleValue(0.25));
    pint->SetAttribute("MaxStage", UintegerValue(0));
    pint->AssignStreams(1);
    pint->OnQpInit(m_qp);
    QbbTelemetry telemetry;
    int used = 0;
    const int n = 4000;
    for (int i = 0; i < n; ++i)
    {
        // Alternate two digests: each one that is used changes the rate's direction of travel.
        const uint64_t before = m_qp.GetRate();
        telemetry.pintPower = before > 50000000000 ? 145 : 100;
        Ack(*pint, 0, false, &telemetry);
        used += m_qp.GetRate() != before;
    }
    EXPECT_NEAR(used, n / 4, 4 * std::sqrt(n * 0.25 * 0.75));
}

} // namespace
} // namespace ns3
