/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-retry.h"

#include "ns3/packet.h"

#include <algorithm>
#include <utility>

namespace ns3
{

// A frame's number is its count on this link; the wire has its low 16 bits (QbbFrame::inPort, which
// has no other meaning there). The wire calls OnSent() for each frame that enters it and Accepts()
// for each that arrives. A replay puts one copy at a time among the port's control frames, which go
// before all new ones: when OnSent() sees it leave, it queues the next. So frames leave in the
// order of numbers, and a NACK in between only moves the cursor. Where nothing is lost, records
// have sizes and no copies.

LinkRetry::LinkRetry(LinkPort& port, const Settings& settings)
    : m_port(port),
      m_given(settings),
      m_settings(settings),
      m_timer(port, settings.longestFrame, [this](int64_t nowPs) { OnTimer(nowPs); })
{
    FitToRate();
}

void
LinkRetry::FitToRate()
{
    const int64_t answerPs = m_timer.GetLongestPs();
    m_settings.timeoutPs = std::max(m_given.timeoutPs ? m_given.timeoutPs : 2 * answerPs, answerPs);
    if (m_given.bufferBytes == 0)
    {
        const double bytesPerPs = static_cast<double>(m_port.GetRateBps()) / 8e12;
        m_settings.bufferBytes = static_cast<uint64_t>(static_cast<double>(answerPs) * bytesPerPs) +
                                 2 * m_given.longestFrame;
    }
    m_settings.bufferBytes = std::max<uint64_t>(m_settings.bufferBytes, m_given.longestFrame);
}

LinkRetry::~LinkRetry()
{
    for (const Record& record : m_records)
    {
        if (record.copy)
        {
            m_port.GetPool().Free(record.copy);
        }
    }
}

QbbFrame*
LinkRetry::Copy(const QbbFrame& frame) const
{
    QbbFramePool& pool = m_port.GetPool();
    QbbFrame* copy = pool.Allocate();
    *copy = frame;
    if (frame.kind == QbbFrameKind::Other)
    {
        static_cast<Packet*>(frame.packet)->Ref();
    }
    else if (frame.telemetry)
    {
        copy->telemetry = pool.CopyTelemetry(*frame.telemetry);
    }
    return copy;
}

// --- sending half

void
LinkRetry::OnSent(QbbFrame& frame)
{
    if (!Numbers(frame))
    {
        return;
    }
    const int64_t endPs = frame.timePs - m_port.GetDelayPs();
    if (frame.replayed)
    {
        frame.inPort = static_cast<uint16_t>(m_cursor);
        m_records[m_cursor - m_first].arrivalPs = frame.timePs;
        if (++m_cursor < m_next)
        {
            QueueReplay();
        }
    }
    else
    {
        QbbFrame* copy = m_settings.mayLose ? Copy(frame) : nullptr;
        m_records.push_back({copy, frame.wireBytes, frame.timePs});
        frame.inPort = static_cast<uint16_t>(m_next);
        m_cursor = ++m_next;
        m_heldBytes += frame.wireBytes;
        Withhold();
    }
    if (m_settings.mayLose && !m_timer.IsArmed())
    {
        m_timer.Arm(endPs + m_settings.timeoutPs);
    }
}

void
LinkRetry::Withhold()
{
    m_isFull = m_heldBytes + m_settings.longestFrame > m_settings.bufferBytes ||
               m_records.size() >= MAX_FRAMES;
    m_port.Hold(LinkHold::Retry, m_isFull ? UINT8_MAX : 0);
}

void
LinkRetry::QueueReplay()
{
    QbbFrame* frame = Copy(*m_records[m_cursor - m_first].copy);
    frame->replayed = 1;
    m_port.GetControls().QueueReplay(frame);
}

void
LinkRetry::ReplayFrom(uint64_t number, int64_t nowPs)
{
    m_port.GetControls().RemoveReplay(m_port.GetPool());
    m_cursor = number;
    if (m_cursor < m_next)
    {
        QueueReplay();
        m_port.SendControl(nowPs);
    }
}

void
LinkRetry::Forget(uint64_t count)
{
    for (; m_first < count; ++m_first)
    {
        const Record& record = m_records.front();
        m_heldBytes -= record.wireBytes;
        if (record.copy)
        {
            m_port.GetPool().Free(record.copy);
        }
        m_records.pop_front();
    }
}

void
LinkRetry::OnAnswer(uint64_t count, bool isNack, int64_t nowPs)
{
    Forget(count);
    if (isNack || m_cursor < m_first)
    {
        ReplayFrom(count, nowPs);
    }
    if (m_isFull)
    {
        Withhold();
        m_port.SendControl(nowPs); // new frames, too
    }
}

void
LinkRetry::OnTimer(int64_t nowPs)
{
    if (m_records.empty())
    {
        return;
    }
    const int64_t duePs = m_records.front().arrivalPs - m_port.GetDelayPs() + m_settings.timeoutPs;
    m_timer.Arm(duePs > nowPs ? duePs : nowPs + m_settings.timeoutPs);
    if (duePs <= nowPs && m_cursor != m_first) // else a replay of it waits to be sent
    {
        ReplayFrom(m_first, nowPs);
    }
}

// --- receiving half

bool
LinkRetry::Accepts(const QbbFrame& frame, int64_t nowPs)
{
    if (frame.lost)
    {
        if (!m_hasNacked)
        {
            m_newest = m_expected;
            Answer(true, nowPs);
        }
        return false;
    }
    const auto ahead = static_cast<int16_t>(frame.inPort - static_cast<uint16_t>(m_expected));
    if (ahead == 0)
    {
        ++m_expected;
        m_hasNacked = false;
        Answer(false, nowPs);
        return true;
    }
    if (ahead < 0)
    {
        Send(LinkControlType::Ack, nowPs);
        return false;
    }
    const uint64_t number = m_expected + static_cast<uint64_t>(ahead);
    if (!m_hasNacked || number <= m_newest)
    {
        Answer(true, nowPs); // the replay has begun, without the frame that it is for
    }
    m_newest = number;
    return false;
}

void
LinkRetry::Answer(bool isNack, int64_t nowPs)
{
    m_hasNacked = isNack;
    Send(isNack ? LinkControlType::Nack : LinkControlType::Ack, nowPs);
}

void
LinkRetry::Send(LinkControlType type, int64_t nowPs)
{
    m_port.GetControls().QueueOrderedSet(m_port.GetPool(), type, 0, m_expected);
    m_port.SendControl(nowPs);
}

// --- both

void
LinkRetry::Restart(LinkRetry& peer)
{
    m_port.GetControls().RemoveReplay(m_port.GetPool());
    for (uint64_t number = m_first; number < m_next; ++number)
    {
        QbbFrame*& copy = m_records[number - m_first].copy;
        if (copy && number >= peer.m_expected)
        {
            m_port.Lose(std::exchange(copy, nullptr));
        }
    }
    Forget(m_next);
    m_first = m_next = m_cursor = 0;
    Withhold();
    peer.m_expected = 0;
    peer.m_hasNacked = false;
}

} // namespace ns3
