/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"
#include "rdma-qbb/model/congestion/rdma-swift.h"

#include "ns3/double.h"
#include "ns3/input-error.h"
#include "ns3/nstime.h"

#include <cmath>

namespace ns3
{
namespace
{

class RdmaSwiftTest : public CongestionTest
{
  protected:
    RdmaSwiftTest()
    {
        // Target: 10 us idle round trip + 3 us + 2 us for one switch, no flow scaling unless a test
        // asks for it.
        m_swift->SetAttribute("ScalingRange", TimeValue(Time(0)));
    }

    void Start()
    {
        m_swift->OnQpInit(m_qp);
    }

    double Frames() const
    {
        return m_swift->GetCongestionWindow(m_qp);
    }

    /// Acknowledge a frame after a fabric delay and a delay in the remote host, the window being
    /// full.
    void Delay(int64_t nowUs, int64_t fabricUs, int64_t endpointUs = 0)
    {
        QbbTelemetry telemetry;
        telemetry.sentPs = (nowUs - fabricUs - endpointUs) * 1000000;
        telemetry.receivedPs = telemetry.sentPs + fabricUs * 500000;
        telemetry.switchCount = m_switches;
        telemetry.acknowledgedPs = telemetry.receivedPs + endpointUs * 1000000;
        m_qp.NoteSent(1082, 0);
        m_qp.SetSndNxt(m_qp.sndUna + m_qp.GetWindow());
        Ack(*m_swift, nowUs * 1000000, false, &telemetry);
    }

