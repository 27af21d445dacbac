/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"

#include "ns3/in-network-planner.h"
#include "ns3/in-network-queue.h"

#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

using ns3::InNetworkPlanner;
using ns3::InNetworkQueue;

namespace
{

/// Four hosts, two at each of leaves 4 and 5, and spines 6 to 8.
const std::string CLOS = "9 5 10\n4 5 6 7 8\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n"
                         "2 5 100Gbps 1us 0\n3 5 100Gbps 1us 0\n4 6 100Gbps 1us 0\n"
                         "4 7 100Gbps 1us 0\n4 8 100Gbps 1us 0\n5 6 100Gbps 1us 0\n"
                         "5 7 100Gbps 1us 0\n5 8 100Gbps 1us 0\n";

/// A planner on CLOS.
class Trees : public testing::Test
{
  protected:
    InNetworkPlanner PlannerWith(uint32_t trees)
    {
        return {m_topology, {.reduces = true, .trees = trees}, [this](uint32_t link) {
                    return !m_down.contains(link);
                }};
    }

    static uint32_t TopOf(InNetworkPlanner& planner, const InNetworkPlanner::Group& group)
    {
        const auto tree = planner.Plan(group);
        return tree ? tree->switches.front().node : 0;
    }

    ns3::ClusterTopology m_topology = ns3::ReadTopology(CLOS, "test");
    std::set<uint32_t> m_down;
};

TEST_F(Trees, RootsAreSpreadOverTheSpines)
{
    InNetworkPlanner planner = PlannerWith(0);
    std::multiset<uint32_t> tops;
    for (uint32_t stripe = 0; stripe < 6; ++stripe)
    {
        tops.insert(TopOf(planner, {{0, 2}, stripe}));
    }
    for (const uint32_t spine : {6, 7, 8})
    {
        EXPECT_EQ(tops.count(spine), 2U) << spine;
    }
    // Hosts of one leaf need no spine. A question takes no tree.
    EXPECT_TRUE(planner.CanServe({0, 1}));
    EXPECT_EQ(TopOf(planner, {{0, 1}, 0}), 4U);
}

TEST_F(Trees, ASwitchIsPartOfAsManyTreesAsItHasRoomFor)
{
    InNetworkPlanner planner = PlannerWith(2);
    const std::vector<InNetworkPlanner::Group> first{{{0, 2}, 0}};
    const std::vector<InNetworkPlanner::Group> both{{{0, 1}, 0}, {{1, 3}, 0}};
    EXPECT_TRUE(planner.Reserve(first));
    // Leaf 4 has room for one of the two, so neither is kept.
    EXPECT_FALSE(planner.Reserve(both));
    EXPECT_FALSE(planner.Reserve(both));
    const std::vector<InNetworkPlanner::Group> second{{{1, 3}, 0}};
    EXPECT_TRUE(planner.Reserve(second));
    EXPECT_EQ(TopOf(planner, {{0, 2}, 0}), 6U);
    EXPECT_EQ(TopOf(planner, {{1, 3}, 0}), 7U);
    // The leaves are full: another stripe of a group shares its tree, another group has none.
    EXPECT_EQ(TopOf(planner, {{0, 2}, 5}), 6U);
    EXPECT_EQ(planner.Plan({{0, 3}, 0}), nullptr);
    EXPECT_TRUE(planner.CanServe({0, 3})) << "only room is lacking";
    std::vector<std::string> lines;
    planner.DescribeRefusals(lines);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0],
              "groups that went on without CollNet, as their switches had no room for another tree "
              "(IN_NETWORK_TREES 2): 1");
}

TEST_F(Trees, ATreeMovesToAnotherSpineOnlyIfItMust)
{
    InNetworkPlanner planner = PlannerWith(1);
    EXPECT_EQ(TopOf(planner, {{0, 2}, 0}), 6U);
    m_down = {5}; // from leaf 4 to spine 7
    EXPECT_EQ(TopOf(planner, {{0, 2}, 0}), 6U);
    m_down = {4}; // to spine 6
    EXPECT_EQ(TopOf(planner, {{0, 2}, 0}), 7U);
    m_down = {4, 5, 6};
    EXPECT_EQ(planner.Plan({{0, 2}, 0}), nullptr);
}

TEST(InNetworkQueue, OperationsBeginInOrderAtEachSwitch)
{
    InNetworkQueue queue(1);
    std::string begun;
    const auto enter = [&](char name, const std::vector<uint32_t>& switches) {
        queue.Enter(switches, [&begun, name] { begun += name; });
    };
    enter('a', {1, 2});
    enter('b', {2, 3}); // waits for switch 2
    enter('c', {3});    // comes after b at switch 3, although that is free
    enter('d', {4});
    EXPECT_EQ(begun, "ad");
    queue.Leave({1, 2});
    EXPECT_EQ(begun, "adb");
    queue.Leave({2, 3});
    EXPECT_EQ(begun, "adbc");
}

} // namespace
