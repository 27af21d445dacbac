/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// A port's pcap file of a run with congestion, as Wireshark sees it.

#include "../../contrib/rdma-qbb/test/text-fabric.h"
#include "rdma-qbb/model/packet/roce-headers.h"
#include "tshark.h"

#include "ns3/ethernet-header.h"
#include "ns3/input-error.h"
#include "ns3/ipv4-header.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/udp-header.h"

#include <algorithm>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace ns3;
using testing::Each;

namespace
{

/// Three hosts send 300,000 bytes each to a fourth, with little buffer: marks, CNPs and pauses.
class QbbPcapOfIncast : public testing::Test
{
  protected:
    void SetUp() override
    {
        m_text.emplace(TextFabric::Star(4, "100Gbps", "1us"),
                       "CC_MODE RdmaDcqcnPaper\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\n"
                       "BUFFER_SIZE 600000\nKMIN 5000\nKMAX 5000\nPMAX 1\n");
        m_fabric = PeekPointer(m_text->fabric);
    }

    /// End the simulation, and with it the files.
    void Close()
    {
        m_text.reset();
    }

    void Run()
    {
        for (uint32_t src = 0; src < 3; ++src)
        {
            RdmaConnectionOptions options;
            options.closeWhenDone = true;
            RdmaQueuePair* qp = m_fabric->GetDriver(src)->Connect(3, options);
            m_fabric->GetHw(src).PostMessage(*qp, 300'000, nullptr, nullptr);
        }
        Simulator::Run();
    }

    std::optional<BuiltFabric> m_text;
    RdmaFabric* m_fabric{nullptr}; ///< until Close()
};

TEST_F(QbbPcapOfIncast, HoldsEveryFrameOfThePortInOrder)
{
    if (!Tshark::IsInstalled())
    {
        GTEST_SKIP() << "tshark is not installed";
    }
    const std::string path = testing::TempDir() + "qbb-pcap-helper-test.pcap";
    QbbPcapHelper(1000).EnablePcap(path, &m_fabric->GetDevice(0, 0), false, true);
    Run();
    ASSERT_GT(m_fabric->GetTotals().pauses, 0U);
    Close();

    auto columns = Tshark::Columns(path,
                                   {"frame.time_epoch",
                                    "ip.src",
                                    "ip.checksum.status",
                                    "udp.checksum.status",
                                    "ip.dsfield.ecn",
                                    "infiniband.bth.opcode",
                                    "infiniband.bth.psn",
                                    "macc.cbfc.enbv.c3",
                                    "_ws.expert.message"});
    const auto& opcodes = columns["infiniband.bth.opcode"];
    const std::size_t packets = opcodes.size();
    std::size_t expectedPsn = 0;
    std::size_t acks = 0;
    std::size_t cnps = 0;
    std::size_t pauses = 0;
    for (std::size_t i = 0; i < packets; ++i)
    {
        SCOPED_TRACE("packet " + std::to_string(i + 1));
        if (opcodes[i].empty())
        {
            EXPECT_FALSE(columns["macc.cbfc.enbv.c3"][i].empty());
            ++pauses;
            continue;
        }
        EXPECT_EQ(columns["ip.checksum.status"][i], "1");
        EXPECT_EQ(columns["udp.checksum.status"][i], "1");
        acks += opcodes[i] == "17";
        cnps += opcodes[i] == "129";
        if (columns["ip.src"][i] == "11.0.0.1") // host 0: its data, 300 frames
        {
            EXPECT_EQ(opcodes[i], expectedPsn == 0 ? "6" : expectedPsn == 299 ? "8" : "7");
            EXPECT_EQ(columns["infiniband.bth.psn"][i], std::to_string(expectedPsn));
            EXPECT_EQ(columns["ip.dsfield.ecn"][i], "2"); // ECT(0), before the switch
            ++expectedPsn;
        }
    }
    EXPECT_EQ(expectedPsn, 300U);
    EXPECT_GT(acks, 0U);
    EXPECT_GT(cnps, 0U);
    EXPECT_GT(pauses, 0U);
    EXPECT_THAT(columns["_ws.expert.message"], Each(""));
    EXPECT_TRUE(
        std::is_sorted(columns["frame.time_epoch"].begin(), columns["frame.time_epoch"].end()));
    // The second data frame follows the first after its 1,082 bytes at 80 ps: 86,560 ps.
    EXPECT_EQ(columns["frame.time_epoch"][0], "0.000000000");
    EXPECT_EQ(columns["frame.time_epoch"][1], "0.000000086");
}

TEST_F(QbbPcapOfIncast, PacketTracesSeeRealPackets)
{
    std::vector<uint32_t> sent;
    std::vector<uint32_t> received;
    const auto psnOf = [](std::vector<uint32_t>* psns, Ptr<const Packet> packet) {
        const Ptr<Packet> copy = packet->Copy();
        EthernetHeader ethernet(false);
        Ipv4Header ip;
        UdpHeader udp;
        RoceBth bth;
        copy->RemoveHeader(ethernet);
        if (ethernet.GetLengthType() != 0x0800)
        {
            return; // PFC
        }
        copy->RemoveHeader(ip);
        copy->RemoveHeader(udp);
        copy->RemoveHeader(bth);
        if (ip.GetSource() == QbbPacketBuilder::HostAddress(0))
        {
            psns->push_back(bth.psn);
        }
    };
    m_fabric->GetDevice(0, 0).TraceConnectWithoutContext(
        "PhyTxBegin",
        Callback<void, Ptr<const Packet>>([&](Ptr<const Packet> p) { psnOf(&sent, p); }));
    m_fabric->GetDevice(4, 0).TraceConnectWithoutContext(
        "PhyRxEnd",
        Callback<void, Ptr<const Packet>>([&](Ptr<const Packet> p) { psnOf(&received, p); }));
    Run();
    std::vector<uint32_t> expected(300);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(sent, expected);
    EXPECT_EQ(received, expected);
}

TEST_F(QbbPcapOfIncast, RefusesAFileThatCannotBeWritten)
{
    EXPECT_THROW(
        QbbPcapHelper(1000).EnablePcap("/nonexistent/x", &m_fabric->GetDevice(0, 0), false, true),
        InputError);
}

TEST_F(QbbPcapOfIncast, CapturesThePortThatACommandLineNames)
{
    const std::string directory = testing::TempDir();
    QbbPcapHelper::Capture(*m_fabric, "4:3", directory).Finish();
    EXPECT_TRUE(std::ifstream(directory + "/node-4-port-3.pcap").good());
    const auto refusal = [&](const std::string& port) -> std::string {
        try
        {
            QbbPcapHelper::Capture(*m_fabric, port, directory);
        }
        catch (const InputError& error)
        {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal("4"), "command line: --pcap 4; expected NODE:PORT, such as 0:0");
    EXPECT_EQ(refusal("a:0"), "command line: --pcap a:0; expected NODE:PORT, such as 0:0");
    EXPECT_EQ(refusal("0:0x"), "command line: --pcap 0:0x; expected NODE:PORT, such as 0:0");
    EXPECT_EQ(refusal("-1:0"), "command line: --pcap -1:0; expected NODE:PORT, such as 0:0");
    EXPECT_EQ(refusal("5:0"), "command line: --pcap 5:0: there is no node 5; expected 0 to 4");
    EXPECT_EQ(refusal("0:1"), "command line: --pcap 0:1: node 0 has 1 ports; expected 0 to 0");
}

} // namespace
