/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "congestion-fixture.h"
#include "rdma-qbb/model/congestion/rdma-dctcp.h"

#include "ns3/boolean.h"

namespace ns3
{
namespace
{

class RdmaDctcpTest : public CongestionTest
{
  protected:
    void Start(bool rateBased = false)
    {
        m_dctcp->SetAttribute("RateBased", BooleanValue(rateBased));
        m_dctcp->OnQpInit(m_qp);
        // The first acknowledgement ends an empty window: from here windows are ten frames.
        m_qp.SetSndNxt(10000);
        Ack(*m_dctcp, 0);
        m_alpha = 15.0 / 16;
    }

    /// Acknowledge a window of ten frames, the first ones marked; more data is sent meanwhile.
    void Window(int marked)
    {
        m_qp.sndUna = m_qp.GetSndNxt();
        const uint64_t end = m_qp.GetSndNxt() + 10000;
        for (int frame = 0; frame < 10; ++frame)
        {
            m_qp.SetSndNxt(end);
            Ack(*m_dctcp, 0, frame < marked);
        }
    }

    Ptr<RdmaDctcp> m_dctcp = CreateObject<RdmaDctcp>();
    double m_alpha{1};
};

TEST_F(RdmaDctcpTest, StartsWithOneBandwidthDelayProduct)
{
    m_dctcp->OnQpInit(m_qp);
    EXPECT_EQ(m_qp.GetWindow(), 125000u);
    EXPECT_EQ(m_qp.GetRate(), 100000000000u);
}

TEST_F(RdmaDctcpTest, AlphaFollowsTheMarkedFractionOncePerWindow)
{
    Start();
    ASSERT_NEAR(m_dctcp->GetAlpha(m_qp), m_alpha, 1e-12);
    // The window's fraction is taken in by the first acknowledgement of the next one.
    m_qp.sndUna = m_qp.GetSndNxt();
    m_qp.SetSndNxt(m_qp.GetSndNxt() + 10000);
    Ack(*m_dctcp, 0, false); // ends the window of the bytes before, none of them marked
    m_alpha *= 15.0 / 16;
    for (int frame = 1; frame < 10; ++frame)
    {
        Ack(*m_dctcp, 0, frame <= 4);
    }
    EXPECT_NEAR(m_dctcp->GetAlpha(m_qp), m_alpha, 1e-12) << "no update within a window";
    m_qp.SetSndNxt(m_qp.GetSndNxt() + 10000);
    Ack(*m_dctcp, 0, false);
    // Nine frames since the update, four marked, and this one.
    EXPECT_NEAR(m_dctcp->GetAlpha(m_qp), m_alpha * 15 / 16 + 0.4 / 16, 1e-12);
}

TEST_F(RdmaDctcpTest, FirstMarkOfAWindowCutsOnceByHalfAlpha)
{
    Start();
    const double before = m_qp.GetWindow();
    m_qp.SetSndNxt(m_qp.GetSndNxt() + 20000);
    Ack(*m_dctcp, 0, true);
    const double alpha = m_dctcp->GetAlpha(m_qp);
    EXPECT_NEAR(m_qp.GetWindow(), before * (1 - alpha / 2), 1);
    const uint64_t cut = m_qp.GetWindow();
    for (int frame = 0; frame < 10; ++frame)
    {
        Ack(*m_dctcp, 0, true);
    }
    EXPECT_EQ(m_qp.GetWindow(), cut) << "one cut per window of data";
    while (m_qp.sndUna < 30000)
    {
        Ack(*m_dctcp, 0, true);
    }
    EXPECT_EQ(m_qp.GetWindow(), cut) << "its last byte had been sent before the cut, too";
    Ack(*m_dctcp, 0, true);
    EXPECT_LT(m_qp.GetWindow(), cut) << "a mark of what was sent after it";
}

TEST_F(RdmaDctcpTest, UnmarkedWindowAddsOneFrameWhileItLimits)
{
    Start();
    const uint64_t before = m_qp.GetWindow();
    double window = before;
    for (int frame = 0; frame < 125; ++frame)
    {
        m_qp.SetSndNxt(m_qp.sndUna + m_qp.GetWindow()); // the window is full
        Ack(*m_dctcp, 0);
        window += 1000 * 1000 / window;
    }
    EXPECT_NEAR(m_qp.GetWindow(), window, 1);
    EXPECT_NEAR(m_qp.GetWindow(), before + 1000, 5);
}

TEST_F(RdmaDctcpTest, WindowThatDoesNotLimitDoesNotGrow)
{
    Start();
    const uint64_t before = m_qp.GetWindow();
    Window(0);
    Window(0);
    EXPECT_EQ(m_qp.GetWindow(), before);
}

TEST_F(RdmaDctcpTest, WindowNeverFallsBelowOneFrame)
{
    Start();
    for (int i = 0; i < 200; ++i)
    {
        Window(10);
    }
    EXPECT_EQ(m_qp.GetWindow(), 1000u);
    EXPECT_NEAR(m_dctcp->GetAlpha(m_qp), 1, 1e-3);
}

TEST_F(RdmaDctcpTest, RateBasedCutsAndGrowsTheRate)
{
    m_qp.SetWindow(4321);
    Start(true);
    // The first frame, marked, ends a window of which only it was counted: F = 1.
    Window(1);
    const double alpha = m_alpha * 15 / 16 + 1.0 / 16;
    const double cut = 100e9 * (1 - alpha / 2);
    EXPECT_NEAR(m_qp.GetRate(), cut, 2);
    Window(0);
    EXPECT_NEAR(m_qp.GetRate(), cut + 1e9, 2);
    EXPECT_EQ(m_qp.GetWindow(), 4321u);
}

} // namespace
} // namespace ns3
