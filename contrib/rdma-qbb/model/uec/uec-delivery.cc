/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "uec-delivery.h"

#include "ns3/input-error.h"
#include "ns3/log.h"
#include "ns3/rdma-hw.h"
#include "ns3/rdma-queue-pair.h"
#include "ns3/rdma-rx-queue-pair.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace ns3
{

// Hot path: the sender's and the receiver's record change with every packet and every answer.

NS_LOG_COMPONENT_DEFINE("UecDelivery");

NS_OBJECT_ENSURE_REGISTERED(UecDelivery);

// RdmaHw counts bytes, Ultra Ethernet counts packets. The sender's record (UecSender) is a ring of
// packets by number, each with its bytes; a data frame carries its number. The receiver's record
// (UecReceiver) is a set of numbers. A packet that is not the one expected is kept there until
// RdmaHw's expectedSeq can pass it. An acknowledgement has the number of the packet that it answers
// and 64 bits about it and its predecessors; a NACK has the number of a trimmed packet. The window
// counts packets in flight: GetResolved() takes the others away.

namespace
{

constexpr std::size_t LEAST_PLACES = 64;

UecSender&
SenderOf(const RdmaQueuePair& qp)
{
    return static_cast<UecSender&>(*qp.recovery);
}

UecReceiver&
ReceiverOf(const RdmaRxQueuePair& rx)
{
    return static_cast<UecReceiver&>(*rx.recovery);
}

} // namespace

// --- the sender's record

void
UecSender::Grow()
{
    std::vector<Packet> grown(std::max(LEAST_PLACES, 2 * m_ring.size()));
    for (uint64_t number = m_first; number < m_end; ++number)
    {
        grown[number & (grown.size() - 1)] = At(number);
    }
    m_ring = std::move(grown);
}

void
UecSender::Append(uint64_t seq, uint16_t bytes, int64_t nowPs)
{
    if (m_end - m_first == m_ring.size())
    {
        Grow();
    }
    m_current = m_end++;
    At(m_current) = {seq, nowPs, bytes, 0, Fate::InFlight};
    m_inFlight += bytes;
}

uint64_t
UecSender::ForgetBelow(uint64_t seq)
{
    uint64_t news = 0;
    for (; m_first < m_end && At(m_first).seq < seq; ++m_first)
    {
        const Packet& packet = At(m_first);
        news += packet.fate == Fate::Arrived ? 0 : packet.bytes;
        m_lostPackets -= packet.fate == Fate::Lost;
        (packet.fate == Fate::InFlight ? m_inFlight : m_resolved) -= packet.bytes;
    }
    m_lowestLost = std::max(m_lowestLost, m_first);
    return news;
}

uint64_t
UecSender::NoteArrived(uint64_t number, uint64_t bits)
{
    uint64_t news = 0;
    while (bits)
    {
        const auto back = static_cast<uint64_t>(std::countl_zero(bits));
        bits &= ~(uint64_t{1} << (63 - back));
        if (number < m_first + back || number - back >= m_end)
        {
            break; // before the first: acknowledged long ago
        }
        Packet& packet = At(number - back);
        if (packet.fate == Fate::Arrived)
        {
            continue;
        }
        if (packet.fate == Fate::InFlight)
        {
            m_inFlight -= packet.bytes;
            m_resolved += packet.bytes;
        }
        m_lostPackets -= packet.fate == Fate::Lost;
        packet.fate = Fate::Arrived;
        news += packet.bytes;
    }
    return news;
}

uint64_t
UecSender::GetArrivedUpTo() const
{
    uint64_t seq = 0;
    for (uint64_t number = m_first; number < m_end; ++number)
    {
        const Packet& packet = m_ring[number & (m_ring.size() - 1)];
        if (packet.fate != Fate::Arrived)
        {
            return packet.seq;
        }
        seq = packet.seq + packet.bytes;
    }
    return seq;
}

bool
UecSender::NoteLost(uint64_t number, int64_t sentPs)
{
    if (number < m_first || number >= m_end)
    {
        return false;
    }
    Packet& packet = At(number);
    if (packet.fate != Fate::InFlight || packet.sentPs != sentPs)
    {
        return false;
    }
    packet.fate = Fate::Lost;
    m_inFlight -= packet.bytes;
    m_resolved += packet.bytes;
    m_lowestLost = m_lostPackets++ ? std::min(m_lowestLost, number) : number;
    return true;
}

const UecSender::Packet&
UecSender::TakeLost(int64_t nowPs)
{
    while (At(m_lowestLost).fate != Fate::Lost)
    {
        ++m_lowestLost;
    }
    m_current = m_lowestLost++;
    Packet& packet = At(m_current);
    packet.fate = Fate::InFlight;
    packet.sentPs = nowPs;
    --m_lostPackets;
    m_inFlight += packet.bytes;
    m_resolved -= packet.bytes;
    return packet;
}

// --- the receiver's record

void
UecReceiver::Keep(uint64_t number, uint16_t bytes)
{
    const uint64_t bound = m_packets.GetBound();
    if (number - bound >= m_bytes.size())
    {
        std::vector<uint16_t> grown(std::max(LEAST_PLACES, std::bit_ceil(number - bound + 1)));
        for (uint64_t each = bound; each < bound + m_bytes.size(); ++each)
        {
            grown[each & (grown.size() - 1)] = m_bytes[each & (m_bytes.size() - 1)];
        }
        m_bytes = std::move(grown);
    }
    m_packets.Add(number);
    m_bytes[number & (m_bytes.size() - 1)] = bytes;
}

uint64_t
UecReceiver::Advance()
{
    uint64_t bytes = 0;
    m_packets.Advance();
    while (m_packets.Contains(m_packets.GetBound()))
    {
        bytes += m_bytes[m_packets.GetBound() & (m_bytes.size() - 1)];
        m_packets.Advance();
    }
    return bytes;
}

// --- the plug-in

TypeId
UecDelivery::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::UecDelivery")
            .SetParent<RdmaLossRecovery>()
            .SetGroupName("RdmaQbb")
            .AddConstructor<UecDelivery>()
            .AddAttribute("Timeout",
                          "Time after which a packet without an answer is sent again; 0: 15 us and "
                          "six idle round trips of the path",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&UecDelivery::m_timeout),
                          MakeTimeChecker(Time(0)));
    return tid;
}

