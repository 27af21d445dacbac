/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_GRAPH_H
#define RING_GRAPH_H

#include "channel-graph.h"
#include "ring-order.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Ring AllReduce, AllGather and ReduceScatter as NCCL schedules them.
 *
 * Per channel, data goes in loops of ranks x chunk bytes; in step j rank r sends one chunk to its
 * successor as one or two slices (network messages), each when the slice of step j - 1 has arrived
 * (NCCL src/device/all_reduce.h runRing, all_gather.h, reduce_scatter.h; buffer and chunk sizes:
 * src/init.cc, src/enqueue.cc).
 */
class RingGraph : public ChannelGraph
{
  public:
    /**
     * @param request AllReduce, AllGather or ReduceScatter
     * @param crossNic see RingOrder()
     * @param stepLatency overrides the plan's latencies of every message, if not negative
     */
    RingGraph(const CollectiveRequest& request,
              const GroupShape& shape,
              const NcclPlan& plan,
              bool crossNic,
              TimePs stepLatency);

    Lane GetOutbound(uint32_t rank, uint32_t index) const override;
    Lane GetInbound(uint32_t rank, uint32_t index) const override;
    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    uint64_t GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    OutboundMessage GetOutboundMessage(uint32_t rank,
                                       uint32_t outbound,
                                       uint64_t message) const override;
    InboundMessage GetInboundMessage(uint32_t rank,
                                     uint32_t inbound,
                                     uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    std::optional<uint64_t> GetOwnCopy(uint32_t rank,
                                       uint32_t inbound,
                                       uint64_t message) const override;

    uint32_t GetSendAccesses(uint32_t rank, uint32_t outbound, uint64_t message) const override;

    /// @return reads and writes of each byte that a block sends in a step of so many ranks' ring
    static uint32_t SendAccesses(CollectiveOp op, uint32_t ranks, uint32_t step);

    /// @return those of each byte that it takes in the last step
    static uint32_t TakeAccesses(CollectiveOp op)
    {
        return op == CollectiveOp::ReduceScatter ? 3 : 2;
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
        return m_rings.PlaceOf(rank, channel);
    }

  private:
    /// One loop's division of a channel's data.
    struct LoopShape
    {
        uint64_t chunk{0};
        uint32_t slices{1};
    };

    /// How a channel's data is divided: loops of the full size, and a last one.
    struct ChannelShape
    {
        uint64_t bytes{0};       ///< of the channel
        uint64_t fullLoops{0};   ///< before the last
        uint64_t perFullLoop{0}; ///< messages of a rank
        LoopShape last;
    };

    LoopShape ShapeOf(uint64_t bytes) const;
    ChannelShape ShapeOfChannel(uint32_t channel) const;
    Lane MakeLane(uint32_t rank, uint32_t peer, uint32_t channel) const;
    /// @return bytes of a message that the rank at @p place sends
    uint64_t BytesAt(uint32_t place, uint32_t channel, const Position& position) const;
    /// @return whether a rank's block has both its neighbours in other servers
    bool ServesNetwork(uint32_t rank, uint32_t channel) const;
    /// @return GetNeeds() of a message
    static uint64_t NeedsAt(const Position& position, uint64_t message);
    /// @return GetOwnCopy() of a message
    std::optional<uint64_t> OwnCopyAt(uint32_t rank,
                                      uint32_t channel,
                                      const Position& position,
                                      uint64_t message) const;

    CollectiveOp m_op;
    bool m_inBlocks; ///< a chunk is of one rank's block; else all cut the same data
    uint32_t m_steps;
    uint64_t m_maxChunk;
    uint64_t m_minSlice;
    /// In a server the slices of a chunk follow each other within its latency. Between servers a
    /// slice goes through the CPU's hands by itself, and a ring is as slow as its slowest step.
    bool m_slicesShareLatency;
    /// In a server, a block of Simple works on one slice while it waits for the flag of the other:
    /// the latency counts until data has gone around the ring once.
    bool m_loopsHideLatency;
    LoopShape m_full; ///< of loops of the full size
    RingOrders m_rings;
    std::vector<ChannelShape> m_channels;
};

} // namespace AstraSim

#endif /* RING_GRAPH_H */
