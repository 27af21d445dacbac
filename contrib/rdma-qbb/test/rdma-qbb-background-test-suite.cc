/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Ordinary ns-3 sockets on the fabric: UDP and TCP share ports, queues and buffers with RDMA.

#include "fabric-test-support.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/qbb-internet-helper.h"
#include "ns3/socket.h"
#include "ns3/test.h"

#include <algorithm>
#include <string>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 9;

/// Counts what a socket receives.
struct Receiver
{
    Ptr<Socket> socket;
    uint64_t bytes{0};
    uint32_t packets{0};
    int64_t lastPs{0};

    void OnAccept(Ptr<Socket> connection, const Address&)
    {
        connection->SetRecvCallback(MakeCallback(&Receiver::OnReceive, this));
    }

    void OnReceive(Ptr<Socket> from)
    {
        while (const Ptr<Packet> packet = from->Recv())
        {
            if (packet->GetSize() == 0)
            {
                return;
            }
            bytes += packet->GetSize();
            ++packets;
            lastPs = Simulator::Now().GetTimeStep();
        }
    }
};

/// Keeps a TCP socket's buffer full until everything has been given to it.
struct BulkSender
{
    Ptr<Socket> socket;
    uint64_t left;

    void OnSpace(Ptr<Socket>, uint32_t)
    {
        while (left > 0)
        {
            const auto chunk = static_cast<uint32_t>(std::min<uint64_t>(left, 1400));
            const int sent = socket->Send(Create<Packet>(chunk));
            if (sent <= 0)
            {
                return;
            }
            left -= sent;
        }
        socket->Close();
    }
};

/// A star of hosts with the Internet stack.
class InternetUnderTest : public FabricUnderTest
{
  public:
    explicit InternetUnderTest(uint32_t hosts, const std::string& conf = "")
        : FabricUnderTest(Star(hosts, "100Gbps", "1us"),
                          "CC_MODE 0\nHAS_WIN 0\nPACKET_PAYLOAD_SIZE 1000\nBUFFER_SIZE 32\n" + conf)
    {
        Build();
        QbbInternetHelper(fabric).InstallAll();
    }

    Ptr<Socket> MakeSocket(uint32_t host, const std::string& type)
    {
        return Socket::CreateSocket(fabric->GetNode(topology.NodeOfHost(host)),
                                    TypeId::LookupByName(type));
    }

    void Listen(Receiver& receiver, uint32_t host, const std::string& type)
    {
        receiver.socket = MakeSocket(host, type);
        receiver.socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        receiver.socket->SetRecvCallback(MakeCallback(&Receiver::OnReceive, &receiver));
        if (type == "ns3::TcpSocketFactory")
        {
            receiver.socket->Listen();
            receiver.socket->SetAcceptCallback(
                MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                MakeCallback(&Receiver::OnAccept, &receiver));
        }
    }

    /// Send equal UDP datagrams at a constant interval.
    void SendDatagrams(uint32_t src, uint32_t dst, uint32_t count, uint32_t bytes, Time interval)
    {
        const Ptr<Socket> socket = MakeSocket(src, "ns3::UdpSocketFactory");
        socket->Connect(InetSocketAddress(QbbInternetHelper::GetAddress(dst), PORT));
        for (uint32_t i = 0; i < count; ++i)
        {
            Simulator::Schedule(i * interval,
                                [socket, bytes] { socket->Send(Create<Packet>(bytes)); });
        }
    }
};

} // namespace

/// A datagram takes exactly the time of its bytes on the wire.
class UdpIsExactTestCase : public TestCase
{
  public:
    UdpIsExactTestCase()
        : TestCase("A UDP datagram on an idle path arrives on its exact picosecond")
    {
    }

  private:
    void DoRun() override
    {
        InternetUnderTest test(3);
        Receiver receiver;
        test.Listen(receiver, 2, "ns3::UdpSocketFactory");
        test.SendDatagrams(0, 2, 1, 1400, Time(0));
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(receiver.bytes, 1400, "all of it");
        // UDP 8, IPv4 20, Ethernet 14, FCS 4, preamble and gap 20; 80 ps a byte, two links of 1 us
        NS_TEST_ASSERT_MSG_EQ(receiver.lastPs, 2 * ((1400 + 66) * 80 + US), "time");
    }
};

/// Packets without a host's address go nowhere.
class UnknownAddressTestCase : public TestCase
{
  public:
    UnknownAddressTestCase()
        : TestCase("A packet to an address that no host has is dropped and counted")
    {
    }

  private:
    void DoRun() override
    {
        InternetUnderTest test(3);
        test.SendDatagrams(0, 200, 1, 100, Time(0));
        Simulator::Run();
        const FabricTotals totals = test.fabric->GetTotals();
        NS_TEST_ASSERT_MSG_EQ(totals.routeDrops, 1, "dropped at the switch");
        NS_TEST_ASSERT_MSG_EQ(totals.framesInUse, 0, "all frames were given back");
    }
};

/// TCP delivers everything, whatever is lost.
class TcpIsCompleteTestCase : public TestCase
{
  public:
    TcpIsCompleteTestCase(const std::string& error)
        : TestCase("TCP delivers every byte at error rate " + error),
          m_error(error)
    {
    }

