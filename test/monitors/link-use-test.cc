/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "../../contrib/rdma-qbb/test/text-topology.h"
#include "../support/csv-rows.h"
#include "collectives/model/collective/traffic-purpose.h"
#include "flow-run.h"

#include "ns3/link-counting.h"
#include "ns3/link-use.h"
#include "ns3/links-writer.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <sstream>

using namespace ns3;
using testing::ElementsAre;

namespace
{

constexpr uint32_t PAYLOAD = 1000;
constexpr uint32_t OVERHEAD = 82;

/// Hosts 0-7 at leaf 16, hosts 8-15 at leaf 17, spines 18 to 21.
std::string
LeavesAndSpines()
{
    std::ostringstream text;
    text << "22 6 24\n16 17 18 19 20 21\n";
    for (uint32_t host = 0; host < 16; ++host)
    {
        text << host << " " << 16 + host / 8 << " 100Gbps 1us 0\n";
    }
    for (uint32_t spine = 18; spine < 22; ++spine)
    {
        text << "16 " << spine << " 100Gbps 1us 0\n17 " << spine << " 100Gbps 1us 0\n";
    }
    return text.str();
}

/// Every left host sends to every right host, in whole frames.
std::string
LeftToRight()
{
    std::ostringstream text;
    text << "64\n";
    for (uint32_t src = 0; src < 8; ++src)
    {
        for (uint32_t dst = 8; dst < 16; ++dst)
        {
            text << src << " " << dst << " 3 100 " << (src + dst) * PAYLOAD << " 0\n";
        }
    }
    return text.str();
}

bool
IsLeft(uint32_t node)
{
    return node < 8 || node == 16;
}

/// Whether data goes from the node to its peer: from left to right, over the spines.
bool
IsForward(uint32_t node, uint32_t peer)
{
    const auto place = [](uint32_t n) {
        return n >= 18 ? 2 : IsLeft(n) ? (n == 16) : 4 - (n == 17);
    };
    return place(peer) > place(node);
}

} // namespace

TEST(LinkUse, SharesAreOfThePortsBytesAndTheLargestComesFirst)
{
    const ClusterTopology topology = ReadTopology(Star(4));
    LinkUse use(topology);
    use.Add(4, 1, 0, 1, 300, 1);
    use.Add(4, 1, 2, 1, 600, 2);
    use.Add(4, 1, 0, 1, 100, 2);
    EXPECT_EQ(use.Of(4, 1).messages, 3U);
    EXPECT_EQ(use.Of(4, 1).bytes, 1000U);
    EXPECT_EQ(use.DescribePurposes(4, 1, {"", "one", "two"}), "two 70%; one 30%");
    EXPECT_EQ(use.DescribePurposes(4, 1, {"", "", "two"}), "two 70%");
    EXPECT_EQ(use.DescribePairs(4, 1, 3), "2>1 60%; 0>1 40%");
    EXPECT_EQ(use.DescribePairs(4, 1, 1), "2>1 60%");
    EXPECT_EQ(use.DescribePairs(4, 2, 3), "");
}

TEST(LinkUse, ALargePairIsFoundAmongThousandsOfSmallOnesAndClaimsNothingOfTheirs)
{
    const ClusterTopology topology = ReadTopology(Star(2));
    LinkUse use(topology);
    // 20,000 pairs of 10 bytes and, spread among them, 1,000 messages of 200 bytes of one pair.
    for (uint32_t i = 0; i < 20000; ++i)
    {
        use.Add(2, 0, i, i + 1, 10, 0);
        if (i % 20 == 0)
        {
            use.Add(2, 0, 50000, 60000, 200, 0);
        }
    }
    EXPECT_EQ(use.Of(2, 0).bytes, 400000U);
    EXPECT_LE(use.Of(2, 0).pairs.size(), LinkUse::PAIRS_KEPT);
    EXPECT_EQ(use.DescribePairs(2, 0, 3), "50000>60000 50%");
}

