/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-run.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/node.h"

#include <gmock/gmock.h>
#include <map>

using namespace ns3;
using testing::ElementsAre;
using testing::HasSubstr;

namespace
{

// A full frame is 1082 bytes on the wire, 86560 ps at 100 Gb/s; an ACK 84 bytes, 6720 ps.
constexpr int64_t FRAME_PS = 86'560;
constexpr int64_t ACK_PS = 6'720;
constexpr int64_t DELAY_PS = 1'000'000;
constexpr int64_t FRAME_BYTES = 1082;

std::vector<std::vector<std::string>>
Cells(const std::vector<std::string>& lines)
{
    std::vector<std::vector<std::string>> rows;
    for (const std::string& line : lines)
    {
        std::istringstream text(line);
        rows.emplace_back();
        for (std::string cell; text >> cell;)
        {
            rows.back().push_back(cell.substr(0, cell.find(',')));
        }
    }
    return rows;
}

} // namespace

TEST(FctMonitor, WritesAddressesPortsTimesAndTheIdealOfEachMessage)
{
    FlowRun run(Star(3), LINE_RATE, "1\n0 2 3 100 1000 0.000001\n");
    run.Run();
    // There: two links for the frame; back: two for the ACK. It is alone.
    const int64_t fct = 2 * (FRAME_PS + DELAY_PS) + 2 * (ACK_PS + DELAY_PS);
    EXPECT_EQ(fct, 4'186'560);
    EXPECT_THAT(run.Lines("fct.txt"),
                ElementsAre("0b000001 0b000201 10000 100 1000 1000 4187 4187"));
}

TEST(FctMonitor, AnAddressIsMadeFromTheNodeIdAlsoAbove255)
{
    ClusterTopology topology;
    topology.kind.assign(601, ClusterTopology::NodeKind::Host);
    topology.kind[0] = ClusterTopology::NodeKind::Switch;
    topology.Index();
    // Host 599 is node 600 = 2 * 256 + 88: 11.2.88.1.
    EXPECT_EQ(HostAddress(topology, 599), 11U << 24 | 2U << 16 | 88U << 8 | 1U);
}

TEST(RdmaFabric, KnowsTheNodeOfEachDeviceAlsoWhereOtherNodesCameBefore)
{
    const Ptr<Node> other = CreateObject<Node>();
    FlowRun run(Star(3), LINE_RATE, "1\n0 2 3 100 1000 0\n");
    uint32_t ports = 0;
    ForEachPort(run.Fabric(), [&](uint32_t node, uint16_t, const QbbNetDevice& device) {
        EXPECT_EQ(run.Fabric().NodeOf(device), node);
        ++ports;
    });
    EXPECT_EQ(ports, 6U);
}

TEST(PfcMonitor, EachPauseIsWrittenWithItsResumeAndThePortThatStops)
{
    std::string flows = "16\n";
    for (uint32_t host = 0; host < 16; ++host)
    {
        flows += std::to_string(host) + " 16 3 100 1000000 0\n";
    }
    FlowRun run(Star(17), std::string(LINE_RATE) + "BUFFER_SIZE 4\n", flows);
    run.Run();
    const FabricTotals totals = run.Fabric().GetTotals();
    EXPECT_EQ(totals.bufferDrops, 0u);
    ASSERT_GT(totals.pauses, 0u);
    std::map<std::string, int> paused;
    uint64_t pauses = 0;
    int64_t last = 0;
    for (const auto& row : Cells(run.Lines("pfc.txt")))
    {
        ASSERT_EQ(row.size(), 6u);
        EXPECT_GE(std::stoll(row[0]), last) << "in order of time";
        last = std::stoll(row[0]);
        EXPECT_LT(std::stoi(row[1]), 16) << "the senders are paused";
        EXPECT_EQ(row[2], "0") << "a host";
        EXPECT_EQ(row[3], "1") << "its only port";
        EXPECT_EQ(row[5], "3") << "the flows' priority";
        paused[row[1]] += row[4] == "1" ? 1 : -1;
        pauses += row[4] == "1";
        EXPECT_GE(paused[row[1]], 0);
        EXPECT_LE(paused[row[1]], 1);
    }
    EXPECT_EQ(pauses, totals.pauses);
    for (const auto& [node, count] : paused)
    {
        EXPECT_EQ(count, 0) << "node " << node << " stays paused";
    }
}

