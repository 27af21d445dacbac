/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic.h"

#include "rdma-hw.h"

#include "ns3/node.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

RdmaNic::RdmaNic(RdmaHw* hw, QbbNetDevice* device)
    : m_hw(hw),
      m_device(device),
      m_pacingEvent(Create<PacingEvent>(this))
{
    device->SetSource(this);
}

RdmaNic::~RdmaNic()
{
    m_pacingEvent->Detach();
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
    m_paced.Push(qp.nextAvailPs, &qp);
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

void
RdmaNic::Activate(RdmaQueuePair& qp, int64_t nowPs)
{
    if (qp.m_place != RdmaQueuePair::Place::Idle)
    {
        return;
    }
    Place(qp, std::max(nowPs, m_device->PeekBusyUntilPs()));
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        ArmPacing(nowPs);
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
    qp.m_place = RdmaQueuePair::Place::Idle;
}

void
RdmaNic::OnPacingChange(RdmaQueuePair& qp)
{
    // A later time needs nothing: the entry is looked at when it comes up.
    if (qp.m_place == RdmaQueuePair::Place::Paced && qp.nextAvailPs < qp.m_pacedForPs)
    {
        PushPaced(qp);
        ArmPacing(Simulator::Now().GetTimeStep());
    }
}

void
RdmaNic::SchedulePacing(int64_t nowPs)
{
    const int64_t timePs = std::max(m_paced.NextPs(), nowPs);
    if (timePs < m_armedPs)
    {
        m_armedPs = timePs;
        m_pacingEvent->ScheduleAt(m_device->GetNodeId(), timePs);
    }
}

void
RdmaNic::OnPacingEvent(int64_t nowPs)
{
    if (nowPs < m_armedPs)
    {
        return; // an earlier expiry has done this one's work
    }
    m_armedPs = INT64_MAX;
    while (m_paced.NextPs() <= nowPs)
    {
        const int64_t timePs = m_paced.NextPs();
        RdmaQueuePair& qp = *m_paced.Pop();
        if (const RdmaQueuePair* next = m_paced.GuessNext())
        {
            next->FetchAhead();
        }
        if (qp.m_place == RdmaQueuePair::Place::Paced && qp.m_pacedForPs == timePs)
        {
            Place(qp, nowPs);
        }
    }
    ArmPacing(nowPs);
    m_device->SetSourceReady(m_readyMask, nowPs);
}

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
    if (qp.m_place == RdmaQueuePair::Place::Paced)
    {
        ArmPacing(nowPs);
    }
    else if (qp.m_place == RdmaQueuePair::Place::Idle)
    {
        // The window is full: without an answer nothing would move until the timeout.
        frame->flags |= QBB_FLAG_ACK_REQUEST;
    }
    m_device->SetSourceReadyMask(m_readyMask);
    return frame;
}

} // namespace ns3
