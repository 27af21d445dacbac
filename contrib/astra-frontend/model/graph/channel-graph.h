/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHANNEL_GRAPH_H
#define CHANNEL_GRAPH_H

#include "astra-frontend/model/gpu/machine-model.h"
#include "astra-frontend/model/nccl/nccl-cost-model.h"
#include "channel-split.h"

#include "ns3/flow-graph.h"

#include <cstdint>
#include <initializer_list>

namespace AstraSim
{

/// Messages of a connection that may be under way at once: the slots of its buffer (NCCL_STEPS).
inline constexpr uint32_t NCCL_STEPS = 8;

/// @return most data bytes in a step's buffer (NCCL src/init.cc, computeBuffSizes)
/// @param simple those of Simple, which NCCL_BUFFSIZE sets
uint64_t StepBytes(NcclProtocol protocol, uint64_t simple = SIMPLE_STEP);

/// @return those of a plan's protocol
inline uint64_t
StepBytes(const NcclPlan& plan)
{
    return StepBytes(plan.protocol, plan.simpleStep);
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
 * @ingroup astra-frontend
 * @brief Base of the graphs of NCCL's algorithms: a group on a machine, a plan, the
 * data's division over channels, and which copies blocks make.
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

  protected:
    /**
     * @param request the collective; its bytes are divided over the plan's channels
     * @param lanesPerChannel out of each rank, and into it
     * @param slots see FlowGraph
     * @param stepLatency a latency that the user gives every message; negative: none
     */
    ChannelGraph(const CollectiveRequest& request,
                 const GroupShape& shape,
                 const NcclPlan& plan,
                 uint32_t lanesPerChannel,
                 uint32_t slots,
                 TimePs stepLatency);

    /// @return a lane to a rank of the group, without messages
    static Lane Connect(uint32_t peer, uint32_t channel, ConnType type);

    /// @return whether a GPU's copying of what it has received from @p peer takes time of its own
    bool CopiesFrom(uint32_t rank, uint32_t peer) const
    {
        // With flags in the data (LL, LL128) words leave their slots as they arrive.
        return m_stepLatency < 0 && m_plan.protocol == NcclProtocol::Simple &&
               m_shape.NodeOf(rank) == m_shape.NodeOf(peer);
    }

    /// @return whether a block has to take words with flags (LL, LL128) from a peer before it goes
    /// on
    bool TakesWordsFrom(uint32_t rank, uint32_t peer) const
    {
        return m_stepLatency < 0 && m_plan.protocol != NcclProtocol::Simple &&
               m_shape.NodeOf(rank) == m_shape.NodeOf(peer);
    }

    /// @return whether a GPU's block reads or writes what a peer in another server has in slots
    bool CopiesAcross(uint32_t rank, uint32_t peer) const
    {
        return m_stepLatency < 0 && m_plan.protocol == NcclProtocol::Simple &&
               m_plan.blockGBps > 0 && m_shape.NodeOf(rank) != m_shape.NodeOf(peer);
    }

    const NcclPlan& GetPlan() const
    {
        return m_plan;
    }

  private:
    GroupShape m_shape;
    NcclPlan m_plan;
    ChannelSplit m_split;
    TimePs m_stepLatency;
};

} // namespace AstraSim

#endif /* CHANNEL_GRAPH_H */
