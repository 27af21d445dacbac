/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-deadline-timer.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <utility>

namespace ns3
{

/// Outlives its timer while it is in the simulator's list.
class RdmaDeadlineTimer::Event : public EventImpl
{
  public:
    Event(RdmaDeadlineTimer* timer, std::function<void()> expire, uint32_t context)
        : m_timer(timer),
          m_expire(std::move(expire)),
          m_context(context)
    {
    }

    /// Belong to @p timer from now on; null: do nothing when due.
    void Attach(RdmaDeadlineTimer* timer)
    {
        m_timer = timer;
    }

    /// The deadline has come.
    void Expire()
    {
        m_expire();
    }

    /// @return id of the event's node
    uint32_t GetContext() const
    {
        return m_context;
    }

  private:
    void Notify() override
    {
        if (m_timer)
        {
            m_timer->OnEvent();
        }
    }

    RdmaDeadlineTimer* m_timer;
    std::function<void()> m_expire;
    uint32_t m_context;
};

RdmaDeadlineTimer::RdmaDeadlineTimer() = default;

RdmaDeadlineTimer::RdmaDeadlineTimer(std::function<void()> expire, uint32_t context)
    : m_event(new Event(this, std::move(expire), context))
{
}

RdmaDeadlineTimer::~RdmaDeadlineTimer()
{
    if (m_event)
    {
        m_event->Attach(nullptr);
        m_event->Unref();
    }
}

RdmaDeadlineTimer::RdmaDeadlineTimer(RdmaDeadlineTimer&& other) noexcept
{
    *this = std::move(other);
}

RdmaDeadlineTimer&
RdmaDeadlineTimer::operator=(RdmaDeadlineTimer&& other) noexcept
{
    std::swap(m_deadlinePs, other.m_deadlinePs);
    std::swap(m_armedPs, other.m_armedPs);
    std::swap(m_event, other.m_event);
    for (RdmaDeadlineTimer* timer : {this, &other})
    {
        if (timer->m_event)
        {
            timer->m_event->Attach(timer);
        }
    }
    return *this;
}

void
RdmaDeadlineTimer::Arm()
{
    m_armedPs = m_deadlinePs;
    m_event->Ref(); // the simulator drops one reference after each expiry
    Simulator::ScheduleWithContext(m_event->GetContext(),
                                   PicoSeconds(m_deadlinePs) - Simulator::Now(),
                                   m_event);
}

void
RdmaDeadlineTimer::OnEvent()
{
    const int64_t nowPs = Simulator::Now().GetPicoSeconds();
    if (nowPs != m_armedPs)
    {
        return; // armed before an earlier deadline was set
    }
    m_armedPs = NEVER;
    if (m_deadlinePs == NEVER)
    {
        return;
    }
    if (nowPs < m_deadlinePs)
    {
        Arm();
        return;
    }
    m_deadlinePs = NEVER;
    m_event->Expire();
}

} // namespace ns3
