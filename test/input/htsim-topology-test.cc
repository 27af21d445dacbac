/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"

#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ns3;
using testing::HasSubstr;

namespace
{

/// Two pods of two ToRs with two hosts each; the links to the cores are bundles of two.
const std::string TREE = "# three tiers\nNodes 8\nTiers 3\nPodsize 4\n\n"
                         "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n"
                         "Downlink_Latency_ns 1000\nSwitch_Latency_ns 300\n"
                         "Tier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\n"
                         "Downlink_Latency_ns 2000\nSwitch_Latency_ns 500\nBundle 1\n"
                         "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n"
                         "Downlink_Latency_ns 5000\nBundle 2\n";

std::string
With(const std::string& from, const std::string& to)
{
    std::string text = TREE;
    return text.replace(text.find(from), from.size(), to);
}

std::string
TreeErrorOf(const std::string& text)
{
    try
    {
        ReadTopology(text, "t");
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(HtsimTopology, RadicesBecomeSwitchesAndBundles)
{
    const ClusterTopology tree = ReadTopology(TREE, "t");
    // 8 hosts, 4 ToRs (8 to 11), 4 aggregation switches (12 to 15), 4 cores (16 to 19)
    EXPECT_EQ(tree.hostCount, 8u);
    EXPECT_EQ(tree.switchCount, 12u);
    EXPECT_EQ(tree.links.size(), 8u + 4 * 2 + 4 * 4);
    EXPECT_EQ(tree.LinksBetween(5, 10).size(), 1u);
    EXPECT_EQ(tree.LinksBetween(10, 14).size(), 1u);
    EXPECT_EQ(tree.LinksBetween(10, 12).size(), 0u) << "another pod's";
    EXPECT_EQ(tree.LinksBetween(13, 17).size(), 2u);
    EXPECT_EQ(tree.LinksBetween(13, 19).size(), 2u);
    EXPECT_EQ(tree.LinksBetween(13, 16).size(), 0u) << "cores belong to a place in the pod";
    EXPECT_FALSE(tree.FindUnconnected(false));
}

TEST(HtsimTopology, APathHasTheDelayOfItsLinksAndSwitches)
{
    const ClusterTopology tree = ReadTopology(TREE, "t");
    const auto delay = [&tree](uint32_t a, uint32_t b) {
        return tree.links[tree.LinksBetween(a, b)[0]].delayPs;
    };
    // Host, ToR, aggregation, core and down again: two ToRs, two aggregation switches, one core.
    EXPECT_EQ(2 * (delay(0, 8) + delay(8, 12) + delay(12, 16)),
              2 * (1'000'000 + 2'000'000 + 5'000'000) + 2 * 300'000 + 2 * 500'000);
    // Two hosts of a ToR
    EXPECT_EQ(2 * delay(0, 8), 2 * 1'000'000 + 300'000);
    EXPECT_EQ(tree.links[tree.LinksBetween(12, 16)[0]].rateBps, 100'000'000'000u);
}

TEST(HtsimTopology, TwoTiersAreALeafSpine)
{
    const ClusterTopology tree = ReadTopology(
        "nodes 32\ntiers 2\npodsize 32\ntier 0\ndownlink_speed_gbps 100\nradix_down 8\n"
        "radix_up 2\ndownlink_latency_ns 1000\noversubscribed 4\n"
        "tier 1\ndownlink_speed_gbps 100\nradix_down 4\ndownlink_latency_ns 1000\n",
        "t");
    EXPECT_EQ(tree.hostCount, 32u);
    EXPECT_EQ(tree.switchCount, 4u + 2);
    EXPECT_EQ(tree.links.size(), 32u + 4 * 2);
}

TEST(HtsimTopology, MistakesNameTheirLine)
{
    EXPECT_THAT(TreeErrorOf(With("Podsize 4", "Podsize 3")), HasSubstr("t:6: 8 hosts do not fill"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 4", "Radix_Up 3")), HasSubstr("t:19: bundles of 2"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Down 4", "Radix_Down 8")),
                HasSubstr("t:19: 2 switches of tier 1 with 2 links each do not take Radix_Down 8; "
                          "expected Radix_Down 4"));
    EXPECT_THAT(TreeErrorOf(With("_Gbps 100", "_Gbps 50")),
                HasSubstr("not oversubscribed 1 times"));
    EXPECT_THAT(TreeErrorOf(With("Tiers 3", "Tiers 4")), HasSubstr("there are 4 tiers"));
    EXPECT_THAT(TreeErrorOf(With("Tiers 3", "Tiers 2")), HasSubstr("do not connect several pods"));
    EXPECT_THAT(TreeErrorOf(With("Nodes 8", "Nodes 0")),
                HasSubstr("t:2: the topology has no nodes"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 2\n", "")), HasSubstr("t:6: tier 0 has no radix_up"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 2", "Radix_Up two")),
                HasSubstr("t:9: 'two' is not a valid Radix_Up"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 2", "Radix_Down 2")),
                HasSubstr("t:9: Radix_Down repeats"));
    EXPECT_THAT(TreeErrorOf(With("Bundle 2", "Bundle 0")), HasSubstr("t:23: bundle is 0"));
    EXPECT_THAT(TreeErrorOf(With("Tier 2", "Tier 1")), HasSubstr("t:19: tier 1 repeats line 12"));
    EXPECT_THAT(TreeErrorOf(With("Tier 2", "Tier 3")), HasSubstr("there is no tier 3"));
}

TEST(HtsimTopology, KeysWithoutACounterpartAreRefusedByName)
{
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 2", "Queue_Up 100")),
                HasSubstr("t:9: Queue_Up is not read: the ports of a switch share its buffer here; "
                          "expected BUFFER_SIZE"));
    EXPECT_THAT(TreeErrorOf(With("Radix_Up 2", "Colour 2")),
                HasSubstr("t:9: 'Colour' is not a key of a tier"));
    EXPECT_THAT(TreeErrorOf(With("Podsize 4", "Connections 4")),
                HasSubstr("t:4: 'Connections' is not a key of htsim's topology"));
}
