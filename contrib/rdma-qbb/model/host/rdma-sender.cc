/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hot path: BuildFrame and OnAnswer run once per data frame.
 */
#include "rdma-sender.h"

#include "rdma-hw.h"

#include "ns3/assert.h"
#include "ns3/clock-range.h"
#include "ns3/flow-hash.h"
#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("RdmaHw");

// Sequence numbers count the bytes of a queue pair over all its messages: sndUna is the first
// byte without an acknowledgement, m_sndNxt the next byte to send, endSeq the end of the posted
// messages. Post() appends a message and activates the pair at its NIC. The NIC calls
// BuildFrame() when the port is free and window, rate and recovery let the pair send;
// BuildFrame() cuts the next frame, or the one that the loss recovery repeats, and sets the time
// of the following one by the rate. OnAnswer() passes an answer to congestion control and recovery,
// moves sndUna, activates the pair again and completes messages. Go-back-N repeats by setting
// m_sndNxt back; SeekSendMessage() then finds the message there. One timer runs per pair.
// OnTimeout() starts it again without a loss if nothing is in flight, the port is paused, or
// queues on the path may hold the frames.

// --- connections

RdmaQueuePair&
RdmaSender::Take(const RdmaQueuePairConfig& config)
{
    const auto [qp, isNew] = m_pairs.Take();
    if (isNew)
    {
        m_controlled.push_back(false);
        m_drainPs.push_back(0);
    }
    Configure(qp, config);
    return qp;
}

void
RdmaSender::Open(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    qp.hash = FlowHash(qp.src, qp.dst, qp.sport, qp.dport);
    if (!config.peer)
    {
        qp.contribution = true;
        qp.peerQpn = config.inNetworkOperation;
        qp.dport = config.inNetworkMember;
    }
    m_controlled.set(m_pairs.IndexOf(qp.qpn), !qp.lossless);
    m_hw.OnOpen(qp, config);
    qp.m_open = true;
    NS_LOG_INFO("opens " << qp.Describe() << " at " << qp.GetRate() << " bps, window "
                         << qp.m_windowBytes << " bytes");
    m_hw.m_qpOpen(qp);
}

void
RdmaSender::Configure(RdmaQueuePair& qp, const RdmaQueuePairConfig& config)
{
    const QbbNetDevice& device = *m_hw.m_devices[config.nic];
    qp.hw = &m_hw;
    qp.m_peer = config.peer;
    qp.nic = m_hw.m_nics[config.nic].get();
    qp.src = m_hw.m_hostIndex;
    qp.dst = UINT32_MAX;
    qp.sport = config.sport;
    qp.dport = config.dport;
    qp.priority = config.priority;
    qp.lossless = config.lossless;
    qp.nvlinkFrames = config.lossless && !config.networkFrames;
    qp.closeWhenDone = config.closeWhenDone;
    qp.lineRateBps =
        config.rateCapBps ? std::min(config.rateCapBps, device.GetRateBps()) : device.GetRateBps();
    qp.baseRttPs = config.baseRttPs;
    qp.droppable = config.droppable;
    m_drainPs[m_pairs.IndexOf(qp.qpn)] = config.drainPs;
    qp.mtu = static_cast<uint16_t>(m_hw.m_mtu);
    qp.moreOverhead = config.moreOverhead;
    qp.SetPaced(config.paced);
    qp.SetVariableWindow(config.variableWindow);
    qp.SetWindow(config.windowBytes ? config.windowBytes : RdmaQueuePair::NO_WINDOW);
    qp.SetRate(qp.lineRateBps);
    if (!qp.m_timer.IsMade())
    {
        qp.m_timer = RdmaDeadlineTimer([this, &qp] { OnTimeout(qp); }, device.GetNodeId());
    }
}

void
RdmaSender::Close(RdmaQueuePair& qp)
{
    NS_LOG_INFO("closes " << qp.Describe());
    m_hw.m_qpClose(m_hw.Present(qp));
    m_hw.OnClose(qp);
    qp.nic->Deactivate(qp);
    qp.m_timer.Stop();
    ForgetMessages(qp);
    if (qp.m_peer)
    {
        m_hw.TellOfEnd(qp);
    }

    // The object stays for the next connection; its timer and memory with it.
    const RdmaDeadlineTimer::Kept timer(qp.m_timer);
    const uint32_t qpn = qp.qpn;
    m_controlled.reset(m_pairs.IndexOf(qpn));
    qp = RdmaQueuePair();
    m_pairs.GiveBack(qp, qpn);
}

