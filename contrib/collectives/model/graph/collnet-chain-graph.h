/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLNET_CHAIN_GRAPH_H
#define COLLNET_CHAIN_GRAPH_H

#include "channel-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief AllReduce that the network's switches carry out between nodes: CollNet Chain.
 *
 * In each node a channel's ranks form a chain. Sums go along it to its head, the network's switches
 * add the sums of all heads, and the result goes back along the chain. Channel c's head is the
 * node's rank c. NCCL src/device/all_reduce.h.
 */
class CollNetChainGraph : public ChannelGraph
{
  public:
    CollNetChainGraph(const CollectiveRequest& request,
                      const GroupShape& shape,
                      const ChannelLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    LaneRange GetSources(uint32_t rank, uint32_t outbound) const override;
    LaneRange GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const override;
    std::vector<std::vector<uint32_t>> GetMemberSets() const override;

  private:
    /// Lanes of a channel at a rank; those into it come from behind it, the switches, before it.
    enum Link : uint32_t
    {
        UP,
        SWITCHES,
        DOWN,
        LANES
    };

    uint32_t SizeOf(uint32_t rank) const
    {
        return static_cast<uint32_t>(GetShape().nodes[GetShape().NodeOf(rank)].size());
    }

    /// @return how many ranks of a channel's chain are before @p rank: 0 for the head
    uint32_t DepthOf(uint32_t rank, uint32_t channel) const;
    /// @return the rank of a node at a depth of a channel's chain
    uint32_t AtDepth(uint32_t node, uint32_t depth, uint32_t channel) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    uint64_t m_chunkBytes;
};

} // namespace AstraSim

#endif /* COLLNET_CHAIN_GRAPH_H */
