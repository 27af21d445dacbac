/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The public yardstick: the traffic of one of our runs, sent as plain UDP over ns-3's own
 * point-to-point devices and IPv4 forwarding. Usage:
 *
 *   bench-yardstick TOPOLOGY FCT_FILE [global|nix]
 *
 * Every flow of FCT_FILE (fct.txt of a run on TOPOLOGY) starts when it did there and is cut into
 * packets of 9000 bytes, which leave at the rate of the sender's port. Nothing
 * acknowledges, nothing is lost (queues are long), no queue discs are installed: the least that
 * ns-3 can be asked to do for these packets. Routing is ns-3's global routing, which looks every
 * packet up in a list of all networks, or its nix-vector routing, which does not. The time for
 * set-up, routes included, does not count.
 */
#include "ns3/boolean.h"
#include "ns3/cluster-topology.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/inet-socket-address.h"
#include "ns3/input-error.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/nix-vector-helper.h"
#include "ns3/node-container.h"
#include "ns3/packet.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/string.h"
#include "ns3/udp-socket-factory.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <deque>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 4791;
constexpr uint32_t PAYLOAD_BYTES = 9000;

/// A message of the run whose traffic is repeated.
struct Flow
{
    uint32_t src;
    uint32_t dst;
    uint64_t bytes;
    int64_t startNs;
};

/// fct.txt: sip dip sport dport bytes start_ns fct_ns ideal_ns, addresses 0x0b000001 + node * 256.
std::vector<Flow>
ReadFlows(const std::string& path, const ClusterTopology& topology)
{
    std::ifstream file(path);
    std::vector<Flow> flows;
    uint32_t sip = 0;
    uint32_t dip = 0;
    uint32_t port = 0;
    uint64_t time = 0;
    Flow flow{};
    while (file >> std::hex >> sip >> dip >> std::dec >> port >> port >> flow.bytes >>
           flow.startNs >> time >> time)
    {
        flow.src = topology.HostIndexOf((sip - 0x0b000001) >> 8);
        flow.dst = topology.HostIndexOf((dip - 0x0b000001) >> 8);
        flows.push_back(flow);
    }
    if (flows.empty() || !file.eof())
    {
        throw InputError(path, flows.size() + 1, "is no line of a flow", "fct.txt of a run");
    }
    return flows;
}

/// Sends what waits for one port of a host, packet after packet at the port's rate.
class Sender
{
  public:
    Sender(Ptr<Socket> socket, uint64_t rateBps)
        : m_socket(socket),
          m_rate(rateBps)
    {
    }

    void Add(Ipv4Address to, uint64_t bytes)
    {
        m_waiting.push_back({to, bytes});
        if (!m_busy)
        {
            SendNext();
        }
    }

  private:
    struct Part
    {
        Ipv4Address to;
        uint64_t bytes;
    };

    void SendNext()
    {
        m_busy = !m_waiting.empty();
        if (!m_busy)
        {
            return;
        }
        Part& part = m_waiting.front();
        const auto size = static_cast<uint32_t>(std::min<uint64_t>(part.bytes, PAYLOAD_BYTES));
        m_socket->SendTo(Create<Packet>(size), 0, InetSocketAddress(part.to, PORT));
        part.bytes -= size;
        if (part.bytes == 0)
        {
            m_waiting.pop_front();
        }
        constexpr uint32_t HEADERS = 30; // PPP 2, IPv4 20, UDP 8
        Simulator::Schedule(m_rate.CalculateBytesTxTime(size + HEADERS), &Sender::SendNext, this);
    }

    Ptr<Socket> m_socket;
    DataRate m_rate;
    std::deque<Part> m_waiting;
    bool m_busy{false};
};

