/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "link-credits.h"

#include "ns3/assert.h"

namespace ns3
{

LinkCredits::LinkCredits(LinkPort& port, const Settings& settings)
    : m_port(port),
      m_settings(settings),
      m_timer(port, settings.longestFrame, [this](int64_t nowPs) { OnTimer(nowPs); })
{
}

bool
LinkCredits::Counted(const QbbFrame& frame) const
{
    return frame.kind != QbbFrameKind::Pfc && frame.kind != QbbFrameKind::LinkControl &&
           Has(frame.priority);
}

// --- sending half

void
LinkCredits::OnSent(const QbbFrame& frame)
{
    if (Counted(frame) && !frame.replayed)
    {
        m_counts[frame.priority].sent += frame.wireBytes;
        Withhold(frame.priority);
        if (m_short && m_settings.mayLose && !m_timer.IsArmed())
        {
            Arm(frame.timePs);
        }
    }
}

void
LinkCredits::Withhold(uint8_t priority)
{
    const Counts& counts = m_counts[priority];
    const uint64_t used = counts.sent - counts.returned;
    const auto bit = static_cast<uint8_t>(1U << priority);
    const bool isShort = used + m_settings.longestFrame > m_settings.bufferBytes;
    m_short = isShort ? m_short | bit : m_short & ~bit;
    m_port.Hold(LinkHold::Credits, m_short);
}

void
LinkCredits::OnReturned(uint8_t priority, uint64_t bytes, int64_t nowPs)
{
    NS_ASSERT(bytes <= m_counts[priority].sent);
    m_counts[priority].returned = bytes;
    Withhold(priority);
    m_port.SendControl(nowPs); // new frames
}

void
LinkCredits::Arm(int64_t nowPs)
{
    // The priority that waits has credits, so one less has PFC frames.
    const int64_t pfcPs = m_port.GetTxTimePs(QbbFrame::MIN_WIRE_BYTES);
    m_timer.Arm(nowPs + 2 * (m_timer.GetLongestPs() - pfcPs));
}

void
LinkCredits::OnTimer(int64_t nowPs)
{
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        if (m_short >> priority & 1)
        {
            Queue(LinkControlType::CreditRequest, priority, m_counts[priority].sent);
        }
    }
    if (m_short)
    {
        Arm(nowPs);
        m_port.SendControl(nowPs);
    }
}

// --- receiving half

void
LinkCredits::OnReceived(const QbbFrame& frame, int64_t nowPs)
{
    if (!Counted(frame))
    {
        return;
    }
    Counts& counts = m_counts[frame.priority];
    counts.received += frame.wireBytes;
    NS_ASSERT_MSG(counts.received - counts.freed <= m_settings.bufferBytes ||
                      frame.wireBytes > m_settings.longestFrame,
                  "a buffer holds more than its credit");
    if (m_port.GetLinkNode()->IsEndpoint())
    {
        Return(frame.priority, frame.wireBytes, nowPs);
    }
}

void
LinkCredits::Return(uint8_t priority, uint32_t bytes, int64_t nowPs)
{
    if (Has(priority))
    {
        m_counts[priority].freed += bytes;
        Tell(priority, nowPs);
    }
}

void
LinkCredits::Tell(uint8_t priority, int64_t nowPs)
{
    Queue(LinkControlType::Credit, priority, m_counts[priority].freed);
    m_port.SendControl(nowPs);
}

void
LinkCredits::Queue(LinkControlType type, uint8_t priority, uint64_t bytes)
{
    m_port.GetControls().QueueOrderedSet(m_port.GetPool(), type, priority, bytes);
}

void
LinkCredits::OnAsked(uint8_t priority, uint64_t sent, int64_t nowPs)
{
    Counts& counts = m_counts[priority];
    if (!m_settings.isRetried)
    {
        // All that was sent before the question has arrived by now, or has been lost.
        counts.freed += sent - counts.received;
        counts.received = sent;
    }
    Tell(priority, nowPs);
}

// --- both

void
LinkCredits::Restart(LinkCredits& peer)
{
    for (uint8_t priority = 0; priority < PRIORITIES; ++priority)
    {
        // Frames in the far end's buffer stay there; they leave it in their own time.
        Counts& mine = m_counts[priority];
        Counts& theirs = peer.m_counts[priority];
        const uint64_t held = theirs.received - theirs.freed;
        theirs.received = held;
        theirs.freed = 0;
        mine.sent = held;
        mine.returned = 0;
        Withhold(priority);
    }
}

} // namespace ns3
