/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: the transport. Hot path: BuildFrame, OnData and OnAck run once per data frame.
 */
#include "flow-hash.h"
#include "rdma-hw.h"

#include "ns3/assert.h"
#include "ns3/ethernet-header.h"
#include "ns3/ipv4-header.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaHwTransport");

namespace
{

constexpr uint16_t ETHERTYPE_IPV4 = 0x0800;

/// Timeouts double up to this many times.
constexpr uint8_t MAX_BACKOFF = 6;

/// Timeouts in a row that find the port paused before they count as losses (a second by default).
constexpr uint8_t MAX_PAUSED_TIMEOUTS = 250;

/// @return how a selective answer names a frame: its distance from the byte expected, in MTUs
uint16_t
NamedDistance(const RdmaRxQueuePair& rx)
{
    return static_cast<uint16_t>((rx.namedSeq - rx.expectedSeq) / rx.sender->mtu);
}

/// @return whether the receiver has all of the oldest message that was not delivered
bool
HasNextMessage(const RdmaRxQueuePair& rx)
{
    const RdmaMessage* message = rx.sender->deliveryMessage;
    return message && message->endSeq <= rx.expectedSeq;
}

} // namespace

// --- sending

bool
RdmaHw::RecoveryCanSend(const RdmaQueuePair& qp) const
{
    return m_recovery->HasRetransmission(qp) ||
           (qp.CanSend() && qp.GetInFlight() < m_recovery->GetFlightLimit(qp));
}

void
RdmaHw::SeekSendMessage(RdmaQueuePair& qp)
{
    qp.sendMessage = qp.firstMessage;
    while (qp.sendMessage && qp.sendMessage->endSeq <= qp.sndNxt)
    {
        qp.sendMessage = qp.sendMessage->next;
    }
}

void
RdmaHw::PostMessage(RdmaQueuePair& qp,
                    uint64_t bytes,
                    std::function<void()> sent,
                    std::function<void()> delivered)
{
    PostMessage(qp, bytes, m_functions.Observe(std::move(sent), std::move(delivered)));
}

void
RdmaHw::PostMessage(RdmaQueuePair& qp, uint64_t bytes, RdmaMessageObserver* observer)
{
    NS_ASSERT_MSG(bytes > 0, "a message has at least one byte");
    const int64_t nowPs = m_clock.NowPs();
    RdmaMessage* message = TakeMessage();
    qp.endSeq += bytes;
    message->endSeq = qp.endSeq;
    message->bytes = bytes;
    message->startPs = nowPs;
    message->observer = observer;
    const bool restart = !qp.firstMessage;
    (restart ? qp.firstMessage : qp.lastMessage->next) = message;
    qp.lastMessage = message;
    if (!qp.sendMessage)
    {
        qp.sendMessage = message;
    }
    if (!qp.deliveryMessage)
    {
        qp.deliveryMessage = message;
    }
    m_counters.postedBytes += bytes;
    if (restart)
    {
        if (!qp.lossless)
        {
            m_congestion->OnRestart(qp);
        }
        RestartTimer(qp, nowPs);
    }
    qp.nic->Activate(qp, nowPs);
}

