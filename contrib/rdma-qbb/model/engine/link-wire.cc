/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-wire.h"

#include "link-agenda.h"
#include "link-port.h"

#include "ns3/assert.h"
#include "ns3/simulator.h"

#include <cstddef>
#include <type_traits>

namespace ns3
{

LinkWire::LinkWire(LinkPort* sender)
    : m_sender(sender)
{
}

void
LinkWire::Connect(LinkPort* receiver, bool lossy)
{
    m_receiver = receiver;
    m_node = receiver->GetLinkNode();
    m_arrivalCall = m_node->GetArrivalCall();
    m_lossy = lossy;
    m_context = receiver->GetNodeId();
    m_port = receiver->GetPort();
    m_special = m_lossy || m_receiverWatched;
    LinkEngine& engine = m_sender->GetPool().GetEngine();
    m_mayBeQuiet = !lossy && m_node->IsEndpoint() && engine.MayLeaveOutArrivals();
    if (m_mayBeQuiet)
    {
        engine.AddWireToEndpoint(this);
    }
}

void
LinkWire::Detach()
{
    while (m_head)
    {
        m_sender->GetPool().Free(Pop());
    }
    if (m_watchEvent)
    {
        m_watchEvent->Detach();
    }
    m_mayBeQuiet = false;
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
    if (!m_watchEvent)
    {
        m_watchEvent = Create<WatchEvent>(this);
    }
}

void
LinkWire::ForbidQuiet()
{
    if (!m_mayBeQuiet)
    {
        return;
    }
    m_mayBeQuiet = false;
    HandOverQuiet(Simulator::Now().GetTimeStep());
    for (QbbFrame* frame = m_head; frame; frame = frame->next)
    {
        frame->quiet = false;
    }
    m_armedPs = NEVER; // the first of them may come before what was scheduled
    ArmNext();
    m_sender->OnQuietForbidden();
}

[[gnu::noinline]] void
LinkWire::ArmFirst(int64_t timePs)
{
    Arm(timePs);
}

[[gnu::noinline]] void
LinkWire::PutQuiet(QbbFrame& frame, int64_t nowPs)
{
    HandOverQuiet(nowPs); // so that frames are given back while a long message is under way
    frame.quiet = m_mayBeQuiet;
    if (m_special && m_receiverWatched) [[unlikely]]
    {
        m_watchEvent->ScheduleAt(m_context, frame.timePs);
    }
}

bool
LinkWire::AwaitLast()
{
    if (!m_head)
    {
        return false;
    }
    static_assert(std::is_standard_layout_v<QbbFrame> && offsetof(QbbFrame, next) == 0);
    QbbFrame& last = *reinterpret_cast<QbbFrame*>(m_end);
    if (last.quiet)
    {
        last.quiet = false;
        if (m_armedPs == NEVER)
        {
            Arm(last.timePs);
        }
    }
    return true;
}

void
LinkWire::Cut(int64_t nowPs)
{
    HandOverQuiet(nowPs);
    while (m_head)
    {
        m_sender->Lose(Pop());
    }
    m_armedPs = NEVER;
}

void
LinkWire::Fire(int64_t nowPs)
{
    __builtin_prefetch(m_head);
    m_node->FetchAhead();
    const bool isWake = nowPs == m_wakePs;
    if (isWake)
    {
        m_wakePs = NEVER;
        if (m_armedPs == NEVER)
        {
            m_armedPs = nowPs; // a frame that arrives now is not scheduled when it is put here
        }
    }
    if (*m_sendersWorkPs <= nowPs)
    {
        m_sender->FetchAhead();
        m_sendersAgenda->FetchAhead();
        m_sendersAgenda->Settle(nowPs); // what follows is on the wire before this one leaves it
    }
    if (nowPs != m_armedPs)
    {
        if (isWake && m_ownWorkPs != NEVER)
        {
            m_sender->AwaitWork(nowPs);
        }
        return; // the frame was lost in a cut, or is scheduled for another time
    }
    m_armedPs = NEVER;
    HandOverQuiet(nowPs);
    QbbFrame* frame = nullptr;
    if (m_head && m_head->timePs <= nowPs) [[likely]]
    {
        frame = Pop();
        NS_ASSERT_MSG(frame->timePs == nowPs, "a frame was put on the wire too late");
    }
    if (!ArmNext() && m_ownWorkPs != NEVER)
    {
        m_sender->AwaitWork(nowPs);
    }
    if (!frame) [[unlikely]]
    {
        return;
    }
    if (m_special && !HandleSpecial(frame)) [[unlikely]]
    {
        return;
    }
    m_node->CatchUp(nowPs);
    if (frame->kind == QbbFrameKind::Pfc) [[unlikely]]
    {
        m_receiver->ReceivePfc(*frame, nowPs);
        m_sender->GetPool().Free(frame);
        return;
    }
    HandOver(frame);
}

void
LinkWire::HandOver(QbbFrame* frame)
{
    ++m_arrived;
    if (frame->quiet && m_special && m_receiverWatched) [[unlikely]]
    {
        m_receiver->TraceRx(*frame, *m_sender);
    }
    frame->quiet = false;
    frame->inPort = m_port;
    m_arrivalCall(*m_node, m_port, frame, frame->timePs);
}

bool
LinkWire::HandleSpecial(QbbFrame* frame)
{
    if (m_lossy && m_sender->LosesFrame())
    {
        m_sender->Lose(frame);
        return false;
    }
    if (m_receiverWatched)
    {
        m_receiver->TraceRx(*frame, *m_sender);
    }
    return true;
}

} // namespace ns3