  private:
    void DoRun() override
    {
        InternetUnderTest test(3, "ERROR_RATE_PER_LINK " + m_error + "\n");
        test.fabric->AssignStreams(1);
        Receiver receiver;
        test.Listen(receiver, 1, "ns3::TcpSocketFactory");
        BulkSender sender{test.MakeSocket(0, "ns3::TcpSocketFactory"), 500'000};
        sender.socket->SetSendCallback(MakeCallback(&BulkSender::OnSpace, &sender));
        sender.socket->Connect(InetSocketAddress(QbbInternetHelper::GetAddress(1), PORT));
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(receiver.bytes, 500'000, "every byte");
        if (m_error != "0")
        {
            NS_TEST_ASSERT_MSG_GT(test.fabric->GetTotals().wireLosses, 0, "frames were lost");
        }
    }

    std::string m_error;
};

/// Two hosts, one RDMA and one UDP, send to a third: its link is shared by weights.
class SharesTheLinkTestCase : public TestCase
{
  public:
    SharesTheLinkTestCase()
        : TestCase("RDMA and UDP share a bottleneck half and half")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 1'000'000;
        constexpr uint32_t DATAGRAM = 1016; // as long on the wire as a full RDMA frame
        InternetUnderTest test(3);
        Receiver receiver;
        test.Listen(receiver, 2, "ns3::UdpSocketFactory");
        // Twice as many datagrams as the flow's frames, at line rate: there is always one waiting.
        test.SendDatagrams(1, 2, 2 * BYTES / 1000, DATAGRAM, PicoSeconds(1082 * 80));
        const auto& flow = test.Send(0, 2, BYTES);
        Simulator::Run();
        const double alone = 1082 * 80 * (BYTES / 1000.0 + 1) + 2 * US;
        const double shared = 1082 * 80 * (2 * BYTES / 1000.0 + 1) + 2 * US;
        NS_TEST_ASSERT_MSG_GT(static_cast<double>(flow.deliveredPs), 1.9 * alone, "not alone");
        NS_TEST_ASSERT_MSG_EQ_TOL(static_cast<double>(flow.deliveredPs),
                                  shared,
                                  0.02 * shared,
                                  "half of the link");
        NS_TEST_ASSERT_MSG_EQ(receiver.packets, 2 * BYTES / 1000, "no datagram was dropped");
        NS_TEST_ASSERT_MSG_EQ(test.fabric->GetTotals().framesInUse, 0, "frames given back");
    }
};

/// A switch's mark reaches the IPv4 header.
class MarksReachTheStackTestCase : public TestCase
{
  public:
    MarksReachTheStackTestCase()
        : TestCase("A switch's ECN mark reaches the receiver's IPv4 header")
    {
    }

  private:
    void DoRun() override
    {
        InternetUnderTest test(3, "KMIN 5000\nKMAX 5000\nPMAX 1\n");
        Receiver receiver;
        test.Listen(receiver, 2, "ns3::UdpSocketFactory");
        receiver.socket->SetIpRecvTos(true);
        receiver.socket->SetRecvCallback(
            MakeCallback(&MarksReachTheStackTestCase::OnReceive, this));
        for (const uint32_t src : {0, 1})
        {
            const Ptr<Socket> socket = test.MakeSocket(src, "ns3::UdpSocketFactory");
            socket->Connect(InetSocketAddress(QbbInternetHelper::GetAddress(2), PORT));
            socket->SetIpTos(Ipv4Header::ECN_ECT0); // Connect() resets it
            for (uint32_t i = 0; i < 50; ++i)
            {
                socket->Send(Create<Packet>(1000));
            }
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_packets, 100, "all arrive");
        // Two at line rate into one: the queue grows by a frame each frame time until 50 wait.
        // Marked are those that leave while 5,000 bytes or more (5 frames) stay behind.
        NS_TEST_ASSERT_MSG_GT(m_marked, 80, "most leave a long queue behind");
        NS_TEST_ASSERT_MSG_LT(m_marked, 100, "the first and the last do not");
    }

    void OnReceive(Ptr<Socket> socket)
    {
        while (const Ptr<Packet> packet = socket->Recv())
        {
            SocketIpTosTag tag;
            ++m_packets;
            m_marked += packet->RemovePacketTag(tag) && (tag.GetTos() & 3) == Ipv4Header::ECN_CE;
        }
    }

    uint32_t m_packets{0};
    uint32_t m_marked{0};
};

/// Tests of ordinary traffic.
class BackgroundTestSuite : public TestSuite
{
  public:
    BackgroundTestSuite()
        : TestSuite("rdma-qbb-background")
    {
        AddTestCase(new UdpIsExactTestCase);
        AddTestCase(new UnknownAddressTestCase);
        AddTestCase(new TcpIsCompleteTestCase("0"));
        AddTestCase(new TcpIsCompleteTestCase("0.005"));
        AddTestCase(new SharesTheLinkTestCase);
        AddTestCase(new MarksReachTheStackTestCase);
    }
};

static BackgroundTestSuite g_backgroundTestSuite; //!< registers the suite
