/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TREE_GRAPH_H
#define TREE_GRAPH_H

#include "channel-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/// The layout of trees.
struct TreeLayout : ChannelLayout
{
    bool cutsChunks{false}; ///< chunks of Simple shrink with the data of a channel
};

/**
 * @ingroup collectives
 * @brief AllReduce on NCCL's double binary tree between nodes and a chain within each node.
 *
 * Channel c's head in a node is the GPU on rail c; the chain hangs below it and the heads form the
 * tree, so all traffic between nodes stays on one rail. The first half of the channels uses the
 * first tree, the second half the second. Chunks go up, summed on the way, and down again as soon
 * as the root has them; both directions run at once.
 *
 * A node's children hang at the head (NCCL's pattern TREE); NCCL's balanced pattern moves one of
 * them to the chain's next GPU; its traffic passes the same NIC.
 */
class TreeGraph : public ChannelGraph
{
  public:
    static constexpr uint32_t MAX_CHILDREN = 3; ///< the chain's next, and two nodes

    TreeGraph(const CollectiveRequest& request, const GroupShape& shape, const TreeLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    std::optional<uint64_t> GetOwnCopy(uint32_t rank,
                                       uint32_t inbound,
                                       uint64_t message) const override;
    uint32_t GetPeerLane(uint32_t rank, uint32_t inbound) const override;

    /// @return most data of a message
    uint64_t GetChunkBytes() const
    {
        return m_chunkBytes;
    }

    /// @return whether a lane carries sums, up the tree
    static bool GoesUp(uint32_t index)
    {
        return index % LANES == 0;
    }

    /// @return whether a lane passes on data from GPUs of the same node
    bool ForwardsWithinNode(uint32_t rank, uint32_t index) const;

    /// @return the rank above @p rank in a channel's tree; nothing for the root
    std::optional<uint32_t> GetParent(uint32_t rank, uint32_t channel) const;

  private:
    /// Lanes of a channel at a rank: to and from the parent, then the children.
    static constexpr uint32_t LANES = 1 + MAX_CHILDREN;
    static constexpr uint32_t NONE = UINT32_MAX;

    struct Place
    {
        uint32_t parent{NONE};
        uint32_t childCount{0};
        uint32_t children[MAX_CHILDREN]{};
    };

    const Place& PlaceOf(uint32_t rank, uint32_t channel) const
    {
        return m_places[channel * GetRanks() + rank];
    }

    void AddChannel(uint32_t channel);
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    uint64_t m_chunkBytes;
    std::vector<Place> m_places; ///< by channel and rank
};

} // namespace AstraSim

#endif /* TREE_GRAPH_H */
