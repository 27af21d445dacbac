/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/network/topology-of-machine.h"
#include "astra-frontend/model/network/topology-shapes.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace AstraSim
{
namespace
{

using ns3::ClusterTopology;
using Ranks = std::vector<int>;

void
Join(ClusterTopology& topology, uint32_t a, uint32_t b, uint64_t rateBps)
{
    ClusterTopology::Link link{};
    link.a = a;
    link.b = b;
    link.rateBps = rateBps;
    link.delayPs = 1000;
    topology.links.push_back(link);
}

/// Eight servers of two GPUs, each two servers with a switch for the first and one for the second
/// GPUs; each four switches meet in a spine, and the two spines in another.
ClusterTopology
Clos()
{
    ClusterTopology topology;
    topology.gpusPerServer = 2;
    topology.kind.assign(16, ClusterTopology::NodeKind::Host);
    topology.kind.resize(16 + 8, ClusterTopology::NodeKind::NvSwitch);
    topology.kind.resize(24 + 8 + 3, ClusterTopology::NodeKind::Switch);
    for (uint32_t host = 0; host < 16; ++host)
    {
        Join(topology, host, 16 + host / 2, 2'000);
        Join(topology, host, 24 + host / 4 * 2 + host % 2, 100);
    }
    for (uint32_t leaf = 0; leaf < 8; ++leaf)
    {
        Join(topology, 24 + leaf, 32 + leaf / 4, 100);
    }
    Join(topology, 32, 34, 400);
    Join(topology, 33, 34, 400);
    topology.Index();
    return topology;
}

TEST(TopologyShapes, GroupsThatTheTopologyServesAlikeHaveOne)
{
    const ClusterTopology topology = Clos();
    const TopologyShapes shapes(topology);
    EXPECT_TRUE(shapes.HasLevels());
    for (const auto& [first, second] : std::vector<std::pair<Ranks, Ranks>>{{{0, 1}, {14, 15}},
                                                                            {{0, 2}, {1, 3}},
                                                                            {{0, 4}, {9, 13}},
                                                                            {{0, 15}, {5, 10}}})
    {
        EXPECT_EQ(shapes.Find(first), shapes.Find(second));
    }
}

TEST(TopologyShapes, GroupsThatMeetElsewhereHaveAnother)
{
    const ClusterTopology topology = Clos();
    const TopologyShapes shapes(topology);
    // In a server; at a leaf; at a spine (twice); at the highest switch; three.
    const std::vector<Ranks> groups{{0, 1}, {0, 2}, {0, 4}, {0, 3}, {0, 8}, {0, 1, 2}};
    for (std::size_t a = 0; a < groups.size(); ++a)
    {
        for (std::size_t b = 0; b < a; ++b)
        {
            const bool alike = groups[a] == Ranks{0, 3} && groups[b] == Ranks{0, 4};
            EXPECT_EQ(shapes.Find(groups[a]) == shapes.Find(groups[b]), alike) << a << " " << b;
        }
    }
}

TEST(TopologyShapes, EachLinkAboveAGroupCounts)
{
    const std::vector<std::function<void(ClusterTopology::Link&)>> changes{
        [](auto& link) { link.rateBps /= 2; },
        [](auto& link) { link.delayPs += 1; }};
    // The links of GPU 15, of its leaf and of its spine.
    for (const std::size_t link : {30, 31, 39, 41})
    {
        for (const auto& change : changes)
        {
            ClusterTopology topology = Clos();
            change(topology.links[link]);
            const TopologyShapes shapes(topology);
            EXPECT_NE(shapes.Find(Ranks{0, 2}), shapes.Find(Ranks{15, 13})) << link;
        }
    }
}

TEST(TopologyShapes, LinksOfAMeshCount)
{
    MachineModel machine;
    machine.nvswitchesPerServer = 0;
    machine.isMesh = true;
    machine.nvlinkGBps = 350;
    ClusterTopology topology = TopologyOfMachine(machine, 2);
    topology.links[0].rateBps /= 2; // GPUs 0 and 1
    const TopologyShapes shapes(topology);
    EXPECT_TRUE(shapes.HasLevels());
    EXPECT_NE(shapes.Find(Ranks{0, 1}), shapes.Find(Ranks{8, 9}));
    EXPECT_EQ(shapes.Find(Ranks{0, 2}), shapes.Find(Ranks{8, 10}));
}

TEST(TopologyShapes, ARingOfSwitchesHasNoLevels)
{
    ClusterTopology topology = Clos();
    Join(topology, 24, 26, 100);
    topology.Index();
    EXPECT_FALSE(TopologyShapes(topology).HasLevels());
}

} // namespace
} // namespace AstraSim
