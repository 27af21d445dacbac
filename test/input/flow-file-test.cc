/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/others-files.h"

#include "ns3/flow-file.h"
#include "ns3/input-error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

/// Switch 0 between hosts 1, 2 and 3.
ClusterTopology
Star()
{
    return ReadTopology("4 1 3\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n", "star");
}

std::vector<FlowRecord>
ParseFlows(const std::string& text)
{
    const ClusterTopology topology = Star();
    std::istringstream stream(text);
    FlowFile file(stream, "f", topology);
    std::vector<FlowRecord> flows;
    while (const auto flow = file.Next())
    {
        flows.push_back(*flow);
    }
    return flows;
}

std::string
FlowErrorOf(const std::string& text)
{
    try
    {
        ParseFlows(text);
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

} // namespace

TEST(FlowFile, NodeIdsBecomeHostNumbersAndSecondsPicoseconds)
{
    const auto flows = ParseFlows("2\n2 1 3 100 5000000000 2.000000001\n3 2 4 2000 2.5\n");
    ASSERT_EQ(flows.size(), 2u);
    EXPECT_EQ(flows[0].src, 1u);
    EXPECT_EQ(flows[0].dst, 0u);
    EXPECT_EQ(flows[0].priority, 3u);
    EXPECT_EQ(flows[0].dport, 100u);
    EXPECT_EQ(flows[0].bytes, 5'000'000'000u);
    EXPECT_EQ(flows[0].startPs, 2'000'000'001'000);
    EXPECT_EQ(flows[1].dport, FlowRecord::DEFAULT_DPORT) << "a line of five fields has no port";
    EXPECT_EQ(flows[1].bytes, 2000u);
    EXPECT_EQ(flows[1].startPs, 2'500'000'000'000);
}

TEST(FlowFile, OnlyAsManyLinesAsAnnouncedAreRead)
{
    EXPECT_EQ(ParseFlows("1\n2 1 3 100 5 2\n999 999 nonsense\nFirst line: flows\n").size(), 1u);
    EXPECT_TRUE(ParseFlows("0\n").empty());
}

TEST(FlowFile, FlowsBehindThoseAnnouncedAreFoundAndTextIsNone)
{
    const ClusterTopology topology = Star();
    const auto surplusOf = [&topology](const std::string& text) {
        std::istringstream stream(text);
        FlowFile flows(stream, "f", topology);
        while (flows.Next())
        {
        }
        return flows.FindSurplus();
    };
    EXPECT_EQ(surplusOf("1\n1 2 3 100 5 2\n\nFirst line: flows\nsrc dst 3 port size start\n"), 0u);
    EXPECT_EQ(surplusOf("1\n1 2 3 100 5 2\n\ntext\n1 2 3 100 5 2\n"), 5u);
    EXPECT_EQ(surplusOf("0\n1 2 3 5 2.5\n"), 2u);
}

TEST(FlowFile, MistakesNameTheirLine)
{
    EXPECT_THAT(FlowErrorOf(""), HasSubstr("the flow file is empty"));
    EXPECT_THAT(FlowErrorOf("1 2 3\n"), HasSubstr("f:1: '1 2 3' is not a valid number of flows"));
    EXPECT_THAT(FlowErrorOf("2\n1 2 3 100 5 0\n"),
                HasSubstr("f:2: the file ends after 1 of 2 flows"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 3\n"), HasSubstr("f:2: a flow has 3 fields"));
    EXPECT_THAT(FlowErrorOf("1\n9 2 3 100 5 0\n"), HasSubstr("source '9' is not a valid node"));
    EXPECT_THAT(FlowErrorOf("1\n1 0 3 100 5 0\n"), HasSubstr("destination 0 is a switch"));
    EXPECT_THAT(FlowErrorOf("1\n1 1 3 100 5 0\n"), HasSubstr("are both node 1"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 8 100 5 0\n"), HasSubstr("'8' is not a valid priority group"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 0 100 5 0\n"),
                HasSubstr("'0' is not a valid priority group of data"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 3 70000 5 0\n"), HasSubstr("'70000' is not a valid port"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 3 100 0 0\n"), HasSubstr("'0' is not a valid flow size"));
    EXPECT_THAT(FlowErrorOf("1\n1 2 3 100 5 -1\n"), HasSubstr("'-1' is not a valid start time"));
    EXPECT_THAT(FlowErrorOf("2\n1 2 3 100 5 2\n1 2 3 100 5 1\n"),
                HasSubstr("f:3: the flow starts before the one above it"));
}

TEST(TraceNodes, IdsOfLargerTopologiesAreLeftOut)
{
    std::istringstream text("4\n3 1\n1 900\n\nFirst line: tracing node #\n");
    EXPECT_THAT(ReadTraceNodes(text, "t", 10), ElementsAre(1u, 3u));
}

TEST(TraceNodes, TooFewIdsOrTextAreRefused)
{
    std::istringstream few("3\n1 2\n");
    EXPECT_THROW(ReadTraceNodes(few, "t", 10), InputError);
    std::istringstream text("2\n1 b\n");
    EXPECT_THROW(ReadTraceNodes(text, "t", 10), InputError);
    std::istringstream empty("");
    EXPECT_THROW(ReadTraceNodes(empty, "t", 10), InputError);
}

TEST(FlowFile, FilesOfTheHpccSimulatorAreReadUnchanged)
{
    NEEDS_OTHERS_FILES();
    const auto topology = ClusterTopology::Read(OthersFile("hpcc/topology.txt"));
    FlowFile flows(OthersFile("hpcc/flow.txt"), topology);
    EXPECT_EQ(flows.Count(), 2u);
    EXPECT_EQ(flows.Next()->bytes, 200'000'000u);
    EXPECT_EQ(topology.NodeOfHost(flows.Next()->src), 3u);
    EXPECT_FALSE(flows.Next());
    const FlowFileSummary summary = CheckFlowFile(OthersFile("hpcc/flow.txt"), topology);
    EXPECT_EQ(summary.flows, 2u);
    EXPECT_EQ(summary.bytes, 400'000'000u);
    EXPECT_EQ(summary.priorityMask, 1u << 3);
    EXPECT_EQ(summary.lastStartPs, 2'000'000'000'000);
    EXPECT_EQ(ReadTraceNodes(OthersFile("hpcc/trace.txt"), topology.nodeCount).size(), 66u);
}