class Yardstick
{
  public:
    Yardstick(const ClusterTopology& topology, bool nix)
        : m_topology(topology)
    {
        Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("1000000p"));
        Config::SetDefault("ns3::UdpSocket::RcvBufSize", UintegerValue(UINT32_MAX));
        NodeContainer nodes(topology.nodeCount);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        if (nix)
        {
            stack.SetRoutingHelper(Ipv4NixVectorHelper());
        }
        stack.Install(nodes);
        m_addresses.resize(topology.nodeCount);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
        for (const auto& link : topology.links)
        {
            PointToPointHelper helper;
            helper.DisableFlowControl(); // no queue discs
            helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(link.rateBps)));
            helper.SetDeviceAttribute("Mtu", UintegerValue(9216));
            helper.SetChannelAttribute("Delay", TimeValue(PicoSeconds(link.delayPs)));
            const auto devices = helper.Install(nodes.Get(link.a), nodes.Get(link.b));
            const auto interfaces = addresses.Assign(devices);
            addresses.NewNetwork();
            m_addresses[link.a].push_back({link.b, interfaces.GetAddress(0)});
            m_addresses[link.b].push_back({link.a, interfaces.GetAddress(1)});
            for (uint32_t end = 0; end < 2; ++end)
            {
                devices.Get(end)->TraceConnectWithoutContext(
                    "PhyRxEnd",
                    MakeCallback(&Yardstick::CountHop, this));
            }
        }
        if (!nix)
        {
            Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        }
        for (uint32_t host = 0; host < topology.hostCount; ++host)
        {
            const uint32_t node = topology.NodeOfHost(host);
            Ptr<Socket> socket =
                Socket::CreateSocket(nodes.Get(node), UdpSocketFactory::GetTypeId());
            socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
            socket->SetRecvCallback(MakeCallback(&Yardstick::Receive, this));
            for (const auto& port : topology.Ports(node))
            {
                m_senders.push_back(
                    {host,
                     port.peer,
                     std::make_unique<Sender>(socket, topology.links[port.link].rateBps)});
            }
        }
    }

    void Start(const Flow& flow)
    {
        // By the NVSwitch that both are on, else to the receiver's first port that is no NVLink.
        const uint32_t src = m_topology.NodeOfHost(flow.src);
        const uint32_t dst = m_topology.NodeOfHost(flow.dst);
        const bool together = m_topology.ShareNvLink(flow.src, flow.dst);
        const auto fits = [&](uint32_t peer) {
            return m_topology.Is(peer, ClusterTopology::NodeKind::NvSwitch) == together;
        };
        const auto to = std::find_if(m_addresses[dst].begin(),
                                     m_addresses[dst].end(),
                                     [&](const Attachment& at) { return fits(at.peer); });
        const auto by = std::find_if(m_senders.begin(), m_senders.end(), [&](const auto& sender) {
            return sender.host == flow.src && fits(sender.peer);
        });
        if (to == m_addresses[dst].end() || by == m_senders.end())
        {
            throw InputError(m_topology.source,
                             0,
                             fmt::format("nodes {} and {} have no ports of one kind", src, dst),
                             "the topology that the flows ran on");
        }
        m_sentBytes += flow.bytes;
        Simulator::Schedule(NanoSeconds(flow.startNs),
                            &Sender::Add,
                            by->sender.get(),
                            to->address,
                            flow.bytes);
    }

    int Run()
    {
        const std::clock_t begin = std::clock();
        Simulator::Run();
        const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        fmt::print("packet-hops           {}\n"
                   "events per packet-hop {:.3f}\n"
                   "CPU seconds           {:.3f} (set-up not included)\n"
                   "packet-hops per CPU s {:.4f} million\n",
                   m_hops,
                   static_cast<double>(Simulator::GetEventCount()) / static_cast<double>(m_hops),
                   cpu,
                   static_cast<double>(m_hops) / cpu / 1e6);
        Simulator::Destroy();
        if (m_receivedBytes != m_sentBytes)
        {
            fmt::print(stderr, "{} of {} bytes arrived\n", m_receivedBytes, m_sentBytes);
            return 1;
        }
        return 0;
    }

  private:
    struct Attachment
    {
        uint32_t peer;
        Ipv4Address address;
    };

    struct HostSender
    {
        uint32_t host;
        uint32_t peer;
        std::unique_ptr<Sender> sender;
    };

    void CountHop(Ptr<const Packet>)
    {
        ++m_hops;
    }

    void Receive(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            m_receivedBytes += packet->GetSize();
        }
    }

    const ClusterTopology& m_topology;
    std::vector<std::vector<Attachment>> m_addresses; ///< per node, in the order of its links
    std::vector<HostSender> m_senders;
    uint64_t m_hops{0};
    uint64_t m_sentBytes{0};
    uint64_t m_receivedBytes{0};
};

} // namespace

int
main(int argc, char* argv[])
{
    try
    {
        if (argc < 3 || argc > 4)
        {
            throw InputError("command line",
                             0,
                             "wrong arguments",
                             "TOPOLOGY FCT_FILE [global|nix]");
        }
        Time::SetResolution(Time::PS);
        const ClusterTopology topology = ClusterTopology::Read(argv[1]);
        Yardstick yardstick(topology, argc > 3 && std::string(argv[3]) == "nix");
        for (const Flow& flow : ReadFlows(argv[2], topology))
        {
            yardstick.Start(flow);
        }
        return yardstick.Run();
    }
    catch (const InputError& error)
    {
        std::cerr << error.what() << "\n";
        return 2;
    }
}
