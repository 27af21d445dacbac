/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QBB_PORT_EVENT_H
#define QBB_PORT_EVENT_H

#include "qbb-simulator-impl.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>

namespace ns3
{

// Hot path: scheduled and fired once or more per packet and hop.

/**
 * @brief An event that its owner schedules again and again without allocating.
 *
 * It is never cancelled (a cancelled EventImpl cannot be used again): an owner that no longer wants
 * an expiry finds out in its method, by comparing the time with what it waits for, and ignores it.
 *
 * @tparam T the owner
 * @tparam METHOD what to call, with the time in picoseconds, when the event expires
 */
template <typename T, void (T::*METHOD)(int64_t nowPs)>
class QbbPortEvent final : public QbbTimedEvent
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
        if (m_simulator) [[likely]]
        {
            m_simulator->SchedulePort(context, delayPs, this);
            return;
        }
        if (!m_asked)
        {
            m_asked = true;
            m_simulator = QbbSimulatorImpl::Get();
        }
        if (m_simulator)
        {
            m_simulator->SchedulePort(context, delayPs, this);
        }
        else
        {
            Simulator::ScheduleWithContext(context, TimeStep(delayPs), this);
        }
    }

    void Fire(int64_t nowPs) override
    {
        if (m_owner)
        {
            (m_owner->*METHOD)(nowPs);
        }
    }

  private:
    T* m_owner;
    QbbSimulatorImpl* m_simulator{nullptr}; ///< null if another implementation runs
    bool m_asked{false};                    ///< which implementation runs is known
};

} // namespace ns3

#endif /* QBB_PORT_EVENT_H */
