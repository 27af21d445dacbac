/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_FRAME_H
#define QBB_FRAME_H

#include <array>
#include <cstdint>
#include <iosfwd>

namespace ns3
{

// Hot path: every hop of every packet touches one QbbFrame. It is one cache line.

/// Kind of a QbbFrame.
enum class QbbFrameKind : uint8_t
{
    Data,        ///< RoCEv2 data (RDMA WRITE)
    Ack,         ///< acknowledgement (AETH)
    Nack,        ///< negative acknowledgement: go back to seq
    Cnp,         ///< congestion notification packet (opcode 0x81)
    Pfc,         ///< 802.1Qbb MAC control: pause or resume of one priority; never forwarded
    Other,       ///< an ordinary ns-3 Packet
    Control,     ///< a transport's own frame between the two ends of a connection
    LinkControl, ///< an ordered set between the two ends of a link; no frame, never forwarded
};

/// Type of a LinkControl.
enum class LinkControlType : uint16_t
{
    Ack,           ///< the far end has as many numbered frames as value says
    Nack,          ///< the same, and the next one came corrupted
    Credit,        ///< so many bytes of a priority have left the far end's buffer
    CreditRequest, ///< the far end has sent so many bytes of a priority, and waits for credit
};

/// ECN field of the IP header (RFC 3168).
enum class EcnCodepoint : uint8_t
{
    NotEct = 0,
    Ect1 = 1,
    Ect0 = 2,
    Ce = 3,
};

/// Bits of QbbFrame::flags, of Data.
enum QbbDataFlags : uint8_t
{
    QBB_FLAG_LOSSLESS = 1,    ///< of a queue pair on NVLink
    QBB_FLAG_ACK_REQUEST = 2, ///< the receiver shall acknowledge now
    QBB_FLAG_RETRANSMIT = 4,  ///< sent before
    QBB_FLAG_FROM_AFAR = 8,   ///< qpn is the number at the origin: the other side's is not known
    QBB_FLAG_REDUCE = 16,     ///< a contribution: a switch adds it to its group's sum
    QBB_FLAG_MULTICAST = 32,  ///< a result: a switch copies it to its group
    QBB_FLAG_FIRST = 64,      ///< the first frame of its message
    QBB_FLAG_LAST = 128,      ///< the last frame of its message
};

/// Bits of QbbFrame::answerFlags, of Ack, Nack and Cnp.
enum QbbAnswerFlags : uint8_t
{
    QBB_ANSWER_MARKED = 1,    ///< the receiver saw CE and echoes it here (no CNP frame)
    QBB_ANSWER_SELECTIVE = 2, ///< Nack: names the frame that came out of order (IRN)
    QBB_ANSWER_TRIMMED = 4,   ///< Nack: names the frame that came without its payload
};

/// Bits of QbbFrame::flags, of Control; QBB_FLAG_FROM_AFAR has its meaning there, too.
enum QbbControlFlags : uint8_t
{
    QBB_CONTROL_TO_RECEIVER = 1, ///< from the connection's sender; else to it
};

/// The bits from here on of QbbFrame::answerFlags have its priority while it waits at its host.
inline constexpr uint32_t QBB_ANSWER_PRIORITY_SHIFT = 5;

/// One hop's record of in-band telemetry (HPCC, section 3.1), written when a frame leaves a port.
struct QbbIntHop
{
    uint64_t rateBps;    ///< the port's line rate
    uint64_t txBytes;    ///< bytes the port has sent, this frame included
    int64_t timePs;      ///< when it began to send this frame
    uint64_t queueBytes; ///< egress queue length after the frame left it
};

/**
 * @ingroup rdma-qbb
 * @brief Per-packet state that few frames need: allocated only for those.
 *
 * A congestion control, a routing policy or a transport asks for it; then it travels with a Data
 * frame to the receiver and back on the answer. A selective Nack has it, too, where the frame that
 * it names is too far off for QbbFrame::namedMtus.
 *
 * The records of a path of more than PART_HOPS switches go on in further parts, of which nothing
 * but the hops counts.
 */
struct QbbTelemetry
{
    static constexpr uint32_t PART_HOPS = 10; ///< records of a part
    static constexpr int64_t NEVER = -1;

