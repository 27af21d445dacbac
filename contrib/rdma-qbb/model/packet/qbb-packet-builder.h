/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PACKET_BUILDER_H
#define QBB_PACKET_BUILDER_H

#include "qbb-frame.h"

#include "ns3/ipv4-address.h"
#include "ns3/mac48-address.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>

namespace ns3
{

/// Ethernet addresses of the two ends of the link that a frame is on.
struct QbbLinkAddresses
{
    Mac48Address source;
    Mac48Address destination;
};

/**
 * @ingroup rdma-qbb
 * @brief Makes the ns-3 Packet that a QbbFrame stands for, with the headers of a real one.
 *
 * Data frames, acknowledgements and CNPs become Ethernet, IPv4, UDP (port 4791), InfiniBand
 * headers, payload of zeros and ICRC; PFC frames become MAC control frames; frames of kind Other
 * give the packet they carry. No frame check sequence, preamble or gap.
 *
 * How fields are filled that a frame does not hold:
 *  - PSN: (seq / mtu) modulo 2^24, so the packets of messages that do not fill their last packet
 *    may share a number with the next. An ACK carries the number of the last packet acknowledged;
 *    a NAK that of the packet expected.
 *  - Opcode: RDMA WRITE Only, First, Middle or Last as QBB_FLAG_FIRST and QBB_FLAG_LAST say. First
 *    and Only carry a RETH (16 bytes, which simulated sizes leave out): the virtual address is the
 *    stream offset, the key the queue pair number; the length is known for Only, and is the payload
 *    of this packet for First.
 *  - A selective NAK (IRN) names the packet that came out of order in the AETH's message sequence
 *    number, as IRN needs both numbers and RoCEv2 has room for one.
 *  - An ACK with QBB_ANSWER_MARKED has the BECN bit.
 *  - Queue pair numbers begin at 16.
 *  - Type of service: class selector of the priority, and the frame's ECN bits. Time to live: 64 at
 *    every hop.
 *  - In-band telemetry is shown as that many zero bytes at the end of the payload.
 */
class QbbPacketBuilder
{
  public:
    /// @param mtu payload bytes of a full data frame
    explicit QbbPacketBuilder(uint32_t mtu);

    /// @return a new packet for @p frame on a link between @p addresses
    [[nodiscard]] Ptr<Packet> Build(const QbbFrame& frame, const QbbLinkAddresses& addresses) const;

    /// @return the address of a host, by its index: 11.0.0.1 + 256 for each next one, as FCT files
    static Ipv4Address HostAddress(uint32_t host);

    /// @return the host that has an address; UINT32_MAX if none can have it
    static uint32_t HostOf(Ipv4Address address);

    /// @return a locally administered address for a port of a node
    static Mac48Address PortAddress(uint32_t node, uint16_t port);

  private:
    Ptr<Packet> BuildPfc(const QbbFrame& frame, const QbbLinkAddresses& addresses) const;
    /// @return InfiniBand headers and payload of a frame, from the BTH on
    Ptr<Packet> BuildTransport(const QbbFrame& frame) const;
    Ptr<Packet> BuildData(const QbbFrame& frame) const;
    Ptr<Packet> BuildAck(const QbbFrame& frame) const;
    Ptr<Packet> BuildControl(const QbbFrame& frame) const;
    uint32_t PsnAt(uint64_t seq) const;

    uint32_t m_mtu;
};

} // namespace ns3

#endif /* QBB_PACKET_BUILDER_H */
