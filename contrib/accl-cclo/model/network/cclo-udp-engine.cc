/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-udp-engine.h"

#include "ns3/abort.h"
#include "ns3/inet-socket-address.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/tag.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("CcloUdpEngine");

NS_OBJECT_ENSURE_REGISTERED(CcloUdpEngine);

namespace
{

constexpr uint32_t UDP_HEADERS = 8 + 20 + 14 + 4 + 20; // UDP, IPv4, Ethernet, FCS, gap

/// Names the message of a packet and its part of it; not on the wire, so that a loss can be named.
class PartTag : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::CcloPartTag")
                                .SetParent<Tag>()
                                .SetGroupName("AcclCclo")
                                .AddConstructor<PartTag>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 8;
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU32(message);
        buffer.WriteU32(offset);
    }

    void Deserialize(TagBuffer buffer) override
    {
        message = buffer.ReadU32();
        offset = buffer.ReadU32();
    }

    void Print(std::ostream& os) const override
    {
        os << "message=" << message << " offset=" << offset;
    }

    uint32_t message{0};
    uint32_t offset{0};
};

} // namespace

TypeId
CcloUdpEngine::GetTypeId()
{
    static TypeId tid = TypeId("ns3::CcloUdpEngine")
                            .SetParent<CcloSocketEngine>()
                            .SetGroupName("AcclCclo")
                            .AddConstructor<CcloUdpEngine>();
    return tid;
}

CcloUdpEngine::CcloUdpEngine() = default;

CcloUdpEngine::~CcloUdpEngine() = default;

void
CcloUdpEngine::DoDispose()
{
    Close();
    CcloSocketEngine::DoDispose();
}

void
CcloUdpEngine::Close()
{
    if (m_socket)
    {
        m_socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        m_socket->Close();
        m_socket = nullptr;
    }
    m_sessions.clear();
    m_queue.clear();
    m_waitingBytes = 0;
    m_unsentBytes = 0;
    ForgetSessions();
}

uint32_t
CcloUdpEngine::GetStackType() const
{
    return 0;
}

void
CcloUdpEngine::OpenPort(uint32_t port)
{
    m_socket = MakeSocket("ns3::UdpSocketFactory");
    const int bound = m_socket->Bind(InetSocketAddress(m_address, static_cast<uint16_t>(port)));
    NS_ABORT_MSG_IF(bound != 0, "UDP port " << port << " of " << m_address << " is taken");
    m_socket->SetRecvCallback(
        Callback<void, Ptr<Socket>>([this](Ptr<Socket> socket) { OnReadable(socket); }));
}

void
CcloUdpEngine::OpenSession(bool)
{
    m_sessions.push_back({.depacketizer = CcloDepacketizer(true, m_contents)});
}

bool
CcloUdpEngine::CanSend(uint32_t, const CcloHeader&) const
{
    return IsDrained();
}

uint32_t
CcloUdpEngine::GetOverhead() const
{
    return UDP_HEADERS;
}

uint64_t
CcloUdpEngine::GetPayload(uint64_t bytes) const
{
    return (bytes + CcloHeader::BYTES - 1) / CcloHeader::BYTES * CcloHeader::BYTES;
}

void
CcloUdpEngine::Transmit(uint32_t session, Ptr<Packet> message)
{
    const bool isIdle = m_queue.empty();
    PartTag tag;
    tag.message = m_sessions[session].sent++;
    for (tag.offset = 0; tag.offset < message->GetSize(); tag.offset += m_packetBytes)
    {
        Ptr<Packet> packet =
            message->CreateFragment(tag.offset,
                                    std::min(m_packetBytes, message->GetSize() - tag.offset));
        packet->AddPacketTag(tag);
        m_queue.push_back({session, packet});
    }
    if (isIdle)
    {
        SendNext();
    }
}