void
UecDelivery::OnQpInit(RdmaQueuePair& qp, uint64_t /* flightBytes */)
{
    const Ptr<RdmaTransport> transport = qp.hw->GetTransport();
    if (!transport || !transport->SpreadsFrames())
    {
        throw InputError("ns3::RdmaHw::LossRecoveryType",
                         0,
                         "ns3::UecDelivery needs the packet numbers of ns3::UecTransport",
                         "TRANSPORT UEC");
    }
    if (!qp.lossless)
    {
        qp.recovery = std::make_unique<UecSender>();
    }
}

void
UecDelivery::OnReceiverInit(RdmaRxQueuePair& rx)
{
    if (!rx.lossless)
    {
        rx.recovery = std::make_unique<UecReceiver>();
    }
}

RdmaLossRecovery::Verdict
UecDelivery::OnUnexpected(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t /* nowPs */)
{
    if (rx.lossless || frame.seq < rx.expectedSeq)
    {
        return Verdict::Ack;
    }
    UecReceiver& receiver = ReceiverOf(rx);
    const uint64_t number = frame.telemetry->transportField;
    if (receiver.Has(number))
    {
        return Verdict::Ack;
    }
    receiver.Keep(number, frame.payloadBytes);
    rx.unacknowledged += frame.payloadBytes;
    const bool isDue = receiver.IsStateless() || frame.ecn == EcnCodepoint::Ce ||
                       (frame.flags & QBB_FLAG_ACK_REQUEST) ||
                       rx.unacknowledged >= rx.hw->GetAckInterval();
    rx.unacknowledged = isDue ? 0 : rx.unacknowledged;
    return isDue ? Verdict::Ack : Verdict::Silent;
}

