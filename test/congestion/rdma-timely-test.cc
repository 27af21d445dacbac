/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"

#include "ns3/boolean.h"
#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/uinteger.h"

#include <gmock/gmock.h>

namespace ns3
{
namespace
{

constexpr double MIN_RTT_US = 10; // the fixture's base RTT
constexpr double DELTA_BPS = 10e6;

class RdmaTimelyTest : public CongestionTest
{
  protected:
    RdmaTimelyTest()
    {
        m_qp.SetRate(50000000000);
        m_timely->SetAttribute("SegmentBytes", UintegerValue(1000));
        m_timely->SetAttribute("MinRtt", TimeValue(Time(0)));
        m_timely->SetAttribute("ScaleIncrease", BooleanValue(false));
    }

    void Start()
    {
        m_timely->OnQpInit(m_qp);
    }

    /// Acknowledge a segment with a round trip time.
    void Rtt(int64_t microseconds)
    {
        QbbTelemetry telemetry;
        telemetry.sentPs = 5000000;
        Ack(*m_timely, telemetry.sentPs + microseconds * 1000000, false, &telemetry);
    }

    Ptr<RdmaCongestionOps> m_timely = Make("ns3::RdmaTimely");
};

TEST_F(RdmaTimelyTest, BelowTLowTheRateRisesByDelta)
{
    Start();
    Rtt(20);
    EXPECT_EQ(m_qp.GetRate(), 50000000000u) << "one sample gives no gradient";
    Rtt(49); // rising fast, but below TLow
    EXPECT_NEAR(m_qp.GetRate(), 50e9 + DELTA_BPS, 1);
}

TEST_F(RdmaTimelyTest, AboveTHighTheRateFallsByTheExcess)
{
    Start();
    Rtt(2000);
    Rtt(1000); // falling, but above THigh: 1 - 0.8 (1 - 500/1000)
    EXPECT_NEAR(m_qp.GetRate(), 50e9 * 0.6, 1);
}

TEST_F(RdmaTimelyTest, PositiveGradientCutsInProportion)
{
    Start();
    Rtt(100);
    Rtt(102);
    // rtt_diff = 0.875 x 2 us; gradient = 1.75 / 10.
    const double first = 50e9 * (1 - 0.8 * 1.75 / MIN_RTT_US);
    EXPECT_NEAR(m_qp.GetRate(), first, 1);
    Rtt(103);
    // rtt_diff = 0.125 x 1.75 + 0.875 x 1 us.
    EXPECT_NEAR(m_qp.GetRate(), first * (1 - 0.8 * (0.125 * 1.75 + 0.875) / MIN_RTT_US), 1);
}

TEST_F(RdmaTimelyTest, FiveSuccessiveFallsBeginHyperIncrease)
{
    Start();
    Rtt(200);
    double rate = 50e9;
    for (int fall = 1; fall <= 7; ++fall)
    {
        Rtt(200 - fall);
        rate += fall >= 5 ? 5 * DELTA_BPS : DELTA_BPS;
        ASSERT_NEAR(m_qp.GetRate(), rate, 1) << "fall " << fall;
    }
    Rtt(300); // a rise ends it
    const double cut = m_qp.GetRate();
    Rtt(100);
    EXPECT_NEAR(m_qp.GetRate(), cut + DELTA_BPS, 1);
}

TEST_F(RdmaTimelyTest, OneCutTakesAtMostMaxDecrease)
{
    Start();
    Rtt(60);
    Rtt(400); // the gradient alone would stop the flow
    EXPECT_EQ(m_qp.GetRate(), 25000000000u);
}

TEST_F(RdmaTimelyTest, UnboundedCutStopsAtTheMinimumRate)
{
    m_timely->SetAttribute("MaxDecrease", DoubleValue(1));
    Start();
    Rtt(60);
    Rtt(400);
    EXPECT_EQ(m_qp.GetRate(), 100000000u);
}

TEST_F(RdmaTimelyTest, StepsGrowWithThePort)
{
    m_timely->SetAttribute("ScaleIncrease", BooleanValue(true));
    Start();
    Rtt(20);
    Rtt(20);
    EXPECT_NEAR(m_qp.GetRate(), 50e9 + 10 * DELTA_BPS, 1) << "ten times the paper's 10 Gb/s";
}

TEST_F(RdmaTimelyTest, SegmentsAreCountedInAcknowledgedBytes)
{
    m_timely->SetAttribute("SegmentBytes", UintegerValue(3000));
    Start();
    for (int frame = 1; frame <= 9; ++frame)
    {
        Rtt(20);
    }
    EXPECT_NEAR(m_qp.GetRate(), 50e9 + 2 * DELTA_BPS, 1) << "three segments, two differences";
}

TEST_F(RdmaTimelyTest, ZeroSegmentBytesUpdatesOncePerRoundTrip)
{
    m_timely->SetAttribute("SegmentBytes", UintegerValue(0));
    Start();
    m_qp.SetSndNxt(5000);
    for (int frame = 1; frame <= 11; ++frame)
    {
        Rtt(20); // updates at bytes 1000, 6000, 7000 ... as nothing more is sent
        m_qp.SetSndNxt(m_qp.sndUna < 5000 ? 5000 : 11000);
    }
    EXPECT_NEAR(m_qp.GetRate(), 50e9 + DELTA_BPS, 1);
}

TEST_F(RdmaTimelyTest, HyperIncreaseBelowTLowOnRequest)
{
    m_timely->SetAttribute("HaiBelowTLow", BooleanValue(true));
    Start();
    for (int i = 0; i < 7; ++i)
    {
        Rtt(20);
    }
    EXPECT_NEAR(m_qp.GetRate(), 50e9 + (4 + 2 * 5) * DELTA_BPS, 1);
}

TEST_F(RdmaTimelyTest, HpccsCodeUpdatesOncePerRoundTripAndHasAStepOfItsOwnFromTheSixthRiseOn)
{
    const Ptr<RdmaCongestionOps> hpcc = Make("ns3::RdmaTimelyHpccArtifact");
    hpcc->OnQpInit(m_qp);
    QbbTelemetry telemetry;
    telemetry.sentPs = 5000000;
    const auto ackAfter = [&](int64_t microseconds) {
        Ack(*hpcc, telemetry.sentPs + microseconds * 1000000, false, &telemetry);
    };
    ackAfter(20); // the first gives no gradient; the next update is for a byte not sent yet
    double rate = 50e9;
    for (int rise = 1; rise <= 8; ++rise)
    {
        m_qp.SetSndNxt(m_qp.sndUna + 3000);
        ackAfter(20);
        rate += rise <= 5 ? 50e6 : 100e6;
        ASSERT_NEAR(m_qp.GetRate(), rate, 1) << "below TLow too, rise " << rise;
        ackAfter(20);
        ackAfter(20);
        ASSERT_NEAR(m_qp.GetRate(), rate, 1) << "in the same round trip";
    }
}

TEST_F(RdmaTimelyTest, HpccsCodeCutsWithoutABound)
{
    const Ptr<RdmaCongestionOps> hpcc = Make("ns3::RdmaTimelyHpccArtifact");
    hpcc->OnQpInit(m_qp);
    QbbTelemetry telemetry;
    telemetry.sentPs = 5000000;
    Ack(*hpcc, telemetry.sentPs + 60 * 1000000, false, &telemetry);
    Ack(*hpcc, telemetry.sentPs + 80 * 1000000, false, &telemetry);
    // rtt_diff = 0.875 x 20 us; gradient = 17.5 / 20; 1 - 0.8 x 0.875 = 0.3.
    EXPECT_NEAR(m_qp.GetRate(), 50e9 * 0.3, 1);
}

TEST_F(RdmaTimelyTest, NamesConstantsThatTakeLongToRaiseARateFromTheLeast)
{
    m_timely->SetAttribute("SegmentBytes", UintegerValue(64000));
    m_timely->SetAttribute("RateAi", DataRateValue(DataRate("100Mbps")));
    // A segment takes 5.12 ms at 100 Mb/s, and ln(500) 512,000 bits / 500 Mb/s = 6.36 ms more to 50
    // Gb/s.
    const std::string misfit = m_timely->DescribeMisfit(m_qp, 0);
    EXPECT_THAT(misfit, testing::StartsWith("ns3::RdmaTimely takes about 11.5 ms")) << misfit;
    EXPECT_THAT(misfit, testing::HasSubstr("MIN_RATE (100 Mb/s)"));

    m_timely->SetAttribute("SegmentBytes", UintegerValue(9000));
    EXPECT_EQ(m_timely->DescribeMisfit(m_qp, 0), "");
    EXPECT_EQ(Make("ns3::RdmaTimelyHpccArtifact")->DescribeMisfit(m_qp, 0), "");
}

TEST_F(RdmaTimelyTest, RefusesThresholdsInTheWrongOrder)
{
    m_timely->SetAttribute("TLow", TimeValue(MicroSeconds(500)));
    EXPECT_THROW(Start(), InputError);
}

} // namespace
} // namespace ns3
