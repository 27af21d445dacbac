/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "rdma-hw.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RdmaNic::RdmaNic(RdmaHw* hw, QbbNetDevice* device)
    : m_hw(hw),
      m_device(device)
{
    device->SetSource(this);
    device->SetLateWork(this);
}

void
RdmaNic::PushReady(RdmaQueuePair& qp)
{
    Ring& ring = m_rings[qp.priority];
    qp.m_place = RdmaQueuePair::Place::Ready;
    qp.m_nextReady = nullptr;
    if (ring.tail)
    {
        ring.tail->m_nextReady = &qp;
    }
    else
    {
        ring.head = &qp;
    }
    ring.tail = &qp;
    m_readyMask |= 1U << qp.priority;
}

void
RdmaNic::PushPaced(RdmaQueuePair& qp)
{
    qp.m_place = RdmaQueuePair::Place::Paced;
    qp.m_pacedForPs = qp.nextAvailPs;
    m_paced.Push(qp.nextAvailPs, &qp, m_hw->GetNextWireBytes(qp));
    AddDue(qp.nextAvailPs);
}

void
RdmaNic::Place(RdmaQueuePair& qp, int64_t freePs)
{
    if (!m_hw->CanSend(qp))
    {
        qp.m_place = RdmaQueuePair::Place::Idle;
    }
    else if (qp.nextAvailPs > freePs)
    {
        PushPaced(qp);
    }
    else
    {
        PushReady(qp);
    }
}

inline bool
RdmaNic::CanSendAtOnce(const RdmaQueuePair& qp, int64_t nowPs) const
{
    return !m_readyMask && qp.nextAvailPs <= nowPs && m_device->CanSendNow(nowPs) &&
           m_hw->CanSend(qp);
}

inline void
RdmaNic::SendAtOnce(RdmaQueuePair& qp, int64_t nowPs)
{
    QbbFrame* frame = m_hw->BuildFrame(qp, nowPs);
    Place(qp, nowPs + m_device->GetTxTimePs(frame->wireBytes));
    RequestAnswer(qp, *frame);
    m_device->SendNow(frame, nowPs, IsPending());
    if (m_readyMask)
    {
        m_device->SetSourceReady(m_readyMask, nowPs);
    }
}

void
RdmaNic::Activate(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_place != RdmaQueuePair::Place::Idle)
    {
        return;
    }
    if (CanSendAtOnce(qp, nowPs))
    {
        SendAtOnce(qp, nowPs);
        return;
    }
    Place(qp, std::max(nowPs, m_device->PeekBusyUntilPs()));
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        m_device->AwaitLateWork(nowPs);
    }
    else if (qp.m_place == RdmaQueuePair::Place::Ready)
    {
        m_device->SetSourceReady(m_readyMask, nowPs);
    }
}

void
RdmaNic::Deactivate(RdmaQueuePair& qp)
{
    if (qp.m_place == RdmaQueuePair::Place::Ready)
    {
        Ring& ring = m_rings[qp.priority];
        RdmaQueuePair* before = nullptr;
        for (RdmaQueuePair* at = ring.head; at != &qp; at = at->m_nextReady)
        {
            before = at;
        }
        (before ? before->m_nextReady : ring.head) = qp.m_nextReady;
        if (ring.tail == &qp)
        {
            ring.tail = before;
        }
        if (!ring.head)
        {
            m_readyMask &= ~(1U << qp.priority);
        }
        m_device->SetSourceReadyMask(m_readyMask);
    }
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        m_doubtfulPs = std::max(m_doubtfulPs, qp.m_pacedForPs);
        m_device->AwaitLateWork(Simulator::Now().GetTimeStep());
    }
    qp.m_place = RdmaQueuePair::Place::Idle;
}

