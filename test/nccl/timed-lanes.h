/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TIMED_LANES_H
#define TIMED_LANES_H

#include "ns3/gpu-model.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace AstraSim
{

/// The times of a graph's lanes by their numbers.
class TimedLanes
{
  public:
    explicit TimedLanes(TimedGraph timed)
        : m_timed(std::move(timed))
    {
    }

    /// @return times of a lane out of a rank
    LaneTimes Out(uint32_t rank, uint32_t lane) const
    {
        return m_timed.gpu->GetTimes(rank, lane, true, m_timed.graph->GetOutbound(rank, lane));
    }

    /// @return times of a lane into a rank
    LaneTimes In(uint32_t rank, uint32_t lane) const
    {
        return m_timed.gpu->GetTimes(rank, lane, false, m_timed.graph->GetInbound(rank, lane));
    }

    const TimedGraph& Get() const
    {
        return m_timed;
    }

  private:
    TimedGraph m_timed;
};

/// @return times of a graph by a GpuModel that is made of it and @p arguments
template <typename Times, typename Graph, typename... Arguments>
TimedLanes
TimesOf(const Graph& graph, const Arguments&... arguments)
{
    auto shared = std::make_shared<const Graph>(graph);
    return TimedLanes({shared, std::make_shared<const Times>(shared, arguments...)});
}

} // namespace AstraSim

#endif /* TIMED_LANES_H */
