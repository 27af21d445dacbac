/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include "astra-network-api.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace AstraSim
{

/**
 * @brief The event loop of backends that do without ns-3's Simulator.
 *
 * Events of the same time run in the order in which they were scheduled.
 *
 * @code
 * EventLoop loop;
 * loop.Schedule(1000, [](void* arg) { *static_cast<bool*>(arg) = true; }, &rang);
 * loop.Run(); // loop.Now() is 1000
 * @endcode
 */
class EventLoop
{
  public:
    static constexpr TimePs NO_LIMIT = std::numeric_limits<TimePs>::max();

    /// @return the current simulated time
    TimePs Now() const
    {
        return m_now;
    }

    /// Run @p handler with @p arg after @p delay, which may be 0.
    void Schedule(TimePs delay, MessageHandler handler, void* arg);

    /// Run @p action after @p delay, which may be 0.
    void Schedule(TimePs delay, std::function<void()> action);

    /**
     * Run events, in order of time, until none is left.
     * @param limit events after this time stay; the time is then @p limit
     * @return whether all events ran
     */
    bool Run(TimePs limit = NO_LIMIT);

    /// @return whether nothing is scheduled
    bool IsIdle() const
    {
        return m_events.empty();
    }

    /// @return events that have run
    uint64_t GetEventCount() const
    {
        return m_count;
    }

  private:
    struct Event
    {
        TimePs time;
        uint64_t order;
        MessageHandler handler;
        void* arg;
    };

    static bool IsLater(const Event& a, const Event& b)
    {
        return a.time != b.time ? a.time > b.time : a.order > b.order;
    }

    TimePs m_now{0};
    uint64_t m_nextOrder{0};
    uint64_t m_count{0};
    std::vector<Event> m_events; ///< a heap, the next event first
};

} // namespace AstraSim

#endif /* EVENT_LOOP_H */
