/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CHAIN_GRAPH_H
#define CHAIN_GRAPH_H

#include "channel-graph.h"
#include "ring-order.h"

#include <cstdint>
#include <optional>

namespace AstraSim
{

/// @return whether NCCL carries it out as a chain along each channel's ring
inline bool
IsChain(CollectiveOp op)
{
    return op == CollectiveOp::Broadcast || op == CollectiveOp::Reduce;
}

/// The layout of chains. Without blocks, chunks are of 512 KiB.
struct ChainLayout : ChannelLayout
{
    bool crossNic{true};   ///< see RingOrder()
    uint64_t passBytes{0}; ///< data that a block moves in one pass of its copy loop
};

/**
 * @ingroup collectives
 * @brief Broadcast and Reduce: NCCL's pipelined chain along each channel's ring.
 *
 * Broadcast goes from the root around the ring to the root's predecessor, Reduce from the root's
 * successor around to the root; a rank passes on each chunk as it arrives (NCCL
 * src/device/broadcast.h, reduce.h). With LL and LL128 it passes on words as they arrive. Chunks of
 * LL and passes of LL128's copy loop stand for these words. The network gets whole chunks.
 */
class ChainGraph : public ChannelGraph
{
  public:
    ChainGraph(const CollectiveRequest& request,
               const GroupShape& shape,
               const ChainLayout& layout);

    uint64_t GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const override;
    std::optional<Payload> GetPayload(uint32_t rank,
                                      uint32_t outbound,
                                      uint64_t message) const override;
    uint64_t GetNeeds(uint32_t rank,
                      uint32_t outbound,
                      uint64_t message,
                      uint32_t inbound) const override;

    /// @return most data of a message
    uint64_t GetMessageBytes() const
    {
        return m_messageBytes;
    }

    /// @return whether @p rank passes on data from a GPU of the same node
    bool ForwardsWithinNode(uint32_t rank, uint32_t channel) const;

    /// @return how many messages have to come before @p rank passes on the first of them
    uint64_t GetMessagesAtOnce(uint32_t rank, uint32_t channel) const;

  private:
    /// @return how many ranks of a channel's chain come before @p rank
    uint32_t DepthOf(uint32_t rank, uint32_t channel) const;
    Lane GetLane(uint32_t rank, uint32_t index, bool outbound) const override;

    uint32_t m_root;
    bool m_endsAtRoot;
    uint64_t m_messageBytes;
    uint32_t m_messagesPerChunk; ///< the network gets so many at once
    RingOrders m_rings;
};

} // namespace AstraSim

#endif /* CHAIN_GRAPH_H */
