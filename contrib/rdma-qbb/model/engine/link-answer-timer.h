/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef LINK_ANSWER_TIMER_H
#define LINK_ANSWER_TIMER_H

#include "link-port.h"

#include "ns3/ptr.h"
#include "ns3/qbb-simulator-impl.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief One end's timer for answers of the far end that may be lost.
 */
class LinkAnswerTimer
{
  public:
    /// @param longestFrame bytes on the wire
    /// @param expired is called with the time, when the node's departures before it are carried out
    LinkAnswerTimer(LinkPort& port,
                    uint32_t longestFrame,
                    std::function<void(int64_t nowPs)> expired)
        : m_port(port),
          m_longestFrame(longestFrame),
          m_expired(std::move(expired)),
          m_event(Create<Event>(this))
    {
    }

    ~LinkAnswerTimer()
    {
        m_event->Detach();
    }

    LinkAnswerTimer(const LinkAnswerTimer&) = delete;
    LinkAnswerTimer& operator=(const LinkAnswerTimer&) = delete;

    /// @return the longest time from the end of a frame until its answer is here
    int64_t GetLongestPs() const
    {
        // An answer waits for a frame under way in the other direction, and for PFC frames.
        return 2 * m_port.GetDelayPs() + 2 * m_port.GetTxTimePs(m_longestFrame) +
               (LinkPort::PRIORITIES + 1) * m_port.GetTxTimePs(QbbFrame::MIN_WIRE_BYTES);
    }

    /// Expire at @p timePs; it is not armed.
    void Arm(int64_t timePs)
    {
        m_armed = true;
        m_event->ScheduleAt(m_port.GetNodeId(), timePs);
    }

    /// @return whether it is going to expire
    bool IsArmed() const
    {
        return m_armed;
    }

  private:
    void OnEvent(int64_t nowPs)
    {
        m_port.GetLinkNode()->CatchUp(nowPs);
        m_armed = false;
        m_expired(nowPs);
    }

    LinkPort& m_port;
    uint32_t m_longestFrame;
    std::function<void(int64_t nowPs)> m_expired;
    bool m_armed{false};
    using Event = QbbPortEvent<LinkAnswerTimer, &LinkAnswerTimer::OnEvent>;
    Ptr<Event> m_event;
};

} // namespace ns3

#endif /* LINK_ANSWER_TIMER_H */
