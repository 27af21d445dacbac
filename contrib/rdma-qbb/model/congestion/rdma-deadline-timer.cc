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
    explicit Event(RdmaDeadlineTimer* timer)
        : m_timer(timer)
    {
    }

    void Detach()
    {
        m_timer = nullptr;
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
};

RdmaDeadlineTimer::RdmaDeadlineTimer(std::function<void()> expire)
    : m_expire(std::move(expire)),
      m_event(Create<Event>(this))
{
}

RdmaDeadlineTimer::~RdmaDeadlineTimer()
{
    m_event->Detach();
}

void
RdmaDeadlineTimer::Arm()
{
    m_armedPs = m_deadlinePs;
    Simulator::Schedule(PicoSeconds(m_deadlinePs) - Simulator::Now(), Ptr<EventImpl>(m_event));
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
    m_expire();
}

} // namespace ns3
