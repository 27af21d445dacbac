/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_DEADLINE_TIMER_H
#define RDMA_DEADLINE_TIMER_H

#include "ns3/event-impl.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <functional>
#include <utility>

namespace ns3
{

/**
 * @ingroup rdma-qbb
 * @brief A timer with a deadline that moves often and seldom expires.
 *
 * It owns one event for life, so arming allocates nothing. Moving the deadline later costs no
 * simulator event: when the event comes too early it goes back in the list. Stopping it leaves the
 * event in the list, where it does nothing; no event is ever cancelled.
 */
class RdmaDeadlineTimer
{
  public:
    /// A timer that cannot be set until another one is moved into it.
    RdmaDeadlineTimer();
    /// @param expire called when a deadline has come; the timer is then stopped and may be set
    /// again
    /// @param context id of the event's node; by default the node that makes the timer
    explicit RdmaDeadlineTimer(std::function<void()> expire,
                               uint32_t context = Simulator::GetContext());
    ~RdmaDeadlineTimer();
    RdmaDeadlineTimer(RdmaDeadlineTimer&& other) noexcept;
    RdmaDeadlineTimer& operator=(RdmaDeadlineTimer&& other) noexcept;

    /// @return whether the timer can be set
    bool IsMade() const
    {
        return m_event != nullptr;
    }

    /// Expire at this time in picoseconds, not before now; replaces an earlier deadline.
    void SetDeadline(int64_t deadlinePs)
    {
        m_deadlinePs = deadlinePs;
        if (deadlinePs < m_armedPs)
        {
            Arm();
        }
    }

    /// Do not expire.
    void Stop()
    {
        m_deadlinePs = NEVER;
    }

    /// @return whether a deadline is set
    bool IsRunning() const
    {
        return m_deadlinePs != NEVER;
    }

    /// @return the deadline in picoseconds; meaningful only while IsRunning()
    int64_t GetDeadline() const
    {
        return m_deadlinePs;
    }

  private:
    class Event;

  public:
    /// While it lives, the timer has no event: its owner may be made anew at its address
    /// without a look at the event, which is seldom in the cache.
    class Kept
    {
      public:
        /// @param timer stopped
        explicit Kept(RdmaDeadlineTimer& timer)
            : m_timer(timer),
              m_armedPs(timer.m_armedPs),
              m_event(std::exchange(timer.m_event, nullptr))
        {
        }

        ~Kept()
        {
            m_timer.m_armedPs = m_armedPs;
            m_timer.m_event = m_event;
        }

        Kept(const Kept&) = delete;
        Kept& operator=(const Kept&) = delete;

      private:
        RdmaDeadlineTimer& m_timer;
        int64_t m_armedPs;
        Event* m_event;
    };

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    void Arm();
    void OnEvent();

    // Small, as it stands among the fields that each frame touches: the callback is in the event.
    int64_t m_deadlinePs{NEVER};
    int64_t m_armedPs{NEVER}; ///< earliest time at which the event is in the list
    Event* m_event{nullptr};  ///< holds a reference; a Ptr would count at every move
};

} // namespace ns3

#endif /* RDMA_DEADLINE_TIMER_H */
