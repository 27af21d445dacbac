/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCHEDULER_UNIT_H
#define SCHEDULER_UNIT_H

#include "stream-order.h"

#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <list>
#include <utility>
#include <vector>

namespace AstraSim
{

class StreamBaseline;

/// Streams of one phase queue, in the order in which they will run; those that run come first.
struct StreamQueue
{
    int id;
    std::list<StreamBaseline*> streams;
    uint32_t running{0};

    /// A lane that has had a stream here, and how many of it this rank has begun.
    struct Lane
    {
        StreamLane lane;
        uint64_t begun;
        bool waits{false}; ///< whether StreamOrder will call when another rank begins its stream
    };

    std::vector<Lane> lanes; ///< few: one, unless collectives come back to a dimension

    /// @return the entry of @p lane in lanes; made at its first use
    Lane& LaneOf(const StreamLane& lane);

    /// @return whether a stream of another lane than @p lane runs
    bool RunsOther(const StreamLane& lane) const;
};

/**
 * @ingroup astra-frontend
 * @brief Starts the streams of a rank: so many at a time in each queue.
 *
 * All ranks of a group begin its streams in one order (StreamOrder). A stream that others of
 * the group have begun does not wait for a place that a stream of another lane holds: that one may
 * be waiting for it.
 *
 * @see Sys::proceed_to_next_vnet_baseline
 */
class SchedulerUnit
{
  public:
    /**
     * @param network the rank's; borrowed
     * @param order of the job's ranks; borrowed
     * @param queueThreshold streams that run in one queue at a time
     * @param start begins a stream's phase
     */
    SchedulerUnit(RankNetwork& network,
                  StreamOrder& order,
                  uint32_t queueThreshold,
                  std::function<void(StreamBaseline&)> start);

    /// @return the queue with that id; made at its first use
    StreamQueue& get_queue(int id);

    const std::vector<StreamQueue>& get_active_Streams() const
    {
        return m_activeStreams;
    }

    /// A stream is new in queue @p id.
    void notify_stream_added(int id);

    /// A running stream has left queue @p id.
    void notify_stream_removed(int id);

  private:
    void StartStreams(int id);

    /// Look again at queue @p id when others begin a stream that waits there.
    void WaitForOthers(StreamQueue& queue);

    /// @return the stream to begin now, with its lane; null if there is none
    std::pair<StreamBaseline*, StreamQueue::Lane*> ChooseNext(StreamQueue& queue);

    struct Look
    {
        SchedulerUnit* scheduler;
        int queue;
    };

    static void LookAgain(void* look);

    RankNetwork& m_network;
    StreamOrder& m_order;
    uint32_t m_queueThreshold;
    std::function<void(StreamBaseline&)> m_start;
    std::vector<StreamQueue> m_activeStreams;
};

} // namespace AstraSim

#endif /* SCHEDULER_UNIT_H */