    QbbTelemetry* next{nullptr}; ///< the part that follows; in the free list: the next one there
    int64_t sentPs{NEVER}; ///< when the sender's NIC began to send the frame; NEVER: no Data frame
    int64_t receivedPs{0}; ///< when the receiver's NIC had it
    int64_t acknowledgedPs{0};  ///< when the receiver's NIC began to send the acknowledgement
    uint64_t namedMtus{0};      ///< selective Nack: the value that QbbFrame::namedMtus cannot hold
    uint32_t hopCount{0};       ///< records of all parts
    uint32_t switchCount{0};    ///< switches passed on the way to the receiver
    uint16_t pintPower{0};      ///< HPCC-PINT's encoded utilisation
    bool wantsHops{false};      ///< whether switches add their records
    uint64_t routingField{0};   ///< the routing policies': RoutingPolicy::GetFieldBytes()
    uint64_t transportField{0}; ///< the transport's: RdmaTransport::GetFieldBytes()
    uint64_t answerField{
        0}; ///< a second one, which answers have anew: RdmaTransport::WriteAnswer()
    std::array<QbbIntHop, PART_HOPS> hops;

    /// @return record number @p index, below hopCount
    const QbbIntHop& HopAt(uint32_t index) const
    {
        const QbbTelemetry* part = this;
        for (; index >= PART_HOPS; index -= PART_HOPS)
        {
            part = part->next;
        }
        return part->hops[index];
    }
};

/**
 * @ingroup rdma-qbb
 * @brief The record that stands for a packet between QBB devices.
 *
 * A field that depends on the kind of frame has a name for each kind.
 *
 * Pooled (QbbFramePool), linked intrusively, and turned into a real ns-3 Packet with real headers
 * only when somebody looks (QbbPacketBuilder). Hosts are numbered by their index in the topology.
 */
struct alignas(64) QbbFrame
{
    static constexpr uint32_t MIN_WIRE_BYTES = 84;      ///< 64-byte frame, preamble and gap
    static constexpr uint32_t ORDERED_SET_BYTES = 8;    ///< LinkControl: one block of the line code
    static constexpr uint16_t NAMED_APART = UINT16_MAX; ///< namedMtus is in telemetry

    QbbFrame* next; ///< queue, wire or free list it is in
    int64_t timePs; ///< on a wire: arrival at the far end

    union {
        uint64_t seq;         ///< Data: first byte's offset in the queue pair's stream
        uint64_t expectedSeq; ///< Ack, Nack: next byte that the receiver expects
        uint64_t value;       ///< Control: what the transport has put there; LinkControl: a count
    };

    union {
        QbbTelemetry* telemetry; ///< Data, Ack: null unless a plug-in asked for it
        void* packet;            ///< Other: a Packet, holding one reference
    };

    uint32_t src; ///< host index of the origin
    uint32_t dst; ///< host index of the destination

    union {
        uint32_t qpn;       ///< queue pair number at the destination
        uint32_t operation; ///< contribution, result: of which in-network operation
    };

    union {
        uint32_t hash;      ///< hash of the 5-tuple, computed once per queue pair
        uint32_t senderQpn; ///< contribution: queue pair number at the origin
    };

    uint32_t wireBytes; ///< bytes it occupies on a link, preamble and gap included

    union {
        uint16_t payloadBytes; ///< Data: bytes of message data; 0: a switch has cut them off
        uint16_t namedMtus;    ///< Nack that names a frame: see GetNamedMtus()
        uint16_t controlType;  ///< Control: the transport's own; LinkControl: LinkControlType
    };

    union {
        uint16_t sport;  ///< UDP source port
        uint16_t quanta; ///< Pfc: pause time in quanta of 512 bit times; 0 resumes
    };

    union {
        uint16_t dport;  ///< UDP destination port of the queue pair (in headers it is 4791)
        uint16_t member; ///< contribution, result: sender or receiver, a number in the operation
    };

    uint16_t inPort; ///< port it came in by, at the node it is at; on a wire: LinkRetry's number
    QbbFrameKind kind;
    uint8_t priority : 5;      ///< queue, 0..7
    uint8_t trimmedAtEdge : 1; ///< Data without its payload: cut off at the last hop, not before
    uint8_t lost : 1;          ///< the link engine's: the wire it is on loses it
    uint8_t replayed : 1;      ///< the link engine's: the link sends it again
    EcnCodepoint ecn;

    union {
        uint8_t flags;       ///< Data: QbbDataFlags; Control: QbbControlFlags
        uint8_t answerFlags; ///< Ack, Nack, Cnp: QbbAnswerFlags
    };

    /// @return Nack that names a frame: whole MTUs from expectedSeq to that frame
    uint64_t GetNamedMtus() const
    {
        return namedMtus == NAMED_APART ? telemetry->namedMtus : namedMtus;
    }
};

static_assert(sizeof(QbbFrame) == 64, "a frame is one cache line");

/// Write a frame, for logs.
std::ostream& operator<<(std::ostream& text, const QbbFrame& frame);

} // namespace ns3

#endif /* QBB_FRAME_H */
