/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ConnectionPlanner: the choices of NIC and source port that all networks make alike.
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"

#include "ns3/connection-planner.h"

#include <gtest/gtest.h>

namespace ns3
{
namespace
{

/// Two hosts of two NICs each, a switch per NIC, and a third host that is cut off from one switch.
class ConnectionPlannerTest : public testing::Test
{
  protected:
    ConnectionPlannerTest()
        : m_topology(Read()),
          m_routes(m_topology),
          m_planner(m_topology, m_routes, {1000, 82, 84, 84}, {1000, 0, 84, 0}, PathUse::Fixed)
    {
    }

    static ClusterTopology Read()
    {
        return ReadTopology("5 1 0 2 5 H100\n3 4\n"
                            "0 3 100Gbps 1000ns 0\n0 4 100Gbps 1000ns 0\n"
                            "1 3 100Gbps 1000ns 0\n1 4 100Gbps 1000ns 0\n"
                            "2 3 50Gbps 1000ns 0\n");
    }

    std::optional<ConnectionStart> Open(uint32_t src, uint32_t dst, int64_t channel = -1)
    {
        return ConnectionPlanner::Open(m_planner.Find(src, dst), src, dst, channel, 100, 0);
    }

    ClusterTopology m_topology;
    FabricRoutes m_routes;
    ConnectionPlanner m_planner;
};

TEST_F(ConnectionPlannerTest, ChannelsTakeNicsInTurnAndSourcePortsFollow)
{
    for (uint32_t i = 0; i < 6; ++i)
    {
        const auto start = Open(0, 1, i);
        ASSERT_TRUE(start);
        EXPECT_EQ(start->firstPort, i % 2);
        EXPECT_EQ(start->sport, 10'000 + i);
    }
    EXPECT_EQ(Open(1, 0, 0)->sport, 10'000); // each pair has its own
    m_planner.Forget();
    EXPECT_EQ(Open(0, 1, 0)->sport, 10'000);
}

TEST_F(ConnectionPlannerTest, HashesSpreadConnectionsOverAllNics)
{
    uint32_t first = 0;
    for (int i = 0; i < 1000; ++i)
    {
        first += Open(0, 1)->firstPort == 0;
    }
    EXPECT_NEAR(first, 500, 64); // four standard deviations of a fair choice
}

TEST_F(ConnectionPlannerTest, SourcePortsBeginAgainAfterTheLast)
{
    m_planner.Find(0, 1).nextSport = UINT16_MAX;
    EXPECT_EQ(Open(0, 1)->sport, UINT16_MAX);
    EXPECT_EQ(Open(0, 1)->sport, 10'000);
}

TEST_F(ConnectionPlannerTest, TimesAreThoseOfTheSlowestLink)
{
    const PathLimits limits = m_planner.FindLimits(m_planner.Find(0, 2), 0, 2);
    EXPECT_EQ(limits.rateBps, 50'000'000'000U);
    // There: 1,082 bytes at 100 and at 50 Gb/s; back: 84 bytes at both; and four links' delays.
    EXPECT_EQ(limits.rttPs, 1082 * 80 + 1082 * 160 + 84 * 80 + 84 * 160 + 4'000'000);
    EXPECT_EQ(m_planner.GetIdealFctPs(0, 2, 1000), limits.rttPs);
}

TEST_F(ConnectionPlannerTest, ConnectionsMoveToWhatIsLeft)
{
    LinkState links(m_topology.links.size());
    links.Set(1, false); // host 0 to the second switch
    m_planner.Find(0, 1);
    EXPECT_GT(m_planner.GetIdealFctPs(0, 2, 1000), 0);
    m_routes.Recompute(links);
    m_planner.OnRoutesChanged();
    for (uint32_t hash = 0; hash < 8; ++hash)
    {
        EXPECT_EQ(ConnectionPlanner::Move(m_planner.Find(0, 1), hash, 1), 0);
    }
    EXPECT_EQ(ConnectionPlanner::Move(m_planner.Find(0, 1), 5, 0), 0);
    links.Set(0, false); // and to the first: nothing is left
    m_routes.Recompute(links);
    m_planner.OnRoutesChanged();
    EXPECT_FALSE(ConnectionPlanner::Move(m_planner.Find(0, 1), 0, 0));
    EXPECT_FALSE(Open(0, 1));
    EXPECT_EQ(m_planner.GetIdealFctPs(0, 2, 1000), 0);
}

} // namespace
} // namespace ns3
