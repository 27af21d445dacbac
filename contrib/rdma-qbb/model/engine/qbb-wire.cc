/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qbb-wire.h"

#include "qbb-late-work.h"

#include "ns3/assert.h"
#include "ns3/node.h"
#include "ns3/qbb-net-device.h"
#include "ns3/simulator.h"

#include <cstddef>
#include <type_traits>

namespace ns3
{

QbbWire::QbbWire(QbbNetDevice* sender)
    : m_sender(sender)
{
}

void
QbbWire::Connect(QbbNetDevice* receiver, QbbPortHandler* handler, bool lossy)
{
    m_receiver = receiver;
    m_handler = handler;
    m_arrivalCall = handler->GetArrivalCall();
    m_lossy = lossy;
    m_context = receiver->GetNode()->GetId();
    m_port = receiver->GetPort();
    m_special = m_lossy || m_receiverWatched;
    m_mayBeQuiet = !lossy && handler->HasQuietArrivals();
}

void
QbbWire::Detach()
{
    while (m_head)
    {
        m_sender->GetPool().Free(Pop());
    }
    if (m_watchEvent)
    {
        m_watchEvent->Detach();
    }
    m_armedPs = NEVER;
    SetLateWork(nullptr, true, nullptr);
    m_portsWorkPs = NEVER;
}

void
QbbWire::SetLateWork(QbbLateWork* atSender, bool isPorts, QbbLateWork* atReceiver)
{
    m_sendersWork = atSender;
    m_sendersWorkPs = atSender && !isPorts ? &atSender->GetDuePs() : &m_portsWorkPs;
    m_receiversWork = atReceiver;
    m_receiversWorkPs = atReceiver ? &atReceiver->GetDuePs() : &NO_WORK;
}

void
QbbWire::SetReceiverWatched()
{
    m_receiverWatched = true;
    m_special = true;
    if (!m_watchEvent)
    {
        m_watchEvent = Create<WatchEvent>(this);
    }
}

void
QbbWire::ForbidQuiet()
{
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
QbbWire::ArmFirst(int64_t timePs)
{
    Arm(timePs);
}

[[gnu::noinline]] void
QbbWire::PutQuiet(QbbFrame& frame, int64_t nowPs)
{
    HandOverQuiet(nowPs); // so that frames are given back while a long message is under way
    frame.quiet = m_mayBeQuiet;
    if (m_special && m_receiverWatched) [[unlikely]]
    {
        m_watchEvent->ScheduleAt(m_context, frame.timePs);
    }
}

bool
QbbWire::AwaitLast()
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
QbbWire::Cut(int64_t nowPs)
{
    HandOverQuiet(nowPs);
    m_mayBeQuiet = false; // a receiver that lacks a frame answers the next one
    m_armedPs = NEVER;
    while (m_head)
    {
        m_sender->Lose(Pop());
    }
}

void
QbbWire::Fire(int64_t nowPs)
{
    __builtin_prefetch(m_head);
    m_handler->FetchAhead();
    if (nowPs == m_wakePs)
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
        m_sendersWork->FetchAhead();
        m_sendersWork->Settle(nowPs); // what follows is on the wire before this one leaves it
    }
    if (nowPs != m_armedPs)
    {
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
    if (!ArmNext() && m_portsWorkPs != NEVER)
    {
        m_sender->AwaitLateWork(nowPs);
    }
    if (!frame) [[unlikely]]
    {
        return;
    }
    if (m_special && !HandleSpecial(frame)) [[unlikely]]
    {
        return;
    }
    if (*m_receiversWorkPs <= nowPs)
    {
        m_receiversWork->Settle(nowPs);
    }
    if (frame->kind == QbbFrameKind::Pfc) [[unlikely]]
    {
        m_receiver->ReceivePfc(*frame, nowPs);
        m_sender->GetPool().Free(frame);
        return;
    }
    HandOver(frame);
}

void
QbbWire::HandOver(QbbFrame* frame)
{
    ++m_arrived;
    if (frame->quiet && m_special && m_receiverWatched) [[unlikely]]
    {
        m_receiver->TraceRx(*frame, *m_sender);
    }
    frame->quiet = false;
    frame->inPort = m_port;
    m_arrivalCall(*m_handler, m_port, frame, frame->timePs);
}

bool
QbbWire::HandleSpecial(QbbFrame* frame)
{
    if (m_lossy && m_sender->DrawLoss())
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
