/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_GRAPH_H
#define CHANNEL_GRAPH_H

#include "channel-split.h"
#include "collectives/model/gpu/machine-model.h"
#include "nccl-protocol.h"

#include "ns3/flow-graph.h"

#include <cstdint>
#include <initializer_list>

namespace AstraSim
{

/// Messages of a connection that may be under way at once: the slots of its buffer (NCCL_STEPS).
inline constexpr uint32_t NCCL_STEPS = 8;

/// Bytes of a step with Simple: an eighth of NCCL's buffers of 4 MiB.
inline constexpr uint64_t SIMPLE_STEP = 524288;

/// The way in which NCCL cuts a collective's data into messages.
struct ChannelLayout
{
    NcclProtocol protocol{NcclProtocol::Simple};
    uint32_t channels{1};             ///< that may be used
    uint64_t simpleStep{SIMPLE_STEP}; ///< bytes of a step with Simple
    /// Whether thread blocks move the messages in the way of their protocol; if not, messages wait
    /// for each other alone.
    bool byBlocks{true};
};

/// @return most data bytes in a step's buffer (NCCL src/init.cc, computeBuffSizes)
/// @param simple those of Simple, which NCCL_BUFFSIZE sets
uint64_t StepBytes(NcclProtocol protocol, uint64_t simple = SIMPLE_STEP);

/// @return the same for the protocol of a layout
inline uint64_t
StepBytes(const ChannelLayout& layout)
{
    return StepBytes(layout.protocol, layout.simpleStep);
}

/// Cut of a chunk, so that the data makes enough of them.
struct ChunkRule
{
    uint64_t least;    ///< it is not cut below this, bytes
    uint64_t perDepth; ///< chunks of a channel that there should be for each level
};

/**
 * Halve a chunk until a channel has enough of them, rule by rule.
 * @param chunk bytes to begin with
 * @param rules applied one after the other
 * @param channelBytes data of a channel
 * @param depth levels that a chunk passes
 * @return bytes of a chunk (NCCL src/enqueue.cc, calcCollChunking)
 */
uint64_t CutChunk(uint64_t chunk,
                  std::initializer_list<ChunkRule> rules,
                  uint64_t channelBytes,
                  uint64_t depth);

/**
 * @ingroup collectives
 * @brief Base of the graphs of NCCL's algorithms: a group on a machine, the data's division over
 * channels, and the copies that blocks make.
 */
class ChannelGraph : public FlowGraph
{
  public:
    /// @return which part of the data a channel carries
    const ChannelSplit& GetSplit() const
    {
        return m_split;
    }

    const GroupShape& GetShape() const
    {
        return m_shape;
    }

    const ChannelLayout& GetLayout() const
    {
        return m_layout;
    }

  protected:
    /**
     * @param request the collective; its bytes are divided over the layout's channels
     * @param lanesPerChannel out of each rank, and into it
     * @param slots see FlowGraph
     */
    ChannelGraph(const CollectiveRequest& request,
                 const GroupShape& shape,
                 const ChannelLayout& layout,
                 uint32_t lanesPerChannel,
                 uint32_t slots);

    /// @return a lane to a rank of the group, without messages
    static Lane Connect(uint32_t peer, uint32_t channel, ConnType type);

    /// @return whether a GPU takes time of its own to copy data from @p peer out of the slots
    bool CopiesFrom(uint32_t rank, uint32_t peer) const
    {
        // With flags in the data (LL, LL128) words leave their slots as they arrive.
        return m_layout.byBlocks && m_layout.protocol == NcclProtocol::Simple &&
               m_shape.NodeOf(rank) == m_shape.NodeOf(peer);
    }

    /// @return whether a block has to take words with flags (LL, LL128) before it goes on
    bool TakesWords() const
    {
        return m_layout.byBlocks && m_layout.protocol != NcclProtocol::Simple;
    }

  private:
    GroupShape m_shape;
    ChannelLayout m_layout;
    ChannelSplit m_split;
};

} // namespace AstraSim

#endif /* CHANNEL_GRAPH_H */
