/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef EVENT_BUCKETS_H
#define EVENT_BUCKETS_H

#include "ns3/rank-network.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace AstraSim
{

// Hot path: every event goes in once and out once.

/// Something to do at a time.
struct LoopEvent
{
    TimePs time;
    MessageHandler handler;
    void* arg;
};

/**
 * @ingroup astra-frontend
 * @brief Events of the future, in a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
 * algorithms for the shortest path problem", JACM 1990).
 *
 * Times are never before that of the event taken last. Buckets are by the highest hexadecimal digit
 * in which a time differs from that time, and by its value there; taking the earliest empties one
 * bucket into lower ones. Events of one time always share a bucket, so they stay in the order in
 * which they came. Going in is constant work, and an event is moved once per digit at most.
 */
class EventBuckets
{
  public:
    bool IsEmpty() const
    {
        return m_levels == 0;
    }

    /// @param event its time is after that of the last events taken
    void Add(const LoopEvent& event)
    {
        const auto differing = static_cast<uint64_t>(event.time ^ m_last);
        const auto level = static_cast<uint32_t>(std::bit_width(differing) - 1) / DIGIT_BITS;
        const auto digit = static_cast<uint32_t>(event.time >> (level * DIGIT_BITS)) % DIGITS;
        m_buckets[level * DIGITS + digit].push_back(event);
        m_digits[level] |= 1U << digit;
        m_levels |= 1U << level;
    }

    /// @return the earliest time; there is an event
    TimePs GetFirstTime() const
    {
        const std::vector<LoopEvent>& first = m_buckets[FirstBucket()];
        TimePs time = first.front().time;
        for (const LoopEvent& event : first)
        {
            time = event.time < time ? event.time : time;
        }
        return time;
    }

    /// Call f(event) for all events, in no particular order.
    template <typename Function>
    void ForEach(Function f) const
    {
        for (const auto& bucket : m_buckets)
        {
            for (const LoopEvent& event : bucket)
            {
                f(event);
            }
        }
    }

    /// Move all events to others; those of one time keep their order, and are after the events that
    /// others took last.
    void MoveTo(EventBuckets& others)
    {
        ForEach([&others](const LoopEvent& event) { others.Add(event); });
        for (auto& bucket : m_buckets)
        {
            bucket.clear();
        }
        m_digits.fill(0);
        m_levels = 0;
        m_last = 0;
    }

    /// Exchange all events with those of another.
    void Swap(EventBuckets& other)
    {
        std::swap(m_last, other.m_last);
        std::swap(m_levels, other.m_levels);
        m_digits.swap(other.m_digits);
        m_buckets.swap(other.m_buckets);
    }

    /// Move the events of the earliest time, @p time, to the end of @p events.
    void Take(TimePs time, std::vector<LoopEvent>& events)
    {
        const std::size_t bucket = FirstBucket();
        const std::size_t level = bucket / DIGITS;
        m_digits[level] &= ~(1U << bucket % DIGITS);
        m_levels &= m_digits[level] ? UINT32_MAX : ~(1U << level);
        m_last = time;
        m_moving.swap(m_buckets[bucket]);
        for (const LoopEvent& event : m_moving)
        {
            if (event.time == time)
            {
                events.push_back(event);
            }
            else
            {
                Add(event);
            }
        }
        m_moving.clear();
        m_moving.swap(m_buckets[bucket]); // it keeps its memory
    }

  private:
    static constexpr uint32_t DIGIT_BITS = 4;
    static constexpr uint32_t DIGITS = 1U << DIGIT_BITS;
    static constexpr uint32_t LEVELS = 64 / DIGIT_BITS;

    std::size_t FirstBucket() const
    {
        const auto level = static_cast<uint32_t>(std::countr_zero(m_levels));
        return level * DIGITS + static_cast<uint32_t>(std::countr_zero(m_digits[level]));
    }

    TimePs m_last{0};
    uint32_t m_levels{0};                    ///< bit l: level l has events
    std::array<uint32_t, LEVELS> m_digits{}; ///< by level, bit d: bucket d has events
    std::array<std::vector<LoopEvent>, LEVELS * DIGITS> m_buckets;
    std::vector<LoopEvent> m_moving;
};

} // namespace AstraSim

#endif /* EVENT_BUCKETS_H */
