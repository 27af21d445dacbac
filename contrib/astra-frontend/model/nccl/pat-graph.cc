/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pat-graph.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace AstraSim
{

PatGraph::PatGraph(CollectiveOp op,
                   const GroupShape& shape,
                   const NcclPlan& plan,
                   uint64_t bytes,
                   TimePs stepLatency)
    : m_op(op),
      m_shape(shape),
      m_plan(plan),
      m_blockBytes((bytes + shape.GetRanks() - 1) / shape.GetRanks()),
      m_stepLatency(stepLatency),
      m_levels(static_cast<uint32_t>(std::bit_width(shape.GetRanks() - 1)))
{
    m_plan.channels = std::min(m_plan.channels, MAX_CHANNELS);
    m_laneNumbers.resize(m_plan.channels * m_levels);
    std::iota(m_laneNumbers.begin(), m_laneNumbers.end(), 0);
}

uint32_t
PatGraph::GetRanks() const
{
    return m_shape.GetRanks();
}

uint64_t
PatGraph::BlocksAt(uint64_t distance) const
{
    // Offsets below n whose lowest set bit is the distance.
    return (GetRanks() - 1 + distance) / (2 * distance);
}

uint64_t
PatGraph::PartOf(uint32_t channel) const
{
    const uint64_t channels = m_plan.channels;
    return m_blockBytes / channels + (channel < m_blockBytes % channels);
}

uint64_t
PatGraph::PiecesOf(uint32_t channel) const
{
    return (PartOf(channel) + MESSAGE_BYTES - 1) / MESSAGE_BYTES;
}

uint32_t
PatGraph::GetOutboundCount(uint32_t rank) const
{
    return m_plan.channels * m_levels;
}

uint32_t
PatGraph::GetInboundCount(uint32_t rank) const
{
    return m_plan.channels * m_levels;
}

Lane
PatGraph::MakeLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint64_t distance = DistanceOf(index);
    const uint32_t channel = index / m_levels;
    const uint32_t ranks = GetRanks();
    // AllGather sends to higher ranks, ReduceScatter back along the same edges.
    const bool upwards = outbound == (m_op == CollectiveOp::AllGather);
    Lane lane;
    lane.peer = static_cast<uint32_t>((rank + (upwards ? distance : ranks - distance)) % ranks);
    lane.channel = channel;
    lane.tag = static_cast<uint8_t>(index);
    lane.type = ConnType::Net;
    lane.messages = BlocksAt(distance) * PiecesOf(channel);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency : m_plan.interLatency;
    return lane;
}

Lane
PatGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, index, true);
}

Lane
PatGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, index, false);
}

uint64_t
PatGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint32_t channel = outbound / m_levels;
    const uint64_t piece = message % PiecesOf(channel);
    return std::min(MESSAGE_BYTES, PartOf(channel) - piece * MESSAGE_BYTES);
}

uint64_t
PatGraph::GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return GetBytes(rank, inbound, message);
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

std::span<const uint32_t>
PatGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t first = outbound / m_levels * m_levels;
    const uint32_t level = outbound % m_levels;
    // AllGather: the longer distances come before; ReduceScatter: the shorter.
    return m_op == CollectiveOp::AllGather
               ? std::span<const uint32_t>(m_laneNumbers.data() + outbound + 1,
                                           m_levels - 1 - level)
               : std::span<const uint32_t>(m_laneNumbers.data() + first, level);
}

std::span<const uint32_t>
PatGraph::GetTargets(uint32_t rank, uint32_t inbound) const
{
    const uint32_t first = inbound / m_levels * m_levels;
    const uint32_t level = inbound % m_levels;
    return m_op == CollectiveOp::AllGather
               ? std::span<const uint32_t>(m_laneNumbers.data() + first, level)
               : std::span<const uint32_t>(m_laneNumbers.data() + inbound + 1,
                                           m_levels - 1 - level);
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
        // The block at this offset came over the distance of its lowest bit, after all before it.
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
