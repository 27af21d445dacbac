/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"
#include "rdma-qbb/model/uec/uec-nscc.h"

#include "ns3/nstime.h"

#include <cmath>

namespace ns3
{
namespace
{

// 100 Gb/s and 10 us: a product of 125 KB, 5/6 of the specification's reference network. The target
// is 7.5 us.
constexpr double BDP = 125'000;
constexpr double SCALE = 125.0 / 150.0;
constexpr double MTU = 1000;

class UecNsccTest : public CongestionTest
{
  protected:
    UecNsccTest()
    {
        m_nscc->OnQpInit(m_qp);
        m_qp.SetSndNxt(100'000'000); // always something in flight
    }

    double Window() const
    {
        return m_nscc->GetCongestionWindow(m_qp);
    }

    /// Acknowledge bytes after a queueing delay.
    void Answer(int64_t nowUs, int64_t delayUs, bool marked = false, uint64_t bytes = 1000)
    {
        QbbTelemetry telemetry;
        telemetry.sentPs = (nowUs - 10 - delayUs) * 1'000'000;
        Ack(*m_nscc, nowUs * 1'000'000, marked, &telemetry, bytes);
    }

    /// Bring the window down to half of the largest: trimmed packets, one MTU each.
    void Halve()
    {
        while (Window() > 0.75 * BDP)
        {
            m_nscc->OnNack(m_qp, 1);
        }
    }

    Ptr<UecNscc> m_nscc = CreateObject<UecNscc>();
};

TEST_F(UecNsccTest, StartsWithTheLargestWindowAndAimsAtThreeQuartersOfTheRoundTrip)
{
    EXPECT_DOUBLE_EQ(Window(), 1.5 * BDP);
    EXPECT_DOUBLE_EQ(m_nscc->GetTargetPs(m_qp), 7.5e6);
    // A frame is sent while less than the window is in flight, so the last one fits wholly.
    EXPECT_EQ(m_qp.GetWindow(), static_cast<uint64_t>(1.5 * BDP - MTU) + 1);
}

TEST_F(UecNsccTest, ATrimmedPacketTakesItsSizeFromTheWindow)
{
    m_nscc->OnNack(m_qp, 1);
    EXPECT_DOUBLE_EQ(Window(), 1.5 * BDP - MTU);
}

TEST_F(UecNsccTest, GrowsInProportionToHowFarTheDelayIsBelowItsTarget)
{
    Halve();
    const double before = Window();
    // A window's worth of answers at a delay of 5 us, 2.5 us below the target, and the steady part
    // of one period of a round trip.
    Answer(100, 5, false, static_cast<uint64_t>(before));
    const double proportional = 4 * MTU * SCALE * 2.5 / 12;
    EXPECT_NEAR(Window() - before, proportional + 0.15 * MTU * SCALE, 0.01 * MTU);
}

TEST_F(UecNsccTest, GrowsByTheSameForAllWhenALongQueueIsNoLongerMarked)
{
    Halve();
    const double before = Window();
    Answer(100, 9, false, static_cast<uint64_t>(before));
    EXPECT_NEAR(Window() - before, 5 * MTU * SCALE + 0.15 * MTU * SCALE, 0.01 * MTU);
}

TEST_F(UecNsccTest, AMarkAtAShortDelayChangesNothing)
{
    Halve();
    Answer(100, 2, false, 100); // ends the period
    const double before = Window();
    Answer(101, 2, true, 100);
    EXPECT_DOUBLE_EQ(Window(), before);
}

TEST_F(UecNsccTest, ShrinksByTheExcessOfTheAverageDelayAtMostOncePerRoundTrip)
{
    // A delay of 15 us, marked, until the average exceeds 7.5 us: 1 - 0.9875^n > 1/2 from n = 56
    // on.
    for (int i = 0; i < 55; ++i)
    {
        Answer(100, 15, true, 1);
    }
    const double before = Window();
    Answer(100, 15, true, 1);
    const double average = 15 * (1 - std::pow(1 - 0.0125, 56));
    EXPECT_NEAR(Window(), before * (1 - 0.8 * (average - 7.5) / average), 1);
    const double after = Window();
    Answer(109, 15, true, 1); // within the round trip
    EXPECT_NEAR(Window(), after, 0.2 * MTU);
    Answer(111, 15, true, 1);
    EXPECT_LT(Window(), after - MTU);
}

TEST_F(UecNsccTest, AfterTrimmingInALongIncastItSendsAsMuchAsArrives)
{
    Answer(100, 15, true, 1000); // quick adapt begins to count
    for (int packet = 0; packet < 5; ++packet)
    {
        Answer(105, 15, true, 1000);
    }
    m_nscc->OnNack(m_qp, 118'000'000); // a round trip and a target later
    EXPECT_DOUBLE_EQ(Window(), 5 * MTU);
}

TEST_F(UecNsccTest, NeverFallsBelowAPacketNorExceedsTheLargestWindow)
{
    for (int packet = 0; packet < 1000; ++packet)
    {
        m_nscc->OnTimeout(m_qp, 1);
    }
    EXPECT_DOUBLE_EQ(Window(), MTU);
    EXPECT_EQ(m_qp.GetWindow(), 1u);
    for (int us = 100; us < 100'000; us += 10)
    {
        Answer(us, 0, false, 50'000);
    }
    EXPECT_DOUBLE_EQ(Window(), 1.5 * BDP);
}

} // namespace
} // namespace ns3
