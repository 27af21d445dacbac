/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FRONT_END_H
#define FRONT_END_H

#include "ns3/sequence.h"

#include <cstdint>
#include <optional>
#include <queue>
#include <utility>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief The servers in front of the instances, which parse requests and tokenize prompts.
 *
 * A server's event loop takes turns among the requests at hand, so those of a burst get through
 * together. With n requests and m servers, each advances at the rate min(1, m / n). Then a request
 * waits for a latency that keeps no CPU busy.
 *
 * @code
 * FrontEnd servers(work, latency, 2);
 * servers.Add(sequence, now);
 * while (Sequence* ready = servers.Take(now)) { ... }
 * @endcode
 */
class FrontEnd
{
  public:
    /// @param work of a CPU for each request @param servers one for each instance
    FrontEnd(TimePs work, TimePs latency, uint32_t servers);

    /// @p sequence has arrived at @p now; borrowed.
    void Add(Sequence& sequence, TimePs now);

    /// There are @p servers from @p now on.
    void SetServers(uint32_t servers, TimePs now);

    /// @return when the next request is parsed, or ready, if no other arrives before
    std::optional<TimePs> GetNext() const;

    /// @return a request that is through at @p now, in the order of arrival; null if there is none
    Sequence* Take(TimePs now);

  private:
    using Waiting = std::queue<std::pair<TimePs, Sequence*>>;

    /// Let the requests at hand advance until @p now.
    void Advance(TimePs now);
    /// @return the time that the servers need to do @p work for each request at hand
    TimePs TimeOf(TimePs work) const;

    TimePs m_work;
    TimePs m_latency;
    uint32_t m_servers;
    TimePs m_updated{0};
    TimePs m_each{0};  ///< work done so far for a request that has been at hand since time 0
    Waiting m_atHand;  ///< each with the value of m_each at which it is parsed
    Waiting m_through; ///< each with the time at which it is ready
};

} // namespace AstraSim

#endif /* FRONT_END_H */
