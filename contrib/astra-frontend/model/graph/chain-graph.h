/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAIN_GRAPH_H
#define CHAIN_GRAPH_H

#include "channel-graph.h"
#include "ring-order.h"

#include <cstdint>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief Broadcast and Reduce: NCCL's pipelined chain along each channel's ring.
 *
 * Broadcast goes from the root around the ring to the root's predecessor, Reduce from the root's
 * successor around to the root; a rank passes on each chunk as it arrives (NCCL
 * src/device/broadcast.h, reduce.h).
 */
class ChainGraph : public ChannelGraph
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

    Lane GetOutbound(uint32_t rank, uint32_t index) const override;
    Lane GetInbound(uint32_t rank, uint32_t index) const override;
    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

  private:
    /// @return how many ranks of a channel's chain come before @p rank
    uint32_t DepthOf(uint32_t rank, uint32_t channel) const;
    /// @param first the one of both ends that comes first in the ring
    Lane MakeLane(uint32_t rank, uint32_t peer, uint32_t first, uint32_t channel) const;

    uint32_t m_root;
    bool m_endsAtRoot;
    /// In a server, a block of Simple moves one chunk while it waits for the flag of the next: the
    /// latency counts for the first.
    bool m_chunksHideLatency;
    RingOrders m_rings;
};

} // namespace AstraSim

#endif /* CHAIN_GRAPH_H */
