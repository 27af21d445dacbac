/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "handler-events.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <utility>

namespace AstraSim
{

/// Outlives its owner while it is in the simulator's list. One line of the cache.
class alignas(64) HandlerEvents::Event final : public ns3::QbbTimedEvent
{
  public:
    explicit Event(HandlerEvents* owner)
        : m_owner(owner)
    {
    }

    void Fire(int64_t) override
    {
        if (!m_owner)
        {
            return;
        }
        void* arg = m_arg;
        m_next = m_owner->m_free;
        m_owner->m_free = this;
        m_handler(arg);
    }

  private:
    friend class HandlerEvents;

    HandlerEvents* m_owner; ///< null once it has gone
    MessageHandler m_handler{nullptr};

    union {
        void* m_arg;
        Event* m_next{nullptr}; ///< in the list of free ones
    };
};

HandlerEvents::HandlerEvents(uint32_t context)
    : m_context(context),
      m_simulator(ns3::QbbSimulatorImpl::Get())
{
}

HandlerEvents::~HandlerEvents()
{
    for (Event* event : m_events)
    {
        event->m_owner = nullptr;
        event->Unref();
    }
}

void
HandlerEvents::Schedule(TimePs delay, MessageHandler handler, void* arg)
{
    if (!m_free)
    {
        m_free = m_events.emplace_back(new Event(this));
    }
    Event* event = std::exchange(m_free, m_free->m_next);
    event->m_handler = handler;
    event->m_arg = arg;
    event->Ref(); // the simulator drops one reference after each expiry
    if (m_simulator)
    {
        m_simulator->ScheduleTimed(m_context, m_simulator->GetNowPs() + delay, event);
    }
    else
    {
        ns3::Simulator::ScheduleWithContext(m_context,
                                            ns3::TimeStep(static_cast<uint64_t>(delay)),
                                            event);
    }
}

} // namespace AstraSim
