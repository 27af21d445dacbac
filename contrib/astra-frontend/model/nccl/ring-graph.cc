/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-graph.h"

#include "ring-order.h"

#include <algorithm>
#include <numeric>

namespace AstraSim
{

namespace
{

/// Sizes of a protocol's connection: NCCL_STEPS is 8 buffers of these (init.cc).
struct ProtocolSizes
{
    uint64_t chunk;    ///< most data bytes of a chunk
    uint64_t minSlice; ///< a chunk is not cut finer
    uint32_t slots;    ///< slices under way at once
};

ProtocolSizes
SizesOf(NcclProtocol protocol)
{
    switch (protocol)
    {
    case NcclProtocol::Ll:
        return {32768, 32768, 8}; // 64 KiB of buffer per step, half of it flags
    case NcclProtocol::Ll128:
        return {576000, 576000, 8}; // 614400 bytes of buffer, 120 of each 128 are data
    default:
        return {2097152, 32768, 4}; // chunks of 4 steps, slices of 2: 8 steps are 4 slices
    }
}

constexpr uint64_t ALIGNMENT = 16;

uint64_t
DivideUp(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

} // namespace

RingGraph::RingGraph(CollectiveOp op,
                     const GroupShape& shape,
                     const NcclPlan& plan,
                     uint64_t bytes,
                     bool crossNic,
                     TimePs stepLatency)
    : m_op(op),
      m_shape(shape),
      m_plan(plan),
      m_bytes(bytes),
      m_stepLatency(stepLatency),
      m_steps((op == CollectiveOp::AllReduce ? 2 : 1) * (shape.GetRanks() - 1)),
      m_laneNumbers(plan.channels)
{
    const ProtocolSizes sizes = SizesOf(plan.protocol);
    m_slots = sizes.slots;
    m_maxChunk = sizes.chunk;
    m_minSlice = sizes.minSlice;
    std::iota(m_laneNumbers.begin(), m_laneNumbers.end(), 0);
    // Channels whose rings enter nodes at the same GPU have the same ring.
    const uint32_t distinct =
        shape.IsBalanced() ? std::min(plan.channels, shape.GetRanksPerNode()) : plan.channels;
    m_rings.resize(distinct);
    for (uint32_t c = 0; c < distinct; ++c)
    {
        m_rings[c].order = RingOrder(shape, c, crossNic);
        m_rings[c].place.resize(shape.GetRanks());
        for (uint32_t i = 0; i < shape.GetRanks(); ++i)
        {
            m_rings[c].place[m_rings[c].order[i]] = i;
        }
    }
}

uint32_t
RingGraph::GetRanks() const
{
    return m_shape.GetRanks();
}

uint32_t
RingGraph::GetOutboundCount(uint32_t rank) const
{
    return m_steps ? m_plan.channels : 0;
}

uint32_t
RingGraph::GetInboundCount(uint32_t rank) const
{
    return m_steps ? m_plan.channels : 0;
}

uint64_t
RingGraph::PartOf(uint32_t channel) const
{
    // Whole 16-byte units, the last channel takes what is left.
    const uint64_t part = DivideUp(DivideUp(m_bytes, m_plan.channels), ALIGNMENT) * ALIGNMENT;
    const uint64_t begin = std::min(m_bytes, part * channel);
    return std::min(part, m_bytes - begin);
}

RingGraph::LoopShape
RingGraph::ShapeOf(uint64_t bytes) const
{
    const uint64_t ranks = GetRanks();
    LoopShape shape;
    shape.chunk = std::min(m_maxChunk, DivideUp(DivideUp(bytes, ranks), ALIGNMENT) * ALIGNMENT);
    shape.slices = shape.chunk > m_minSlice && m_plan.protocol == NcclProtocol::Simple ? 2 : 1;
    return shape;
}

uint64_t
RingGraph::MessageCount(uint32_t channel) const
{
    const uint64_t part = PartOf(channel);
    if (part == 0)
    {
        return 0;
    }
    const uint64_t loop = m_maxChunk * GetRanks();
    const uint64_t full = (part - 1) / loop;
    const uint64_t rest = part - full * loop;
    const uint64_t slicesFull = full ? ShapeOf(loop).slices : 0;
    return m_steps * (full * slicesFull + ShapeOf(rest).slices);
}

RingGraph::Position
RingGraph::Locate(uint32_t channel, uint64_t message) const
{
    const uint64_t part = PartOf(channel);
    const uint64_t loop = m_maxChunk * GetRanks();
    const uint64_t full = (part - 1) / loop;
    const uint32_t slicesFull = full ? ShapeOf(loop).slices : 1;
    const uint64_t perLoop = static_cast<uint64_t>(m_steps) * slicesFull;
    if (message < full * perLoop)
    {
        const auto within = static_cast<uint32_t>(message % perLoop);
        return {message / perLoop, within / slicesFull, within % slicesFull, slicesFull};
    }
    const uint32_t slices = ShapeOf(part - full * loop).slices;
    const auto within = static_cast<uint32_t>(message - full * perLoop);
    return {full, within / slices, within % slices, slices};
}

uint32_t
RingGraph::ChunkOf(uint32_t place, uint32_t step) const
{
    const uint32_t ranks = GetRanks();
    // AllGather starts with the own chunk; the others with the one before it.
    const uint32_t first = m_op == CollectiveOp::AllGather ? place : place + ranks - 1;
    return (first + 2 * ranks - step) % ranks;
}

std::pair<uint64_t, uint64_t>
RingGraph::SliceRange(uint32_t channel, const Position& position, uint32_t chunk) const
{
    const uint64_t part = PartOf(channel);
    const uint64_t begin = position.loop * m_maxChunk * GetRanks();
    const uint64_t bytes = std::min(part - begin, m_maxChunk * GetRanks());
    const uint64_t chunkBytes = ShapeOf(bytes).chunk;
    const uint64_t from = std::min(bytes, chunk * chunkBytes);
    const uint64_t length = std::min(chunkBytes, bytes - from);
    const uint64_t slice = position.slices == 1
                               ? length
                               : std::max(DivideUp(DivideUp(length, 2), ALIGNMENT) * ALIGNMENT,
                                          std::min(length, m_minSlice));
    const uint64_t offset = std::min(length, position.slice * slice);
    return {begin + from + offset, std::min(slice, length - offset)};
}

uint64_t
RingGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const Position position = Locate(outbound, message);
    const uint32_t chunk = ChunkOf(PlaceOf(rank, outbound), position.step);
    return SliceRange(outbound, position, chunk).second;
}

uint64_t
RingGraph::GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const Ring& ring = m_rings[inbound % m_rings.size()];
    const uint32_t previous = (ring.place[rank] + GetRanks() - 1) % GetRanks();
    return GetBytes(ring.order[previous], inbound, message);
}