void
RdmaSender::ForgetMessages(RdmaQueuePair& qp)
{
    while (qp.firstMessage)
    {
        RdmaMessage* message = qp.firstMessage;
        qp.firstMessage = message->next;
        message->OnForgotten();
    }
}

void
RdmaSender::Move(uint32_t qpn, uint16_t nic)
{
    RdmaQueuePair& qp = m_hw.Present(*Find(qpn));
    NS_LOG_INFO("moves " << qp.Describe() << " to port " << nic);
    qp.nic->Deactivate(qp);
    qp.nic = m_hw.m_nics[nic].get();
    qp.nic->Activate(qp, Simulator::Now().GetTimeStep());
}

std::vector<const RdmaQueuePair*>
RdmaSender::GetOpen() const
{
    std::vector<const RdmaQueuePair*> open;
    for (std::size_t index = 0; index < m_pairs.Size(); ++index)
    {
        if (m_pairs[index].m_open)
        {
            open.push_back(&m_pairs[index]);
        }
    }
    return open;
}

// --- sending

uint32_t
RdmaSender::WireBytesOf(const RdmaQueuePair& qp, uint32_t payloadBytes) const
{
    return qp.nvlinkFrames
               ? payloadBytes + m_hw.m_nvlinkOverhead + qp.moreOverhead
               : std::max(payloadBytes + m_hw.m_dataOverhead + m_hw.m_wishes.telemetryBytes,
                          QbbNetDevice::MIN_WIRE_BYTES);
}

uint32_t
RdmaSender::GetNextWireBytes(const RdmaQueuePair& qp) const
{
    if (!qp.m_sendMessage || qp.recovery)
    {
        return 0;
    }
    const uint64_t left = qp.m_sendEndSeq - qp.m_sndNxt;
    return WireBytesOf(qp, static_cast<uint32_t>(std::min<uint64_t>(qp.mtu, left)));
}

bool
RdmaSender::RecoveryCanSend(const RdmaQueuePair& qp) const
{
    if (m_hw.m_recovery->HasRetransmission(qp))
    {
        return true;
    }
    if (qp.m_sndNxt >= qp.endSeq)
    {
        return false;
    }
    const uint64_t inFlight = qp.InFlight() - m_hw.GetResolved(qp);
    return inFlight < qp.m_effectiveWindow && inFlight < m_hw.m_recovery->GetFlightLimit(qp);
}

inline void
RdmaSender::SetSendMessage(RdmaQueuePair& qp, RdmaMessage* message)
{
    qp.m_sendMessage = message;
    if (message)
    {
        qp.m_sendEndSeq = message->endSeq;
        qp.m_sendsFirst = qp.m_sndNxt + message->bytes == message->endSeq;
    }
}

void
RdmaSender::SeekSendMessage(RdmaQueuePair& qp)
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
RdmaSender::Post(RdmaQueuePair& qp,
                 uint64_t bytes,
                 RdmaMessage& message,
                 std::optional<int64_t> startPs)
{
    NS_ASSERT_MSG(bytes > 0, "a message has at least one byte");
    const int64_t nowPs = m_hw.NowPs();
    m_hw.Present(qp).endSeq += bytes;
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
        m_hw.Announce(qp, message);
    }
    NS_LOG_INFO(qp.Describe() << " posts a message of " << bytes << " bytes");
    m_hw.m_counters.postedBytes += bytes;
    if (restart)
    {
        if (!qp.lossless)
        {
            m_hw.m_congestion->OnRestart(qp, nowPs);
        }
        RestartTimer(qp, nowPs);
    }
    if (m_hw.HasTransport(qp))
    {
        m_hw.m_transport->OnPost(qp, nowPs);
    }
    qp.nic->Activate(qp, nowPs);
}

inline void
RdmaSender::Cut(const RdmaQueuePair& qp, QbbFrame& frame, bool isFirst, uint64_t endSeq)
{
    const uint64_t left = endSeq - frame.seq;
    frame.payloadBytes = static_cast<uint16_t>(std::min<uint64_t>(qp.mtu, left));
    frame.flags = (isFirst ? QBB_FLAG_FIRST : 0) | (left <= qp.mtu ? QBB_FLAG_LAST : 0);
}

inline void
RdmaSender::CutNext(RdmaQueuePair& qp, QbbFrame& frame)
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
RdmaSender::CutAgain(RdmaQueuePair& qp, QbbFrame& frame, int64_t nowPs)
{
    frame.seq = m_hw.m_recovery->NextRetransmission(qp, nowPs);
    const RdmaMessage* message = qp.firstMessage;
    while (message->endSeq <= frame.seq)
    {
        message = message->next;
    }
    Cut(qp, frame, frame.seq + message->bytes == message->endSeq, message->endSeq);
}

