/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-socket-engine.h"

#include "ns3/abort.h"
#include "ns3/ipv4.h"
#include "ns3/qbb-net-device.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CcloSocketEngine);

TypeId
CcloSocketEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloSocketEngine")
            .SetParent<CcloProtocolEngine>()
            .SetGroupName("AcclCclo")
            .AddAttribute("PacketSize",
                          "Bytes of a packet's payload at most (eth_intf.h: MAX_PACKETSIZE)",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&CcloSocketEngine::m_packetBytes),
                          MakeUintegerChecker<uint32_t>(128, 8960))
            .AddAttribute("SendBufferSize",
                          "Bytes that have not been sent; the packetizer waits while there are "
                          "more (an assumption: two packets)",
                          UintegerValue(8192),
                          MakeUintegerAccessor(&CcloSocketEngine::m_sendBuffer),
                          MakeUintegerChecker<uint32_t>(64))
            .AddAttribute("ReceiveBufferSize",
                          "Bytes that wait in front of full rx buffers: over UDP of all sessions, "
                          "and more are lost; over TCP of one, and the sender waits (an "
                          "assumption)",
                          UintegerValue(65536),
                          MakeUintegerAccessor(&CcloSocketEngine::m_receiveBuffer),
                          MakeUintegerChecker<uint32_t>(64))
            .AddAttribute("SendLatency",
                          "From the packetizer to the stack (an assumption: 100 cycles)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloSocketEngine::m_sendLatency),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("ReceiveLatency",
                          "From the stack to the depacketizer (an assumption: 100 cycles)",
                          TimeValue(NanoSeconds(400)),
                          MakeTimeAccessor(&CcloSocketEngine::m_receiveLatency),
                          MakeTimeChecker(Time(0)));
    return tid;
}

CcloSocketEngine::CcloSocketEngine() = default;

CcloSocketEngine::~CcloSocketEngine() = default;

void
CcloSocketEngine::Install(Ptr<Node> node, Ipv4Address address)
{
    m_node = node;
    m_address = address;
    Ptr<Ipv4> ipv4 = node->GetObject<Ipv4>();
    NS_ABORT_MSG_UNLESS(ipv4, "a collective engine over UDP or TCP needs an Internet stack");
    const int32_t interface = ipv4->GetInterfaceForAddress(address);
    NS_ABORT_MSG_IF(interface < 0, "no interface of the node has address " << address);
    m_rateBps = DynamicCast<QbbNetDevice>(ipv4->GetNetDevice(interface))->GetRateBps();
}

void
CcloSocketEngine::DoDispose()
{
    ForgetSessions();
    m_node = nullptr;
    CcloProtocolEngine::DoDispose();
}

void
CcloSocketEngine::ForgetSessions()
{
    m_peers.clear();
    m_sessionOf.clear();
    m_portIsOpen = false;
}

bool
CcloSocketEngine::CanWrite() const
{
    return false;
}

bool
CcloSocketEngine::IsDrained() const
{
    return m_unsentBytes <= m_sendBuffer;
}

Ptr<Socket>
CcloSocketEngine::MakeSocket(const std::string& factory) const
{
    return Socket::CreateSocket(m_node, TypeId::LookupByName(factory));
}

uint32_t
CcloSocketEngine::FindSession(Ipv4Address ip) const
{
    const auto found = m_sessionOf.find(ip.Get());
    return found == m_sessionOf.end() ? UINT32_MAX : found->second;
}

std::vector<CcloRank>
CcloSocketEngine::Open(std::vector<CcloRank> ranks, uint32_t localRank)
{
    if (!std::exchange(m_portIsOpen, true))
    {
        OpenPort(ranks[localRank].port);
    }
    for (CcloRank& rank : ranks)
    {
        rank.session = FindSession(rank.ip);
        if (rank.session == UINT32_MAX)
        {
            rank.session = GetSessions();
            m_sessionOf[rank.ip.Get()] = rank.session;
            m_peers.push_back({rank.ip, rank.port});
            OpenSession(rank.ip == m_address);
        }
    }
    return ranks;
}

int64_t
CcloSocketEngine::PacketPs(uint64_t payload) const
{
    const uint64_t bytes =
        std::max<uint64_t>(payload + GetOverhead(), QbbNetDevice::MIN_WIRE_BYTES);
    return static_cast<int64_t>(8.0 * static_cast<double>(bytes) * 1e12 /
                                static_cast<double>(m_rateBps));
}

int64_t
CcloSocketEngine::WirePs(uint64_t bytes) const
{
    const auto full = static_cast<int64_t>(bytes / m_packetBytes);
    const uint64_t rest = bytes % m_packetBytes;
    return full * PacketPs(m_packetBytes) + (rest > 0 ? PacketPs(rest) : 0);
}

void
CcloSocketEngine::Send(uint32_t session, CcloMessage&& message, int64_t spanPs)
{
    const CcloHeader& header = message.header;
    NS_ABORT_MSG_UNLESS(header.type == CcloMessageType::Eager,
                        "only eager messages go over UDP and TCP");
    NS_ABORT_MSG_UNLESS(session < GetSessions(), "session " << session << " is not open");
    message.data.resize(GetPayload(header.count));
    Ptr<Packet> packet =
        Create<Packet>(message.data.data(), static_cast<uint32_t>(message.data.size()));
    packet->AddHeader(header);
    m_unsentBytes += packet->GetSize();
    // Data that come more slowly than the wire takes them begin late enough not to run dry.
    const int64_t waitPs = std::max<int64_t>(0, spanPs - WirePs(packet->GetSize()));
    Simulator::Schedule(m_sendLatency + PicoSeconds(waitPs),
                        [this, session, packet] { Transmit(session, packet); });
}

void
CcloSocketEngine::OnSent(uint64_t bytes)
{
    const bool wasDrained = IsDrained();
    m_unsentBytes -= bytes;
    if (!wasDrained && IsDrained() && m_listener)
    {
        m_listener->OnRoom();
    }
}

void
CcloSocketEngine::Deliver(uint32_t session, CcloMessage&& message)
{
    Simulator::Schedule(m_receiveLatency, [this, session, message = std::move(message)]() mutable {
        OnDepacketized(session, std::move(message));
    });
}

void
CcloSocketEngine::OnDepacketized(uint32_t session, CcloMessage&& message)
{
    if (m_listener)
    {
        m_listener->OnMessage(session, std::move(message));
    }
}

} // namespace ns3