TEST(LinkUse, PartsAddUpToTheWhole)
{
    const ClusterTopology topology = ReadTopology(Star(4));
    LinkUse use(topology);
    LinkUse one = LinkUse::PartOf(use);
    LinkUse two = LinkUse::PartOf(use);
    use.Add(4, 2, 3, 2, 10, 1);
    one.Add(4, 1, 0, 1, 300, 1);
    one.Add(0, 0, 0, 1, 300, 1);
    two.Add(4, 1, 2, 1, 600, 2);
    two.Add(4, 1, 2, 1, 100, 1);
    use.Merge(two);
    use.Merge(one);
    EXPECT_EQ(use.Of(4, 1).messages, 3U);
    EXPECT_EQ(use.Of(4, 1).bytes, 1000U);
    EXPECT_EQ(use.DescribePurposes(4, 1, {"", "one", "two"}), "two 60%; one 40%");
    EXPECT_EQ(use.DescribePairs(4, 1, 3), "2>1 70%; 0>1 30%");
    EXPECT_EQ(use.Of(0, 0).bytes, 300U);
    EXPECT_EQ(use.Of(4, 2).bytes, 10U);
    EXPECT_EQ(use.Of(4, 3).bytes, 0U);
}

/// Against Space-Saving as it is published, message by message, with as many pairs as counters, one
/// more or less, and few that take turns.
TEST(LinkUse, PairsThatTakeTurnsCountAsTheirMessagesOneByOne)
{
    const ClusterTopology topology = ReadTopology(Star(2));
    std::mt19937 random(1);
    for (const uint32_t count : {1, 2, 3, 14, 15, 16, 17, 40})
    {
        LinkUse use(topology);
        std::vector<LinkUse::Pair> plain;
        uint32_t turns[2] = {};
        for (uint32_t i = 0; i < 2000; ++i)
        {
            if (i % 5 == 0)
            {
                turns[0] = random() % count;
                turns[1] = random() % count;
            }
            const uint32_t src = turns[random() % 2];
            const uint64_t bytes = 1 + random() % 3;
            use.Add(2, 0, src, 1, bytes, 0);
            const auto least = std::ranges::min_element(plain, {}, &LinkUse::Pair::bytes);
            const auto known = std::ranges::find(plain, src, &LinkUse::Pair::src);
            if (known != plain.end())
            {
                known->bytes += bytes;
            }
            else if (plain.size() < LinkUse::PAIRS_KEPT)
            {
                plain.push_back({src, 1, bytes, 0});
            }
            else
            {
                *least = {src, 1, least->bytes + bytes, least->bytes};
            }
        }
        const LinkUse::Port& counted = use.Of(2, 0);
        EXPECT_EQ(counted.messages, 2000U);
        ASSERT_EQ(counted.pairs.size(), plain.size()) << count;
        for (std::size_t i = 0; i < plain.size(); ++i)
        {
            EXPECT_EQ(counted.pairs[i].src, plain[i].src) << count;
            EXPECT_EQ(counted.pairs[i].bytes, plain[i].bytes) << count;
            EXPECT_EQ(counted.pairs[i].inherited, plain[i].inherited) << count;
        }
    }
}

TEST(LinkUse, CountsOnEveryLinkWhatEcmpSentThere)
{
    FlowRun run(LeavesAndSpines(), LINE_RATE, LeftToRight());
    const ClusterTopology& topology = run.Fabric().GetTopology();
    LinkUse use(topology);
    run.Runner().CountIn(use, 0);
    run.Run();
    ASSERT_EQ(run.Runner().Finished(), 64U);
    uint32_t spineLinks = 0;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            const uint64_t counted = use.Of(node, port).bytes;
            const uint32_t peer = topology.Ports(node)[port].peer;
            if (!IsForward(node, peer))
            {
                EXPECT_EQ(counted, 0U) << node << " to " << peer;
                continue;
            }
            // Only data goes this way: its bytes on the wire follow from its payload.
            EXPECT_EQ(run.Fabric().GetDevice(node, port).GetTxBytes(),
                      counted / PAYLOAD * (PAYLOAD + OVERHEAD))
                << node << " to " << peer;
            spineLinks += peer >= 18 && counted > 0;
        }
    }
    EXPECT_EQ(spineLinks, 4U); // 64 flows over 4 spines: none stays unused
}

