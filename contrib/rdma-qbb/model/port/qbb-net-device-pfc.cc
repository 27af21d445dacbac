/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * QbbNetDevice: priority flow control (IEEE 802.1Qbb), both ends.
 */
#include "qbb-net-device.h"

#include "ns3/shared-log.h"
#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_SHARE("QbbNetDevice");

namespace
{

/// One quantum of a pause is 512 bit times.
double
QuantumPs(uint64_t rateBps)
{
    return 512.0 * 1e12 / static_cast<double>(rateBps);
}

} // namespace

int64_t
QbbNetDevice::GetPausePs() const
{
    if (m_pauseTime.IsZero())
    {
        return 0;
    }
    // A refresh, sent at half of it, may have to wait for a frame of data and for other PFC frames.
    const int64_t waitPs =
        GetTxTimePs(m_longestFrame) + PRIORITIES * GetTxTimePs(QbbFrame::MIN_WIRE_BYTES);
    const auto mostPs = static_cast<int64_t>(UINT16_MAX * QuantumPs(GetRateBps()));
    return std::min(std::max(m_pauseTime.GetTimeStep(), 2 * waitPs), mostPs);
}

uint16_t
QbbNetDevice::PauseQuanta() const
{
    if (m_pauseTime.IsZero())
    {
        return UINT16_MAX;
    }
    // Rounded up so that a pause never ends before its refresh.
    const double quanta = static_cast<double>(GetPausePs()) / QuantumPs(GetRateBps());
    return static_cast<uint16_t>(std::clamp(quanta + 1, 1.0, 65535.0));
}

void
QbbNetDevice::SendPfc(uint8_t priority, bool pause, int64_t nowPs)
{
    NS_LOG_INFO("node " << GetNodeId() << " port " << GetPort() << " has its far end "
                        << (pause ? "pause" : "resume") << " priority " << +priority);
    const uint8_t bit = 1U << priority;
    Present(m_pausingMask) = pause ? m_pausingMask | bit : m_pausingMask & ~bit;
    m_resumeMask = pause ? m_resumeMask | bit : m_resumeMask & ~bit;
    NeedDeparturesInTime(m_resumeMask != 0); // one of them may end the pause
    GetControls().QueuePfc(GetPool(), priority, pause ? PauseQuanta() : 0);
    if (pause && !m_refreshArmed && !m_pauseTime.IsZero())
    {
        if (!m_refreshEvent)
        {
            m_refreshEvent = Create<RefreshEvent>(this);
        }
        m_refreshArmed = true;
        m_refreshEvent->ScheduleAt(GetNodeId(), nowPs + GetPausePs() / 2);
    }
    TransmitWhenFree(nowPs);
}

void
QbbNetDevice::OnPauseRefresh(int64_t nowPs)
{
    Present(m_refreshArmed) = false;
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
    const uint8_t bit = 1U << frame.priority;
    const bool pause = frame.quanta > 0;
    if (pause && (m_ignoredMask & bit))
    {
        return;
    }
    if (pause && !m_pauseTime.IsZero())
    {
        m_pausedUntilPs[frame.priority] =
            nowPs + static_cast<int64_t>(frame.quanta * QuantumPs(GetRateBps()));
        if (!m_expiryEvent)
        {
            m_expiryEvent = Create<ExpiryEvent>(this);
        }
        if (!m_expiryArmed)
        {
            m_expiryArmed = true;
            m_expiryEvent->ScheduleAt(GetNodeId(), m_pausedUntilPs[frame.priority]);
        }
    }
    if (pause == static_cast<bool>(GetPausedMask() & bit))
    {
        return;
    }
    NS_LOG_INFO("node " << GetNodeId() << " port " << GetPort() << " is "
                        << (pause ? "paused" : "resumed") << " for priority " << +frame.priority);
    ChangePause(pause ? GetPausedMask() | bit : GetPausedMask() & ~bit, nowPs);
    m_pfc(this, frame.priority, pause);
}

void
QbbNetDevice::ChangePause(uint8_t mask, int64_t nowPs)
{
    const uint8_t before = GetPausedMask();
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
    SetPausedMask(mask, nowPs);
}

void
QbbNetDevice::SetPauseIgnored(uint8_t priority, bool ignored, int64_t nowPs)
{
    const uint8_t bit = 1U << priority;
    Present(m_ignoredMask) = ignored ? m_ignoredMask | bit : m_ignoredMask & ~bit;
    if (ignored && (GetPausedMask() & bit))
    {
        ChangePause(GetPausedMask() & ~bit, nowPs);
        m_pfc(this, priority, false);
    }
}

void
QbbNetDevice::OnPauseExpiry(int64_t nowPs)
{
    Present(m_expiryArmed) = false;
    uint8_t mask = GetPausedMask();
    int64_t next = INT64_MAX;
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        if (!(mask >> priority & 1))
        {
            continue;
        }
        if (m_pausedUntilPs[priority] <= nowPs)
        {
            NS_LOG_INFO("node " << GetNodeId() << " port " << GetPort()
                                << " is no longer paused for priority " << +priority
                                << ": the pause has expired");
            mask &= ~(1U << priority);
            m_pfc(this, priority, false);
        }
        else
        {
            next = std::min(next, m_pausedUntilPs[priority]);
        }
    }
    if (mask != GetPausedMask())
    {
        ChangePause(mask, nowPs);
    }
    if (next != INT64_MAX)
    {
        m_expiryArmed = true;
        m_expiryEvent->ScheduleAt(GetNodeId(), next);
    }
}

} // namespace ns3
