/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chain-graph.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

uint64_t
ChunkBytes(const ChainLayout& layout)
{
    return layout.byBlocks ? StepBytes(layout) : SIMPLE_STEP;
}

/// @return most data of a message
uint64_t
MessageBytes(const ChainLayout& layout)
{
    const bool hasPasses =
        layout.byBlocks && layout.protocol == NcclProtocol::Ll128 && layout.passBytes > 0;
    return hasPasses ? layout.passBytes : ChunkBytes(layout);
}

uint32_t
MessagesPerChunk(const ChainLayout& layout)
{
    return static_cast<uint32_t>(ChunkBytes(layout) / MessageBytes(layout));
}

} // namespace

ChainGraph::ChainGraph(const CollectiveRequest& request,
                       const GroupShape& shape,
                       const ChainLayout& layout)
    : ChannelGraph(request, shape, layout, 1, NCCL_STEPS * MessagesPerChunk(layout)),
      m_root(static_cast<uint32_t>(request.root)),
      m_endsAtRoot(request.op == CollectiveOp::Reduce),
      m_messageBytes(MessageBytes(layout)),
      m_messagesPerChunk(MessagesPerChunk(layout)),
      m_rings(shape, GetSplit().GetChannels(), layout.crossNic)
{
}

uint32_t
ChainGraph::DepthOf(uint32_t rank, uint32_t channel) const
{
    // Broadcast begins at the root, Reduce ends there.
    const uint32_t first = m_rings.PlaceOf(m_root, channel) + (m_endsAtRoot ? 1 : 0);
    return (m_rings.PlaceOf(rank, channel) + GetRanks() - first) % GetRanks();
}

// The last of a chain sends nothing and the first receives nothing; their lanes have no messages.

Lane
ChainGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint32_t peer = outbound ? m_rings.NextOf(rank, index) : m_rings.PreviousOf(rank, index);
    Lane lane = Connect(peer, index, ConnType::Ring);
    const bool inChain = DepthOf(outbound ? rank : peer, index) + 1 < GetRanks();
    lane.messages = inChain ? DivideUp(GetSplit().GetBytes(index), m_messageBytes) : 0;
    return lane;
}

bool
ChainGraph::ForwardsWithinNode(uint32_t rank, uint32_t channel) const
{
    const uint32_t previous = m_rings.PreviousOf(rank, channel);
    return DepthOf(rank, channel) > 0 && GetShape().NodeOf(rank) == GetShape().NodeOf(previous);
}

uint64_t
ChainGraph::GetMessagesAtOnce(uint32_t rank, uint32_t channel) const
{
    const uint32_t next = m_rings.NextOf(rank, channel);
    return GetShape().NodeOf(rank) != GetShape().NodeOf(next) ? m_messagesPerChunk : 1;
}

uint64_t
ChainGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return std::min(m_messageBytes, GetSplit().GetBytes(outbound) - message * m_messageBytes);
}

std::optional<Payload>
ChainGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t begin = GetSplit().GetBegin(outbound) + message * m_messageBytes;
    return Payload{begin, begin, GetBytes(rank, outbound, message), m_endsAtRoot};
}

uint64_t
ChainGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    if (DepthOf(rank, outbound) == 0)
    {
        return 0;
    }
    const uint64_t all = DivideUp(GetSplit().GetBytes(outbound), m_messageBytes);
    return std::min(RoundUp(message + 1, GetMessagesAtOnce(rank, outbound)), all);
}

} // namespace AstraSim
