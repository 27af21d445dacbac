/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TREE_GRAPH_H
#define TREE_GRAPH_H

#include "machine-model.h"
#include "nccl-cost-model.h"

#include "ns3/flow-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @brief AllReduce on NCCL's double binary tree between nodes and a chain within each node.
 *
 * Channel c's head in a node is the GPU on rail c; the chain hangs below it and the heads form the
 * tree, so all traffic between nodes stays on one rail. The first half of the channels uses the
 * first tree, the second half the second. Chunks go up, summed on the way, and down again as soon
 * as the root has them; both directions run at once.
 *
 * A node's children hang at the head (NCCL's pattern TREE); NCCL's balanced pattern moves one of
 * them to the chain's next GPU, whose traffic passes the same NIC.
 */
class TreeGraph : public FlowGraph
{
  public:
    static constexpr uint32_t MAX_CHILDREN = 3; ///< the chain's next, and two nodes

    /// @param stepLatency overrides the plan's latencies, if not negative
    TreeGraph(const GroupShape& shape, const NcclPlan& plan, uint64_t bytes, TimePs stepLatency);

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

    /// @return the rank above @p rank in a channel's tree; nothing for the root
    std::optional<uint32_t> GetParent(uint32_t rank, uint32_t channel) const;

  private:
    /// Lanes of a channel at a rank: to and from the parent, then the children.
    static constexpr uint32_t SLOTS = 1 + MAX_CHILDREN;
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
    uint64_t PartOf(uint32_t channel) const;
    Lane MakeLane(uint32_t rank, uint32_t index) const;
    std::span<const uint32_t> Numbers(uint32_t channel, uint32_t first, uint32_t count) const;

    GroupShape m_shape;
    NcclPlan m_plan;
    uint64_t m_bytes;
    uint64_t m_chunkBytes;
    TimePs m_stepLatency;
    std::vector<Place> m_places;         ///< by channel and rank
    std::vector<uint32_t> m_laneNumbers; ///< 0, 1, 2, ...: what spans of lanes point into
};

} // namespace AstraSim

#endif /* TREE_GRAPH_H */
