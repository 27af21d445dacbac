/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * QbbNetDevice: priority flow control (IEEE 802.1Qbb), both ends.
 */
#include "qbb-net-device.h"

#include "ns3/log.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("QbbPfc");

uint16_t
QbbNetDevice::PauseQuanta() const
{
    if (m_pauseTime.IsZero())
    {
        return UINT16_MAX;
    }
    // One quantum is 512 bit times; rounded up so that a pause never ends before its refresh.
    const double quantumPs = 512.0 * 1e12 / static_cast<double>(m_rateBps);
    const double quanta = static_cast<double>(m_pauseTime.GetTimeStep()) / quantumPs;
    return static_cast<uint16_t>(std::clamp(quanta + 1, 1.0, 65535.0));
}

void
QbbNetDevice::QueuePfc(uint8_t priority, uint16_t quanta)
{
    // A newer word on a priority replaces one that still waits to be sent.
    for (QbbFrame* frame = m_control; frame; frame = frame->next)
    {
        if (frame->priority == priority)
        {
            frame->quanta = quanta;
            return;
        }
    }
    QbbFrame* frame = m_pool->Allocate();
    frame->kind = QbbFrameKind::Pfc;
    frame->priority = priority;
    frame->quanta = quanta;
    frame->wireBytes = MIN_WIRE_BYTES;
    frame->next = m_control;
    m_control = frame;
}

void
QbbNetDevice::SendPfc(uint8_t priority, bool pause, int64_t nowPs)
{
    NS_LOG_FUNCTION(this << +priority << pause);
    const uint8_t bit = 1U << priority;
    m_pausingMask = pause ? m_pausingMask | bit : m_pausingMask & ~bit;
    QueuePfc(priority, pause ? PauseQuanta() : 0);
    if (pause && !m_refreshArmed && !m_pauseTime.IsZero())
    {
        if (!m_refreshEvent)
        {
            m_refreshEvent = Create<RefreshEvent>(this);
        }
        m_refreshArmed = true;
        m_refreshEvent->ScheduleAt(m_nodeId, nowPs + m_pauseTime.GetTimeStep() / 2);
    }
    TransmitWhenFree(nowPs);
}

void
QbbNetDevice::OnPauseRefresh(int64_t nowPs)
{
    Settle();
    m_refreshArmed = false;
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        if (m_pausingMask >> priority & 1)
        {
            SendPfc(priority, true, nowPs);
        }
    }
}

void
QbbNetDevice::ReceivePfc(const QbbFrame& frame, int64_t nowPs)
{
    Settle();
    const uint8_t bit = 1U << frame.priority;
    const bool pause = frame.quanta > 0;
    if (pause && (m_ignoredMask & bit))
    {
        return;
    }
    if (pause && !m_pauseTime.IsZero())
    {
        const double quantumPs = 512.0 * 1e12 / static_cast<double>(m_rateBps);
        m_pausedUntilPs[frame.priority] = nowPs + static_cast<int64_t>(frame.quanta * quantumPs);
        if (!m_expiryEvent)
        {
            m_expiryEvent = Create<ExpiryEvent>(this);
        }
        if (!m_expiryArmed)
        {
            m_expiryArmed = true;
            m_expiryEvent->ScheduleAt(m_nodeId, m_pausedUntilPs[frame.priority]);
        }
    }
    if (pause == static_cast<bool>(m_pausedMask & bit))
    {
        return;
    }
    ChangePause(pause ? m_pausedMask | bit : m_pausedMask & ~bit, nowPs);
    m_pfc(this, frame.priority, pause);
}

void
QbbNetDevice::ChangePause(uint8_t mask, int64_t nowPs)
{
    const uint8_t before = m_pausedMask;
    m_pausedMask = mask;
    if (!before && mask)
    {
        m_pausedSincePs = nowPs;
    }
    else if (before && !mask)
    {
        m_counters.pausedPs += nowPs - m_pausedSincePs;
    }
    if (mask & ~before)
    {
        ++m_counters.pausesReceived;
    }
    if ((before & ~mask) && m_linkUp)
    {
        TransmitWhenFree(nowPs);
    }
    AwaitLateWork(nowPs);
}

void
QbbNetDevice::SetPauseIgnored(uint8_t priority, bool ignored, int64_t nowPs)
{
    Settle();
    const uint8_t bit = 1U << priority;
    m_ignoredMask = ignored ? m_ignoredMask | bit : m_ignoredMask & ~bit;
    if (ignored && (m_pausedMask & bit))
    {
        ChangePause(m_pausedMask & ~bit, nowPs);
        m_pfc(this, priority, false);
    }
}

void
QbbNetDevice::FlushQueue(uint8_t priority, int64_t nowPs)
{
    Settle();
    if (m_queuedMask >> priority & 1)
    {
        m_wire->ForbidQuiet(); // what follows will be out of order
    }
    while (m_queuedMask >> priority & 1)
    {
        QbbFrame* frame = Dequeue(priority);
        m_handler->OnFrameDeparture(m_port, *frame, nowPs);
        Discard(frame, m_counters.flushedFrames);
    }
}

void
QbbNetDevice::FreeControl()
{
    while (m_control)
    {
        QbbFrame* frame = m_control;
        m_control = frame->next;
        m_pool->Free(frame);
    }
}

void
QbbNetDevice::FlushQueues(int64_t nowPs)
{
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        FlushQueue(priority, nowPs);
    }
}

void
QbbNetDevice::OnPauseExpiry(int64_t nowPs)
{
    Settle();
    m_expiryArmed = false;
    uint8_t mask = m_pausedMask;
    int64_t next = INT64_MAX;
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        if (!(mask >> priority & 1))
        {
            continue;
        }
        if (m_pausedUntilPs[priority] <= nowPs)
        {
            mask &= ~(1U << priority);
            m_pfc(this, priority, false);
        }
        else
        {
            next = std::min(next, m_pausedUntilPs[priority]);
        }
    }
    if (mask != m_pausedMask)
    {
        ChangePause(mask, nowPs);
    }
    if (next != INT64_MAX)
    {
        m_expiryArmed = true;
        m_expiryEvent->ScheduleAt(m_nodeId, next);
    }
}

} // namespace ns3