    Ptr<RdmaSwift> m_swift = CreateObject<RdmaSwift>();
    uint32_t m_switches{1};
};

TEST_F(RdmaSwiftTest, StartsWithOneBandwidthDelayProductOfFrames)
{
    Start();
    EXPECT_DOUBLE_EQ(Frames(), 125);
    EXPECT_EQ(m_qp.GetWindow(), 125000u);
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
}

TEST_F(RdmaSwiftTest, EachSwitchOfALongPathAddsToTheTarget)
{
    Start();
    const double oneSwitchPs = m_swift->GetFabricTargetPs(m_qp);
    for (const uint32_t switches : {255U, 256U, 257U, 1000U})
    {
        m_switches = switches;
        Delay(100, 14);
        EXPECT_DOUBLE_EQ(m_swift->GetFabricTargetPs(m_qp), oneSwitchPs + (switches - 1) * 2e6);
    }
}

TEST_F(RdmaSwiftTest, BelowTheTargetARoundTripAddsOneFrame)
{
    Start();
    double frames = 125;
    for (int i = 0; i < 125; ++i)
    {
        Delay(100, 14);
        frames += 1 / frames;
    }
    EXPECT_NEAR(Frames(), frames, 1e-9);
    EXPECT_NEAR(Frames(), 126, 0.01);
}

TEST_F(RdmaSwiftTest, AboveTheTargetCutsByTheExcessOncePerRoundTrip)
{
    Start();
    Delay(100, 20); // 1 - 0.8 (20 - 15) / 20
    EXPECT_NEAR(Frames(), 125 * 0.8, 1e-9);
    Delay(110, 20);
    EXPECT_NEAR(Frames(), 125 * 0.8, 1e-9) << "within a round trip of 20 us";
    Delay(120, 20);
    EXPECT_NEAR(Frames(), 125 * 0.8 * 0.8, 1e-9);
}

TEST_F(RdmaSwiftTest, EachSwitchOnThePathRaisesTheTarget)
{
    Start();
    m_switches = 5; // 10 + 3 + 5 x 2 us
    Delay(100, 22);
    EXPECT_GT(Frames(), 125);
    EXPECT_NEAR(m_swift->GetFabricTargetPs(m_qp), 23e6, 1);
}

TEST_F(RdmaSwiftTest, OneCutTakesAtMostHalf)
{
    Start();
    Delay(5000, 1000); // 1 - 0.8 x 985 / 1000 would leave a fifth
    EXPECT_NEAR(Frames(), 62.5, 1e-9);
}

TEST_F(RdmaSwiftTest, RemoteHostsDelayHasItsOwnTarget)
{
    Start();
    Delay(1000, 12, 40);
    EXPECT_GT(Frames(), 125 - 1e-9) << "52 us in all, but each part is below its target";
    Delay(1000, 12, 100); // 1 - 0.8 (100 - 50) / 100
    EXPECT_NEAR(Frames(), (125 + 1.0 / 125) * 0.6, 1e-9);
}

TEST_F(RdmaSwiftTest, BelowOneFrameItPacesOneFramePerRttOverWindow)
{
    Start();
    int64_t nowUs = 1000;
    while (Frames() >= 0.4)
    {
        Delay(nowUs, 100);
        nowUs += 100;
    }
    EXPECT_EQ(m_qp.GetWindow(), 1000u);
    // A frame of 1082 bytes each 100 us / window.
    EXPECT_NEAR(m_qp.GetRate(), 1082 * 8 * Frames() / 100e-6, 1);
    // And up again: below one frame the whole increase comes per acknowledged frame.
    const double before = Frames();
    Delay(nowUs, 12);
    EXPECT_NEAR(Frames(), before + 1, 1e-9);
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
}

TEST_F(RdmaSwiftTest, FlowScalingRaisesTheTargetOfSmallWindows)
{
    m_swift->SetAttribute("ScalingRange", TimeValue(MicroSeconds(30)));
    Start();
    EXPECT_NEAR(m_swift->GetFabricTargetPs(m_qp), 15e6, 1) << "125 frames: none";
    int64_t nowUs = 1000;
    while (Frames() > 25)
    {
        Delay(nowUs, 100);
        nowUs += 100;
    }
    // alpha / sqrt(w) + beta, from 30 us at 0.1 frames to 0 at 100 frames.
    const double alpha = 30e6 / (1 / std::sqrt(0.1) - 1 / std::sqrt(100.0));
    const double scaling = alpha / std::sqrt(Frames()) - alpha / std::sqrt(100.0);
    EXPECT_GT(scaling, 0);
    EXPECT_NEAR(m_swift->GetFabricTargetPs(m_qp), 15e6 + scaling, 1);
}

TEST_F(RdmaSwiftTest, TimeoutsHalveAndThenReset)
{
    Start();
    m_swift->OnTimeout(m_qp, ns3::Simulator::Now().GetTimeStep());
    EXPECT_NEAR(Frames(), 62.5, 1e-9);
    m_swift->OnTimeout(m_qp, ns3::Simulator::Now().GetTimeStep());
    EXPECT_NEAR(Frames(), 62.5, 1e-9) << "within the same round trip";
    for (int i = 0; i < 3; ++i)
    {
        m_swift->OnTimeout(m_qp, ns3::Simulator::Now().GetTimeStep());
    }
    EXPECT_NEAR(Frames(), 0.01, 1e-9);
}

TEST_F(RdmaSwiftTest, OnlyTimeoutsInARowReset)
{
    Start();
    const auto timeouts = [this](int count) {
        for (int i = 0; i < count; ++i)
        {
            m_swift->OnTimeout(m_qp, ns3::Simulator::Now().GetTimeStep());
        }
    };
    timeouts(4);
    Delay(100, 12);
    timeouts(4);
    EXPECT_GT(Frames(), 1) << "four and four, with an acknowledgement between them";
    m_swift->OnNack(m_qp, ns3::Simulator::Now().GetTimeStep());
    timeouts(4);
    EXPECT_GT(Frames(), 1) << "a report of a loss is a sign of life, too";
    timeouts(1);
    EXPECT_NEAR(Frames(), 0.01, 1e-9);
}

TEST_F(RdmaSwiftTest, WindowThatDoesNotLimitDoesNotGrow)
{
    Start();
    QbbTelemetry telemetry;
    Ack(*m_swift, 12000000, false, &telemetry);
    EXPECT_DOUBLE_EQ(Frames(), 125);
}

TEST_F(RdmaSwiftTest, RefusesScalingWindowsInTheWrongOrder)
{
    m_swift->SetAttribute("ScalingMinWindow", DoubleValue(200));
    EXPECT_THROW(Start(), InputError);
}

} // namespace
} // namespace ns3