TEST(LinkUse, SharesAMessageEvenlyWherePathsAreChosenByFlowlet)
{
    FlowRun run(LeavesAndSpines(),
                std::string(LINE_RATE) + "ROUTING flowlet\n",
                "1\n0 8 3 100 40000 0\n");
    LinkUse use(run.Fabric().GetTopology());
    run.Runner().CountIn(use, 0);
    run.Run();
    for (uint16_t port = 8; port < 12; ++port)
    {
        EXPECT_EQ(use.Of(16, port).bytes, 10000U); // of leaf 16, ports 8 to 11 go up
    }
    EXPECT_EQ(use.Of(0, 0).bytes, 40000U);
    EXPECT_EQ(use.Of(17, 0).bytes, 40000U);
}

namespace
{

/// The values of two counts for every port, as text.
std::vector<std::string>
Describe(const LinkUse& use, const ClusterTopology& topology)
{
    std::vector<std::string> lines;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            lines.push_back(std::to_string(use.Of(node, port).messages) + " " +
                            std::to_string(use.Of(node, port).bytes) + " " +
                            use.DescribePurposes(node, port, {"a", "b"}) + " " +
                            use.DescribePairs(node, port, LinkUse::PAIRS_KEPT));
        }
    }
    return lines;
}

/// Counts the same messages with a counter that remembers paths and with one that never does,
/// before and after a link is cut.
void
ExpectSameCounts(const std::string& conf)
{
    FlowRun run(LeavesAndSpines(), std::string(LINE_RATE) + conf, "1\n0 8 3 100 1000 0\n");
    RdmaFabric& fabric = run.Fabric();
    std::vector<const RdmaQueuePair*> pairs;
    for (uint32_t i = 0; i < 400; ++i)
    {
        // Several of one pair of hosts, which differ in their hash; some stay at a leaf.
        const uint32_t src = i % 5;
        pairs.push_back(fabric.GetDriver(src)->Connect(src + 1 + i * i % 11, {}));
    }
    LinkUse remembered(fabric.GetTopology());
    LinkUse walked(fabric.GetTopology());
    MessageCounter counter(remembered, fabric);
    const auto countAll = [&] {
        for (uint32_t i = 0; i < 2 * pairs.size(); ++i)
        {
            const RdmaQueuePair& qp = *pairs[i * 7 / 2 % pairs.size()];
            const auto purpose = static_cast<uint16_t>(i / 3 % 2);
            counter.Count(qp, 1000 + i, purpose);
            MessageCounter(walked, fabric).Count(qp, 1000 + i, purpose);
        }
    };
    countAll();
    const std::vector<std::string> before = Describe(walked, fabric.GetTopology());
    EXPECT_EQ(Describe(remembered, fabric.GetTopology()), before);
    fabric.SetLinkUp(17, false); // leaf 17 to spine 18: routes follow
    Simulator::Run();
    countAll();
    const std::vector<std::string> after = Describe(walked, fabric.GetTopology());
    EXPECT_EQ(Describe(remembered, fabric.GetTopology()), after);
    EXPECT_NE(before, after);
}

} // namespace

TEST(MessageCounter, CountsOnRememberedPathsAsOnThoseWalkedAnew)
{
    ExpectSameCounts("");
}

TEST(MessageCounter, WalksAnewWherePathsSplit)
{
    ExpectSameCounts("ROUTING spray\n");
}

TEST(LinksWriter, WritesWhatUsedEachPort)
{
    FlowRun run(Star(3), LINE_RATE, "2\n0 2 3 100 3000 0\n1 2 3 100 1000 0.001\n");
    LinkUse use(run.Fabric().GetTopology());
    run.Runner().CountIn(use, 1);
    run.Run();
    const ScratchDirectory directory;
    WriteLinks(run.Fabric().GetTopology(),
               CountersOf(run.Fabric()),
               use,
               {"", "flows"},
               directory / "links.csv");
    std::ostringstream table;
    table << std::ifstream(directory / "links.csv").rdbuf();
    auto rows = CsvRows(table.str());
    ASSERT_EQ(rows.size(), 3U + 3);
    // 3 frames of 1082 bytes at 100 Gb/s last 259.68 ns.
    for (const auto& [name, cell] : {std::pair("node", "0"),
                                     {"port", "1"},
                                     {"peer", "3"},
                                     {"rate_bps", "100000000000"},
                                     {"tx_bytes", "3246"},
                                     {"busy_ns", "259.680"},
                                     {"pause_ns", "0.000"},
                                     {"drops", "0"},
                                     {"ecn_marks", "0"},
                                     {"messages", "1"},
                                     {"used_by", "flows 100%"},
                                     {"largest_flows", "0>2 100%"}})
    {
        EXPECT_EQ(rows[0][name], cell) << name;
    }
    EXPECT_EQ(rows[5]["messages"], "2");
    EXPECT_EQ(rows[5]["largest_flows"], "0>2 75%; 1>2 25%");
}