QbbFrame*
RdmaSender::BuildFrame(RdmaQueuePair& qp, int64_t nowPs)
{
    LinkPort& port = qp.nic->GetPort();
    QbbFrame* frame = port.GetPool().Allocate();
    if (qp.recovery && m_hw.m_recovery->HasRetransmission(qp))
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
        if (qp.m_unrequestedBytes >= m_hw.m_losslessAckInterval)
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
        frame->ecn = m_hw.m_wishes.ecn;
        if (m_hw.m_wishes.carriesRecord)
        {
            frame->telemetry = port.GetPool().AllocateTelemetry();
            frame->telemetry->sentPs = nowPs;
            frame->telemetry->wantsHops =
                m_hw.m_wishes.telemetry == RdmaCongestionOps::Telemetry::Int;
        }
    }
    const uint64_t end = frame->seq + frame->payloadBytes;
    if (frame->seq < qp.m_highestSent)
    {
        frame->flags |= QBB_FLAG_RETRANSMIT;
        m_hw.m_counters.retransmitted += frame->payloadBytes;
    }
    qp.m_highestSent = std::max(qp.m_highestSent, end);
    m_hw.m_counters.sentPayload += frame->payloadBytes;
    if (frame->seq == qp.sndUna)
    {
        RestartTimer(qp, nowPs); // the timer counts from now: the frame waited in the host, where
                                 // none is lost
    }

    if (m_hw.HasTransport(qp)) [[unlikely]]
    {
        m_hw.m_transport->OnSend(qp, *frame, nowPs);
    }
    NS_LOG_LOGIC(qp.Describe() << (frame->flags & QBB_FLAG_RETRANSMIT ? " sends again " : " sends ")
                               << *frame);
    qp.NoteSent(frame->wireBytes, nowPs);
    qp.m_nextAvailPs = !qp.m_paced || qp.m_rateBps >= port.GetRateBps()
                           ? nowPs
                           : AddPs(nowPs, qp.GapPs(frame->wireBytes));
    return frame;
}

// --- timers

void
RdmaSender::RestartTimer(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.contribution)
    {
        return; // NVLink loses nothing, and a sum must not count a frame twice
    }
    qp.m_hasWaited = false;
    qp.m_timer.SetDeadline(nowPs + TimeoutPs(qp));
}

int64_t
RdmaSender::TimeoutPs(const RdmaQueuePair& qp) const
{
    return m_hw.m_recovery->GetTimeoutPs(qp) << std::min(qp.retries, m_hw.m_maxBackoff);
}

int64_t
RdmaSender::LongestPs(const RdmaQueuePair& qp) const
{
    return AddPs(2 * qp.baseRttPs, m_drainPs[m_pairs.IndexOf(qp.qpn)]);
}

int64_t
RdmaSender::GetTimerLengthPs(const RdmaQueuePair& qp) const
{
    return std::max(TimeoutPs(qp), qp.m_hasWaited ? LongestPs(qp) : 0);
}

bool
RdmaSender::GivesUp(const RdmaQueuePair& qp, int64_t nowPs)
{
    if (m_hw.m_giveUpTime.IsZero())
    {
        return m_hw.m_maxRetries && qp.retries >= m_hw.m_maxRetries;
    }
    int64_t& sincePs = m_silentSincePs[qp.qpn];
    sincePs = qp.retries == 0 ? nowPs - GetTimerLengthPs(qp) : sincePs;
    return m_hw.m_maxRetries && qp.retries >= m_hw.m_maxRetries &&
           nowPs - sincePs >= m_hw.m_giveUpTime.GetTimeStep();
}

bool
RdmaSender::WaitForQueues(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_hasWaited || !m_hw.m_recovery->AllowsForQueues(qp))
    {
        return false;
    }
    // Computed here rather than in TimeoutPs(): timers restart at each acknowledgement, but expire
    // seldom.
    const int64_t morePs = LongestPs(qp) - TimeoutPs(qp);
    if (morePs <= 0)
    {
        return false;
    }
    qp.m_hasWaited = true;
    qp.m_timer.SetDeadline(nowPs + morePs);
    return true;
}

