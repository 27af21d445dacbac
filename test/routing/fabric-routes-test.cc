/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/laned-server.h"
#include "../support/others-files.h"
#include "../support/scratch-directory.h"
#include "example-topologies.h"

#include "ns3/fabric-routes.h"

#include <ctime>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace ns3;
using testing::ElementsAre;

namespace
{

using Kind = ClusterTopology::NodeKind;

/// @return what topologies/gen_Topo_Template.py writes
ClusterTopology
Generated(const std::string& flags)
{
    const ScratchDirectory directory;
    const std::string path = directory / "topology";
    const std::string command =
        "/usr/bin/python3 " SOURCE_DIR "/topologies/gen_Topo_Template.py " + flags + " -o " + path;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return ClusterTopology::Read(path);
}

std::vector<uint16_t>
Ports(std::span<const uint16_t> span)
{
    return {span.begin(), span.end()};
}

uint32_t
LinkBetween(const ClusterTopology& topology, uint32_t a, uint32_t b)
{
    for (const auto& port : topology.Ports(a))
    {
        if (port.peer == b)
        {
            return port.link;
        }
    }
    ADD_FAILURE() << "no link " << a << "-" << b;
    return 0;
}

/// Number of different paths that next hops offer from a node on.
uint64_t
CountPaths(const FabricRoutes& routes, uint32_t node, uint32_t dst)
{
    const ClusterTopology& topology = routes.Topology();
    if (node == topology.NodeOfHost(dst))
    {
        return 1;
    }
    uint64_t paths = 0;
    for (uint16_t port : routes.Table(node).NextHops(dst))
    {
        paths += CountPaths(routes, topology.Ports(node)[port].peer, dst);
    }
    return paths;
}

uint64_t
CountHostPaths(const FabricRoutes& routes, uint32_t src, uint32_t dst)
{
    const ClusterTopology& topology = routes.Topology();
    uint64_t paths = 0;
    for (uint16_t port : routes.HostPorts(src, dst))
    {
        paths += CountPaths(routes, topology.Ports(topology.NodeOfHost(src))[port].peer, dst);
    }
    return paths;
}

/// Links from every node to a host by repeated relaxation, from the rules alone.
/// @param kind of the nodes that forward: network switches, or the NVSwitches of a server
std::vector<uint32_t>
RelaxedDistances(const ClusterTopology& topology, const LinkState& links, uint32_t dst, Kind kind)
{
    constexpr uint32_t FAR = 1'000'000;
    std::vector<uint32_t> distance(topology.nodeCount, FAR);
    distance[topology.NodeOfHost(dst)] = 0;
    for (bool changed = true; changed;)
    {
        changed = false;
        for (uint32_t i = 0; i < topology.links.size(); ++i)
        {
            const auto& link = topology.links[i];
            for (const auto& [from, to] : {std::pair{link.a, link.b}, {link.b, link.a}})
            {
                const bool mayEnter = to == topology.NodeOfHost(dst) || topology.Is(to, kind);
                const bool forwards = topology.Is(from, kind);
                if (links.IsUp(i) && mayEnter && forwards && distance[to] + 1 < distance[from])
                {
                    distance[from] = distance[to] + 1;
                    changed = true;
                }
            }
        }
    }
    return distance;
}

ClusterTopology
RandomTopology(std::mt19937& random)
{
    const auto draw = [&](uint32_t low, uint32_t high) {
        return std::uniform_int_distribution<uint32_t>(low, high)(random);
    };
    ClusterTopology topology;
    topology.gpusPerServer = draw(1, 4);
    const uint32_t servers = draw(1, 4);
    const uint32_t hosts = servers * topology.gpusPerServer;
    const uint32_t nvSwitches = draw(0, 4) * servers;
    const uint32_t switches = draw(1, 6);
    topology.kind.assign(hosts, Kind::Host);
    topology.kind.resize(hosts + nvSwitches, Kind::NvSwitch);
    topology.kind.resize(hosts + nvSwitches + switches, Kind::Switch);
    const uint32_t firstSwitch = hosts + nvSwitches;
    for (uint32_t host = 0; host < hosts; ++host)
    {
        for (uint32_t nv = host / topology.gpusPerServer; nv < nvSwitches; nv += servers)
        {
            if (draw(0, 3) > 0)
            {
                AddLink(topology, host, hosts + nv, GBPS, 1);
            }
        }
        for (uint32_t n = draw(1, 3); n > 0; --n)
        {
            AddLink(topology, host, firstSwitch + draw(0, switches - 1), GBPS, 1);
        }
    }
    for (uint32_t n = draw(0, nvSwitches); n > 0; --n)
    {
        // NVSwitches of one server have numbers that differ by multiples of the servers.
        const uint32_t a = draw(0, nvSwitches - 1);
        const uint32_t b = (a + servers * draw(1, 4)) % nvSwitches;
        if (a != b)
        {
            AddLink(topology, hosts + a, hosts + b, GBPS, 1);
        }
    }
    for (uint32_t n = draw(switches, 3 * switches); switches > 1 && n > 0; --n)
    {
        const uint32_t a = draw(0, switches - 1);
        AddLink(topology,
                firstSwitch + a,
                firstSwitch + (a + draw(1, switches - 1)) % switches,
                GBPS,
                1);
    }
    topology.Index();
    return topology;
}

void
ExpectTablesMatchTheRules(const FabricRoutes& routes, const LinkState& links)
{
    const ClusterTopology& topology = routes.Topology();
    for (uint32_t dst = 0; dst < topology.hostCount; ++dst)
    {
        const auto inNetwork = RelaxedDistances(topology, links, dst, Kind::Switch);
        const auto inServer = RelaxedDistances(topology, links, dst, Kind::NvSwitch);
        for (uint32_t node = 0; node < topology.nodeCount; ++node)
        {
            if (topology.Is(node, Kind::Host))
            {
                continue;
            }
            const auto& distance = topology.Is(node, Kind::NvSwitch) ? inServer : inNetwork;
            std::vector<uint16_t> expected;
            const auto ports = topology.Ports(node);
            for (uint16_t p = 0; p < ports.size(); ++p)
            {
                const bool nearer = distance[ports[p].peer] + 1 == distance[node];
                if (links.IsUp(ports[p].link) && nearer)
                {
                    expected.push_back(p);
                }
            }
            ASSERT_EQ(Ports(routes.Table(node).NextHops(dst)), expected)
                << "node " << node << " to host " << dst;
            ASSERT_EQ(routes.Distance(node, dst),
                      expected.empty() ? FabricRoutes::UNREACHABLE : distance[node]);
        }
    }
}

} // namespace

