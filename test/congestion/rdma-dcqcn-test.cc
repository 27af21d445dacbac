/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Behaviour that takes no time; sequences over time are in the suites rdma-qbb-congestion-dcqcn.
 */
#include "congestion-fixture.h"
#include "rdma-qbb/model/congestion/rdma-dcqcn.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

namespace ns3
{
namespace
{

class RdmaDcqcnTest : public CongestionTest
{
  protected:
    ~RdmaDcqcnTest() override
    {
        Simulator::Destroy();
    }

    /// @return the rate after so many notifications at one time
    uint64_t RateAfter(int notifications, Time decreaseInterval)
    {
        const auto dcqcn = CreateObject<RdmaDcqcnPaper>();
        dcqcn->SetAttribute("RateDecreaseInterval", TimeValue(decreaseInterval));
        m_qp.SetRate(m_qp.lineRateBps);
        dcqcn->OnQpInit(m_qp);
        for (int i = 0; i < notifications; ++i)
        {
            dcqcn->OnCnp(m_qp, Simulator::Now().GetTimeStep());
        }
        const uint64_t rate = m_qp.GetRate();
        dcqcn->OnQpClose(m_qp);
        return rate;
    }
};

TEST_F(RdmaDcqcnTest, EachNotificationHalvesTheRateWithoutALeastTimeBetweenDecreases)
{
    // Alpha starts at 1, where notifications keep it: each takes alpha / 2 of the rate.
    EXPECT_EQ(RateAfter(3, Time(0)), 12'500'000'000U);
    EXPECT_EQ(RateAfter(3, MicroSeconds(50)), 50'000'000'000U);
}

} // namespace
} // namespace ns3