QbbFrame*
RdmaHw::BuildFrame(RdmaQueuePair& qp, int64_t nowPs)
{
    __builtin_prefetch(qp.m_receiver); // by when the frame arrives it is there
    QbbNetDevice& device = qp.nic->GetDevice();
    QbbFrame* frame = device.GetPool().Allocate();
    const RdmaMessage* message;
    if (qp.recovery && m_recovery->HasRetransmission(qp))
    {
        frame->seq = m_recovery->NextRetransmission(qp);
        message = qp.firstMessage;
        while (message->endSeq <= frame->seq)
        {
            message = message->next;
        }
        frame->payloadBytes =
            static_cast<uint16_t>(std::min<uint64_t>(qp.mtu, message->endSeq - frame->seq));
    }
    else
    {
        message = qp.sendMessage;
        frame->seq = qp.sndNxt;
        frame->payloadBytes =
            static_cast<uint16_t>(std::min<uint64_t>(qp.mtu, message->endSeq - qp.sndNxt));
        qp.sndNxt += frame->payloadBytes;
        if (qp.sndNxt == message->endSeq)
        {
            qp.sendMessage = message->next;
        }
    }
    frame->kind = QbbFrameKind::Data;
    frame->src = qp.src;
    frame->dst = qp.dst;
    frame->qpn = qp.peerQpn;
    frame->hash = qp.hash;
    frame->sport = qp.sport;
    frame->dport = qp.dport;
    frame->priority = qp.priority;
    frame->wireBytes =
        qp.nvlinkFrames ? frame->payloadBytes + m_nvlinkOverhead
                        : std::max(frame->payloadBytes + m_dataOverhead + m_wishes.telemetryBytes,
                                   QbbNetDevice::MIN_WIRE_BYTES);
    if (qp.lossless)
    {
        frame->flags = QBB_FLAG_LOSSLESS;
    }
    if (qp.contribution)
    {
        frame->flags = QBB_FLAG_REDUCE;
        frame->hash = qp.qpn; // the switch answers to it
    }
    if (!qp.lossless)
    {
        frame->ecn = m_wishes.ecn;
        if (m_wishes.telemetry != RdmaCongestionOps::Telemetry::None)
        {
            frame->telemetry = device.GetPool().AllocateTelemetry();
            frame->telemetry->sentPs = nowPs;
            frame->telemetry->hopLimit = m_wishes.telemetry == RdmaCongestionOps::Telemetry::Int
                                             ? QbbTelemetry::MAX_HOPS
                                             : 0;
        }
    }
    const uint64_t end = frame->seq + frame->payloadBytes;
    frame->flags |= (frame->seq + message->bytes == message->endSeq ? QBB_FLAG_FIRST : 0) |
                    (end == message->endSeq ? QBB_FLAG_LAST : 0);
    if (frame->seq < qp.highestSent)
    {
        frame->flags |= QBB_FLAG_RETRANSMIT;
        m_counters.retransmitted += frame->payloadBytes;
    }
    qp.highestSent = std::max(qp.highestSent, end);
    m_counters.sentPayload += frame->payloadBytes;

    qp.lastTxPs = nowPs;
    qp.lastTxBytes = frame->wireBytes;
    qp.nextAvailPs = !qp.m_paced || qp.m_rateBps >= device.GetRateBps()
                         ? nowPs
                         : nowPs + qp.GapPs(frame->wireBytes);
    return frame;
}

void
RdmaHw::RestartTimer(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.contribution)
    {
        return; // NVLink loses nothing, and a sum must not count a frame twice
    }
    const int64_t timeout = m_recovery->GetTimeoutPs(qp) << std::min(qp.retries, MAX_BACKOFF);
    qp.m_timer.SetDeadline(nowPs + timeout);
}

void
RdmaHw::OnTimeout(RdmaQueuePair& qp)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const QbbNetDevice& device = qp.nic->GetDevice();
    const bool paused = device.GetPausedMask() >> qp.priority & 1;
    if (device.IsLinkUp() && (qp.GetInFlight() == 0 || paused) &&
        qp.pausedTimeouts < MAX_PAUSED_TIMEOUTS)
    {
        // What has not been sent cannot have been lost. A pause that never ends is a deadlock.
        qp.pausedTimeouts += paused;
        RestartTimer(qp, nowPs);
        return;
    }
    if (m_maxRetries && qp.retries >= m_maxRetries)
    {
        NS_LOG_INFO("gives up on " << qp.Describe());
        qp.failed = true;
        return; // as a NIC whose retry count is exhausted; a stuck run names the pair
    }
    NS_LOG_INFO("timeout of " << qp.Describe());
    ++m_counters.timeouts;
    qp.retries = std::min<uint8_t>(qp.retries + 1, UINT8_MAX - 1);
    m_timeout(qp);
    m_recovery->OnTimeout(qp, nowPs);
    SeekSendMessage(qp);
    if (!qp.lossless)
    {
        m_congestion->OnTimeout(qp);
    }
    RestartTimer(qp, nowPs);
    qp.nic->Activate(qp, nowPs);
}

// --- receiving

void
RdmaHw::OnFrameArrival(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    switch (frame->kind)
    {
    case QbbFrameKind::Data:
        OnData(port, frame, nowPs);
        return;
    case QbbFrameKind::Other:
        m_nics[port]->GetDevice().ReceiveOther(frame);
        return;
    default:
        OnAck(frame, nowPs);
        return;
    }
}

