/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hot path: OnData runs once per data frame.
 */
#include "rdma-receiver.h"

#include "rdma-hw.h"

#include "ns3/flow-hash.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

// A receiving pair has one position, expectedSeq: all bytes before it have arrived. OnData()
// moves it past a frame in order and, if an answer is due (a message ends, AckInterval bytes
// have come, the sender asks, a mark is to go back), turns this frame into the answer. Any other
// frame goes to the loss recovery (OnUnexpected), which keeps or refuses it and chooses the
// answer; when a gap closes, the kept frames move expectedSeq past themselves. Deliver() then
// completes the announced messages up to expectedSeq. A frame with an ECN mark causes a CNP
// frame, at most one in an interval, or a flag in the answer if the congestion control asks for
// no interval.

namespace
{

/// @return key of a connection at its receiver before the sender knows the receiver's number
uint64_t
AfarKey(uint32_t host, uint32_t qpn)
{
    return uint64_t{host} << 32 | qpn;
}

/// Name the frame at rx.namedSeq in a selective answer, by its distance from the byte expected.
void
NameFrame(QbbFrame& answer, const RdmaRxQueuePair& rx, QbbFramePool& pool)
{
    const uint64_t mtus = (rx.namedSeq - rx.expectedSeq) / rx.mtu;
    if (mtus < QbbFrame::NAMED_APART) [[likely]]
    {
        answer.namedMtus = static_cast<uint16_t>(mtus);
        return;
    }
    if (!answer.telemetry)
    {
        answer.telemetry = pool.AllocateTelemetry();
    }
    answer.namedMtus = QbbFrame::NAMED_APART;
    answer.telemetry->namedMtus = mtus;
}

/// @return whether expectedSeq has passed the end of a message with a last frame that came out of
/// order
bool
HasPassedLaterEnd(RdmaRxQueuePair& rx)
{
    return std::erase_if(rx.laterEnds, [&rx](uint64_t end) { return end <= rx.expectedSeq; }) > 0;
}

} // namespace

// --- connections

RdmaRxQueuePair&
RdmaReceiver::Take()
{
    const auto [rx, isNew] = m_pairs.Take();
    if (isNew)
    {
        rx.messageWire = std::make_unique<RdmaMessageWire>();
    }
    return rx;
}

RdmaAcceptance
RdmaReceiver::Accept(const RdmaPeer& peer)
{
    NS_LOG_FUNCTION(this << peer.host << peer.sport << peer.dport);
    m_hw.PrepareForPair();
    RdmaRxQueuePair& rx = Take();
    rx.hw = &m_hw;
    rx.messages = rx.messageWire.get();
    rx.senderQpn = peer.qpn;
    rx.lossless = peer.lossless;
    rx.mtu = peer.mtu;
    rx.peer = peer;
    rx.peer.hash = FlowHash(peer.host, m_hw.m_hostIndex, peer.sport, peer.dport);
    m_hw.m_recovery->OnReceiverInit(rx);
    if (m_hw.m_transport && !rx.lossless)
    {
        m_hw.m_transport->OnReceiverInit(rx);
    }
    return {m_hw.m_hostIndex, rx.qpn, rx.messages};
}

void
RdmaReceiver::Disconnect(uint32_t qpn)
{
    RdmaRxQueuePair& rx = m_pairs.AtPlaceOf(qpn);
    if (m_hw.m_transport && !rx.lossless)
    {
        m_hw.m_transport->OnReceiverClose(rx);
    }
    m_hw.m_rxQpClose(rx);
    // The memory stays for the next connection.
    std::unique_ptr<RdmaMessageWire> messageWire = std::move(rx.messageWire);
    messageWire->Clear();
    rx = RdmaRxQueuePair();
    rx.messageWire = std::move(messageWire);
    m_pairs.GiveBack(rx, qpn);
}

RdmaRxQueuePair*
RdmaReceiver::FindFromAfar(uint32_t host, uint32_t qpn)
{
    const auto found = m_fromAfar.find(AfarKey(host, qpn));
    return found == m_fromAfar.end() ? nullptr : Find(found->second);
}

