/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Wireshark's opinion of built packets. Skipped where tshark is not installed.

#include "tshark.h"

#include "ns3/boolean.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/qbb-packet-builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

using namespace ns3;
using testing::Each;
using testing::ElementsAre;
using testing::StartsWith;

namespace
{

class RocePcap : public testing::Test
{
  protected:
    void SetUp() override
    {
        if (!Tshark::IsInstalled())
        {
            GTEST_SKIP() << "tshark is not installed";
        }
        m_file = CreateObject<PcapFileWrapper>();
        m_file->SetAttribute("NanosecMode", BooleanValue(true));
        m_file->Open(m_path, std::ios::out | std::ios::binary);
        m_file->Init(1);
        Write(QbbFrameKind::Data, 0, 1000, QBB_FLAG_FIRST);
        Write(QbbFrameKind::Data, 1000, 1000);
        Write(QbbFrameKind::Data, 2000, 997, QBB_FLAG_LAST);
        Write(QbbFrameKind::Data, 3000, 64, QBB_FLAG_FIRST | QBB_FLAG_LAST);
        Write(QbbFrameKind::Ack, 3000, 0, QBB_ANSWER_MARKED);
        Write(QbbFrameKind::Nack, 1000, 0);
        Write(QbbFrameKind::Cnp, 0, 0);
        Write(QbbFrameKind::Pfc, 0, 0);
        m_file->Close();
    }

    void Write(QbbFrameKind kind, uint64_t seq, uint16_t payload, uint8_t flags = 0)
    {
        QbbFrame frame{};
        frame.kind = kind;
        frame.src = 3;
        frame.dst = 700;
        frame.qpn = 1;                                            // plus 16
        frame.sport = kind == QbbFrameKind::Pfc ? 0x1234 : 10001; // a pause's quanta
        frame.dport = 100;
        frame.seq = seq;
        frame.payloadBytes = payload;
        frame.wireBytes = payload + 86;
        frame.priority = 3;
        frame.ecn = kind == QbbFrameKind::Data ? EcnCodepoint::Ect0 : EcnCodepoint::NotEct;
        frame.flags = flags;
        m_timePs += 1280;
        m_file->Write(PicoSeconds(m_timePs),
                      QbbPacketBuilder(1000).Build(frame,
                                                   {QbbPacketBuilder::PortAddress(3, 0),
                                                    QbbPacketBuilder::PortAddress(9, 4)}));
    }

    const std::string m_path = testing::TempDir() + "roce-pcap-test.pcap";
    Ptr<PcapFileWrapper> m_file;
    int64_t m_timePs{0};
};

TEST_F(RocePcap, IsDissectedAsRoceV2WithTheRightFieldsAndChecksums)
{
    auto columns = Tshark::Columns(m_path,
                                   {"frame.protocols",
                                    "frame.time_epoch",
                                    "ip.checksum.status",
                                    "udp.checksum.status",
                                    "infiniband.bth.opcode",
                                    "infiniband.bth.psn",
                                    "infiniband.bth.destqp",
                                    "infiniband.bth.padcnt",
                                    "infiniband.aeth.syndrome",
                                    "infiniband.reth.dmalen",
                                    "macc.opcode",
                                    "macc.cbfc.enbv",
                                    "macc.cbfc.pause_time.c3"});
    auto protocols = columns["frame.protocols"];
    ASSERT_EQ(protocols.size(), 8U);
    EXPECT_EQ(protocols.back(), "eth:ethertype:macc");
    protocols.pop_back();
    EXPECT_THAT(protocols, Each(StartsWith("eth:ethertype:ip:udp:infiniband")));

    EXPECT_EQ(columns["frame.time_epoch"].front(), "0.000000001");
    EXPECT_EQ(columns["frame.time_epoch"].back(), "0.000000010");
    const auto good = ElementsAre("1", "1", "1", "1", "1", "1", "1", "");
    EXPECT_THAT(columns["ip.checksum.status"], good);
    EXPECT_THAT(columns["udp.checksum.status"], good);
    EXPECT_THAT(columns["infiniband.bth.opcode"],
                ElementsAre("6", "7", "8", "10", "17", "17", "129", ""));
    EXPECT_THAT(columns["infiniband.bth.psn"], ElementsAre("0", "1", "2", "3", "2", "1", "0", ""));
    EXPECT_EQ(columns["infiniband.bth.destqp"].front(), "0x000011");
    EXPECT_THAT(columns["infiniband.bth.padcnt"],
                ElementsAre("0", "0", "3", "0", "0", "0", "0", ""));
    EXPECT_THAT(columns["infiniband.aeth.syndrome"],
                ElementsAre("", "", "", "", "31", "96", "", ""));
    EXPECT_EQ(columns["infiniband.reth.dmalen"][3], "64");
    EXPECT_EQ(columns["macc.opcode"].back(), "0x0101");
    EXPECT_EQ(columns["macc.cbfc.enbv"].back(), "0x0008");
    EXPECT_EQ(columns["macc.cbfc.pause_time.c3"].back(), "4660");
}

} // namespace
