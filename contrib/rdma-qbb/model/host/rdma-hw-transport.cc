/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaHw: the sending side of the transport. Hot path: BuildFrame and OnAck run once per data
 * frame.
 */
#include "rdma-hw.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/clock-range.h"
#include "ns3/qbb-processes.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

// Sequence numbers count the bytes of a queue pair over all its messages: sndUna is the first
// byte without an acknowledgement, m_sndNxt the next byte to send, endSeq the end of the posted
// messages. PostMessage() appends a message and activates the pair at its NIC. The NIC calls
// BuildFrame() when the port is free and window, rate and recovery let the pair send;
// BuildFrame() cuts the next frame, or the one that the loss recovery repeats, and sets the time
// of the following one by the rate. OnAck() passes an answer to congestion control and recovery,
// moves sndUna, activates the pair again and completes messages. Go-back-N repeats by setting
// m_sndNxt back; SeekSendMessage() then finds the message there. One timer runs per pair.
// OnTimeout() starts it again without a loss if nothing is in flight, the port is paused, or
// queues on the path may hold the frames.

// --- sending

bool
RdmaHw::RecoveryCanSend(const RdmaQueuePair& qp) const
{
    if (m_recovery->HasRetransmission(qp))
    {
        return true;
    }
    if (qp.m_sndNxt >= qp.endSeq)
    {
        return false;
    }
    const uint64_t inFlight = qp.InFlight() - GetResolved(qp);
    return inFlight < qp.m_effectiveWindow && inFlight < m_recovery->GetFlightLimit(qp);
}

inline void
RdmaHw::SetSendMessage(RdmaQueuePair& qp, RdmaMessage* message)
{
    qp.m_sendMessage = message;
    if (message)
    {
        qp.m_sendEndSeq = message->endSeq;
        qp.m_sendsFirst = qp.m_sndNxt + message->bytes == message->endSeq;
    }
}

void
RdmaHw::SeekSendMessage(RdmaQueuePair& qp)
{
    RdmaMessage* message = qp.firstMessage;
    while (message && message->endSeq <= qp.m_sndNxt)
    {
        message = message->next;
    }
    SetSendMessage(qp, message);
    qp.nic->OnChange(qp);
}

void
RdmaHw::PostMessage(RdmaQueuePair& qp,
                    uint64_t bytes,
                    std::function<void()> sent,
                    std::function<void()> delivered,
                    std::optional<int64_t> startPs)
{
    NS_ABORT_MSG_IF(delivered && qp.m_isAfar && QbbProcesses::Get(),
                    "another process cannot call a function of this one");
    PostMessage(qp, bytes, m_functions.Take(std::move(sent), std::move(delivered)), startPs);
}

void
RdmaHw::PostMessage(RdmaQueuePair& qp,
                    uint64_t bytes,
                    RdmaMessage& message,
                    std::optional<int64_t> startPs)
{
    NS_ASSERT_MSG(bytes > 0, "a message has at least one byte");
    const int64_t nowPs = NowPs();
    Present(qp).endSeq += bytes;
    message.next = nullptr;
    message.endSeq = qp.endSeq;
    message.bytes = bytes;
    message.startPs = startPs.value_or(nowPs);
    const bool restart = !qp.firstMessage;
    (restart ? qp.firstMessage : qp.lastMessage->next) = &message;
    qp.lastMessage = &message;
    if (!qp.m_sendMessage)
    {
        SetSendMessage(qp, &message);
    }
    if (!qp.contribution)
    {
        Announce(qp, message);
    }
    NS_LOG_INFO(qp.Describe() << " posts a message of " << bytes << " bytes");
    m_counters.postedBytes += bytes;
    if (restart)
    {
        if (!qp.lossless)
        {
            m_congestion->OnRestart(qp, nowPs);
        }
        RestartTimer(qp, nowPs);
    }
    if (HasTransport(qp))
    {
        m_transport->OnPost(qp, nowPs);
    }
    qp.nic->Activate(qp, nowPs);
}

