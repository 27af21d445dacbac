/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAYLOAD_LAYOUT_H
#define PAYLOAD_LAYOUT_H

#include "ns3/collective-types.h"
#include "ns3/flow-graph.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The part of a collective's buffer that each message carries, and what the receiver does
 * with it: the meaning of a FlowGraph's messages.
 *
 * A buffer is that of CollectiveRequest::bytes. Where ranks own blocks (AllGather, ReduceScatter),
 * a block lies where the algorithm puts it, which is not one piece.
 */
class PayloadLayout
{
  public:
    /// A part of a buffer.
    struct Piece
    {
        uint64_t sendOffset;    ///< in the sender's buffer
        uint64_t receiveOffset; ///< in the receiver's
        uint64_t bytes;
        bool adds; ///< the receiver adds it to what it has
    };

    /// A part of a buffer that belongs to one rank.
    struct Block
    {
        uint64_t offset;
        uint64_t bytes;
        uint32_t owner; ///< index in the group
    };

    virtual ~PayloadLayout() = default;

    /**
     * @param graph outlives the result
     * @return the layout of a ring, tree, PAT, chain or direct graph
     * @throw ns3::InputError for one whose data cannot be followed
     */
    static std::unique_ptr<PayloadLayout> Of(const FlowGraph& graph,
                                             const CollectiveRequest& request);

    /// @return what a message of an outbound lane carries
    virtual Piece PieceOf(uint32_t rank, uint32_t lane, uint64_t message) const = 0;

    /// @return bytes of a rank's buffer to send from
    virtual uint64_t GetSendBytes(uint32_t rank) const = 0;

    /// @return bytes of the buffer that a rank receives into; nothing: the one it sends from
    virtual std::optional<uint64_t> GetReceiveBytes(uint32_t rank) const
    {
        return std::nullopt;
    }

    /// @return the blocks that ranks own; without duplicates, covering the buffer
    virtual std::vector<Block> GetBlocks() const
    {
        return {};
    }
};

} // namespace AstraSim

#endif /* PAYLOAD_LAYOUT_H */
