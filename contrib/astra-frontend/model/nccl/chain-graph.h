/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAIN_GRAPH_H
#define CHAIN_GRAPH_H

#include "machine-model.h"
#include "nccl-cost-model.h"

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @brief Broadcast and Reduce: NCCL's pipelined chain along each channel's ring.
 *
 * Broadcast goes from the root around the ring to the root's predecessor, Reduce from the root's
 * successor around to the root; a rank passes on each chunk as it arrives (NCCL
 * src/device/broadcast.h, reduce.h).
 */
class ChainGraph : public FlowGraph
{
  public:
    /// Data per message (NCCL's chunk of one step, 512 KiB).
    static constexpr uint64_t MESSAGE_BYTES = 524288;

    /// @param stepLatency overrides the plan's latencies, if not negative
    ChainGraph(const CollectiveRequest& request,
               const GroupShape& shape,
               const NcclPlan& plan,
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
        return 8;
    }

  private:
    struct Chain
    {
        std::vector<uint32_t> order; ///< ranks from the chain's first to its last
        std::vector<uint32_t> place; ///< places by rank
    };

    const Chain& ChainOf(uint32_t channel) const
    {
        return m_chains[channel];
    }

    uint64_t PartOf(uint32_t channel) const;
    Lane MakeLane(uint32_t from, uint32_t to, uint32_t other, uint32_t channel) const;

    GroupShape m_shape;
    NcclPlan m_plan;
    uint64_t m_bytes;
    TimePs m_stepLatency;
    std::vector<Chain> m_chains;
    std::vector<uint32_t> m_laneNumbers;
};

} // namespace AstraSim

#endif /* CHAIN_GRAPH_H */
