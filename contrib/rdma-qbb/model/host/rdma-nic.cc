/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "rdma-sender.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaNic");

RdmaNic::RdmaNic(RdmaSender& sender, LinkPort* port)
    : m_sender(sender),
      m_port(port)
{
    port->SetSource(this);
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
    qp.m_pacedForPs = qp.m_nextAvailPs;
    m_paced.Push(qp.m_nextAvailPs, &qp, m_sender.GetNextWireBytes(qp));
}

void
RdmaNic::Place(RdmaQueuePair& qp, int64_t freePs)
{
    if (!m_sender.CanSend(qp))
    {
        NS_LOG_LOGIC(qp.Describe() << " has nothing that it may send");
        qp.m_place = RdmaQueuePair::Place::Idle;
    }
    else if (qp.m_nextAvailPs > freePs)
    {
        NS_LOG_LOGIC(qp.Describe() << " waits for its rate until " << qp.m_nextAvailPs << " ps");
        PushPaced(qp);
    }
    else
    {
        NS_LOG_LOGIC(qp.Describe() << " waits for its turn at the port");
        PushReady(qp);
    }
}

inline bool
RdmaNic::CanSendAtOnce(const RdmaQueuePair& qp, int64_t nowPs) const
{
    return !m_readyMask && qp.m_nextAvailPs <= nowPs && m_port->CanSendNow(nowPs) &&
           m_sender.CanSend(qp);
}

inline void
RdmaNic::SendAtOnce(RdmaQueuePair& qp, int64_t nowPs)
{
    QbbFrame* frame = m_sender.BuildFrame(qp, nowPs);
    Place(qp, nowPs + m_port->GetTxTimePs(frame->wireBytes));
    RequestAnswer(qp, *frame);
    m_port->SendNow(frame, nowPs);
    if (m_paced.NextPs() != PacedQueue::NEVER)
    {
        SetTimer(nowPs);
    }
    if (m_readyMask)
    {
        m_port->SetSourceReady(m_readyMask, nowPs);
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
    Place(qp, std::max(nowPs, m_port->GetBusyUntilPs()));
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        SetTimer(nowPs);
    }
    else if (qp.m_place == RdmaQueuePair::Place::Ready)
    {
        m_port->SetSourceReady(m_readyMask, nowPs);
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
        m_port->SetSourceReadyMask(m_readyMask);
    }
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        m_doubtfulPs = std::max(m_doubtfulPs, qp.m_pacedForPs);
        SetTimer(Simulator::Now().GetTimeStep());
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
    if (qp.m_nextAvailPs < qp.m_pacedForPs)
    {
        qp.m_nextAvailPs = std::max(qp.m_nextAvailPs, nowPs);
        PushPaced(qp);
    }
    SetTimer(nowPs);
}

// --- pairs that wait for their time

uint32_t
RdmaNic::GetLeastBytes() const
{
    const bool sure = m_paced.NextPs() > m_doubtfulPs && !m_readyMask && !m_port->GetHeldMask();
    return sure ? m_paced.GetNextBytes() : 0;
}

void
RdmaNic::OnTimer(int64_t nowPs)
{
    while (m_paced.NextPs() <= nowPs)
    {
        RdmaQueuePair& qp = *m_paced.Pop();
        if (const RdmaQueuePair* next = m_paced.GuessNext())
        {
            next->FetchAhead();
        }
        if (qp.m_place != RdmaQueuePair::Place::Paced || qp.m_pacedForPs != nowPs)
        {
            continue;
        }
        if (m_paced.NextPs() > nowPs && CanSendAtOnce(qp, nowPs))
        {
            SendAtOnce(qp, nowPs);
            return;
        }
        Place(qp, nowPs);
    }
    SetTimer(nowPs);
    m_port->SetSourceReady(m_readyMask, nowPs);
}

// --- sending

QbbFrame*
RdmaNic::PullFrame(uint8_t priority, int64_t nowPs)
{
    Ring& ring = m_rings[priority];
    RdmaQueuePair& qp = *ring.head;
    QbbFrame* frame = m_sender.BuildFrame(qp, nowPs);
    const int64_t freePs = nowPs + m_port->GetTxTimePs(frame->wireBytes);
    if (ring.tail == &qp && qp.m_nextAvailPs <= freePs && m_sender.CanSend(qp))
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
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        SetTimer(nowPs);
    }
    m_port->SetSourceReadyMask(m_readyMask);
    return frame;
}

} // namespace ns3
