/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCHEDULER_UNIT_H
#define SCHEDULER_UNIT_H

#include <cstdint>
#include <list>
#include <vector>

namespace AstraSim
{

class Sys;
class StreamBaseline;

/// Streams of one phase queue, in the order in which they will run; those that run come first.
struct StreamQueue
{
    int id;
    std::list<StreamBaseline*> streams;
    uint32_t running{0};
};

/**
 * @brief Starts the streams of a rank: so many at a time in each queue.
 *
 * @see Sys::proceed_to_next_vnet_baseline
 */
class SchedulerUnit
{
  public:
    /**
     * @param sys the rank; borrowed
     * @param queueThreshold streams that run in one queue at a time
     */
    SchedulerUnit(Sys& sys, uint32_t queueThreshold);

    /// A stream is new in the ready list: let it enter the queue of its first phase.
    void notify_stream_added_into_ready_list();

    /// A stream is new in queue @p id.
    void notify_stream_added(int id);

    /// A running stream has left queue @p id.
    void notify_stream_removed(int id);

  private:
    void StartStreams(int id);

    Sys& m_sys;
    uint32_t m_queueThreshold;
};

} // namespace AstraSim

#endif /* SCHEDULER_UNIT_H */