TEST(LinksWriter, BytesOfPausesTakeTheirTimeToo)
{
    // Two servers send into one port; the switch pauses both, and sends them nothing but ACKs and
    // PFC frames.
    FlowRun run(Star(3),
                std::string(LINE_RATE) + "BUFFER_SIZE 1\n",
                "2\n0 2 3 100 1000000 0\n1 2 3 100 1000000 0\n");
    run.Run();
    const LinkCounters toSender = CountersOf(run.Fabric())(3, 0);
    const QbbPortCounters sent =
        run.Fabric().GetDevice(3, 0).GetCounters(Simulator::Now().GetTimeStep());
    ASSERT_GT(sent.pfcSent, 0U);
    EXPECT_EQ(toSender.txBytes, sent.txFrames * 84 + sent.pfcSent * 84);
    EXPECT_DOUBLE_EQ(toSender.busyNs, static_cast<double>(toSender.txBytes) * 8 / 100);
}

TEST(TrafficPurpose, NamesAreOperationAndKindOfGroup)
{
    using namespace AstraSim;
    const auto names = TrafficPurposeNames();
    EXPECT_EQ(names[TrafficPurpose(CollectiveOp::AllReduce, GroupKind::Dp)], "AllReduce DP");
    EXPECT_EQ(names[TrafficPurpose(CollectiveOp::AllToAll, GroupKind::DpEp)], "AllToAll DP_EP");
    EXPECT_EQ(names[TrafficPurpose(CollectiveOp::AllGather, GroupKind::Custom)], "AllGather");
    EXPECT_EQ(names[0], "messages");
    EXPECT_EQ(names[BACKGROUND_PURPOSE], "background flows");
}

TEST(Bundle, FlowsOutliveTheFailureOfOneOfTwoLinks)
{
    // Hosts 0 and 1 at switch 4, 2 and 3 at switch 5; links 4 and 5 join the switches. 64 flows of
    // 200 frames from left to right at once.
    constexpr uint32_t FLOWS = 64;
    constexpr uint32_t FRAMES = 200;
    std::string flows = std::to_string(FLOWS) + "\n";
    for (uint32_t flow = 0; flow < FLOWS; ++flow)
    {
        flows += std::to_string(flow % 2) + " " + std::to_string(2 + flow % 2) + " 3 " +
                 std::to_string(1000 + flow) + " " + std::to_string(FRAMES * PAYLOAD) + " 0\n";
    }
    FlowRun run("6 2 6\n4 5\n0 4 400Gbps 1us 0\n1 4 400Gbps 1us 0\n2 5 400Gbps 1us 0\n"
                "3 5 400Gbps 1us 0\n4 5 200Gbps 1us 0\n4 5 200Gbps 1us 0\n",
                LINE_RATE,
                flows);
    RdmaFabric& fabric = run.Fabric();
    // Later than the first acknowledgements, long before the end: a link needs 277 us for half.
    constexpr int64_t DOWN_US = 50;
    Simulator::Schedule(MicroSeconds(DOWN_US), &RdmaFabric::SetLinkUp, &fabric, 4, false);
    run.Run();
    EXPECT_EQ(run.Lines("fct.txt").size(), FLOWS) << "every flow ends";
    const auto sentBy = [&](uint16_t port) {
        return fabric.GetDevice(4, port).GetCounters(Simulator::Now().GetTimeStep()).txBytes;
    };
    // Ports 0 and 1 of switch 4 lead to its hosts.
    const uint64_t all = uint64_t{FLOWS} * FRAMES * (PAYLOAD + OVERHEAD);
    const uint64_t untilThen = 200'000 / 8 * DOWN_US;
    EXPECT_GT(sentBy(2), untilThen / 2) << "it carried its part before";
    EXPECT_LE(sentBy(2), untilThen + PAYLOAD + OVERHEAD) << "and nothing afterwards";
    EXPECT_GE(sentBy(3), all - untilThen) << "the other carried the rest";
}
