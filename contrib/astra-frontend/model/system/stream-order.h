/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STREAM_ORDER_H
#define STREAM_ORDER_H

#include <boost/functional/hash.hpp>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/// A chunk of a collective, the same on all its ranks.
struct StreamName
{
    uint64_t collective;
    uint32_t chunk;

    auto operator<=>(const StreamName&) const = default;
};

/// Streams that a group begins in one order: those in the same phase of the same group and queue.
struct StreamLane
{
    uint32_t group; ///< id of the group that the phase runs in
    int queue;
    uint32_t phase; ///< from 0

    auto operator<=>(const StreamLane&) const = default;
};

/**
 * @ingroup astra-frontend
 * @brief The order in which the ranks of a group begin their streams: that of the rank that begins
 * first.
 *
 * Each rank has but so many places for running streams. Were each to choose for itself, two ranks
 * that know of different streams at different times (as with LIFO, or when chunks overtake each
 * other in an earlier dimension) could begin different ones and wait for each other for ever.
 */
class StreamOrder
{
  public:
    /**
     * @param lane where
     * @param begun how many streams of @p lane this rank has begun
     * @return the stream that it has to begin next; nothing if no rank has got that far
     */
    std::optional<StreamName> GetNext(const StreamLane& lane, uint64_t begun) const;

    /**
     * A rank begins @p stream, which is GetNext() or the first of all ranks to do so.
     * @param ranks members of the group
     */
    void Begin(const StreamLane& lane, uint64_t begun, const StreamName& stream, uint32_t ranks);

    /// Call @p waiter once, when a rank is the first to begin another stream of @p lane.
    void WhenDecided(const StreamLane& lane, std::function<void()> waiter);

    /// @return streams that some ranks have begun and others not
    std::size_t GetSize() const;

  private:
    struct Entry
    {
        StreamName stream;
        uint32_t begunBy;
    };

    struct Sequence
    {
        uint64_t first{0}; ///< entries before it have been begun by all
        std::deque<Entry> entries;
        std::vector<std::function<void()>> waiters;
    };

    struct LaneHash
    {
        std::size_t operator()(const StreamLane& lane) const
        {
            std::size_t hash = 0;
            boost::hash_combine(hash, lane.group);
            boost::hash_combine(hash, lane.queue);
            boost::hash_combine(hash, lane.phase);
            return hash;
        }
    };

    std::unordered_map<StreamLane, Sequence, LaneHash> m_sequences;
};

} // namespace AstraSim

#endif /* STREAM_ORDER_H */
