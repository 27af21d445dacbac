/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RING_GRAPH_H
#define RING_GRAPH_H

#include "channel-graph.h"
#include "ring-order.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace AstraSim
{

/// The layout of rings.
struct RingLayout : ChannelLayout
{
    bool crossNic{true};         ///< see RingOrder()
    uint64_t chunkGrain{16};     ///< chunks of an AllReduce are multiples of it
    bool copiesAcross{false};    ///< whether blocks read and write data between servers
    uint32_t stepsPerMessage{1}; ///< steps of Simple that a message stands for, at most
};

/**
 * @ingroup collectives
 * @brief Ring AllReduce, AllGather and ReduceScatter as NCCL schedules them.
 *
 * Per channel, data goes in loops of ranks x chunk bytes; in step j rank r sends one chunk to its
 * successor as one or two slices (network messages), each when the slice of step j - 1 has arrived
 * (NCCL src/device/all_reduce.h runRing, all_gather.h, reduce_scatter.h; buffer and chunk sizes:
 * src/init.cc, src/enqueue.cc).
 *
 * A message may stand for several steps (RingLayout::stepsPerMessage): it has the bytes of all, and
 * waits for the message with the steps before. Ranks then meet less often, at coarser times. The
 * first and the last messages of a loop stand for few steps, so that ends stay sharp.
 */
class RingGraph : public ChannelGraph
{
  public:
    /// @param request AllReduce, AllGather or ReduceScatter
    RingGraph(const CollectiveRequest& request, const GroupShape& shape, const RingLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;
    std::optional<uint64_t> GetOwnCopy(uint32_t rank,
                                       uint32_t inbound,
                                       uint64_t message) const override;

    CollectiveOp GetOp() const
    {
        return m_op;
    }

    /// @return slices of a chunk: of full loops, where there are any
    uint32_t GetSlices(uint32_t channel) const;

    /// @return messages of a rank in each full loop; 0 where there is none
    uint64_t GetMessagesOfLoop(uint32_t channel) const
    {
        return m_channels[channel].fullLoops ? m_channels[channel].perFullLoop : 0;
    }

    /// @return whether messages may stand for several steps
    bool MergesSteps() const
    {
        return m_mostSteps > 1;
    }

    /// @return bytes of a slice of one step. @param ofMergedLoops if loops are merged, of all
    uint64_t GetSliceBytes(uint32_t channel, bool ofMergedLoops) const;

    /// @return whether a rank's block, with both its neighbours in other servers, does nothing but
    /// serve the network
    bool ServesNetwork(uint32_t rank, uint32_t channel) const;

    /// @return whether a rank's data come from another server, slot by slot
    bool ReceivesAcross(uint32_t rank, uint32_t channel) const;

    /// Place of a message in the schedule.
    struct Position
    {
        uint64_t loop;
        uint32_t step;
        uint32_t slice;
        uint32_t slices;   ///< of each chunk in this loop
        uint32_t steps{1}; ///< that the message stands for, with `step` the first
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

    /// Division of a channel's data: loops of the full size, and a last one.
    struct ChannelShape
    {
        uint64_t bytes{0};       ///< of the channel
        uint64_t fullLoops{0};   ///< before the last
        uint64_t perFullLoop{0}; ///< messages of a rank
        LoopShape last;
    };

    /// @return the loops whose data go together @param bytes of the collective
    uint64_t FindMergedLoops(uint64_t bytes, const RingLayout& layout) const;
    /// Fill m_firstSteps. @param most steps of a message
    void MergeSteps(uint32_t most);
    LoopShape ShapeOf(uint64_t bytes) const;
    ChannelShape ShapeOfChannel(uint32_t channel) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    CollectiveOp m_op;
    uint64_t m_chunkGrain;
    bool m_copiesAcross;
    bool m_inBlocks;      ///< a chunk is of one rank's block; else all cut the same data
    uint32_t m_steps;     ///< of a loop
    uint32_t m_mostSteps; ///< that a message may stand for, those of merged loops included
    uint64_t m_loopChunk; ///< most bytes of a chunk of one loop
    uint64_t m_maxChunk;  ///< the same of merged loops
    /// Of each message of a slice in a loop, and the end; empty if each has one step.
    std::vector<uint32_t> m_firstSteps;
    uint32_t m_sliceMessages; ///< messages of a slice in a loop
    uint64_t m_minSlice;
    LoopShape m_full; ///< of loops of the full size
    RingOrders m_rings;
    std::vector<ChannelShape> m_channels;
};

} // namespace AstraSim

#endif /* RING_GRAPH_H */