void
RdmaNic::OnChange(RdmaQueuePair& qp)
{
    if (qp.m_place != RdmaQueuePair::Place::Paced)
    {
        return;
    }
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_doubtfulPs = std::max(m_doubtfulPs, qp.m_pacedForPs);
    // A later time needs no new entry: the old one is looked at when it comes up.
    if (qp.nextAvailPs < qp.m_pacedForPs)
    {
        qp.nextAvailPs = std::max(qp.nextAvailPs, nowPs);
        PushPaced(qp);
    }
    m_device->AwaitLateWork(nowPs);
}

// --- late work

void
RdmaNic::AddEnd(uint16_t)
{
    m_endPs = m_device->PeekBusyUntilPs();
    AddDue(m_endPs);
}

void
RdmaNic::Await(const QbbNetDevice& device)
{
    m_device->FireAt(device.PeekBusyUntilPs());
}

void
RdmaNic::AwaitNext(int64_t nowPs)
{
    int64_t wakePs = m_paced.NextPs();
    if (wakePs == PacedQueue::NEVER)
    {
        return;
    }
    if (!m_device->IsWatched())
    {
        // Only the size of what is sure to be sent first counts: a smaller frame in its place would
        // arrive earlier.
        const bool sure = wakePs > m_doubtfulPs && !m_readyMask && !m_device->GetPausedMask();
        wakePs += m_device->GetTxTimePs(sure ? m_paced.GetNextBytes() : 0) + m_device->GetDelayPs();
    }
    m_device->WakeAt(std::max(wakePs, nowPs));
}

inline void
RdmaNic::ReleasePaced(int64_t timePs)
{
    while (m_paced.NextPs() <= timePs)
    {
        RdmaQueuePair& qp = *m_paced.Pop();
        if (const RdmaQueuePair* next = m_paced.GuessNext())
        {
            next->FetchAhead();
        }
        if (qp.m_place != RdmaQueuePair::Place::Paced || qp.m_pacedForPs != timePs)
        {
            continue;
        }
        if (m_paced.NextPs() > timePs && CanSendAtOnce(qp, timePs))
        {
            SendAtOnce(qp, timePs);
            return;
        }
        Place(qp, timePs);
    }
    m_device->SetSourceReady(m_readyMask, timePs);
}

void
RdmaNic::SettleDue(int64_t nowPs)
{
    if (m_settling)
    {
        return; // somebody asks the port in the middle of its sending
    }
    if (m_device->IsWatched() && m_duePs == nowPs && m_lastPs != nowPs)
    {
        // Where nobody looks, the work of a time comes after all else that happens then.
        m_lastPs = nowPs;
        m_device->FireAt(nowPs);
        return;
    }
    m_settling = true;
    if (const RdmaQueuePair* next = m_paced.GuessNext())
    {
        next->FetchAhead();
    }
    do
    {
        if (m_paced.NextPs() <= m_endPs)
        {
            ReleasePaced(m_paced.NextPs());
        }
        else
        {
            m_device->OnTransmissionEnd(std::exchange(m_endPs, NEVER));
        }
        SetDue(std::min(m_paced.NextPs(), m_endPs));
    } while (m_duePs <= nowPs);
    m_settling = false;
}

// --- sending

QbbFrame*
RdmaNic::PullFrame(uint8_t priority, int64_t nowPs)
{
    Ring& ring = m_rings[priority];
    RdmaQueuePair& qp = *ring.head;
    QbbFrame* frame = m_hw->BuildFrame(qp, nowPs);
    const int64_t freePs = nowPs + m_device->GetTxTimePs(frame->wireBytes);
    if (ring.tail == &qp && qp.nextAvailPs <= freePs && m_hw->CanSend(qp))
    {
        return frame; // it would leave the ring and come back at once
    }
    ring.head = qp.m_nextReady;
    if (!ring.head)
    {
        ring.tail = nullptr;
        m_readyMask &= ~(1U << priority);
    }
    Place(qp, freePs);
    RequestAnswer(qp, *frame);
    m_device->SetSourceReadyMask(m_readyMask);
    return frame;
}

} // namespace ns3