uint32_t
RdmaReceiver::AcceptFromAfar(const RdmaPeer& peer)
{
    const uint32_t qpn = Accept(peer).qpn;
    m_fromAfar[AfarKey(peer.host, peer.qpn)] = qpn;
    return qpn;
}

void
RdmaReceiver::DisconnectFromAfar(uint32_t host, uint32_t qpn)
{
    const auto found = m_fromAfar.find(AfarKey(host, qpn));
    Disconnect(found->second);
    m_fromAfar.erase(found);
}

void
RdmaReceiver::ExpectFromAfar(uint32_t host, uint32_t qpn, const RdmaExpectedMessage& message)
{
    FindFromAfar(host, qpn)->messages->Put(message);
}

// --- data and answers

void
RdmaReceiver::OnData(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    m_hw.m_counters.receivedPayload += frame->payloadBytes;
    if (frame->flags & QBB_FLAG_MULTICAST)
    {
        m_hw.m_inNetwork->OnHostFrame(m_hw, *frame);
        m_hw.Free(frame);
        return;
    }
    RdmaRxQueuePair* rx = Find(*frame);
    if (!rx)
    {
        NS_LOG_LOGIC("no connection is left for " << *frame);
        ++m_hw.m_counters.staleFrames;
        m_hw.Free(frame);
        return;
    }
    NS_LOG_LOGIC("host " << m_hw.m_hostIndex << " gets " << *frame
                         << (frame->ecn == EcnCodepoint::Ce ? ", marked" : ""));
    if (frame->telemetry)
    {
        frame->telemetry->receivedPs = nowPs;
    }
    bool mark = false;
    if (frame->ecn == EcnCodepoint::Ce)
    {
        const int64_t interval = m_hw.m_wishes.cnpIntervalPs;
        mark = interval == 0;
        if (!mark && nowPs - rx->cnpPs >= interval)
        {
            SendCnp(port, *rx, nowPs);
        }
    }

    const bool asksTransport = m_hw.m_transport && !rx->lossless;
    if (asksTransport) [[unlikely]]
    {
        rx->nic = port;
        m_hw.m_transport->OnData(*rx, *frame, nowPs);
    }
    const uint64_t end = frame->seq + frame->payloadBytes;
    if (frame->seq <= rx->expectedSeq && rx->expectedSeq < end)
    {
        rx->unacknowledged += end - rx->expectedSeq;
        rx->expectedSeq = end;
        bool messageEnd = frame->flags & QBB_FLAG_LAST;
        if (rx->recovery)
        {
            m_hw.m_recovery->OnInOrder(*rx, nowPs); // kept frames may reach farther
            messageEnd |= HasPassedLaterEnd(*rx);
        }
        const uint64_t interval = rx->lossless ? m_hw.m_losslessAckInterval : m_hw.m_ackInterval;
        bool answers = messageEnd || mark || rx->unacknowledged >= interval ||
                       (frame->flags & QBB_FLAG_ACK_REQUEST);
        if (asksTransport) [[unlikely]]
        {
            answers = m_hw.m_transport->ShouldAcknowledge(*rx, *frame, answers);
        }
        if (answers)
        {
            rx->unacknowledged = 0;
            Answer(port, *rx, frame, QbbFrameKind::Ack, mark, 0, nowPs);
        }
        else
        {
            m_hw.Free(frame);
        }
        if (messageEnd)
        {
            Deliver(*rx);
        }
        return;
    }
    OnUnexpected(port, *rx, frame, mark, nowPs);
}