inline void
RdmaHw::Cut(const RdmaQueuePair& qp, QbbFrame& frame, bool isFirst, uint64_t endSeq)
{
    const uint64_t left = endSeq - frame.seq;
    frame.payloadBytes = static_cast<uint16_t>(std::min<uint64_t>(qp.mtu, left));
    frame.flags = (isFirst ? QBB_FLAG_FIRST : 0) | (left <= qp.mtu ? QBB_FLAG_LAST : 0);
}

inline void
RdmaHw::CutNext(RdmaQueuePair& qp, QbbFrame& frame)
{
    frame.seq = qp.m_sndNxt;
    Cut(qp, frame, std::exchange(qp.m_sendsFirst, false), qp.m_sendEndSeq);
    qp.m_sndNxt += frame.payloadBytes;
    if (qp.m_sndNxt == qp.m_sendEndSeq)
    {
        SetSendMessage(qp, qp.m_sendMessage->next);
    }
}

void
RdmaHw::CutAgain(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs)
{
    frame.seq = m_recovery->NextRetransmission(qp, nowPs);
    const RdmaMessage* message = qp.firstMessage;
    while (message->endSeq <= frame.seq)
    {
        message = message->next;
    }
    Cut(qp, frame, frame.seq + message->bytes == message->endSeq, message->endSeq);
}

QbbFrame*
RdmaHw::BuildFrame(RdmaQueuePair& qp, int64_t nowPs)
{
    LinkPort& port = qp.nic->GetPort();
    QbbFrame* frame = port.GetPool().Allocate();
    if (qp.recovery && m_recovery->HasRetransmission(qp))
    {
        CutAgain(qp, *frame, nowPs);
    }
    else
    {
        CutNext(qp, *frame);
    }
    frame->kind = QbbFrameKind::Data;
    Address(*frame, qp);
    frame->priority = qp.priority;
    frame->wireBytes = WireBytesOf(qp, frame->payloadBytes);
    if (qp.contribution)
    {
        frame->flags |= QBB_FLAG_REDUCE;
        frame->senderQpn = qp.qpn; // the switch answers to it
    }
    else if (qp.lossless)
    {
        frame->flags |= QBB_FLAG_LOSSLESS;
        qp.m_unrequestedBytes += frame->payloadBytes;
        if (qp.m_unrequestedBytes >= m_losslessAckInterval)
        {
            frame->flags |= QBB_FLAG_ACK_REQUEST;
        }
        if (frame->flags & (QBB_FLAG_LAST | QBB_FLAG_ACK_REQUEST))
        {
            qp.m_unrequestedBytes = 0;
        }
    }
    if (!qp.lossless)
    {
        frame->flags |= qp.m_namesItself ? QBB_FLAG_FROM_AFAR : 0;
        frame->ecn = m_wishes.ecn;
        if (m_wishes.carriesRecord)
        {
            frame->telemetry = port.GetPool().AllocateTelemetry();
            frame->telemetry->sentPs = nowPs;
            frame->telemetry->wantsHops = m_wishes.telemetry == RdmaCongestionOps::Telemetry::Int;
        }
    }
    const uint64_t end = frame->seq + frame->payloadBytes;
    if (frame->seq < qp.m_highestSent)
    {
        frame->flags |= QBB_FLAG_RETRANSMIT;
        m_counters.retransmitted += frame->payloadBytes;
    }
    qp.m_highestSent = std::max(qp.m_highestSent, end);
    m_counters.sentPayload += frame->payloadBytes;
    if (frame->seq == qp.sndUna)
    {
        RestartTimer(qp, nowPs); // the timer counts from now: the frame waited in the host, where
                                 // none is lost
    }

    if (HasTransport(qp)) [[unlikely]]
    {
        m_transport->OnSend(qp, *frame, nowPs);
    }
    NS_LOG_LOGIC(qp.Describe() << (frame->flags & QBB_FLAG_RETRANSMIT ? " sends again " : " sends ")
                               << *frame);
    qp.NoteSent(frame->wireBytes, nowPs);
    qp.m_nextAvailPs = !qp.m_paced || qp.m_rateBps >= port.GetRateBps()
                           ? nowPs
                           : AddPs(nowPs, qp.GapPs(frame->wireBytes));
    return frame;
}

