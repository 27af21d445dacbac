/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"

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

/// Switch 0 between hosts 1 to 4, which have the numbers 0 to 3.
ClusterTopology
FourHosts()
{
    return ReadTopology("5 1 4\n0\n0 1 1Gbps 1us 0\n0 2 1Gbps 1us 0\n0 3 1Gbps 1us 0\n"
                        "0 4 1Gbps 1us 0\n",
                        "star");
}

/// A matrix that was read, and the flows with a start time.
struct Matrix
{
    explicit Matrix(const std::string& lines)
        : topology(FourHosts()),
          text(lines),
          file(text, "m", topology)
    {
        while (const auto flow = file.Next())
        {
            flows.push_back(*flow);
        }
    }

    ClusterTopology topology;
    std::istringstream text;
    FlowFile file;
    std::vector<FlowRecord> flows;
};

std::string
MatrixErrorOf(const std::string& lines)
{
    try
    {
        const Matrix matrix(lines);
    }
    catch (const InputError& error)
    {
        return error.what();
    }
    return "no error";
}

/// @return the lines of the flows that a trigger starts when it is activated
std::vector<std::size_t>
Started(FlowTriggers& triggers, uint32_t trigger)
{
    std::vector<std::size_t> lines;
    for (const FlowRecord& flow : triggers.Activate(trigger))
    {
        lines.push_back(flow.line);
    }
    return lines;
}

} // namespace

TEST(ConnectionMatrix, NumbersAreHostsAndStartsArePicosecondsInOrder)
{
    Matrix matrix("# permutation\nNodes 4\nConnections 2\n0->3 id 1 start 2000.0 size 5\n\n"
                  "2->1 start 1e3 size 7 prio 4\n");
    ASSERT_EQ(matrix.flows.size(), 2u);
    EXPECT_EQ(matrix.file.Count(), 2u);
    EXPECT_EQ(matrix.flows[0].src, 2u);
    EXPECT_EQ(matrix.flows[0].dst, 1u);
    EXPECT_EQ(matrix.flows[0].startPs, 1000);
    EXPECT_EQ(matrix.flows[0].bytes, 7u);
    EXPECT_EQ(matrix.flows[0].priority, 3u);
    EXPECT_EQ(matrix.flows[1].startPs, 2000);
    EXPECT_THAT(matrix.file.Warnings(), ElementsAre(HasSubstr("m:6: prio has no effect")));
}

TEST(ConnectionMatrix, AOneshotStartsItsFlowsAtOnceAndAMultishotOneByOne)
{
    Matrix matrix("Nodes 4\nConnections 6\nTriggers 2\n"
                  "0->1 id 1 start 0 size 1 send_done_trigger 7\n"
                  "0->2 id 2 trigger 7 size 1 recv_done_trigger 5\n"
                  "0->3 id 3 trigger 7 size 1 send_done_trigger 5\n"
                  "1->2 id 4 trigger 5 size 1\n"
                  "1->3 id 5 trigger 5 size 1 send_done_trigger 5\n"
                  "2->3 id 6 trigger 5 size 1\n"
                  "trigger id 7 oneshot\ntrigger id 5 multishot\n");
    EXPECT_EQ(matrix.file.Count(), 6u);
    ASSERT_EQ(matrix.flows.size(), 1u);
    EXPECT_EQ(matrix.flows[0].whenSent, 1u);
    FlowTriggers& triggers = matrix.file.Triggers();
    EXPECT_THAT(Started(triggers, 1), ElementsAre(5, 6));
    EXPECT_THAT(Started(triggers, 1), ElementsAre()) << "oneshot";
    EXPECT_THAT(Started(triggers, 2), ElementsAre(7));
    EXPECT_THAT(Started(triggers, 2), ElementsAre(8));
    EXPECT_THAT(Started(triggers, 2), ElementsAre(9));
    EXPECT_THAT(Started(triggers, 2), ElementsAre());
}

