/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * QbbNetDevice: the ns3::NetDevice interface, for ordinary protocol stacks.
 */
#include "qbb-net-device.h"

#include "ns3/ethernet-header.h"
#include "ns3/ipv4-header.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/qbb-packet-builder.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("QbbNetDevice");

namespace
{

/// FCS, preamble and inter-frame gap, which the Ethernet header does not show.
constexpr uint32_t FCS_PREAMBLE_GAP = 24;

/// Set Congestion Experienced in the IPv4 header; only IPv4 packets are ECN-capable here.
void
MarkCongestion(Packet& packet)
{
    Ipv4Header ip;
    if (Node::ChecksumEnabled())
    {
        ip.EnableChecksum();
    }
    packet.RemoveHeader(ip);
    ip.SetEcn(Ipv4Header::ECN_CE);
    packet.AddHeader(ip);
}

} // namespace

void
QbbNetDevice::SetIfIndex(uint32_t index)
{
    m_ifIndex = index;
}

uint32_t
QbbNetDevice::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel>
QbbNetDevice::GetChannel() const
{
    return m_channel;
}

void
QbbNetDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
    if (m_peer)
    {
        m_peer->m_peerAddress = m_address;
    }
}

Address
QbbNetDevice::GetAddress() const
{
    return m_address;
}

bool
QbbNetDevice::SetMtu(uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t
QbbNetDevice::GetMtu() const
{
    return m_mtu;
}

bool
QbbNetDevice::IsLinkUp() const
{
    return m_channel && m_channel->IsUp();
}

void
QbbNetDevice::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChange.ConnectWithoutContext(callback);
}

bool
QbbNetDevice::IsBroadcast() const
{
    return true;
}

Address
QbbNetDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
QbbNetDevice::IsMulticast() const
{
    return true;
}

Address
QbbNetDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address
QbbNetDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool
QbbNetDevice::IsPointToPoint() const
{
    // Switches forward by destination host, so no address resolution is needed.
    return true;
}

bool
QbbNetDevice::IsBridge() const
{
    return false;
}

bool
QbbNetDevice::NeedsArp() const
{
    return false;
}

bool
QbbNetDevice::SupportsSendFrom() const
{
    return true;
}

Ptr<Node>
QbbNetDevice::GetNode() const
{
    return m_node;
}

void
QbbNetDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
}

void
QbbNetDevice::SetReceiveCallback(NetDevice::ReceiveCallback cb)
{
    m_receive = cb;
}

void
QbbNetDevice::SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback cb)
{
    m_promiscReceive = cb;
}

bool
QbbNetDevice::Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol)
{
    return SendFrom(packet, m_address, dest, protocol);
}

bool
QbbNetDevice::SendFrom(Ptr<Packet> packet,
                       const Address& source,
                       const Address& dest,
                       uint16_t protocol)
{
    NS_LOG_FUNCTION(this << packet << protocol);
    Initialize();
    m_macTx(packet);
    if (!GetLinkNode() || !IsLinkUp() ||
        GetQueueBytes(m_otherPriority) + packet->GetSize() > m_otherQueueLimit)
    {
        NS_LOG_INFO("no room or link for " << packet);
        m_macTxDrop(packet);
        return false;
    }
    Ptr<Packet> copy = packet->Copy();
    EthernetHeader header(false);
    header.SetSource(Mac48Address::ConvertFrom(source));
    header.SetDestination(Mac48Address::ConvertFrom(dest));
    header.SetLengthType(protocol);
    copy->AddHeader(header);

    QbbFrame* frame = GetPool().Allocate();
    frame->kind = QbbFrameKind::Other;
    frame->priority = m_otherPriority;
    frame->wireBytes = std::max(copy->GetSize() + FCS_PREAMBLE_GAP, MIN_WIRE_BYTES);
    frame->src = UINT32_MAX;
    frame->dst = UINT32_MAX;
    frame->packet = GetPointer(copy); // the frame keeps this reference
    GetLinkNode()->OnOtherSend(GetPort(), *frame, *copy, protocol);
    Enqueue(frame, Simulator::Now().GetTimeStep());
    return true;
}

Ptr<const Packet>
QbbNetDevice::MakePacket(const QbbFrame& frame,
                         const Mac48Address& from,
                         const Mac48Address& to) const
{
    return QbbPacketBuilder(m_rdmaMtu).Build(frame, {from, to});
}

void
QbbNetDevice::ReceiveOther(QbbFrame* frame)
{
    Ptr<Packet> packet(static_cast<Packet*>(frame->packet), false); // takes the frame's reference
    frame->packet = nullptr;
    const bool marked = frame->ecn == EcnCodepoint::Ce;
    GetPool().Free(frame);
    EthernetHeader header(false);
    packet->RemoveHeader(header);
    if (marked)
    {
        MarkCongestion(*packet);
    }
    NS_LOG_FUNCTION(this << packet << marked);
    m_macRx(packet);
    const uint16_t protocol = header.GetLengthType();
    if (!m_promiscReceive.IsNull())
    {
        m_promiscReceive(this,
                         packet,
                         protocol,
                         header.GetSource(),
                         header.GetDestination(),
                         NetDevice::PACKET_HOST);
    }
    if (!m_receive.IsNull())
    {
        m_receive(this, packet, protocol, header.GetSource());
    }
}

} // namespace ns3
