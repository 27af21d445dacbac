/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_GRAPH_H
#define RING_GRAPH_H

#include "machine-model.h"
#include "nccl-cost-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @brief Ring AllReduce, AllGather and ReduceScatter as NCCL schedules them.
 *
 * Per channel, data goes in loops of ranks x chunk bytes; in step j rank r sends one chunk to its
 * successor as one or two slices (network messages), each when the slice of step j - 1 has arrived
 * (NCCL src/device/all_reduce.h runRing, all_gather.h, reduce_scatter.h; buffer and chunk sizes:
 * src/init.cc, src/enqueue.cc).
 */
class RingGraph : public FlowGraph
{
  public:
    /**
     * @param bytes AllReduce: the buffer; AllGather, ReduceScatter: the large buffer
     * @param crossNic see RingOrder()
     * @param stepLatency overrides the plan's latencies of every message, if not negative
     */
    RingGraph(CollectiveOp op,
              const GroupShape& shape,
              const NcclPlan& plan,
              uint64_t bytes,
              bool crossNic,
              TimePs stepLatency);

    uint32_t GetRanks() const override;
    uint32_t GetOutboundCount(uint32_t rank) const override;
    uint32_t GetInboundCount(uint32_t rank) const override;
    Lane GetOutbound(uint32_t rank, uint32_t index) const override;
    Lane GetInbound(uint32_t rank, uint32_t index) const override;
    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    uint64_t GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    std::span<const uint32_t> GetSources(uint32_t rank, uint32_t outbound) const override;
    std::span<const uint32_t> GetTargets(uint32_t rank, uint32_t inbound) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

    uint32_t GetSlots() const override
    {
        return m_slots;
    }

    /// Where a message stands in the schedule.
    struct Position
    {
        uint64_t loop;
        uint32_t step;
        uint32_t slice;
        uint32_t slices; ///< of each chunk in this loop
    };

    /// @return the position of a message of a channel
    Position Locate(uint32_t channel, uint64_t message) const;

    /// @return which chunk (of as many as ranks) the rank at @p place sends in @p step
    uint32_t ChunkOf(uint32_t place, uint32_t step) const;

    /// @return first byte (in the channel's part) and bytes of a slice of a chunk
    std::pair<uint64_t, uint64_t> SliceRange(uint32_t channel,
                                             const Position& position,
                                             uint32_t chunk) const;

    /// @return place of a rank in a channel's ring
    uint32_t PlaceOf(uint32_t rank, uint32_t channel) const
    {
        return m_rings[channel % m_rings.size()].place[rank];
    }

  private:
    struct Ring
    {
        std::vector<uint32_t> order; ///< ranks by place
        std::vector<uint32_t> place; ///< places by rank
    };

    /// One loop's division of a channel's data.
    struct LoopShape
    {
        uint64_t chunk;
        uint32_t slices;
    };

    uint64_t PartOf(uint32_t channel) const;
    LoopShape ShapeOf(uint64_t bytes) const;
    Lane MakeLane(uint32_t from, uint32_t to, uint32_t other, uint32_t channel) const;
    uint64_t MessageCount(uint32_t channel) const;

    CollectiveOp m_op;
    GroupShape m_shape;
    NcclPlan m_plan;
    uint64_t m_bytes;
    TimePs m_stepLatency;
    uint32_t m_steps;
    uint32_t m_slots;
    uint64_t m_maxChunk;
    uint64_t m_minSlice;
    std::vector<Ring> m_rings;           ///< by channel modulo their number: the distinct ones
    std::vector<uint32_t> m_laneNumbers; ///< 0, 1, 2, ...: what GetSources() points into
};

} // namespace AstraSim

#endif /* RING_GRAPH_H */
