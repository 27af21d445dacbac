/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STALE_REPLICA_H
#define STALE_REPLICA_H

#include "serving-replica.h"

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A replica as a router knows it: its load and free blocks as of its last report.
 *
 * A replica reports at multiples of an interval. Blocks in its cache are known at once, as engines
 * send an event for each.
 */
class StaleReplica : public ServingReplica
{
  public:
    /// @param replica borrowed @param interval 0: the router knows the present state
    StaleReplica(const ServingReplica& replica, TimePs interval)
        : m_replica(replica),
          m_interval(interval)
    {
    }

    /// The router decides at @p now.
    void Observe(TimePs now)
    {
        if (m_interval > 0 && now < m_next)
        {
            return;
        }
        m_load = m_replica.GetLoad();
        m_freeBlocks = m_replica.GetFreeBlocks();
        m_running = m_replica.CountRunning();
        m_waiting = m_replica.CountWaiting();
        m_next = m_interval > 0 ? (now / m_interval + 1) * m_interval : 0;
    }

    uint64_t GetLoad() const override
    {
        return m_load;
    }

    int64_t GetFreeBlocks() const override
    {
        return m_freeBlocks;
    }

    uint64_t CountCached(const Sequence& sequence) const override
    {
        return m_replica.CountCached(sequence);
    }

    uint64_t CountMissing(const Sequence& sequence) const override
    {
        return m_replica.CountMissing(sequence);
    }

    std::size_t CountRunning() const override
    {
        return m_running;
    }

    std::size_t CountWaiting() const override
    {
        return m_waiting;
    }

  private:
    const ServingReplica& m_replica;
    TimePs m_interval;
    TimePs m_next{0}; ///< report
    uint64_t m_load{0};
    int64_t m_freeBlocks{0};
    std::size_t m_running{0};
    std::size_t m_waiting{0};
};

} // namespace AstraSim

#endif /* STALE_REPLICA_H */
