/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-tcp-engine.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloTcpEngine");

NS_OBJECT_ENSURE_REGISTERED(CcloTcpEngine);

namespace
{

constexpr uint32_t TCP_HEADERS = 20 + 20 + 14 + 4 + 20; // TCP, IPv4, Ethernet, FCS, gap

std::string
NameOf(Ipv4Address ip, uint32_t port)
{
    const uint32_t bits = ip.Get();
    return fmt::format("{}.{}.{}.{}:{}",
                       bits >> 24,
                       bits >> 16 & 255,
                       bits >> 8 & 255,
                       bits & 255,
                       port);
}

} // namespace

TypeId
CcloTcpEngine::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::CcloTcpEngine")
            .SetParent<CcloSocketEngine>()
            .SetGroupName("AcclCclo")
            .AddConstructor<CcloTcpEngine>()
            .AddAttribute("MinRto",
                          "Least time before a loss is repaired by a timeout (an assumption; "
                          "RFC 6298 says 1 s, which no data centre waits)",
                          TimeValue(MilliSeconds(1)),
                          MakeTimeAccessor(&CcloTcpEngine::m_minRto),
                          MakeTimeChecker(PicoSeconds(1)))
            .AddAttribute("InitialWindow",
                          "Segments that a connection begins with (RFC 6928)",
                          UintegerValue(10),
                          MakeUintegerAccessor(&CcloTcpEngine::m_initialWindow),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("ConnectionBuffer",
                          "Bytes that a connection keeps until they are acknowledged, and its "
                          "window (an assumption)",
                          UintegerValue(1 << 20),
                          MakeUintegerAccessor(&CcloTcpEngine::m_connectionBuffer),
                          MakeUintegerChecker<uint32_t>(4096));
    return tid;
}

CcloTcpEngine::CcloTcpEngine() = default;

CcloTcpEngine::~CcloTcpEngine() = default;

void
CcloTcpEngine::SetPeers(CcloTcpPeers peers)
{
    m_engines = std::move(peers);
    (*m_engines)[m_address] = this;
}

void
CcloTcpEngine::DoDispose()
{
    for (Session& session : m_sessions)
    {
        for (const Ptr<Socket>& socket : {session.out, session.in})
        {
            if (socket)
            {
                socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
                socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
            }
        }
    }
    m_sessions.clear();
    m_listening = nullptr;
    if (m_engines)
    {
        m_engines->erase(m_address);
    }
    m_engines.reset();
    CcloSocketEngine::DoDispose();
}

void
CcloTcpEngine::Leave(Ptr<Socket> socket)
{
    if (socket)
    {
        socket->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
        socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        socket->SetConnectCallback(MakeNullCallback<void, Ptr<Socket>>(),
                                   MakeNullCallback<void, Ptr<Socket>>());
        socket->Close();
    }
}

void
CcloTcpEngine::Close()
{
    for (Session& session : m_sessions)
    {
        Leave(session.out);
        if (session.in) // the peer closes it
        {
            session.in->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        }
    }
    m_sessions.clear();
    m_unsentBytes = 0;
    ForgetSessions();
}

uint32_t
CcloTcpEngine::GetStackType() const
{
    return 1;
}

uint32_t
CcloTcpEngine::GetOverhead() const
{
    return TCP_HEADERS;
}

Ptr<Socket>
CcloTcpEngine::MakeTcpSocket() const
{
    Ptr<Socket> socket = MakeSocket("ns3::TcpSocketFactory");
    socket->SetAttribute("SegmentSize", UintegerValue(m_packetBytes));
    socket->SetAttribute("SndBufSize", UintegerValue(m_connectionBuffer));
    socket->SetAttribute("RcvBufSize", UintegerValue(m_connectionBuffer));
    socket->SetAttribute("InitialCwnd", UintegerValue(m_initialWindow));
    socket->SetAttribute("DelAckCount", UintegerValue(1));
    socket->SetAttribute("TcpNoDelay", BooleanValue(true));
    socket->SetAttribute("Timestamp", BooleanValue(false));
    socket->SetAttribute("MinRto", TimeValue(m_minRto));
    return socket;
}

void
CcloTcpEngine::OpenPort(uint32_t port)
{
    if (m_listening && m_port == port)
    {
        return;
    }
    m_port = port;
    m_listening = MakeTcpSocket();
    const int bound = m_listening->Bind(InetSocketAddress(m_address, static_cast<uint16_t>(port)));
    NS_ABORT_MSG_IF(bound != 0, "TCP port " << port << " of " << m_address << " is taken");
    m_listening->Listen();
    m_listening->SetAcceptCallback(
        MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
        Callback<void, Ptr<Socket>, const Address&>(
            [this](Ptr<Socket> socket, const Address& from) {
                OnAccepted(socket, InetSocketAddress::ConvertFrom(from).GetIpv4());
            }));
}

void
CcloTcpEngine::OpenSession(bool isLocal)
{
    const uint32_t session = GetSessions() - 1;
    m_sessions.push_back({.depacketizer = CcloDepacketizer(false, m_contents)});
    m_sessions.back().isOpen = isLocal;
    if (isLocal)
    {
        return;
    }
    Session& opened = m_sessions.back();
    opened.out = MakeTcpSocket();
    opened.out->SetConnectCallback(
        Callback<void, Ptr<Socket>>([this, session](Ptr<Socket>) { OnConnected(session, true); }),
        Callback<void, Ptr<Socket>>([this, session](Ptr<Socket>) { OnConnected(session, false); }));
    opened.out->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>(
        [this, session](Ptr<Socket>, uint32_t) { Flush(session); }));
    opened.out->TraceConnectWithoutContext(
        "RTT",
        Callback<void, Time, Time>([this, session](Time, Time rtt) {
            if (session < m_sessions.size())
            {
                m_sessions[session].rtt = rtt;
            }
        }));
    const Peer& peer = GetPeer(session);
    opened.out->Connect(InetSocketAddress(peer.ip, static_cast<uint16_t>(peer.port)));
}