void
CcloUdpEngine::SendNext()
{
    const Outgoing& first = m_queue.front();
    const Peer& peer = GetPeer(first.session);
    const uint32_t bytes = first.packet->GetSize();
    NS_LOG_LOGIC("session " << first.session << " sends a packet of " << bytes << " bytes");
    m_socket->SendTo(first.packet, 0, InetSocketAddress(peer.ip, static_cast<uint16_t>(peer.port)));
    Simulator::Schedule(PicoSeconds(PacketPs(bytes)), [this, bytes, socket = m_socket] {
        if (socket != m_socket)
        {
            return; // closed in the meantime
        }
        m_queue.pop_front();
        if (!m_queue.empty())
        {
            SendNext();
        }
        OnSent(bytes);
    });
}

void
CcloUdpEngine::OnReadable(Ptr<Socket> socket)
{
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from))
    {
        const uint32_t session = FindSession(InetSocketAddress::ConvertFrom(from).GetIpv4());
        if (session != UINT32_MAX)
        {
            Take(session, packet);
        }
    }
}

bool
CcloUdpEngine::Continues(Session& session, uint32_t message, uint32_t offset)
{
    if (session.depacketizer.IsWithinMessage())
    {
        return message == session.message && offset == session.offset;
    }
    if (offset != 0 || message < session.message)
    {
        return false;
    }
    session.missing += message - session.message;
    session.message = message;
    session.offset = 0;
    return true;
}

void
CcloUdpEngine::Take(uint32_t session, Ptr<Packet> packet)
{
    Session& from = m_sessions[session];
    PartTag tag;
    if (from.outOfStep || !packet->RemovePacketTag(tag))
    {
        return;
    }
    if (m_waitingBytes > 0 && m_waitingBytes + packet->GetSize() > m_receiveBuffer)
    {
        NS_LOG_LOGIC("no room for a packet of session " << session);
        ++m_dropped;
        return;
    }
    if (!Continues(from, tag.message, tag.offset))
    {
        NS_LOG_LOGIC("session " << session << " is out of step at message " << tag.message);
        from.outOfStep = true;
        return;
    }
    from.offset += packet->GetSize();
    from.depacketizer.Take(*packet, [this, session, &from](CcloMessage&& message) {
        ++from.message;
        Deliver(session, std::move(message));
    });
}

void
CcloUdpEngine::OnDepacketized(uint32_t session, CcloMessage&& message)
{
    m_waitingBytes += message.header.count;
    CcloSocketEngine::OnDepacketized(session, std::move(message));
}

void
CcloUdpEngine::OnConsumed(uint32_t, const CcloHeader& header)
{
    m_waitingBytes -= std::min<uint64_t>(m_waitingBytes, header.count);
}

std::string
CcloUdpEngine::DescribeSession(uint32_t session) const
{
    return fmt::format("{} bytes wait for the wire", m_unsentBytes);
}

std::vector<std::string>
CcloUdpEngine::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (uint32_t session = 0; session < m_sessions.size(); ++session)
    {
        const Session& from = m_sessions[session];
        const uint32_t ip = GetPeer(session).ip.Get();
        const std::string name = fmt::format("UDP session {} with {}.{}.{}.{}",
                                             session,
                                             ip >> 24,
                                             ip >> 16 & 255,
                                             ip >> 8 & 255,
                                             ip & 255);
        if (from.missing > 0)
        {
            lines.push_back(fmt::format("{}: {} messages were lost", name, from.missing));
        }
        if (from.outOfStep)
        {
            lines.push_back(fmt::format("{}: a packet of message {} was lost, so nothing after it "
                                        "can be told apart",
                                        name,
                                        from.message));
        }
    }
    if (m_dropped > 0)
    {
        lines.push_back(fmt::format("{} packets were lost in front of full rx buffers "
                                    "(ReceiveBufferSize is {} bytes)",
                                    m_dropped,
                                    m_receiveBuffer));
    }
    return lines;
}

} // namespace ns3
