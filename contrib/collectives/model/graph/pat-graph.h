/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAT_GRAPH_H
#define PAT_GRAPH_H

#include "channel-graph.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief PAT: AllGather and ReduceScatter in log2(n) distances, for one GPU per node.
 *
 * AllGather: every block travels a binomial tree rooted at its owner, the farthest distance first,
 * so that the long hops carry little. A rank has received the blocks at offsets (its rank minus
 * their owner) that are multiples of d once distance d is done. ReduceScatter is the same graph
 * with all arrows turned round: nearest distance first, sums on the way. All n trees run at once;
 * a rank has one lane per channel and distance.
 */
class PatGraph : public ChannelGraph
{
  public:
    static constexpr uint32_t MAX_CHANNELS = 8; ///< so that tags fit an instance's 128

    /// @param request AllGather or ReduceScatter
    PatGraph(const CollectiveRequest& request,
             const GroupShape& shape,
             const ChannelLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

    /// @return messages that carry a channel's part of the largest block
    uint64_t PiecesOf(uint32_t channel) const;

    /// @return first byte (in the channel's part) and bytes of a message's data
    std::pair<uint64_t, uint64_t> PieceRange(uint32_t rank,
                                             uint32_t outbound,
                                             uint64_t message) const;

    /// @return owner of the block that a message of a rank's outbound lane carries
    uint32_t BlockOf(uint32_t rank, uint32_t outbound, uint64_t message) const;

  private:
    uint64_t DistanceOf(uint32_t lane) const
    {
        return uint64_t{1} << (lane % m_levels);
    }

    /// @return blocks that cross a distance
    uint64_t BlocksAt(uint64_t distance) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    CollectiveOp m_op;
    uint32_t m_levels; ///< distances 1, 2, 4, ... below the number of ranks
    uint64_t m_messageBytes;
};

} // namespace AstraSim

#endif /* PAT_GRAPH_H */