void
RdmaHw::RestartTimer(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.contribution)
    {
        return; // NVLink loses nothing, and a sum must not count a frame twice
    }
    qp.m_hasWaited = false;
    qp.m_timer.SetDeadline(nowPs + TimeoutPs(qp));
}

int64_t
RdmaHw::TimeoutPs(const RdmaQueuePair& qp) const
{
    return m_recovery->GetTimeoutPs(qp) << std::min(qp.retries, m_maxBackoff);
}

int64_t
RdmaHw::GetTimerLengthPs(const RdmaQueuePair& qp) const
{
    const int64_t longestPs = AddPs(2 * qp.baseRttPs, m_drainPs[qp.qpn & INDEX_MASK]);
    return std::max(TimeoutPs(qp), qp.m_hasWaited ? longestPs : 0);
}

bool
RdmaHw::GivesUp(const RdmaQueuePair& qp, int64_t nowPs)
{
    if (m_giveUpTime.IsZero())
    {
        return m_maxRetries && qp.retries >= m_maxRetries;
    }
    int64_t& sincePs = m_silentSincePs[qp.qpn];
    sincePs = qp.retries == 0 ? nowPs - GetTimerLengthPs(qp) : sincePs;
    return m_maxRetries && qp.retries >= m_maxRetries &&
           nowPs - sincePs >= m_giveUpTime.GetTimeStep();
}

bool
RdmaHw::WaitForQueues(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_hasWaited || !m_recovery->AllowsForQueues(qp))
    {
        return false;
    }
    // Computed here rather than in TimeoutPs(): timers restart at each acknowledgement, but expire
    // seldom.
    const int64_t longestPs = AddPs(2 * qp.baseRttPs, m_drainPs[qp.qpn & INDEX_MASK]);
    const int64_t morePs = longestPs - TimeoutPs(qp);
    if (morePs <= 0)
    {
        return false;
    }
    qp.m_hasWaited = true;
    qp.m_timer.SetDeadline(nowPs + morePs);
    return true;
}

void
RdmaHw::OnTimeout(RdmaQueuePair& qp)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const QbbNetDevice& device = *m_devices[Present(qp).nic->GetPort().GetPort()];
    if (qp.m_timer.IsRunning())
    {
        return; // a departure that no event marked has restarted it
    }
    const bool paused = device.GetPausedMask() >> qp.priority & 1;
    const uint64_t resolved = GetResolved(qp);
    if (device.IsLinkUp() && (qp.GetInFlight() == resolved || paused) &&
        qp.pausedTimeouts < m_maxPausedTimeouts)
    {
        // Frames that have not been sent cannot have been lost: the timer starts with the next one.
        // A pause that never ends is a deadlock.
        if (paused)
        {
            ++qp.pausedTimeouts;
            RestartTimer(qp, nowPs);
        }
        else if (HasTransport(qp) && m_transport->OnStarved(qp, nowPs))
        {
            RestartTimer(qp, nowPs);
        }
        return;
    }
    if (device.IsLinkUp() && WaitForQueues(qp, nowPs))
    {
        return;
    }
    if (GivesUp(qp, nowPs))
    {
        NS_LOG_INFO("gives up on " << qp.Describe());
        qp.failed = true;
        m_qpFailed(qp);
        return; // as a NIC with an exhausted retry count; a stuck run names the pair
    }
    NS_LOG_INFO("timeout of " << qp.Describe());
    ++m_counters.timeouts;
    m_timeout(qp); // before the next timeout, which may be twice as long
    qp.retries = std::min<uint8_t>(qp.retries + 1, UINT8_MAX - 1);
    m_recovery->OnTimeout(qp, nowPs);
    SeekSendMessage(qp);
    if (!qp.lossless)
    {
        m_congestion->OnTimeout(qp, nowPs);
    }
    RestartTimer(qp, nowPs);
    qp.nic->Activate(qp, nowPs);
}

