/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PORT_EVENT_H
#define QBB_PORT_EVENT_H

#include "ns3/event-impl.h"
#include "ns3/nstime.h"
#include "ns3/ptr.h"
#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

/**
 * @brief An event that its owner schedules again and again without allocating.
 *
 * It is never cancelled (a cancelled EventImpl cannot be used again): an owner that no longer wants
 * an expiry finds out in its method, by comparing the time with what it waits for, and ignores it.
 *
 * @tparam T the owner
 * @tparam METHOD what to call when the event expires
 */
template <typename T, void (T::*METHOD)()>
class QbbPortEvent final : public EventImpl
{
  public:
    explicit QbbPortEvent(T* owner)
        : m_owner(owner)
    {
    }

    /// The owner ends: expiries that are still scheduled do nothing.
    void Detach()
    {
        m_owner = nullptr;
    }

    /**
     * Schedule one more expiry.
     * @param context node id, for logging and for what runs inside
     * @param delayPs from now, in picoseconds
     */
    void Schedule(uint32_t context, int64_t delayPs)
    {
        Ref(); // the simulator drops one reference after each expiry
        Simulator::ScheduleWithContext(context, TimeStep(delayPs), this);
    }

  protected:
    void Notify() override
    {
        if (m_owner)
        {
            (m_owner->*METHOD)();
        }
    }

  private:
    T* m_owner;
};

} // namespace ns3

#endif /* QBB_PORT_EVENT_H */