void
RdmaReceiver::OnUnexpected(uint16_t port,
                           RdmaRxQueuePair& rx,
                           QbbFrame* frame,
                           bool mark,
                           int64_t nowPs)
{
    if (frame->payloadBytes == 0) [[unlikely]]
    {
        OnTrimmed(port, rx, frame, mark, nowPs);
        return;
    }
    const uint64_t end = frame->seq + frame->payloadBytes;
    const uint64_t before = rx.expectedSeq;
    if (end > before)
    {
        ++m_hw.m_counters.outOfOrderFrames;
        m_hw.m_counters.reorderBytes = std::max(m_hw.m_counters.reorderBytes, end - before);
        ++rx.outOfOrderFrames;
        rx.reorderBytes = std::max(rx.reorderBytes, end - before);
        NS_LOG_INFO("host " << m_hw.m_hostIndex << " expected byte " << before << " and gets "
                            << *frame);
        if (rx.recovery && (frame->flags & QBB_FLAG_LAST))
        {
            rx.laterEnds.push_back(end);
        }
    }
    const auto verdict = m_hw.m_recovery->OnUnexpected(rx, *frame, nowPs);
    const bool isSelective = verdict == RdmaLossRecovery::Verdict::SelectiveNack;
    Answer(port, rx, frame, verdict, mark, isSelective ? QBB_ANSWER_SELECTIVE : 0, nowPs);
    if (rx.expectedSeq != before)
    {
        HasPassedLaterEnd(rx);
        Deliver(rx);
    }
}

void
RdmaReceiver::OnTrimmed(uint16_t port,
                        RdmaRxQueuePair& rx,
                        QbbFrame* frame,
                        bool mark,
                        int64_t nowPs)
{
    // The answer has the priority of the header: 0.
    const auto verdict = m_hw.m_recovery->OnTrimmed(rx, *frame, nowPs);
    if (verdict != RdmaLossRecovery::Verdict::Silent && verdict != RdmaLossRecovery::Verdict::Ack)
    {
        rx.namedSeq = std::max(frame->seq, rx.expectedSeq);
    }
    Answer(port, rx, frame, verdict, mark, QBB_ANSWER_TRIMMED, nowPs);
}

void
RdmaReceiver::Answer(uint16_t port,
                     RdmaRxQueuePair& rx,
                     QbbFrame* frame,
                     RdmaLossRecovery::Verdict verdict,
                     bool mark,
                     uint8_t naming,
                     int64_t nowPs)
{
    switch (verdict)
    {
    case RdmaLossRecovery::Verdict::Silent:
        m_hw.Free(frame);
        break;
    case RdmaLossRecovery::Verdict::Ack:
        Answer(port, rx, frame, QbbFrameKind::Ack, mark, 0, nowPs);
        break;
    case RdmaLossRecovery::Verdict::Nack:
    case RdmaLossRecovery::Verdict::SelectiveNack:
        Answer(port, rx, frame, QbbFrameKind::Nack, mark, naming, nowPs);
        break;
    }
}

void
RdmaReceiver::Answer(uint16_t port,
                     RdmaRxQueuePair& rx,
                     QbbFrame* frame,
                     QbbFrameKind kind,
                     bool mark,
                     uint8_t naming,
                     int64_t nowPs)
{
    LinkPort& device = *m_hw.m_devices[port];
    frame->kind = kind;
    frame->expectedSeq = rx.expectedSeq;
    frame->namedMtus = 0;
    frame->dst = frame->src;
    frame->src = m_hw.m_hostIndex;
    frame->qpn = rx.senderQpn;
    std::swap(frame->sport, frame->dport);
    // The way back is another 5-tuple; its hash differs from the way there.
    frame->hash = ~frame->hash;
    frame->ecn = EcnCodepoint::NotEct;
    frame->answerFlags = (mark ? QBB_ANSWER_MARKED : 0) | naming;
    Prioritize(*frame);
    frame->wireBytes = m_hw.m_ackBytes + (frame->telemetry ? m_hw.m_wishes.answerBytes : 0);
    if (naming)
    {
        NameFrame(*frame, rx, device.GetPool());
    }
    if (m_hw.m_transport && !rx.lossless) [[unlikely]]
    {
        m_hw.m_transport->WriteAnswer(rx, *frame, nowPs);
    }
    NS_LOG_LOGIC("host " << m_hw.m_hostIndex << " answers with " << *frame);
    ++(kind == QbbFrameKind::Ack ? m_hw.m_counters.acksSent : m_hw.m_counters.nacksSent);
    if (device.CanSendNow(nowPs))
    {
        m_hw.OnFrameDeparture(port, *frame, nowPs);
        device.SendNow(frame, nowPs);
    }
    else
    {
        device.Enqueue(frame, nowPs);
    }
}

