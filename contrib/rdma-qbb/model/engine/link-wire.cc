/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-wire.h"

#include "link-agenda.h"
#include "link-node.h"
#include "link-port.h"

#include "ns3/abort.h"
#include "ns3/assert.h"
#include "ns3/qbb-partitions.h"
#include "ns3/simulator.h"

#include <type_traits>

namespace ns3
{

// A wire is a list of frames, each with the time of its arrival; the first one's is scheduled, and
// Fire() schedules the next. Three kinds of wires differ in where a frame is between departure and
// arrival: in this list; with losses, in this list with a mark that was drawn at departure; to
// another partition, in the outbox of a window (m_outgoing), from which it is copied into this list
// at the far end between two windows.

LinkWire::LinkWire(LinkPort* sender)
    : m_sender(sender)
{
}

LinkWire::~LinkWire() = default;

void
LinkWire::Connect(LinkPort* receiver, bool lossy, bool elsewhere, bool inWindows)
{
    m_receiver = receiver;
    m_node = receiver->GetLinkNode();
    m_arrivalCall = m_node->GetArrivalCall();
    m_lossy = lossy;
    m_context = receiver->GetNodeId();
    m_port = receiver->GetPort();
    m_elsewhere = elsewhere;
    m_inWindows = inWindows;
    m_special = m_lossy || m_receiverWatched || m_guard;
    m_rare = m_lossy || elsewhere || m_guard;
    TakePlace(elsewhere);
    if (elsewhere)
    {
        m_lossEvent = Create<LossEvent>(this);
        m_sendersContext = m_sender->GetNodeId();
        return;
    }
}

void
LinkWire::SetGuard(LinkGuard* guard)
{
    m_guard = guard;
    m_special = true;
    m_rare = true;
}

bool
LinkWire::HasCopy(const QbbFrame& frame) const
{
    return m_guard && m_guard->HasCopy(frame);
}

void
LinkWire::Detach()
{
    while (m_head)
    {
        PoolOnWire().Free(Pop());
    }
    while (m_lost)
    {
        m_sender->GetPool().Free(std::exchange(m_lost, m_lost->next));
    }
    m_lostEnd = &m_lost;
    if (m_lossEvent)
    {
        m_lossEvent->Detach();
    }
    m_armedPs = NEVER;
    SetSendersAgenda(nullptr, true);
    m_ownWorkPs = NEVER;
}

void
LinkWire::SetSendersAgenda(LinkAgenda* agenda, bool isItsOwn)
{
    m_sendersAgenda = agenda;
    m_sendersWorkPs = agenda && !isItsOwn ? &agenda->GetDuePs() : &m_ownWorkPs;
}

void
LinkWire::SetReceiverWatched()
{
    m_receiverWatched = true;
    m_special = true;
}

[[gnu::noinline]] void
LinkWire::ArmFirst(int64_t timePs)
{
    Arm(timePs);
}

[[gnu::noinline]] bool
LinkWire::PutRarely(QbbFrame* frame)
{
    // Drawn for each frame that is sent, whether or not the wire is cut before it arrives.
    frame->lost = m_lossy && m_loses();
    if (m_guard)
    {
        m_guard->OnSent(*frame);
    }
    if (m_elsewhere)
    {
        PutElsewhere(frame);
        return true;
    }
    return false;
}

void
LinkWire::PutElsewhere(QbbFrame* frame)
{
    if (frame->lost && !HasCopy(*frame))
    {
        *m_lostEnd = frame;
        m_lostEnd = &frame->next;
        m_lossEvent->ScheduleAt(m_sendersContext, frame->timePs);
        return;
    }
    const bool hasTelemetry = frame->kind != QbbFrameKind::Other && frame->telemetry;
    const auto [timeline, isLost] = QbbPartitions::OutboxOf(m_sendersContext, m_context);
    if (timeline)
    {
        // Two outboxes, by the parity of the window: the far end empties one while this window
        // fills the other. Frames are copied as values, as they may go to another process.
        Outgoing& outgoing = m_outgoing[timeline->parity];
        if (outgoing.frames.empty())
        {
            QbbPartitions::AddOutgoing(*timeline, m_context, this);
        }
        outgoing.frames.push_back(*frame);
        if (hasTelemetry)
        {
            for (const QbbTelemetry* part = frame->telemetry; part; part = part->next)
            {
                outgoing.telemetry.push_back(*part);
            }
        }
        timeline->firstOutgoing =
            std::min(timeline->firstOutgoing, static_cast<uint64_t>(frame->timePs));
    }
    else if (!isLost)
    {
        Accept(*frame, hasTelemetry ? frame->telemetry : nullptr);
    }
    if (frame->kind == QbbFrameKind::Other)
    {
        frame->packet = nullptr; // the copy in the outbox owns the reference now
    }
    m_sender->GetPool().Free(frame);
}

void
LinkWire::TakeOver(uint32_t parity)
{
    Outgoing& outgoing = m_outgoing[parity];
    for (QbbTelemetry& part : outgoing.telemetry)
    {
        part.next = part.next ? &part + 1 : nullptr; // a frame's parts lie one after the other
    }
    const QbbTelemetry* telemetry = outgoing.telemetry.data();
    for (const QbbFrame& frame : outgoing.frames)
    {
        const bool hasTelemetry = frame.kind != QbbFrameKind::Other && frame.telemetry;
        Accept(frame, hasTelemetry ? telemetry : nullptr);
        for (bool isLast = !hasTelemetry; !isLast; ++telemetry)
        {
            isLast = !telemetry->next;
        }
    }
    outgoing.frames.clear();
    outgoing.telemetry.clear();
}

void
LinkWire::PutOutgoing(uint32_t parity, QbbBytes& bytes)
{
    Outgoing& outgoing = m_outgoing[parity];
    for (const QbbFrame& frame : outgoing.frames)
    {
        NS_ABORT_MSG_IF(frame.kind == QbbFrameKind::Other,
                        "ordinary packets do not go from process to process");
    }
    PutValues(bytes, outgoing.frames);
    PutValues(bytes, outgoing.telemetry);
    outgoing.frames.clear();
    outgoing.telemetry.clear();
}

void
LinkWire::TakeOutgoing(uint32_t parity, QbbByteReader& reader)
{
    reader.GetValues(m_outgoing[parity].frames);
    reader.GetValues(m_outgoing[parity].telemetry);
}

void
LinkWire::Accept(const QbbFrame& sent, const QbbTelemetry* telemetry)
{
    QbbFramePool& pool = m_receiver->GetPool();
    QbbFrame* frame = pool.Allocate();
    *frame = sent;
    if (telemetry)
    {
        frame->telemetry = pool.CopyTelemetry(*telemetry);
    }
    *m_end = frame;
    m_end = &frame->next;
    if (m_armedPs == NEVER)
    {
        ArmFirst(frame->timePs);
    }
}

QbbFramePool&
LinkWire::PoolOnWire() const
{
    return m_elsewhere ? m_receiver->GetPool() : m_sender->GetPool();
}

void
LinkWire::LoseAtSender(QbbFrame* frame)
{
    if (HasCopy(*frame))
    {
        PoolOnWire().Free(frame);
        return;
    }
    m_sender->Lose(m_elsewhere ? m_sender->GetPool().Take(frame, m_receiver->GetPool()) : frame);
}

void
LinkWire::OnLost(int64_t nowPs)
{
    while (m_lost && m_lost->timePs <= nowPs)
    {
        m_sender->Lose(std::exchange(m_lost, m_lost->next));
    }
    m_lostEnd = m_lost ? m_lostEnd : &m_lost;
}

void
LinkWire::Cut()
{
    while (m_head)
    {
        LoseAtSender(Pop());
    }
    OnLost(INT64_MAX);
    m_armedPs = NEVER;
}

void
LinkWire::Fire(int64_t nowPs)
{
    __builtin_prefetch(m_head);
    m_node->FetchAhead();
    // The event may stand for two things at once: the sender's timer (WakeAt) and the first frame's
    // arrival. The timer comes first, since the frame that it sends may be the one that arrives.
    const bool isWake = nowPs == m_wakePs;
    if (isWake)
    {
        m_wakePs = NEVER;
        if (m_armedPs == NEVER)
        {
            m_armedPs = nowPs; // so that a frame with arrival now needs no event of its own
        }
    }
    if (*m_sendersWorkPs <= nowPs)
    {
        m_sender->FetchAhead();
        m_sendersAgenda->FetchAhead();
        FetchLines<2>(m_sendersSource);
        m_sendersAgenda->Settle(nowPs); // puts all frames that left by now on the wire
    }
    if (nowPs != m_armedPs)
    {
        if (isWake && HasOwnWorkAfter(nowPs))
        {
            m_sender->AwaitWork(nowPs);
        }
        return; // the frame was lost in a cut, or arrives at another time
    }
    m_armedPs = NEVER;
    QbbFrame* frame = nullptr;
    if (m_head && m_head->timePs <= nowPs) [[likely]]
    {
        frame = Pop();
        NS_ASSERT_MSG(frame->timePs == nowPs, "a frame was put on the wire too late");
    }
    // With the wire empty, no arrival will carry out the sender's timer: it needs an event.
    if (!ArmNext() && HasOwnWorkAfter(nowPs))
    {
        m_sender->AwaitWork(nowPs);
    }
    if (!frame) [[unlikely]]
    {
        return;
    }
    if (m_special) [[unlikely]]
    {
        frame = HandleSpecial(frame);
        if (!frame)
        {
            return;
        }
    }
    // Departures of the receiving node come before the arrival: a switch's up to this moment, a
    // host's before it.
    m_node->CatchUp(nowPs);
    if (frame->kind == QbbFrameKind::Pfc) [[unlikely]]
    {
        m_receiver->ReceivePfc(*frame, nowPs);
        m_receiver->GetPool().Free(frame);
        return;
    }
    HandOver(frame);
}

void
LinkWire::HandOver(QbbFrame* frame)
{
    ++m_arrived;
    frame->inPort = m_port;
    m_arrivalCall(*m_node, m_port, frame, frame->timePs);
}

QbbFrame*
LinkWire::HandleGuarded(QbbFrame* frame)
{
    const int64_t nowPs = frame->timePs;
    m_node->CatchUp(nowPs);
    if (!m_receiver->GetGuard()->OnArrival(*frame, nowPs))
    {
        m_receiver->GetPool().Free(frame);
        return nullptr;
    }
    frame->replayed = 0;
    return frame;
}

QbbFrame*
LinkWire::HandleSpecial(QbbFrame* frame)
{
    if (m_guard && !HandleGuarded(frame))
    {
        return nullptr;
    }
    if (frame->lost)
    {
        m_sender->Lose(frame);
        return nullptr;
    }
    if (m_receiverWatched)
    {
        m_receiver->TraceRx(*frame);
    }
    return frame;
}

} // namespace ns3
