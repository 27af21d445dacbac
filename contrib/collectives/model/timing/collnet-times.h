/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLNET_TIMES_H
#define COLLNET_TIMES_H

#include "channel-times.h"
#include "collectives/model/graph/collnet-direct-graph.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/// @ingroup collectives
/// @brief Times of blocks where the network's switches carry out operations between nodes.
class CollNetTimes : public ChannelTimes
{
  public:
    using ChannelTimes::ChannelTimes;

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override
    {
        LaneTimes times = ChannelTimes::GetTimes(rank, index, outbound, lane);
        if (lane.kind != LaneKind::Message)
        {
            times.latency = NetLatency();
            times.slots = 0;
            times.rateCapBps = 0;
        }
        return times;
    }
};

/// The same of CollNet Direct, where heads share the copy speed of a GPU's channels.
class CollNetDirectTimes : public CollNetTimes
{
  public:
    CollNetDirectTimes(const std::shared_ptr<const CollNetDirectGraph>& graph,
                       const ChannelSpeeds& speeds,
                       std::optional<TimePs> givenLatency)
        : CollNetTimes(graph, speeds, givenLatency),
          m_heads(graph->GetHeads()),
          m_channels(graph->GetLayout().channels)
    {
    }

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override
    {
        LaneTimes times = CollNetTimes::GetTimes(rank, index, outbound, lane);
        times.rateCapBps = times.rateCapBps * m_channels / m_heads;
        return times;
    }

  private:
    uint32_t m_heads;
    uint32_t m_channels;
};

} // namespace AstraSim

#endif /* COLLNET_TIMES_H */
