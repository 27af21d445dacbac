/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include "event-buckets.h"

#include "ns3/rank-network.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace AstraSim
{

// Hot path: every message of a flow-level simulation makes three to five events.

/**
 * @ingroup astra-frontend
 * @brief A simulated clock and its events, for networks that do not run on ns-3's simulator.
 *
 * Events of the same time run in the order in which they were scheduled. Before the clock advances,
 * a hook runs once, so that work caused by all events of one time can be done together.
 *
 * @code
 * EventLoop loop;
 * loop.Schedule(1000, [](void*) { std::puts("a nanosecond has passed"); }, nullptr);
 * loop.Run();
 * @endcode
 */
class EventLoop
{
  public:
    static constexpr TimePs NO_LIMIT = std::numeric_limits<TimePs>::max();

    EventLoop() = default;
    ~EventLoop();
    EventLoop(const EventLoop&) = delete;
    EventLoop& operator=(const EventLoop&) = delete;

    /// @return the current simulated time; may be called by any thread
    TimePs Now() const
    {
        return m_now.load(std::memory_order_relaxed);
    }

    /// @return the latest time so far; may be called by any thread
    TimePs GetReached() const
    {
        return std::max(Now(), m_goesBackTo.load(std::memory_order_relaxed));
    }

    /**
     * Run @p handler with @p arg after @p delay, 0 or more.
     * @throw ns3::InputError if that is past the clock's end
     */
    void Schedule(TimePs delay, MessageHandler handler, void* arg)
    {
        if (delay == 0)
        {
            m_present.push_back({Now(), handler, arg});
        }
        else if (delay >= NO_LIMIT - Now()) [[unlikely]]
        {
            RefuseDelay(delay);
        }
        else
        {
            m_future.Add({Now() + delay, handler, arg});
        }
    }

    /// Call @p handler, a lambda without captures, with @p object after @p delay. @p object
    /// outlives the event
    template <typename T, typename Handler>
    void ScheduleFor(T& object, TimePs delay, Handler)
    {
        Schedule(
            delay,
            [](void* arg) { Handler{}(*static_cast<T*>(arg)); },
            &object);
    }

    /// As above, for anything that can be called; slower.
    void Schedule(TimePs delay, std::function<void()> action);

    /// @param hook runs when all events of the current time have run; it may schedule more of them
    void SetBeforeAdvance(MessageHandler hook, void* arg)
    {
        m_hook = hook;
        m_hookArg = arg;
    }

    /**
     * Run events up to and including @p limit.
     * @return whether none is left; otherwise the clock stands at @p limit, or where Stop() came
     */
    bool Run(TimePs limit = NO_LIMIT);

    /**
     * Set the clock back, and run events that others did not wait for, up to now. Later ones of
     * them join the others. Neither may touch what the other does.
     * @param from the time to go back to
     * @param begin schedules the first of these events
     */
    void RunAside(TimePs from, const std::function<void()>& begin);

    /// Leave Run() after the current event.
    void Stop()
    {
        m_stopped = true;
    }

    /// As Stop(), from any thread and for good: a later Run() ends at once.
    void Interrupt()
    {
        m_interrupted.store(true, std::memory_order_relaxed);
    }

    /// @return whether Interrupt() was called
    bool IsInterrupted() const
    {
        return m_interrupted.load(std::memory_order_relaxed);
    }

    /// @return whether nothing is scheduled
    bool IsIdle() const
    {
        return m_future.IsEmpty() && m_nextPresent == m_present.size();
    }

    /// @return events that have run
    uint64_t GetEventCount() const
    {
        return m_count;
    }

  private:
    [[noreturn]] void RefuseDelay(TimePs delay) const;

    EventBuckets m_future;
    EventBuckets m_aside;             ///< empty; it keeps its memory for RunAside()
    std::vector<LoopEvent> m_present; ///< of the current time
    std::size_t m_nextPresent{0};
    MessageHandler m_hook{nullptr};
    void* m_hookArg{nullptr};
    std::atomic<TimePs> m_now{0};
    std::atomic<TimePs> m_goesBackTo{0}; ///< after the last RunAside()
    uint64_t m_count{0};
    bool m_stopped{false};
    std::atomic<bool> m_interrupted{false};
};

} // namespace AstraSim

#endif /* EVENT_LOOP_H */