// --- answers

void
RdmaHw::OnAck(QbbFrame* frame, int64_t nowPs)
{
    RdmaQueuePair* qp = FindSender(frame->qpn);
    if (!qp)
    {
        ++m_counters.staleFrames;
        Free(frame);
        return;
    }
    NS_LOG_LOGIC(qp->Describe() << " gets " << *frame);
    if (const RdmaMessage* message = qp->firstMessage)
    {
        FetchLines<2>(message); // told at the end of this function
    }
    if (frame->kind == QbbFrameKind::Cnp || (frame->answerFlags & QBB_ANSWER_MARKED))
    {
        ++m_counters.cnpsReceived;
        m_cnpReceived(*qp);
        m_congestion->OnCnp(*qp, nowPs);
    }
    if (frame->kind != QbbFrameKind::Cnp)
    {
        const uint64_t seq = frame->expectedSeq;
        const uint64_t newly = seq > qp->sndUna ? seq - qp->sndUna : 0;
        if (newly)
        {
            Acknowledge(*qp, seq, nowPs);
        }
        if (frame->kind == QbbFrameKind::Nack)
        {
            m_nackReceived(*qp);
            m_recovery->OnNack(*qp, *frame, nowPs);
            SeekSendMessage(*qp);
            if (!qp->lossless)
            {
                m_congestion->OnNack(*qp, nowPs);
            }
        }
        const uint64_t arrived =
            qp->recovery ? m_recovery->OnAnswer(*qp, *frame, newly, nowPs) : newly;
        if (!qp->lossless && qp->acksWanted)
        {
            const bool isMeasured =
                frame->telemetry && frame->telemetry->sentPs != QbbTelemetry::NEVER;
            const RdmaAckView view{nowPs,
                                   seq,
                                   newly,
                                   (frame->answerFlags & QBB_ANSWER_MARKED) != 0,
                                   isMeasured ? frame->telemetry : nullptr,
                                   arrived};
            m_congestion->OnAck(*qp, view);
        }
        if (HasTransport(*qp)) [[unlikely]]
        {
            m_transport->OnAnswer(*qp, *frame, nowPs);
        }
        Reconsider(*qp, nowPs);
    }
    Free(frame);
    CompleteMessages(*qp);
}

void
RdmaHw::Reconsider(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_place == RdmaQueuePair::Place::Ready && !CanSend(qp))
    {
        qp.nic->Deactivate(qp);
    }
    qp.nic->Activate(qp, nowPs);
}

void
RdmaHw::Wake(RdmaQueuePair& qp)
{
    Reconsider(qp, NowPs());
}

void
RdmaHw::Acknowledge(RdmaQueuePair& qp, uint64_t seq, int64_t nowPs)
{
    qp.sndUna = seq;
    if (qp.m_sndNxt < seq)
    {
        qp.m_sndNxt = seq;
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
        m_recovery->OnAck(qp, nowPs);
    }
}

void
RdmaHw::CompleteMessages(RdmaQueuePair& qp)
{
    while (qp.firstMessage && qp.firstMessage->endSeq <= qp.sndUna)
    {
        RdmaMessage* message = qp.firstMessage;
        qp.firstMessage = message->next;
        NS_LOG_INFO(qp.Describe() << " completes a message of " << message->bytes << " bytes");
        m_counters.acknowledgedBytes += message->bytes;
        m_messageSent(qp, *message);
        const uint32_t qpn = qp.qpn;
        message->OnSent();
        if (qp.qpn != qpn)
        {
            return; // the handler closed the connection
        }
    }
    if (!qp.firstMessage)
    {
        if (qp.closeWhenDone && qp.m_open && qp.endSeq > 0)
        {
            Close(qp);
        }
    }
}

} // namespace ns3