bool
RdmaHw::HasQuietArrivals() const
{
    return true;
}

bool
RdmaHw::ArrivesQuietly(const QbbFrame& frame, QbbWire& wire)
{
    if (frame.flags & QBB_FLAG_MULTICAST)
    {
        return m_inNetwork->ArrivesQuietly(frame);
    }
    RdmaRxQueuePair* rx = FindReceiver(frame.qpn);
    if (!rx || rx->wireSeq != frame.seq)
    {
        return false; // something was lost: it will be answered
    }
    if (rx->wire != &wire)
    {
        if (rx->wire)
        {
            rx->wire->ForbidQuiet(); // its frames and this wire's have no common order
            return false;
        }
        rx->wire = &wire;
    }
    rx->wireSeq += frame.payloadBytes;
    rx->wireUnacknowledged += frame.payloadBytes;
    if ((frame.flags & (QBB_FLAG_LAST | QBB_FLAG_ACK_REQUEST)) ||
        rx->wireUnacknowledged >= m_losslessAckInterval)
    {
        rx->wireUnacknowledged = 0;
        return false;
    }
    return true;
}

void
RdmaHw::OnData(uint16_t port, QbbFrame* frame, int64_t nowPs)
{
    m_counters.receivedPayload += frame->payloadBytes;
    if (frame->flags & QBB_FLAG_MULTICAST)
    {
        m_inNetwork->OnHostFrame(*this, *frame);
        m_nics[port]->GetDevice().GetPool().Free(frame);
        return;
    }
    RdmaRxQueuePair* rx = FindReceiver(frame->qpn);
    QbbFramePool& pool = m_nics[port]->GetDevice().GetPool();
    if (!rx)
    {
        ++m_counters.staleFrames;
        pool.Free(frame);
        return;
    }
    if (frame->telemetry)
    {
        frame->telemetry->receivedPs = nowPs;
    }
    bool mark = false;
    if (frame->ecn == EcnCodepoint::Ce)
    {
        const int64_t interval = m_wishes.cnpIntervalPs;
        mark = interval == 0;
        if (!mark && nowPs - rx->cnpPs >= interval)
        {
            SendCnp(port, *rx, nowPs);
        }
    }

    const uint64_t end = frame->seq + frame->payloadBytes;
    if (frame->seq <= rx->expectedSeq && rx->expectedSeq < end)
    {
        rx->unacknowledged += end - rx->expectedSeq;
        rx->expectedSeq = end;
        bool messageEnd = frame->flags & QBB_FLAG_LAST;
        if (rx->recovery)
        {
            m_recovery->OnInOrder(*rx);
            messageEnd = HasNextMessage(*rx); // what was kept may reach farther than the frame
        }
        NS_ASSERT(messageEnd == HasNextMessage(*rx));
        const uint64_t interval = rx->lossless ? m_losslessAckInterval : m_ackInterval;
        if (messageEnd || mark || rx->unacknowledged >= interval ||
            (frame->flags & QBB_FLAG_ACK_REQUEST))
        {
            rx->unacknowledged = 0;
            if (messageEnd)
            {
                __builtin_prefetch(&rx->sender->deliveryMessage); // Deliver() begins there
            }
            Answer(port, *rx, frame, QbbFrameKind::Ack, mark, false, nowPs);
        }
        else
        {
            pool.Free(frame);
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
RdmaHw::OnUnexpected(uint16_t port, RdmaRxQueuePair& rx, QbbFrame* frame, bool mark, int64_t nowPs)
{
    const uint64_t end = frame->seq + frame->payloadBytes;
    const uint64_t before = rx.expectedSeq;
    if (end > before)
    {
        ++m_counters.outOfOrderFrames;
        m_counters.reorderBytes = std::max(m_counters.reorderBytes, end - before);
    }
    const auto verdict = m_recovery->OnUnexpected(rx, *frame, nowPs);
    switch (verdict)
    {
    case RdmaLossRecovery::Verdict::Silent:
        m_nics[port]->GetDevice().GetPool().Free(frame);
        break;
    case RdmaLossRecovery::Verdict::Ack:
        Answer(port, rx, frame, QbbFrameKind::Ack, mark, false, nowPs);
        break;
    case RdmaLossRecovery::Verdict::Nack:
    case RdmaLossRecovery::Verdict::SelectiveNack:
        Answer(port,
               rx,
               frame,
               QbbFrameKind::Nack,
               mark,
               verdict == RdmaLossRecovery::Verdict::SelectiveNack,
               nowPs);
        break;
    }
    if (rx.expectedSeq != before)
    {
        Deliver(rx);
    }
}

void
RdmaHw::Answer(uint16_t port,
               RdmaRxQueuePair& rx,
               QbbFrame* frame,
               QbbFrameKind kind,
               bool mark,
               bool selective,
               int64_t nowPs)
{
    rx.sender->FetchAhead(); // by when the answer arrives it is there
    frame->kind = kind;
    frame->seq = rx.expectedSeq;
    frame->payloadBytes = selective ? NamedDistance(rx) : 0;
    frame->dst = frame->src;
    frame->src = m_hostIndex;
    frame->qpn = rx.senderQpn;
    std::swap(frame->sport, frame->dport);
    // The way back is another 5-tuple; its hash differs from the way there.
    frame->hash = ~frame->hash;
    frame->ecn = EcnCodepoint::NotEct;
    frame->flags = (mark ? QBB_FLAG_CNP : 0) | (selective ? QBB_FLAG_SELECTIVE : 0);
    if (m_ackHighPriority)
    {
        frame->priority = 0;
    }
    frame->wireBytes = m_ackBytes + (frame->telemetry ? m_wishes.telemetryBytes : 0);
    ++(kind == QbbFrameKind::Ack ? m_counters.acksSent : m_counters.nacksSent);
    QbbNetDevice& device = m_nics[port]->GetDevice();
    if (device.CanSendNow(nowPs))
    {
        OnFrameDeparture(port, *frame, nowPs);
        device.SendNow(frame, nowPs);
    }
    else
    {
        device.Enqueue(frame, nowPs);
    }
}

QbbFrame*
RdmaHw::MakeAnswer(QbbNetDevice& device, const RdmaRxQueuePair& rx, QbbFrameKind kind)
{
    const RdmaQueuePair& sender = *rx.sender;
    QbbFrame* frame = device.GetPool().Allocate();
    frame->kind = kind;
    frame->src = m_hostIndex;
    frame->dst = sender.src;
    frame->qpn = sender.qpn;
    frame->hash = ~sender.hash;
    frame->sport = sender.dport;
    frame->dport = sender.sport;
    frame->priority = m_ackHighPriority ? 0 : sender.priority;
    frame->wireBytes = m_ackBytes;
    return frame;
}

void
RdmaHw::SendCnp(uint16_t port, RdmaRxQueuePair& rx, int64_t nowPs)
{
    QbbNetDevice& device = m_nics[port]->GetDevice();
    QbbFrame* frame = MakeAnswer(device, rx, QbbFrameKind::Cnp);
    rx.cnpPs = nowPs;
    ++m_counters.cnpsSent;
    device.Enqueue(frame, nowPs);
}

void
RdmaHw::RequestRepair(RdmaRxQueuePair& rx, uint16_t port, bool selective)
{
    QbbNetDevice& device = m_nics[port]->GetDevice();
    QbbFrame* frame = MakeAnswer(device, rx, QbbFrameKind::Nack);
    frame->seq = rx.expectedSeq;
    frame->payloadBytes = selective ? NamedDistance(rx) : 0;
    frame->flags = selective ? QBB_FLAG_SELECTIVE : 0;
    ++m_counters.nacksSent;
    device.Enqueue(frame, Simulator::Now().GetTimeStep());
}

void
RdmaHw::Deliver(RdmaRxQueuePair& rx)
{
    RdmaQueuePair& sender = *rx.sender;
    while (sender.deliveryMessage && sender.deliveryMessage->endSeq <= rx.expectedSeq)
    {
        RdmaMessage& message = *sender.deliveryMessage;
        sender.deliveryMessage = message.next;
        m_counters.deliveredBytes += message.bytes;
        sender.hw->m_messageDelivered(sender, message);
        if (message.observer)
        {
            message.observer->OnDelivered();
        }
    }
}

void
RdmaHw::OnAck(QbbFrame* frame, int64_t nowPs)
{
    RdmaQueuePair* qp = FindSender(frame->qpn);
    if (!qp)
    {
        ++m_counters.staleFrames;
        m_nics[frame->inPort]->GetDevice().GetPool().Free(frame);
        return;
    }
    if (frame->kind == QbbFrameKind::Cnp || (frame->flags & QBB_FLAG_CNP))
    {
        m_cnpReceived(*qp);
        m_congestion->OnCnp(*qp);
    }
    if (frame->kind != QbbFrameKind::Cnp)
    {
        const uint64_t newly = frame->seq > qp->sndUna ? frame->seq - qp->sndUna : 0;
        if (newly)
        {
            Acknowledge(*qp, frame->seq, nowPs);
        }
        if (frame->kind == QbbFrameKind::Nack)
        {
            m_recovery->OnNack(*qp, *frame, nowPs);
            SeekSendMessage(*qp);
            if (!qp->lossless)
            {
                m_congestion->OnNack(*qp);
            }
        }
        if (!qp->lossless && qp->acksWanted)
        {
            const RdmaAckView view{nowPs,
                                   frame->seq,
                                   newly,
                                   (frame->flags & QBB_FLAG_CNP) != 0,
                                   frame->telemetry};
            m_congestion->OnAck(*qp, view);
        }
        if (qp->m_place == RdmaQueuePair::Place::Ready && !CanSend(*qp))
        {
            qp->nic->Deactivate(*qp);
        }
        qp->nic->Activate(*qp, nowPs);
    }
    m_nics[frame->inPort]->GetDevice().GetPool().Free(frame);
    CompleteMessages(*qp);
}

void
RdmaHw::Acknowledge(RdmaQueuePair& qp, uint64_t seq, int64_t nowPs)
{
    qp.sndUna = seq;
    if (qp.sndNxt < seq)
    {
        qp.sndNxt = seq;
        SeekSendMessage(qp);
    }
    qp.retries = 0;
    qp.pausedTimeouts = 0;
    if (qp.sndUna == qp.endSeq)
    {
        qp.m_timer.Stop();
    }
    else
    {
        RestartTimer(qp, nowPs);
    }
    if (qp.recovery)
    {
        m_recovery->OnAck(qp);
    }
}

void
RdmaHw::CompleteMessages(RdmaQueuePair& qp)
{
    while (qp.firstMessage && qp.firstMessage->endSeq <= qp.sndUna)
    {
        RdmaMessage* message = qp.firstMessage;
        qp.firstMessage = message->next;
        RdmaMessageObserver* observer = message->observer;
        __builtin_prefetch(observer); // seldom in the cache, and called when the traces are written
        m_counters.acknowledgedBytes += message->bytes;
        m_messageSent(qp, *message);
        GiveBack(message);
        const uint32_t qpn = qp.qpn;
        if (observer)
        {
            observer->OnSent();
            if (qp.qpn != qpn)
            {
                return; // the handler closed the connection
            }
        }
    }
    if (!qp.firstMessage)
    {
        qp.lastMessage = nullptr;
        if (qp.closeWhenDone && qp.m_open && qp.endSeq > 0)
        {
            Close(qp);
        }
    }
}

// --- hooks of the ports

void
RdmaHw::OnFrameDeparture(uint16_t port, QbbFrame& frame, int64_t nowPs)
{
    if (frame.kind != QbbFrameKind::Other && frame.telemetry)
    {
        frame.telemetry->acknowledgedPs = nowPs;
    }
}

void
RdmaHw::OnOtherSend(uint16_t port, QbbFrame& frame, const Packet& packet, uint16_t protocol)
{
    frame.src = m_hostIndex;
    if (protocol != ETHERTYPE_IPV4 || !m_resolver)
    {
        return;
    }
    Ptr<Packet> copy = packet.Copy();
    EthernetHeader ethernet(false);
    copy->RemoveHeader(ethernet);
    Ipv4Header ip;
    if (copy->PeekHeader(ip))
    {
        frame.dst = m_resolver(ip.GetDestination().Get());
        frame.hash = FlowHash(frame.src, frame.dst, ip.GetProtocol(), 0);
        frame.ecn = static_cast<EcnCodepoint>(ip.GetTos() & 3);
    }
}

} // namespace ns3