void
CcloTcpEngine::OnConnected(uint32_t session, bool isOpen)
{
    NS_LOG_INFO("session " << session << (isOpen ? " is open" : " is refused"));
    m_sessions[session].isOpen = isOpen;
    m_sessions[session].isRefused = !isOpen;
    Flush(session);
    if (IsOpen() && m_opened)
    {
        m_opened();
    }
}

bool
CcloTcpEngine::IsOpen() const
{
    return std::ranges::all_of(m_sessions, &Session::isOpen);
}

void
CcloTcpEngine::OnAccepted(Ptr<Socket> socket, Ipv4Address from)
{
    const uint32_t session = FindSession(from);
    if (session == UINT32_MAX)
    {
        NS_LOG_LOGIC(from << " is in no communicator");
        socket->Close();
        return;
    }
    m_sessions[session].in = socket;
    socket->SetRecvCallback(Callback<void, Ptr<Socket>>(
        [this, session](Ptr<Socket> readable) { OnReadable(session, readable); }));
    socket->SetCloseCallbacks(
        Callback<void, Ptr<Socket>>([](Ptr<Socket> closed) { closed->Close(); }),
        MakeNullCallback<void, Ptr<Socket>>());
}

bool
CcloTcpEngine::CanSend(uint32_t session, const CcloHeader& header) const
{
    const uint64_t unplaced =
        session < m_sessions.size() ? m_sessions[session].unplacedBytes : uint64_t{0};
    return IsDrained() && (unplaced == 0 || unplaced + header.count <= m_receiveBuffer);
}

void
CcloTcpEngine::Send(uint32_t session, CcloMessage&& message, int64_t spanPs)
{
    m_sessions[session].unplacedBytes += message.header.count;
    CcloSocketEngine::Send(session, std::move(message), spanPs);
}

void
CcloTcpEngine::Transmit(uint32_t session, Ptr<Packet> message)
{
    if (session >= m_sessions.size())
    {
        return; // closed in the meantime
    }
    m_sessions[session].pending.push_back(message);
    Flush(session);
}

void
CcloTcpEngine::Flush(uint32_t session)
{
    Session& to = m_sessions[session];
    uint64_t taken = 0;
    while (to.isOpen && !to.pending.empty() && to.out->GetTxAvailable() > 0)
    {
        Ptr<Packet>& first = to.pending.front();
        const uint32_t part = std::min(first->GetSize(), to.out->GetTxAvailable());
        to.out->Send(first->CreateFragment(0, part));
        taken += part;
        first->RemoveAtStart(part);
        if (first->GetSize() == 0)
        {
            to.pending.pop_front();
        }
    }
    if (taken > 0)
    {
        NS_LOG_LOGIC("session " << session << " gives its socket " << taken << " bytes");
        OnSent(taken);
    }
}

void
CcloTcpEngine::OnReadable(uint32_t session, Ptr<Socket> socket)
{
    while (const Ptr<Packet> packet = socket->Recv())
    {
        m_sessions[session].depacketizer.Take(*packet, [this, session](CcloMessage&& message) {
            Deliver(session, std::move(message));
        });
    }
}

void
CcloTcpEngine::OnConsumed(uint32_t session, const CcloHeader& header)
{
    const auto sender = m_engines->find(GetPeer(session).ip);
    if (sender != m_engines->end())
    {
        Simulator::Schedule(m_sessions[session].rtt / 2,
                            &CcloTcpEngine::OnCredit,
                            sender->second,
                            m_address,
                            uint64_t{header.count});
    }
}

void
CcloTcpEngine::OnCredit(Ipv4Address from, uint64_t bytes)
{
    const uint32_t session = FindSession(from);
    if (session == UINT32_MAX)
    {
        return; // closed in the meantime
    }
    uint64_t& unplaced = m_sessions[session].unplacedBytes;
    unplaced -= std::min(unplaced, bytes);
    if (m_listener)
    {
        m_listener->OnRoom();
    }
}

std::string
CcloTcpEngine::DescribeSession(uint32_t session) const
{
    const uint64_t unplaced = session < m_sessions.size() ? m_sessions[session].unplacedBytes : 0;
    return fmt::format("the peer has yet to put {} bytes into rx buffers (ReceiveBufferSize is "
                       "{}); {} bytes wait for the connection",
                       unplaced,
                       m_receiveBuffer,
                       m_unsentBytes);
}

std::vector<std::string>
CcloTcpEngine::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (uint32_t session = 0; session < m_sessions.size(); ++session)
    {
        if (!m_sessions[session].isOpen)
        {
            const Peer& peer = GetPeer(session);
            lines.push_back(
                fmt::format("TCP session {} with {} is {}",
                            session,
                            NameOf(peer.ip, peer.port),
                            m_sessions[session].isRefused ? "refused" : "not open yet"));
        }
    }
    return lines;
}

} // namespace ns3