void
RdmaSender::OnTimeout(RdmaQueuePair& qp)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const QbbNetDevice& device = *m_hw.m_devices[m_hw.Present(qp).nic->GetPort().GetPort()];
    if (qp.m_timer.IsRunning())
    {
        return; // a departure that no event marked has restarted it
    }
    const bool paused = device.GetHeldMask() >> qp.priority & 1;
    const uint64_t resolved = m_hw.GetResolved(qp);
    if (device.IsLinkUp() && (qp.GetInFlight() == resolved || paused) &&
        qp.pausedTimeouts < m_hw.m_maxPausedTimeouts)
    {
        // Frames that have not been sent cannot have been lost: the timer starts with the next one.
        // A pause that never ends is a deadlock.
        if (paused)
        {
            ++qp.pausedTimeouts;
            RestartTimer(qp, nowPs);
        }
        else if (m_hw.HasTransport(qp) && m_hw.m_transport->OnStarved(qp, nowPs))
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
        m_hw.m_qpFailed(qp);
        return; // as a NIC with an exhausted retry count; a stuck run names the pair
    }
    NS_LOG_INFO("timeout of " << qp.Describe());
    ++m_hw.m_counters.timeouts;
    m_hw.m_timeout(qp); // before the next timeout, which may be twice as long
    qp.retries = std::min<uint8_t>(qp.retries + 1, UINT8_MAX - 1);
    m_hw.m_recovery->OnTimeout(qp, nowPs);
    SeekSendMessage(qp);
    if (!qp.lossless)
    {
        m_hw.m_congestion->OnTimeout(qp, nowPs);
    }
    RestartTimer(qp, nowPs);
    qp.nic->Activate(qp, nowPs);
}

// --- answers

void
RdmaSender::OnAnswer(QbbFrame* frame, int64_t nowPs)
{
    RdmaQueuePair* qp = Find(frame->qpn);
    if (!qp)
    {
        ++m_hw.m_counters.staleFrames;
        m_hw.Free(frame);
        return;
    }
    NS_LOG_LOGIC(qp->Describe() << " gets " << *frame);
    if (const RdmaMessage* message = qp->firstMessage)
    {
        FetchLines<2>(message); // told at the end of this function
    }
    if (frame->kind == QbbFrameKind::Cnp || (frame->answerFlags & QBB_ANSWER_MARKED))
    {
        ++m_hw.m_counters.cnpsReceived;
        m_hw.m_cnpReceived(*qp);
        m_hw.m_congestion->OnCnp(*qp, nowPs);
    }
    if (frame->kind != QbbFrameKind::Cnp)
    {
        if (m_hw.HasTransport(*qp)) [[unlikely]]
        {
            m_hw.m_transport->ReadAnswer(*qp, *frame);
        }
        const uint64_t seq = frame->expectedSeq;
        const uint64_t newly = seq > qp->sndUna ? seq - qp->sndUna : 0;
        if (newly)
        {
            Acknowledge(*qp, seq, nowPs);
        }
        if (frame->kind == QbbFrameKind::Nack)
        {
            m_hw.m_nackReceived(*qp);
            m_hw.m_recovery->OnNack(*qp, *frame, nowPs);
            SeekSendMessage(*qp);
            if (!qp->lossless)
            {
                m_hw.m_congestion->OnNack(*qp, nowPs);
            }
        }
        const uint64_t arrived =
            qp->recovery ? m_hw.m_recovery->OnAnswer(*qp, *frame, newly, nowPs) : newly;
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
            m_hw.m_congestion->OnAck(*qp, view);
        }
        if (m_hw.HasTransport(*qp)) [[unlikely]]
        {
            m_hw.m_transport->OnAnswer(*qp, *frame, nowPs);
        }
        Reconsider(*qp, nowPs);
    }
    m_hw.Free(frame);
    CompleteMessages(*qp);
}

void
RdmaSender::Reconsider(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_place == RdmaQueuePair::Place::Ready && !CanSend(qp))
    {
        qp.nic->Deactivate(qp);
    }
    qp.nic->Activate(qp, nowPs);
}

void
RdmaSender::Acknowledge(RdmaQueuePair& qp, uint64_t seq, int64_t nowPs)
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
        m_hw.m_recovery->OnAck(qp, nowPs);
    }
}

void
RdmaSender::CompleteMessages(RdmaQueuePair& qp)
{
    while (qp.firstMessage && qp.firstMessage->endSeq <= qp.sndUna)
    {
        RdmaMessage* message = qp.firstMessage;
        qp.firstMessage = message->next;
        NS_LOG_INFO(qp.Describe() << " completes a message of " << message->bytes << " bytes");
        m_hw.m_counters.acknowledgedBytes += message->bytes;
        m_hw.m_messageSent(qp, *message);
        const uint32_t qpn = qp.qpn;
        message->OnSent();
        if (qp.qpn != qpn)
        {
            return; // the handler closed the connection
        }
    }
    if (!qp.firstMessage && qp.closeWhenDone && qp.m_open && qp.endSeq > 0)
    {
        Close(qp);
    }
}

} // namespace ns3