TEST(FabricRoutes, TablesHoldExactlyTheShortestPathsOfRandomGraphs)
{
    for (uint32_t seed = 1; seed <= 100; ++seed)
    {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const ClusterTopology topology = RandomTopology(random);
        FabricRoutes routes(topology);
        LinkState links(topology.links.size());
        ExpectTablesMatchTheRules(routes, links);
        for (uint32_t i = 0; i < topology.links.size(); i += 1 + random() % 5)
        {
            links.Set(i, false);
        }
        routes.Recompute(links);
        ExpectTablesMatchTheRules(routes, links);
    }
}

TEST(FabricRoutes, GpusOfAServerTakeNvLinkAndOthersTheirNic)
{
    const ClusterTopology topology = RailCluster(2, 4, 1, 2);
    const FabricRoutes routes(topology);
    EXPECT_THAT(routes.HostPorts(0, 3), ElementsAre(0));
    EXPECT_THAT(routes.HostPorts(0, 4), ElementsAre(1));
    EXPECT_THAT(routes.HostPorts(0, 7), ElementsAre(1));
    const auto inside = routes.Path(0, 3);
    ASSERT_TRUE(inside);
    EXPECT_EQ(inside->hops.size(), 2u);
    EXPECT_EQ(inside->hops[1].node, 8u) << "the server's NVSwitch";
    EXPECT_EQ(inside->bottleneckBps, 2880 * GBPS);
    EXPECT_EQ(inside->delayPs, 50 * PS_PER_NS);
    EXPECT_TRUE(routes.HostPorts(2, 2).empty());
}

TEST(FabricRoutes, NvSwitchesReachOnlyTheirOwnServer)
{
    const ClusterTopology topology = RailCluster(2, 4, 1, 2);
    const FabricRoutes routes(topology);
    EXPECT_THAT(Ports(routes.Table(8).NextHops(2)), ElementsAre(2));
    EXPECT_TRUE(routes.Table(8).NextHops(4).empty());
    EXPECT_TRUE(routes.Table(9).NextHops(3).empty());
    EXPECT_EQ(routes.Distance(9, 4), 1);
    EXPECT_EQ(routes.Distance(9, 3), FabricRoutes::UNREACHABLE);
}

