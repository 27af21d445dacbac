/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_TIMES_H
#define RING_TIMES_H

#include "channel-times.h"
#include "collectives/model/graph/ring-graph.h"

#include <cstdint>
#include <memory>
#include <optional>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief Times of blocks in a RingGraph.
 *
 * In a server the slices of a chunk follow each other within its latency. Between servers a slice
 * goes through the CPU's hands by itself, and a ring is as slow as its slowest step. In a server a
 * block of Simple also works on one slice while it waits for the flag of the other: the latency
 * counts until data have gone around the ring once.
 */
class RingTimes : public ChannelTimes
{
  public:
    RingTimes(std::shared_ptr<const RingGraph> graph,
              const ChannelSpeeds& speeds,
              std::optional<TimePs> givenLatency);

    LaneTimes GetTimes(uint32_t rank,
                       uint32_t index,
                       bool outbound,
                       const Lane& lane) const override;
    uint32_t GetSendAccesses(uint32_t rank, uint32_t outbound, uint64_t message) const override;

    /// @return reads and writes of each byte that a block sends in a step of so many ranks' ring
    static uint32_t SendAccesses(CollectiveOp op, uint32_t ranks, uint32_t step);

    /// @return reads and writes of each byte that a block receives in the last step
    static uint32_t TakeAccesses(CollectiveOp op)
    {
        return op == CollectiveOp::ReduceScatter ? 3 : 2;
    }

  private:
    std::shared_ptr<const RingGraph> m_graph;
};

} // namespace AstraSim

#endif /* RING_TIMES_H */
