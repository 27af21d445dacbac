/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"
#include "programs/frame/ns3-flags.h"

#include "ns3/input-error.h"
#include "ns3/rdma-hw.h"
#include "ns3/uinteger.h"

#include <gmock/gmock.h>
#include <sstream>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

/// Size column of each line of fct.txt.
std::vector<std::string>
Sizes(const std::vector<std::string>& lines)
{
    std::vector<std::string> sizes;
    for (const std::string& line : lines)
    {
        std::istringstream text(line);
        std::string cell;
        for (int column = 0; column < 5; ++column)
        {
            text >> cell;
        }
        sizes.push_back(cell);
    }
    std::sort(sizes.begin(), sizes.end());
    return sizes;
}

} // namespace

TEST(FlowRunner, EveryFlowFinishesAndBytesAreConserved)
{
    FlowRun run(Star(4),
                LINE_RATE,
                "3\n0 3 3 100 5000 0\n1 3 3 100 12345 0.000001\n2 0 3 100 1 0.00001\n");
    run.Run();
    EXPECT_EQ(run.Runner().Finished(), 3u);
    EXPECT_EQ(run.Runner().FinishedBytes(), 5000u + 12345 + 1);
    EXPECT_TRUE(run.Runner().DescribeUnfinished(10).empty());
    const FabricTotals totals = run.Fabric().GetTotals();
    EXPECT_EQ(totals.dataPayloadSent, 5000u + 12345 + 1);
    EXPECT_EQ(totals.dataPayloadReceived, totals.dataPayloadSent);
    EXPECT_EQ(totals.framesInUse, 0u);
}

TEST(FlowRunner, AFlowIsSplitEvenlyOverItsQueuePairs)
{
    FlowRun run(Star(2),
                std::string(LINE_RATE) + "QPS_PER_CONNECTION 4\n",
                "3\n0 1 3 100 5002 0\n0 1 3 100 2000 0.001\n0 1 3 100 10 0.002\n");
    run.Run();
    EXPECT_EQ(run.Runner().Finished(), 3u);
    // No part has less than a frame, of 1000 bytes.
    EXPECT_THAT(Sizes(run.Lines("fct.txt")),
                ElementsAre("10", "1000", "1000", "1250", "1250", "1251", "1251"));
}

TEST(FlowRunner, PersistentConnectionsKeepTheirPort)
{
    const char* flows = "2\n0 1 3 100 1000 0\n0 1 3 100 1000 0.001\n";
    FlowRun persistent(Star(2), std::string(LINE_RATE) + "QP_MODE persistent\n", flows);
    persistent.Run();
    const auto lines = persistent.Lines("fct.txt");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_THAT(lines[0], HasSubstr(" 10000 100 "));
    EXPECT_THAT(lines[1], HasSubstr(" 10000 100 "));
}

TEST(FlowRunner, PairsOfTheirOwnHavePortsOfTheirOwn)
{
    FlowRun run(Star(2), LINE_RATE, "2\n0 1 3 100 1000 0\n0 1 3 100 1000 0.001\n");
    run.Run();
    EXPECT_THAT(run.Lines("fct.txt")[1], HasSubstr(" 10001 100 "));
}

TEST(FlowRunner, TriggersStartFlowsWhenOthersAreSentOrDelivered)
{
    const auto startsOf = [](const char* key) {
        FlowRun run(Star(3),
                    std::string(LINE_RATE) + "QPS_PER_CONNECTION 2\n",
                    "Nodes 3\nConnections 2\nTriggers 1\ntrigger id 1 oneshot\n0->1 id 1 start 0 "
                    "size 2000 " +
                        std::string(key) + " 1\n1->2 id 2 trigger 1 size 1000\n");
        run.Run();
        EXPECT_EQ(run.Runner().Finished(), 2u);
        EXPECT_EQ(run.Runner().FinishedBytes(), 3000u);
        std::istringstream last(run.Lines("fct.txt").back());
        std::string cell;
        for (int column = 0; column < 6; ++column)
        {
            last >> cell;
        }
        return cell;
    };
    // Two frames of 1082 bytes at 100 Gb/s, one of them once more at the switch, and two links of
    // 1 us; an acknowledgement of 84 bytes takes 2 x (6.72 ns + 1 us) back.
    EXPECT_EQ(startsOf("recv_done_trigger"), "2260");
    EXPECT_EQ(startsOf("send_done_trigger"), "4273");
}

TEST(FlowRunner, AFlowWithoutAPathIsNamed)
{
    FlowRun run(Star(2), std::string(LINE_RATE) + "LINK_DOWN 1 1 2\n", "1\n0 1 3 100 1000 0.001\n");
    run.Run(10'000'000'000);
    EXPECT_EQ(run.Runner().Finished(), 0u);
    EXPECT_THAT(run.Runner().DescribeUnfinished(10),
                ElementsAre("flow of line 2, 1000 bytes from node 0 to node 1, found no path"));
}

TEST(Ns3Flags, SetDefaultsOfAttributesAndRefuseWhatNs3DoesNotKnow)
{
    ApplyNs3Flags({"--ns3::RdmaHw::Mtu=4096"});
    UintegerValue mtu;
    CreateObject<RdmaHw>()->GetAttribute("Mtu", mtu);
    EXPECT_EQ(mtu.Get(), 4096u);
    ApplyNs3Flags({"--ns3::RdmaHw::Mtu=1000", "--RngRun=1"});
    for (const char* bad : {"--ns3::RdmaHw::Mtuu=4096",
                            "--ns3::NoClass::Mtu=1",
                            "--foo=1",
                            "--ns3::RdmaHw::Mtu=many",
                            "--RngRun=x",
                            "--SchedulerType=ns3::NoScheduler",
                            "--ns3::QbbNetDevice::PauseTime=soon",
                            "--ns3::RdmaHw::Mtu",
                            "Mtu=1"})
    {
        EXPECT_THROW(ApplyNs3Flags({bad}), InputError) << bad;
    }
}