TEST(FabricRoutes, NvSwitchesOfAServerMayBeLinkedToEachOther)
{
    const ClusterTopology topology = ReadTopology(LanedFile(2));
    FabricRoutes routes(topology);
    const auto hops = [&](uint32_t src, uint32_t dst) {
        return routes.Path(src, dst)->hops.size();
    };
    EXPECT_EQ(hops(0, 1), 3U);
    EXPECT_EQ(hops(8, 14), 3U) << "in the second server";
    EXPECT_EQ(hops(0, 7), 4U) << "by the NVSwitch of GPU 1 or of GPU 6";
    EXPECT_EQ(CountHostPaths(routes, 0, 3), 2U) << "by GPU 1's and GPU 2's";
    EXPECT_EQ(routes.Path(0, 8)->hops.size(), 2U) << "through the network";
    EXPECT_EQ(routes.Path(0, 6)->bottleneckBps, 576 * GBPS);
    // Without its link to GPU 1 GPU 0 goes over two others.
    LinkState links(topology.links.size());
    links.Set(LinkBetween(topology, 16, 17), false);
    routes.Recompute(links);
    EXPECT_EQ(hops(0, 1), 5U);
}

TEST(FabricRoutes, UpperNvSwitchesJoinThoseOfTheGpus)
{
    // Two NVSwitches with two GPUs each, and two above both.
    const ClusterTopology topology =
        ReadTopology("8 4 4 0 8 H100\n4 5 6 7\n0 4 1Gbps 1ns 0\n1 4 1Gbps 1ns 0\n2 5 1Gbps 1ns 0\n"
                     "3 5 1Gbps 1ns 0\n4 6 1Gbps 1ns 0\n4 7 1Gbps 1ns 0\n5 6 1Gbps 1ns 0\n"
                     "5 7 1Gbps 1ns 0\n");
    const FabricRoutes routes(topology);
    EXPECT_TRUE(topology.ShareNvLink(0, 3));
    EXPECT_EQ(routes.Path(0, 1)->hops.size(), 2U);
    EXPECT_EQ(routes.Path(0, 3)->hops.size(), 4U);
    EXPECT_EQ(CountHostPaths(routes, 0, 3), 2U);
    EXPECT_EQ(topology.ServerOfNvSwitch(7), 0U);
}

TEST(FabricRoutes, SameRailMeetsAtTheAccessSwitchAndOtherRailsAtEverySpine)
{
    const ClusterTopology topology = RailCluster(4, 8, 1, 16);
    const FabricRoutes routes(topology);
    EXPECT_EQ(routes.GroupCount(), 8u) << "a group per rail";
    EXPECT_EQ(CountHostPaths(routes, 0, 8), 1u);
    EXPECT_EQ(routes.Path(0, 8)->hops.size(), 2u);
    EXPECT_EQ(CountHostPaths(routes, 0, 9), 16u);
    EXPECT_EQ(routes.Path(0, 9)->hops.size(), 4u);
}

TEST(FabricRoutes, DualHomedHostsOfferBothNics)
{
    const ClusterTopology topology = RailCluster(4, 8, 2, 16);
    const FabricRoutes routes(topology);
    EXPECT_THAT(routes.HostPorts(0, 8), ElementsAre(1, 2));
    EXPECT_EQ(CountHostPaths(routes, 0, 8), 2u);
    EXPECT_EQ(CountHostPaths(routes, 0, 9), 2u * 16 * 2) << "each spine reaches both ToRs";
}

TEST(FabricRoutes, TheChooserPicksAmongEqualPorts)
{
    const ClusterTopology topology = RailCluster(2, 2, 1, 3);
    const FabricRoutes routes(topology);
    const auto path =
        routes.Path(0, 3, [](uint32_t, std::span<const uint16_t> ports) { return ports.back(); });
    EXPECT_EQ(path->hops[2].node, 10u) << "the last of the spines 8, 9, 10";
    EXPECT_EQ(routes.Path(0, 3)->hops[2].node, 8u);
}

TEST(FabricRoutes, ADeadNvLinkSendsTrafficThroughTheNetwork)
{
    const ClusterTopology topology = RailCluster(2, 2, 1, 2);
    FabricRoutes routes(topology);
    const ForwardingTable* const table = &routes.Table(6);
    LinkState links(topology.links.size());
    links.Set(LinkBetween(topology, 1, 4), false);
    routes.Recompute(links);
    EXPECT_THAT(routes.HostPorts(0, 1), ElementsAre(1));
    EXPECT_EQ(routes.Path(0, 1)->hops.size(), 4u);
    EXPECT_THAT(routes.HostPorts(2, 3), ElementsAre(0)) << "the other server keeps NVLink";
    EXPECT_EQ(&routes.Table(6), table);
}