TEST(QlenMonitor, QueueOfTwoSendersIsThatOfArithmeticAtEachSample)
{
    FlowRun run(Star(3),
                std::string(LINE_RATE) + "QLEN_MON_INTERVAL 10\nQLEN_MON_END 40\nMON_END 1000\n",
                "2\n0 2 3 100 1000000 0\n1 2 3 100 1000000 0\n");
    run.Run();
    const auto lines = run.Lines("queue.txt");
    ASSERT_EQ(lines.size(), 5u) << "a header, and samples at 10, 20, 30 and 40 us; 0 is empty";
    EXPECT_EQ(lines[0], "time, sw_id, port_id, q_id, q_len, port_len");
    for (int64_t sample = 1; sample <= 4; ++sample)
    {
        // Two frames arrive per frame time; the port takes one of them at once.
        const int64_t t = sample * 10'000'000;
        const int64_t arrived = 2 * ((t - DELAY_PS) / FRAME_PS);
        const int64_t begun = (t - DELAY_PS - FRAME_PS) / FRAME_PS + 1;
        const std::string bytes = std::to_string((arrived - begun) * FRAME_BYTES);
        EXPECT_EQ(lines[sample], std::to_string(t / 1000) + ", 3, 3, 3, " + bytes + ", " + bytes);
    }
}

