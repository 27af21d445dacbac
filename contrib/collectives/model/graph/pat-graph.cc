/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pat-graph.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>
#include <bit>

namespace AstraSim
{

namespace
{

uint32_t
LevelsOf(const GroupShape& shape)
{
    return static_cast<uint32_t>(std::bit_width(shape.GetRanks() - 1));
}

ChannelLayout
WithFewChannels(ChannelLayout layout)
{
    layout.channels = std::min(layout.channels, PatGraph::MAX_CHANNELS);
    return layout;
}

/// @return most bytes of a message (NCCL src/enqueue.cc, calcCollChunking)
uint64_t
MessageBytes(const CollectiveRequest& request, const ChannelLayout& layout, uint32_t channels)
{
    constexpr uint64_t SMALLEST = 65536;
    const uint64_t inFlight = request.op == CollectiveOp::AllGather ? 32 : 16;
    uint64_t bytes = StepBytes(layout);
    while (bytes * channels * inFlight > request.bytes && bytes > SMALLEST)
    {
        bytes /= 2;
    }
    return bytes;
}

} // namespace

PatGraph::PatGraph(const CollectiveRequest& request,
                   const GroupShape& shape,
                   const ChannelLayout& layout)
    : ChannelGraph(request, shape, WithFewChannels(layout), LevelsOf(shape), 8),
      m_op(request.op),
      m_levels(LevelsOf(shape)),
      m_messageBytes(MessageBytes(request, layout, GetSplit().GetChannels()))
{
    // Data stay in their buffer until later rounds have passed them on, so slots do not limit it.
    SetHoldsSlots(false);
}

uint64_t
PatGraph::BlocksAt(uint64_t distance) const
{
    // Offsets below n with the distance as lowest set bit.
    return (GetRanks() - 1 + distance) / (2 * distance);
}

uint64_t
PatGraph::PiecesOf(uint32_t channel) const
{
    return DivideUp(DivideUp(GetSplit().GetBytes(channel), GetRanks()), m_messageBytes);
}

std::pair<uint64_t, uint64_t>
PatGraph::PieceRange(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint32_t channel = outbound / m_levels;
    const auto [begin, bytes] =
        BlockRange(GetSplit().GetBytes(channel), GetRanks(), BlockOf(rank, outbound, message));
    const uint64_t from = std::min(bytes, message % PiecesOf(channel) * m_messageBytes);
    return {begin + from, std::min(m_messageBytes, bytes - from)};
}

Lane
PatGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint64_t distance = DistanceOf(index);
    const uint32_t channel = index / m_levels;
    const uint32_t ranks = GetRanks();
    // AllGather sends to higher ranks, ReduceScatter back along the same edges.
    const bool upwards = outbound == (m_op == CollectiveOp::AllGather);
    const auto peer =
        static_cast<uint32_t>((rank + (upwards ? distance : ranks - distance)) % ranks);
    Lane lane = Connect(peer, channel, ConnType::Net);
    lane.tag = static_cast<uint8_t>(index);
    lane.messages = BlocksAt(distance) * PiecesOf(channel);
    return lane;
}

uint64_t
PatGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return PieceRange(rank, outbound, message).second;
}

std::optional<Payload>
PatGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const auto [within, bytes] = PieceRange(rank, outbound, message);
    const uint64_t begin = GetSplit().GetBegin(outbound / m_levels) + within;
    return Payload{begin,
                   begin,
                   bytes,
                   m_op == CollectiveOp::ReduceScatter,
                   BlockOf(rank, outbound, message)};
}

uint32_t
PatGraph::BlockOf(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t distance = DistanceOf(outbound);
    const uint64_t number = message / PiecesOf(outbound / m_levels);
    const uint64_t offset =
        2 * distance * number + (m_op == CollectiveOp::AllGather ? 0 : distance);
    return static_cast<uint32_t>((rank + GetRanks() - offset) % GetRanks());
}

LaneRange
PatGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t level = outbound % m_levels;
    // AllGather: the longer distances come before; ReduceScatter: the shorter.
    return m_op == CollectiveOp::AllGather ? Lanes(outbound + 1, m_levels - 1 - level)
                                           : Lanes(outbound - level, level);
}

LaneRange
PatGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const uint32_t level = inbound % m_levels;
    return m_op == CollectiveOp::AllGather ? Lanes(inbound - level, level)
                                           : Lanes(inbound + 1, m_levels - 1 - level);
}

uint64_t
PatGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const uint64_t pieces = PiecesOf(outbound / m_levels);
    const uint64_t own = DistanceOf(outbound);
    const uint64_t other = DistanceOf(inbound);
    const uint64_t number = message / pieces;
    const uint64_t piece = message % pieces;
    if (m_op == CollectiveOp::AllGather)
    {
        // Offsets come in order; the block at this one came over the distance of its lowest bit.
        const uint64_t offset = 2 * own * number;
        const uint64_t blocks = (offset + other) / (2 * other);
        const bool cameThisWay = offset != 0 && (offset & (~offset + 1)) == other;
        return cameThisWay ? (blocks - 1) * pieces + piece + 1 : blocks * pieces;
    }
    // The sum at this offset needs its child over each shorter distance, where there is one.
    const uint64_t offset = own + 2 * own * number;
    const uint64_t child = offset / (2 * other);
    const uint64_t blocks = BlocksAt(other);
    return child < blocks ? child * pieces + piece + 1 : blocks * pieces;
}

} // namespace AstraSim