Lane
RingGraph::MakeLane(uint32_t from, uint32_t to, uint32_t other, uint32_t channel) const
{
    Lane lane;
    lane.peer = other;
    lane.channel = channel;
    lane.tag = static_cast<uint8_t>(channel);
    lane.type = ConnType::Ring;
    lane.messages = MessageCount(channel);
    const bool inter = m_shape.NodeOf(from) != m_shape.NodeOf(to);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency
                   : inter            ? m_plan.interLatency
                                      : m_plan.intraLatency;
    lane.slots = !inter && m_plan.protocol == NcclProtocol::Simple ? 1 : 0;
    lane.rateCapBps = inter ? 0 : static_cast<uint64_t>(m_plan.channelGBps * 8e9);
    return lane;
}

Lane
RingGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    const Ring& ring = m_rings[index % m_rings.size()];
    const uint32_t next = ring.order[(ring.place[rank] + 1) % GetRanks()];
    return MakeLane(rank, next, next, index);
}

Lane
RingGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    const Ring& ring = m_rings[index % m_rings.size()];
    const uint32_t previous = ring.order[(ring.place[rank] + GetRanks() - 1) % GetRanks()];
    return MakeLane(previous, rank, previous, index);
}

std::span<const uint32_t>
RingGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return {&m_laneNumbers[outbound], 1};
}

std::span<const uint32_t>
RingGraph::GetTargets(uint32_t rank, uint32_t inbound) const
{
    return {&m_laneNumbers[inbound], 1};
}

uint64_t
RingGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const Position position = Locate(outbound, message);
    // The same slice of the step before stands `slices` messages earlier.
    return position.step == 0 ? 0 : message - position.slices + 1;
}

} // namespace AstraSim