TEST(BandwidthMonitor, ABusyPortShowsItsLineRateAndAcksTheirShare)
{
    FlowRun run(Star(2),
                std::string(LINE_RATE) + "BW_MON_INTERVAL 10\n",
                "1\n0 1 3 100 1000000 0\n");
    run.Run();
    const auto rows = Cells(run.Lines("bandwidth.txt"));
    ASSERT_GT(rows.size(), 4u);
    EXPECT_THAT(rows[0], ElementsAre("time", "node_id", "port_id", "bandwidth"));
    EXPECT_THAT(rows[1], ElementsAre("10000", "0", "1", "100.000000"));
    double acks = -1;
    for (const auto& row : rows)
    {
        if (row[0] == "20000" && row[1] == "0")
        {
            EXPECT_EQ(row[3], "100.000000") << "no frame counts twice at the border of intervals";
        }
        if (row[0] == "20000" && row[1] == "1")
        {
            acks = std::stod(row[3]);
        }
    }
    // An ACK of 84 bytes per frame time; at most one ACK more or less fits the interval.
    EXPECT_NEAR(acks, 100.0 * 84 / FRAME_BYTES, 84 * 8 / 10'000.0);
}

TEST(RateMonitor, ListsEachSendingPairAtEachSample)
{
    FlowRun run(Star(2),
                std::string(LINE_RATE) + "QP_MON_INTERVAL 20\n",
                "1\n0 1 3 100 1000000 0\n");
    run.Run();
    // 1000 frames of 86.56 ns and one path of delays: samples at 20, 40, 60 and 80 us see it.
    EXPECT_THAT(run.Lines("rate.txt"),
                ElementsAre("time, src, dst, sport, dport, size, curr_rate, qpn",
                            "20000, 0, 1, 10000, 100, 1000000, 100.000000, 0",
                            "40000, 0, 1, 10000, 100, 1000000, 100.000000, 0",
                            "60000, 0, 1, 10000, 100, 1000000, 100.000000, 0",
                            "80000, 0, 1, 10000, 100, 1000000, 100.000000, 0"));
}

TEST(RateMonitor, PairsThatDifferInOneNumberEachHaveTheirOwnLine)
{
    FlowRun run(Star(3),
                std::string(LINE_RATE) + "QP_MON_INTERVAL 20\nMON_END 20\n",
                "4\n0 1 3 100 1000000 0\n0 2 3 100 1000000 0\n0 2 3 100 2000000 0\n"
                "0 2 3 200 2000000 0\n");
    run.Run();
    EXPECT_THAT(run.Lines("rate.txt"),
                ElementsAre("time, src, dst, sport, dport, size, curr_rate, qpn",
                            "20000, 0, 1, 10000, 100, 1000000, 100.000000, 0",
                            "20000, 0, 2, 10000, 100, 1000000, 100.000000, 1",
                            "20000, 0, 2, 10001, 100, 2000000, 100.000000, 2",
                            "20000, 0, 2, 10002, 200, 2000000, 100.000000, 3"));
}

TEST(CnpMonitor, LastLineOfEachPairHasAllItsNotifications)
{
    FlowRun run(Star(5),
                "CC_MODE 1\nKMIN 5000\nKMAX 50000\nPMAX 0.5\nQP_MON_INTERVAL 50\n",
                "4\n0 4 3 100 400000 0\n1 4 3 100 400000 0\n2 4 3 100 400000 0\n"
                "3 4 3 100 400000 0\n");
    std::map<std::string, uint64_t> received;
    const Callback<void, const RdmaQueuePair&> count(
        [&received](const RdmaQueuePair& qp) { ++received[std::to_string(qp.src)]; });
    for (uint32_t host = 0; host < 4; ++host)
    {
        run.Fabric().GetHw(host).TraceConnectWithoutContext("CnpReceived", count);
    }
    run.Run();
    ASSERT_FALSE(received.empty());
    std::map<std::string, uint64_t> listed;
    const auto rows = Cells(run.Lines("cnp.txt"));
    for (std::size_t i = 1; i < rows.size(); ++i)
    {
        const uint64_t total = std::stoull(rows[i][6]);
        EXPECT_GT(total, listed[rows[i][1]]) << "listed only after something has changed";
        listed[rows[i][1]] = total;
    }
    EXPECT_EQ(listed, received);
}

TEST(PacketEventMonitor, OneFrameAndItsAckPassTheTracedSwitch)
{
    FlowRun run(Star(2), std::string(LINE_RATE) + "ENABLE_TRACE 1\n", "1\n0 1 3 100 1000 0\n", {2});
    run.Run();
    const std::string data = " ecn:0 0b000001 0b000101 10000 100 U 0 0 3 1082(1000)";
    const auto lines = run.Lines("mix.tr");
    ASSERT_EQ(lines.size(), 6u);
    // The frame is at the switch after 86560 ps + 1 us, and leaves at once by port 2.
    EXPECT_EQ(lines[0], "1087 n:2 1:3 0 Recv" + data);
    EXPECT_EQ(lines[1], "1087 n:2 2:3 0 Enqu" + data);
    EXPECT_EQ(lines[2], "1087 n:2 2:3 0 Dequ" + data);
    // The ACK comes back after another link for the frame and one for itself: 3180 ns.
    EXPECT_THAT(lines[3], testing::StartsWith("3180 n:2 2:"));
    EXPECT_THAT(lines[3], HasSubstr("Recv ecn:0 0b000101 0b000001 "));
    EXPECT_THAT(lines[3], HasSubstr(" A 1000 "));
    EXPECT_THAT(lines[5], HasSubstr(" 84(0)"));
}

TEST(FabricMonitors, WithoutTraceNodesNoPacketTraceIsMade)
{
    FlowRun run(Star(2), std::string(LINE_RATE) + "ENABLE_TRACE 1\n", "1\n0 1 3 100 1000 0\n");
    run.Run();
    EXPECT_TRUE(run.Lines("mix.tr").empty());
}

TEST(FabricMonitors, SamplingDoesNotKeepAFinishedRunAlive)
{
    FlowRun run(Star(2), std::string(LINE_RATE) + "MON_END 1000000000\n", "1\n0 1 3 100 1000 0\n");
    run.Run();
    // Samples are 10 ms apart; only the retransmission timer's last look is left.
    EXPECT_LT(Simulator::Now().GetPicoSeconds(), 10'000'000'000);
}
