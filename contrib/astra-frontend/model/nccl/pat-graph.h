/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAT_GRAPH_H
#define PAT_GRAPH_H

#include "machine-model.h"
#include "nccl-cost-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @brief PAT: AllGather and ReduceScatter in log2(n) distances, for one GPU per node.
 *
 * AllGather: every block travels a binomial tree rooted at its owner, the farthest distance first,
 * so that the long hops carry little. A rank has received the blocks at offsets (its rank minus
 * their owner) that are multiples of d once distance d is done. ReduceScatter is the same graph
 * with all arrows turned round: nearest distance first, sums on the way. All n trees run at once;
 * a rank has one lane per channel and distance.
 */
class PatGraph : public FlowGraph
{
  public:
    static constexpr uint64_t MESSAGE_BYTES = 524288; ///< NCCL's step of 512 KiB
    static constexpr uint32_t MAX_CHANNELS = 8;       ///< so that tags fit an instance's 128

    /**
     * @param op AllGather or ReduceScatter
     * @param bytes of the full buffer
     * @param stepLatency overrides the plan's latencies, if not negative
     */
    PatGraph(CollectiveOp op,
             const GroupShape& shape,
             const NcclPlan& plan,
             uint64_t bytes,
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
        return 8;
    }

    /// @return owner of the block that a message of a rank's outbound lane carries
    uint32_t BlockOf(uint32_t rank, uint32_t outbound, uint64_t message) const;

  private:
    uint64_t DistanceOf(uint32_t lane) const
    {
        return uint64_t{1} << (lane % m_levels);
    }

    /// @return blocks that cross a distance
    uint64_t BlocksAt(uint64_t distance) const;
    /// @return bytes of a block that a channel carries
    uint64_t PartOf(uint32_t channel) const;
    uint64_t PiecesOf(uint32_t channel) const;
    Lane MakeLane(uint32_t rank, uint32_t index, bool outbound) const;

    CollectiveOp m_op;
    GroupShape m_shape;
    NcclPlan m_plan;
    uint64_t m_blockBytes;
    TimePs m_stepLatency;
    uint32_t m_levels; ///< distances 1, 2, 4, ... below the number of ranks
    std::vector<uint32_t> m_laneNumbers;
};

} // namespace AstraSim

#endif /* PAT_GRAPH_H */