TEST(FabricRoutes, HostsWithoutAPathAreReported)
{
    const ClusterTopology topology = RailCluster(2, 2, 1, 1);
    FabricRoutes routes(topology);
    EXPECT_TRUE(routes.CutOffPairs(10).empty());
    LinkState links(topology.links.size());
    // Rail 1's access switch loses its only spine: the rails are apart, NVLink joins servers
    // inside.
    links.Set(LinkBetween(topology, 7, 8), false);
    routes.Recompute(links);
    EXPECT_FALSE(routes.Reachable(0, 3));
    EXPECT_TRUE(routes.Reachable(0, 1)) << "by NVLink";
    EXPECT_TRUE(routes.Reachable(1, 3)) << "by the access switch";
    EXPECT_FALSE(routes.Path(0, 3));
    EXPECT_THAT(routes.CutOffPairs(10), ElementsAre(std::pair{0u, 3u}));
    links.Set(LinkBetween(topology, 7, 8), true);
    routes.Recompute(links);
    EXPECT_TRUE(routes.CutOffPairs(10).empty());
}

TEST(FabricRoutes, HostsCabledToEachOtherNeedNoSwitch)
{
    ClusterTopology topology;
    topology.kind.assign(3, Kind::Host);
    AddLink(topology, 0, 1, GBPS, 5);
    AddLink(topology, 1, 2, GBPS, 7);
    topology.Index();
    const FabricRoutes routes(topology);
    EXPECT_EQ(routes.Path(1, 2)->delayPs, 7);
    EXPECT_FALSE(routes.Reachable(0, 2)) << "hosts do not forward";
}

TEST(FabricRoutes, GeneratedTopologiesHaveTheirClosedFormPathCounts)
{
    const auto spectrum = Generated("-topo Spectrum-X -g 128 -gt A100 -bw 100Gbps -nvbw 2400Gbps");
    const FabricRoutes routes(spectrum);
    EXPECT_EQ(routes.GroupCount(), 8u);
    EXPECT_EQ(CountHostPaths(routes, 0, 120), 1u);
    EXPECT_EQ(CountHostPaths(routes, 0, 121), 64u) << "one per PSW";
    EXPECT_EQ(routes.Path(0, 121)->delayPs, 4 * 500 * PS_PER_NS);

    const auto dualPlane = Generated("-topo AlibabaHPN --dp -g 64 -asn 16 -psn 16");
    const FabricRoutes planes(dualPlane);
    EXPECT_EQ(CountHostPaths(planes, 0, 9), 2u * 8) << "two planes of 8 PSWs, apart";
}

TEST(FabricRoutes, TheFatTreeOfTheHpccSimulatorHasAGroupPerRack)
{
    NEEDS_OTHERS_FILES();
    const auto fat = ClusterTopology::Read(OthersFile("hpcc/fat.txt"));
    const FabricRoutes fatRoutes(fat);
    EXPECT_EQ(fatRoutes.GroupCount(), 20u) << "a group per rack";
    EXPECT_EQ(fatRoutes.Path(0, 319)->hops.size(), 6u);
}

TEST(FabricRoutes, FifteenThousandGpusAreRoutedInSeconds)
{
    // AlibabaHPN: 15 segments of 128 servers, 8 rails, dual ToR, 120 spines.
    ClusterTopology topology;
    constexpr uint32_t SERVERS = 1920;
    constexpr uint32_t GPUS = SERVERS * 8;
    constexpr uint32_t FIRST_TOR = GPUS + SERVERS;
    constexpr uint32_t FIRST_SPINE = FIRST_TOR + 240;
    topology.gpusPerServer = 8;
    topology.kind.assign(GPUS, Kind::Host);
    topology.kind.resize(FIRST_TOR, Kind::NvSwitch);
    topology.kind.resize(FIRST_SPINE + 120, Kind::Switch);
    for (uint32_t gpu = 0; gpu < GPUS; ++gpu)
    {
        AddLink(topology, gpu, GPUS + gpu / 8, 2880 * GBPS, 25 * PS_PER_NS);
        const uint32_t tor = FIRST_TOR + gpu / 1024 * 8 + gpu % 8;
        AddLink(topology, gpu, tor, 200 * GBPS, 500 * PS_PER_NS);
        AddLink(topology, gpu, tor + 120, 200 * GBPS, 500 * PS_PER_NS);
    }
    for (uint32_t tor = FIRST_TOR; tor < FIRST_SPINE; ++tor)
    {
        for (uint32_t spine = FIRST_SPINE; spine < FIRST_SPINE + 120; ++spine)
        {
            AddLink(topology, tor, spine, 400 * GBPS, 500 * PS_PER_NS);
        }
    }
    const std::clock_t begin = std::clock(); // of this process: others may be busy as well
    topology.Index();
    const FabricRoutes routes(topology);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_EQ(routes.GroupCount(), 120u);
    EXPECT_EQ(CountHostPaths(routes, 0, 15'359), 2u * 120 * 2);
#ifdef NS3_ASSERT_ENABLE
    EXPECT_LT(seconds, 15.0); // sanitizers, and counts of what is run
#else
    EXPECT_LT(seconds, 5.0);
#endif
    RecordProperty("seconds", std::to_string(seconds));
}