void
RdmaReceiver::Prioritize(QbbFrame& answer) const
{
    if (m_hw.m_ackIgnoresPause && !m_hw.m_ackHighPriority)
    {
        // It waits here in queue 0, which PFC never pauses, and gets its priority back as it
        // leaves.
        answer.answerFlags |= answer.priority << QBB_ANSWER_PRIORITY_SHIFT;
    }
    if (m_hw.m_ackIgnoresPause || m_hw.m_ackHighPriority)
    {
        answer.priority = 0;
    }
}

void
RdmaReceiver::RestorePriority(QbbFrame& answer)
{
    const uint8_t priority = answer.answerFlags >> QBB_ANSWER_PRIORITY_SHIFT;
    answer.priority = priority ? priority : answer.priority;
    answer.answerFlags &= (1U << QBB_ANSWER_PRIORITY_SHIFT) - 1;
}

QbbFrame*
RdmaReceiver::MakeAnswer(LinkPort& port, const RdmaRxQueuePair& rx, QbbFrameKind kind)
{
    QbbFrame* frame = port.GetPool().Allocate();
    frame->kind = kind;
    frame->src = m_hw.m_hostIndex;
    frame->dst = rx.peer.host;
    frame->qpn = rx.senderQpn;
    frame->hash = ~rx.peer.hash;
    frame->sport = rx.peer.dport;
    frame->dport = rx.peer.sport;
    frame->priority = rx.peer.priority;
    frame->wireBytes = m_hw.m_ackBytes;
    Prioritize(*frame);
    return frame;
}

void
RdmaReceiver::SendCnp(uint16_t port, RdmaRxQueuePair& rx, int64_t nowPs)
{
    LinkPort& device = m_hw.m_nics[port]->GetPort();
    QbbFrame* frame = MakeAnswer(device, rx, QbbFrameKind::Cnp);
    NS_LOG_LOGIC("host " << m_hw.m_hostIndex << " answers a mark with " << *frame);
    rx.cnpPs = nowPs;
    device.Enqueue(frame, nowPs);
}

void
RdmaReceiver::RequestRepair(RdmaRxQueuePair& rx, uint16_t port, bool selective)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    LinkPort& device = m_hw.m_nics[port]->GetPort();
    QbbFrame* frame = MakeAnswer(device, rx, QbbFrameKind::Nack);
    frame->expectedSeq = rx.expectedSeq;
    if (selective)
    {
        frame->answerFlags |= QBB_ANSWER_SELECTIVE;
        NameFrame(*frame, rx, device.GetPool());
    }
    NS_LOG_LOGIC("host " << m_hw.m_hostIndex << " asks with " << *frame);
    ++m_hw.m_counters.nacksSent;
    device.Enqueue(frame, nowPs);
}

void
RdmaReceiver::Deliver(RdmaRxQueuePair& rx)
{
    RdmaMessageWire* messages = rx.messages; // the same object after each delivery
    while (!messages->IsEmpty() && messages->Front().endSeq <= rx.expectedSeq)
    {
        const RdmaExpectedMessage message = messages->Front();
        messages->Pop();
        NS_LOG_INFO("host " << m_hw.m_hostIndex << " delivers a message of " << message.bytes
                            << " bytes from host " << rx.peer.host);
        m_hw.m_counters.deliveredBytes += message.bytes;
        m_hw.m_messageDelivered(rx, message);
        if (message.delivered)
        {
            message.delivered();
        }
    }
}

} // namespace ns3
