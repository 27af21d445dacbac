/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/laned-server.h"
#include "../support/others-files.h"

#include "ns3/cluster-topology.h"
#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace ns3;

namespace
{

using Kind = ClusterTopology::NodeKind;

ClusterTopology
Parse(const std::string& text)
{
    return ReadTopology(text, "t");
}

std::string
ErrorOf(const std::string& text)
{
    try
    {
        Parse(text);
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

/// Two servers of two GPUs, an NVSwitch each, one switch.
const char* const SMALL = "7 2 2 1 8 H100\n"
                          "4 5 6 \n"
                          "0 4 2880Gbps 0.000025ms 0\n"
                          "0 6 400Gbps 0.0005ms 0\n"
                          "1 4 2880Gbps 0.000025ms 0\n"
                          "1 6 400Gbps 0.0005ms 0\n"
                          "# the second server\n"
                          "\n"
                          "2 5 2880Gbps 0.000025ms 0\n"
                          "2 6 400Gbps 0.0005ms 0\n"
                          "3 5 2880Gbps 0.000025ms 0\n"
                          "3 6 400Gbps 0.0005ms 0.01 # a bad cable\n";

std::string
Replaced(std::string text, const std::string& from, const std::string& to)
{
    return text.replace(text.find(from), from.size(), to);
}

} // namespace

TEST(ClusterTopology, SixFieldFormGivesServersNvSwitchesAndExactUnits)
{
    const ClusterTopology t = Parse(SMALL);
    EXPECT_EQ(t.nodeCount, 7u);
    EXPECT_EQ(t.hostCount, 4u);
    EXPECT_EQ(t.nvswitchCount, 2u);
    EXPECT_EQ(t.switchCount, 1u);
    EXPECT_EQ(t.gpuType, "H100");
    EXPECT_TRUE(t.Is(4, Kind::NvSwitch));
    EXPECT_TRUE(t.Is(6, Kind::Switch));
    EXPECT_EQ(t.Server(1), 0u);
    EXPECT_EQ(t.Server(2), 1u);
    EXPECT_EQ(t.ServerCount(), 2u);
    EXPECT_EQ(t.links[0].rateBps, 2'880'000'000'000u);
    EXPECT_EQ(t.links[0].delayPs, 25'000);
    EXPECT_EQ(t.links[7].line, 12u);
    EXPECT_DOUBLE_EQ(t.links[7].errorRate, 0.01);
    EXPECT_TRUE(t.IsNvLink(0));
    EXPECT_FALSE(t.IsNvLink(1));
    EXPECT_TRUE(t.ShareNvLink(0, 1));
    EXPECT_FALSE(t.ShareNvLink(1, 2));
    EXPECT_EQ(t.MaxNicRateBps(), 400'000'000'000u);
}

TEST(ClusterTopology, PortsAreInFileOrderAndKnowTheFarEnd)
{
    const ClusterTopology t = Parse(SMALL);
    ASSERT_EQ(t.Ports(0).size(), 2u);
    EXPECT_EQ(t.Ports(0)[0].peer, 4u);
    EXPECT_EQ(t.Ports(0)[1].peer, 6u);
    ASSERT_EQ(t.Ports(6).size(), 4u);
    EXPECT_EQ(t.Ports(6)[2].peer, 2u);
    EXPECT_EQ(t.Ports(6)[2].peerPort, 1u);
    for (uint32_t node = 0; node < t.nodeCount; ++node)
    {
        for (uint32_t k = 0; k < t.Ports(node).size(); ++k)
        {
            const auto& port = t.Ports(node)[k];
            EXPECT_EQ(t.Ports(port.peer)[port.peerPort].peer, node);
            EXPECT_EQ(t.Ports(port.peer)[port.peerPort].peerPort, k);
        }
    }
}

TEST(ClusterTopology, ThreeFieldFormNumbersHostsAroundSwitchIds)
{
    const ClusterTopology t = Parse("4 1 3\n"
                                    "1\n"
                                    "1 0 100Gbps 1us 0\n1 2 100Gbps 1us 0\n1 3 100Gbps 1us 0\n");
    EXPECT_EQ(t.hostCount, 3u);
    EXPECT_EQ(t.gpusPerServer, 1u);
    EXPECT_EQ(t.HostIndexOf(0), 0u);
    EXPECT_EQ(t.HostIndexOf(1), UINT32_MAX);
    EXPECT_EQ(t.HostIndexOf(2), 1u);
    EXPECT_EQ(t.NodeOfHost(2), 3u);
}

TEST(ClusterTopology, HeadersOfNs3DatacenterCountTorsToo)
{
    const std::string rest = "\n2 3\n0 2 25000000000.0 1us 0\n1 3 25Gbps 1us 0\n2 3 1e11 2us 0\n";
    for (const char* header : {"4 2 2 3", "4 2 2 3 25000000000 100000000000"})
    {
        const ClusterTopology t = Parse(header + rest);
        EXPECT_EQ(t.hostCount, 2u);
        EXPECT_EQ(t.switchCount, 2u);
        ASSERT_EQ(t.links.size(), 3u);
        EXPECT_EQ(t.links[0].rateBps, 25'000'000'000u) << "bits per second, without a unit";
        EXPECT_EQ(t.links[1].rateBps, 25'000'000'000u);
        EXPECT_EQ(t.links[2].rateBps, 100'000'000'000u);
    }
    EXPECT_THAT(ErrorOf("4 2 3" + rest), testing::HasSubstr("a rate above 0 with its unit"));
}

TEST(ClusterTopology, NoNvSwitchesAndNoSwitchesLeaveAnEmptySecondLine)
{
    const ClusterTopology t = Parse("2 1 0 0 1 A100\n\n0 1 100Gbps 1us 0\n");
    EXPECT_EQ(t.hostCount, 2u);
    EXPECT_EQ(t.Ports(0)[0].peer, 1u);
}

TEST(ClusterTopology, MistakesNameLineAndWhatWasExpected)
{
    EXPECT_EQ(ErrorOf("").substr(0, 25), "t: the topology is empty;");
    EXPECT_EQ(ErrorOf("1 2 3 4 5\n").substr(0, 34), "t:1: the first line has 5 fields; ");
    EXPECT_THAT(ErrorOf("3 3 0\n0 1 2\n"), testing::HasSubstr("leave no node to be a host"));
    EXPECT_THAT(ErrorOf("6 4 0 1 0 A100\n5\n"), testing::HasSubstr("do not fill servers of 4"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "4 5 6 ", "4 5 5")),
                testing::HasSubstr("t:2: node 5 is listed as a switch twice"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "4 5 6 ", "4 5 7")),
                testing::HasSubstr("t:2: '7' is not a valid node; expected an id from 0 to 6"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "4 5 6 ", "3 5 6")),
                testing::HasSubstr("t:2: node 3 is listed as a switch"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "4 5 6 ", "4 5 6 6")), testing::HasSubstr("t:2: "));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0 6 400Gbps", "0 6 400Gigs")),
                testing::HasSubstr("t:4: '400Gigs' is not a valid link rate"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0 6 400Gbps", "0 6 0Gbps")),
                testing::HasSubstr("t:4: '0Gbps' is not a valid link rate"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0 6 400Gbps 0.0005ms", "0 6 400Gbps 5m")),
                testing::HasSubstr("t:4: '5m' is not a valid link delay"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0.01", "1.01")),
                testing::HasSubstr("t:12: '1.01' is not a valid error rate"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0 6 400Gbps", "6 6 400Gbps")),
                testing::HasSubstr("t:4: node 6 is linked to itself"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "1 6 400Gbps", "6 0 400Gbps")),
                testing::HasSubstr("t:6: the link between 6 and 0 repeats line 4"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "0 6 400Gbps 0.0005ms 0", "0 6 400Gbps 0.0005ms")),
                testing::HasSubstr("t:4: a link has 4 fields"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "2 2 1 8", "2 2 1 9")),
                testing::HasSubstr("the file ends after 8 of 9 links"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "2 2 1 8", "2 2 1 7")),
                testing::HasSubstr("t:12: there are more links than the first line says"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "2 5 2880Gbps", "2 4 2880Gbps")),
                testing::HasSubstr("t:9: NVSwitch 4 joins servers 0 and 1"));
    EXPECT_THAT(ErrorOf(Replaced(SMALL, "3 6 400Gbps", "4 6 400Gbps")),
                testing::HasSubstr("t:12: NVSwitch 4 is linked to switch 6"));
    EXPECT_THROW(ClusterTopology::Read("/does/not/exist"), InputError);
    EXPECT_THROW(ClusterTopology::Read("/"), InputError);
}

TEST(ClusterTopology, AHostBehindAnotherServersNvSwitchIsUnreachable)
{
    // GPU 3 keeps its NVLink only: other servers could reach it through GPU 2 alone.
    std::string text = Replaced(SMALL, "2 2 1 8", "2 2 1 7");
    text = text.substr(0, text.find("3 6 400Gbps"));
    EXPECT_THAT(ErrorOf(text), testing::HasSubstr("host 3 cannot be reached from host 0"));
}

TEST(ClusterTopology, RailsThatMeetInNvLinkAloneAreAWarning)
{
    // Two servers of two GPUs; GPUs 0 and 2 on switch 6, GPUs 1 and 3 on switch 7.
    const std::string nvlinks =
        "0 4 1Tbps 25ns 0\n1 4 1Tbps 25ns 0\n2 5 1Tbps 25ns 0\n3 5 1Tbps 25ns 0\n";
    const std::string rails =
        "0 6 1Gbps 1us 0\n1 7 1Gbps 1us 0\n2 6 1Gbps 1us 0\n3 7 1Gbps 1us 0\n";
    const ClusterTopology t = Parse("8 2 2 2 8 H100\n4 5 6 7\n" + nvlinks + rails);
    ASSERT_EQ(t.warnings.size(), 1u);
    EXPECT_THAT(t.warnings[0],
                testing::HasSubstr("host 0 and host 3 meet only in another GPU's NVLink"));
    // Without an NVSwitch in the second server, only one of its GPUs can be reached.
    EXPECT_THAT(ErrorOf("6 1 0 2 4 H100\n4 5\n0 4 1Gbps 1us 0\n1 5 1Gbps 1us 0\n2 4 1Gbps 1us 0\n"
                        "3 5 1Gbps 1us 0\n"),
                testing::HasSubstr("cannot be reached"));
}

TEST(ClusterTopology, LinksBetweenGpusOfOneServerAreItsOwnNetwork)
{
    // Two servers of two GPUs; a link in each, and one between them.
    const ClusterTopology t = Parse("5 2 0 1 7 MI300X\n4\n0 1 384Gbps 25ns 0\n2 3 384Gbps 25ns 0\n"
                                    "1 2 100Gbps 25ns 0\n0 4 400Gbps 1us 0\n1 4 400Gbps 1us 0\n"
                                    "2 4 400Gbps 1us 0\n3 4 400Gbps 1us 0\n");
    EXPECT_TRUE(t.IsNvLink(0));
    EXPECT_TRUE(t.IsNvLink(1));
    EXPECT_FALSE(t.IsNvLink(2)) << "it joins two servers";
    EXPECT_FALSE(t.IsNvLink(3));
    EXPECT_TRUE(t.ShareNvLink(0, 1));
    EXPECT_FALSE(t.ShareNvLink(1, 2));
    EXPECT_EQ(t.MaxNicRateBps(), 400'000'000'000U);
    // Where one is missing, they are links like others.
    const ClusterTopology part =
        Parse("5 4 0 1 6 MI300X\n4\n0 1 384Gbps 25ns 0\n2 3 384Gbps 25ns 0\n"
              "0 4 400Gbps 1us 0\n1 4 400Gbps 1us 0\n2 4 400Gbps 1us 0\n"
              "3 4 400Gbps 1us 0\n");
    EXPECT_FALSE(part.IsMesh());
    EXPECT_FALSE(part.IsNvLink(0));
    EXPECT_FALSE(part.ShareNvLink(0, 1));
}

TEST(ClusterTopology, NvSwitchesOfOneServerMayBeLinked)
{
    const ClusterTopology t = Parse(LanedFile(2));
    EXPECT_TRUE(t.ShareNvLink(0, 7));
    EXPECT_FALSE(t.ShareNvLink(7, 8));
    EXPECT_EQ(t.ServerOfNvSwitch(16), 0U);
    EXPECT_EQ(t.ServerOfNvSwitch(31), 1U);
    EXPECT_TRUE(t.IsNvLink(t.LinksBetween(16, 17).front()));
    EXPECT_TRUE(t.warnings.empty());
    // NVSwitches 4 and 5 are of servers 0 and 1.
    const std::string links = "0 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n"
                              "3 5 1Gbps 1us 0\n0 6 1Gbps 1us 0\n2 6 1Gbps 1us 0\n";
    EXPECT_THAT(ErrorOf("7 2 2 1 7 H100\n4 5 6\n" + links + "4 5 1Gbps 1us 0\n"),
                testing::HasSubstr("joins servers 0 and 1; expected links to the GPUs and "
                                   "NVSwitches of one server only"));
    EXPECT_THAT(ErrorOf("7 2 2 1 7 H100\n4 5 6\n" + links + "4 6 1Gbps 1us 0\n"),
                testing::HasSubstr("NVSwitch 4 is linked to switch 6"));
}

TEST(ClusterTopology, NvSwitchesJoinAllGpusOfAServer)
{
    const std::string tail = "0 6 1Gbps 1us 0\n1 6 1Gbps 1us 0\n2 6 1Gbps 1us 0\n3 6 1Gbps 1us 0\n";
    const std::string halves =
        "0 4 9Gbps 1us 0\n1 4 9Gbps 1us 0\n2 5 9Gbps 1us 0\n3 5 9Gbps 1us 0\n";
    EXPECT_EQ(Parse("7 2 2 1 8 H100\n4 5 6\n" + halves + tail).ServerCount(), 2U);
    EXPECT_EQ(ErrorOf("7 4 2 1 8 H100\n4 5 6\n" + halves + tail),
              "t:1: GPUs 0 and 2 of server 0 are not joined by NVLinks; expected NVSwitches or "
              "links that join all 4 "
              "GPUs of a server, or fewer GPUs per server in the first line");
    // A link between the NVSwitches joins them, and so does a GPU that both have.
    EXPECT_TRUE(
        Parse("7 4 2 1 9 H100\n4 5 6\n" + halves + tail + "4 5 9Gbps 1us 0\n").ShareNvLink(0, 3));
    EXPECT_TRUE(
        Parse("7 4 2 1 9 H100\n4 5 6\n" + halves + tail + "0 5 9Gbps 1us 0\n").ShareNvLink(0, 3));
    // So does a link between two GPUs.
    EXPECT_EQ(Parse("7 4 2 1 9 H100\n4 5 6\n" + halves + tail + "1 2 9Gbps 1us 0\n").ServerCount(),
              1U);
    // One GPU has no NVLink.
    EXPECT_THAT(ErrorOf("7 4 2 1 7 H100\n4 5 6\n" + halves.substr(0, halves.find("3 5")) + tail),
                testing::HasSubstr("are not joined by NVLinks"));
}

TEST(ClusterTopology, RailsThatMeetInLinksBetweenGpusAloneAreAWarning)
{
    const ClusterTopology t =
        Parse("6 2 0 2 6 MI300X\n4 5\n0 1 384Gbps 25ns 0\n2 3 384Gbps 25ns 0\n"
              "0 4 1Gbps 1us 0\n1 5 1Gbps 1us 0\n2 4 1Gbps 1us 0\n"
              "3 5 1Gbps 1us 0\n");
    ASSERT_EQ(t.warnings.size(), 1u);
    EXPECT_THAT(t.warnings[0], testing::HasSubstr("host 0 and host 3 meet only in"));
}

TEST(ClusterTopology, GpusInARingWithoutASwitchAreAWarning)
{
    const std::string ring = "4 4 0 0 4 H100\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n"
                             "2 3 1Gbps 1us 0\n3 0 1Gbps 1us 0\n";
    const ClusterTopology t = Parse(ring);
    ASSERT_EQ(t.warnings.size(), 1u);
    EXPECT_THAT(t.warnings[0], testing::HasSubstr("host 0 and host 2 meet only in other GPUs"));
    EXPECT_THAT(ErrorOf("4 4 0 0 2 H100\n\n0 1 1Gbps 1us 0\n2 3 1Gbps 1us 0\n"),
                testing::HasSubstr("cannot be reached"));
}

TEST(ClusterTopology, TwoPlanesNeedNoLinkBetweenThemWhenHostsAreOnBoth)
{
    const std::string twoPlanes = "4 2 4\n2 3\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n"
                                  "1 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n";
    EXPECT_EQ(Parse(twoPlanes).hostCount, 2u);
    const std::string apart = "4 2 2\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n";
    EXPECT_THAT(ErrorOf(apart), testing::HasSubstr("cannot be reached"));
}

TEST(ClusterTopology, SeveralLinksBetweenTwoSwitchesAreABundle)
{
    const ClusterTopology t = Parse("4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n"
                                    "2 3 1Gbps 1us 0\n3 2 1Gbps 1us 0\n");
    EXPECT_EQ(t.Ports(2).size(), 3u);
    EXPECT_THAT(t.LinksBetween(3, 2), testing::ElementsAre(2u, 3u));
    EXPECT_TRUE(t.LinksBetween(0, 1).empty());
}

TEST(ClusterTopology, ADelayWithoutItsUnitIsSaidToBeInSeconds)
{
    const auto warningsOf = [](const std::string& first, const std::string& second) {
        return Parse("3 1 2\n2\n0 2 1Gbps " + first + " 0\n1 2 1Gbps " + second + " 0\n").warnings;
    };
    EXPECT_THAT(warningsOf("1us", "5e-7"),
                testing::ElementsAre(
                    testing::HasSubstr(":4: the delay 5e-7 has no unit and counts as seconds")));
    EXPECT_EQ(warningsOf("1", "2.").size(), 1u) << "once is enough";
    EXPECT_TRUE(warningsOf("0", "0.0005ms").empty());
}

TEST(ClusterTopology, ThreeFieldFormStopsAfterItsLinksAsTheHpccSimulatorDoes)
{
    const std::string text = "2 0 1\n\n0 1 1Gbps 1us 0\n";
    EXPECT_TRUE(Parse(text + "\nFirst line: nodes\n").warnings.empty());
    EXPECT_THAT(Parse(text + "0 9 1Gbps 1us 0\n").warnings,
                testing::ElementsAre(testing::HasSubstr("t:4: links from here on are not read")));
}

TEST(ClusterTopology, FilesOfTheOtherSimulatorsAreReadUnchanged)
{
    NEEDS_OTHERS_FILES();
    const auto spectrum =
        ClusterTopology::Read(OthersFile("simai/topo/Spectrum-X_128g_8gps_100Gbps_A100"));
    EXPECT_EQ(spectrum.hostCount, 128u);
    EXPECT_EQ(spectrum.ServerCount(), 16u);
    EXPECT_EQ(spectrum.links.size(), 768u);
    const auto dualPlane = ClusterTopology::Read(
        OthersFile("simai/topo/AlibabaHPN_64g_8gps_DualToR_DualPlane_200Gbps_H100"));
    EXPECT_EQ(dualPlane.Ports(0).size(), 3u);
    const auto hpcc = ClusterTopology::Read(OthersFile("hpcc/topology.txt"));
    EXPECT_EQ(hpcc.NodeOfHost(0), 1u) << "node 0 is the switch";
    EXPECT_EQ(ClusterTopology::Read(OthersFile("hpcc/fat.txt")).hostCount, 320u);
    EXPECT_EQ(ClusterTopology::Read(OthersFile("astra-sim/network/8_nodes_1_switch_topology.txt"))
                  .hostCount,
              8u);
}