TEST(ConnectionMatrix, ABarrierStartsItsFlowsAtItsLastActivation)
{
    Matrix matrix("Nodes 4\nConnections 3\nTriggers 1\ntrigger id 1 barrier count 2\n"
                  "0->1 id 1 start 0 size 1 send_done_trigger 1\n"
                  "0->2 id 2 start 0 size 1 recv_done_trigger 1\n"
                  "0->3 id 3 trigger 1 size 1\n");
    EXPECT_THAT(Started(matrix.file.Triggers(), 1), ElementsAre());
    EXPECT_THAT(Started(matrix.file.Triggers(), 1), ElementsAre(7));
    EXPECT_EQ(matrix.flows[1].whenDelivered, 1u);
}

TEST(ConnectionMatrix, MistakesNameTheirLine)
{
    const std::string head = "Nodes 4\nConnections 1\n";
    EXPECT_THAT(MatrixErrorOf("Nodes 5\n"), HasSubstr("m:1: the connection matrix has 5 nodes"));
    EXPECT_THAT(MatrixErrorOf("Nodes x\n"), HasSubstr("m:1: 'x' is not a valid number of Nodes"));
    EXPECT_THAT(MatrixErrorOf("Connections 1\n0->1 start 0 size 1\n"),
                HasSubstr("m:2: source '0' is not a valid host; expected Nodes"));
    EXPECT_THAT(MatrixErrorOf(head + "0->4 start 0 size 1\n"),
                HasSubstr("m:3: destination '4' is not a valid host; expected a number from 0"));
    EXPECT_THAT(MatrixErrorOf(head + "1->1 start 0 size 1\n"), HasSubstr("are both host 1"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start -1 size 1\n"), HasSubstr("'-1' is not a valid"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 size\n"), HasSubstr("'' is not a valid size"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 size 0\n"), HasSubstr("without an end"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0\n"), HasSubstr("m:3: the flow has no size"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 size 1\n"), HasSubstr("neither a start time nor"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 trigger 1 size 1\n"),
                HasSubstr("a start time and a trigger"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 size 1\n0->2 start 0 size 1\n"),
                HasSubstr("the file has 2 lines of Connections and announces 1"));
}

TEST(ConnectionMatrix, WordsWithoutACounterpartAreRefusedByName)
{
    const std::string head = "Nodes 4\nConnections 1\n";
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nFailures 1\n"), HasSubstr("m:2: Failures of a connection"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 id 1 msg start 0 size 1\n"), HasSubstr("m:3: 'msg'"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 size 1 addon\n"), HasSubstr("m:3: 'addon'"));
    EXPECT_THAT(MatrixErrorOf(head + "0->1 start 0 size 1 weight 2\n"),
                HasSubstr("m:3: 'weight' is not a word of a flow; expected id, start"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nTiers 3\n"),
                HasSubstr("m:2: 'Tiers' begins no line of a connection matrix"));
}

TEST(ConnectionMatrix, FlowsThatWouldNeverStartAreRefused)
{
    const std::string head = "Nodes 4\nConnections 2\nTriggers 1\n"
                             "0->1 id 1 start 0 size 1 send_done_trigger 1\n";
    EXPECT_THAT(MatrixErrorOf(head + "0->2 id 2 trigger 1 size 1\ntrigger id 1 barrier count 2\n"),
                HasSubstr("m:5: the flow never starts"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nConnections 1\nTriggers 1\n"
                              "0->2 trigger 1 size 1 send_done_trigger 1\ntrigger id 1 oneshot\n"),
                HasSubstr("m:4: the flow never starts"));
    EXPECT_THAT(MatrixErrorOf(head + "0->2 id 2 start 0 size 1 send_done_trigger 1\n"
                                     "trigger id 1 oneshot\n"),
                HasSubstr("m:6: the ends of 2 flows activate trigger 1; expected at most 1"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nConnections 1\n"
                              "0->1 id 1 start 0 size 1 send_done_trigger 9\n"),
                HasSubstr("m:3: trigger 9 is not defined"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nTriggers 2\ntrigger id 1 oneshot\ntrigger id 1 oneshot\n"),
                HasSubstr("m:4: trigger 1 repeats line 3"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nTriggers 1\ntrigger id 1 twoshot\n"),
                HasSubstr("'twoshot' is not a valid kind of trigger"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nTriggers 1\ntrigger id 1 barrier\n"),
                HasSubstr("the barrier has no count"));
    EXPECT_THAT(MatrixErrorOf("Nodes 4\nTriggers 1\ntrigger oneshot\n"), HasSubstr("has no id"));
}