RdmaLossRecovery::Verdict
UecDelivery::OnTrimmed(RdmaRxQueuePair& rx, const QbbFrame& frame, int64_t /* nowPs */)
{
    const UecReceiver& receiver = ReceiverOf(rx);
    const bool isKnown = !receiver.IsStateless() && receiver.Has(frame.telemetry->transportField);
    return isKnown ? Verdict::Ack : Verdict::Nack;
}

void
UecDelivery::OnInOrder(RdmaRxQueuePair& rx, int64_t /* nowPs */)
{
    rx.expectedSeq += ReceiverOf(rx).Advance();
}

void
UecDelivery::OnNack(RdmaQueuePair& qp, const QbbFrame& nack, int64_t /* nowPs */)
{
    if (!qp.recovery)
    {
        qp.SetSndNxt(qp.sndUna); // on NVLink
        return;
    }
    const bool isNews =
        SenderOf(qp).NoteLost(nack.telemetry->transportField, nack.telemetry->sentPs);
    NS_LOG_INFO(qp.Describe() << " hears that packet " << nack.telemetry->transportField
                              << (isNews ? " was trimmed" : " was trimmed, too late"));
}

void
UecDelivery::OnAck(RdmaQueuePair& qp, int64_t /* nowPs */)
{
    UecSender& sender = SenderOf(qp);
    sender.newlyArrived += sender.ForgetBelow(qp.sndUna);
}

uint64_t
UecDelivery::OnAnswer(RdmaQueuePair& qp,
                      const QbbFrame& answer,
                      uint64_t /* newlyAcked */,
                      int64_t /* nowPs */)
{
    UecSender& sender = SenderOf(qp);
    const uint64_t arrived =
        sender.NoteArrived(answer.telemetry->transportField, answer.telemetry->answerField);
    return std::exchange(sender.newlyArrived, 0) + arrived;
}

void
UecDelivery::OnTimeout(RdmaQueuePair& qp, int64_t nowPs)
{
    if (!qp.recovery)
    {
        qp.SetSndNxt(qp.sndUna);
        return;
    }
    UecSender& sender = SenderOf(qp);
    const int64_t latestPs = nowPs - GetTimeoutPs(qp);
    for (uint64_t number = sender.GetFirst(); number < sender.GetEnd(); ++number)
    {
        const UecSender::Packet packet = sender.At(number);
        if (packet.sentPs <= latestPs && sender.NoteLost(number, packet.sentPs) && sender.entropy)
        {
            sender.entropy->OnOutcome(packet.entropy, UecEntropy::Outcome::Lost, nowPs);
        }
    }
    if (sender.credit)
    {
        qp.hw->GetTransport()->OnStarved(qp, nowPs); // packets sent again need credit, too
    }
}

bool
UecDelivery::HasRetransmission(const RdmaQueuePair& qp) const
{
    const UecSender& sender = SenderOf(qp);
    return sender.HasLost() && sender.GetInFlight() < qp.GetEffectiveWindow() && sender.HasCredit();
}

uint64_t
UecDelivery::NextRetransmission(RdmaQueuePair& qp, int64_t nowPs)
{
    return SenderOf(qp).TakeLost(nowPs).seq;
}

int64_t
UecDelivery::GetTimeoutPs(const RdmaQueuePair& qp) const
{
    constexpr int64_t LEAST_PS = 15'000'000; // as uet-htsim: six full queues of a round trip each
    return m_timeout.IsZero() ? LEAST_PS + 6 * qp.baseRttPs : m_timeout.GetTimeStep();
}

bool
UecDelivery::AllowsForQueues(const RdmaQueuePair& qp) const
{
    return !qp.droppable; // a queue behind a pause has no bound
}

uint64_t
UecDelivery::GetResolved(const RdmaQueuePair& qp) const
{
    return SenderOf(qp).GetResolved();
}

uint64_t
UecDelivery::GetFlightLimit(const RdmaQueuePair& qp) const
{
    return SenderOf(qp).HasCredit() ? UINT64_MAX : 0;
}

} // namespace ns3
