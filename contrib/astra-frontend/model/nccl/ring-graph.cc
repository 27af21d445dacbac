/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-graph.h"

#include "ns3/divide-up.h"

#include <algorithm>

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

} // namespace

RingGraph::RingGraph(const CollectiveRequest& request,
                     const GroupShape& shape,
                     const NcclPlan& plan,
                     bool crossNic,
                     TimePs stepLatency)
    : ChannelGraph(request, shape, plan, 1, SizesOf(plan.protocol).slots, stepLatency),
      m_op(request.op),
      m_steps((request.op == CollectiveOp::AllReduce ? 2 : 1) * (shape.GetRanks() - 1)),
      m_maxChunk(SizesOf(plan.protocol).chunk),
      m_minSlice(SizesOf(plan.protocol).minSlice),
      m_rings(shape, GetSplit().GetChannels(), crossNic)
{
}

RingGraph::LoopShape
RingGraph::ShapeOf(uint64_t bytes) const
{
    const uint64_t ranks = GetRanks();
    const uint64_t grain = GetPlan().chunkGrain;
    LoopShape shape;
    shape.chunk = std::min(m_maxChunk, RoundUp(DivideUp(bytes, ranks), grain));
    shape.slices = shape.chunk > m_minSlice && GetPlan().protocol == NcclProtocol::Simple ? 2 : 1;
    return shape;
}

uint64_t
RingGraph::MessageCount(uint32_t channel) const
{
    const uint64_t part = GetSplit().GetBytes(channel);
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
    const uint64_t part = GetSplit().GetBytes(channel);
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
    const uint64_t part = GetSplit().GetBytes(channel);
    const uint64_t begin = position.loop * m_maxChunk * GetRanks();
    const uint64_t bytes = std::min(part - begin, m_maxChunk * GetRanks());
    const uint64_t chunkBytes = ShapeOf(bytes).chunk;
    const uint64_t from = std::min(bytes, chunk * chunkBytes);
    const uint64_t length = std::min(chunkBytes, bytes - from);
    const uint64_t slice = position.slices == 1 ? length
                                                : std::max(RoundUp(DivideUp(length, 2), ALIGNMENT),
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

Lane
RingGraph::MakeLane(uint32_t rank, uint32_t peer, uint32_t channel) const
{
    Lane lane = Connect(rank, peer, channel, ConnType::Ring);
    lane.messages = MessageCount(channel);
    return lane;
}

Lane
RingGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, m_rings.NextOf(rank, index), index);
}

Lane
RingGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, m_rings.PreviousOf(rank, index), index);
}

uint64_t
RingGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const Position position = Locate(outbound, message);
    // The same slice of the step before stands `slices` messages earlier. A loop begins when the
    // one before is done.
    return position.step == 0 ? message - position.slice : message - position.slices + 1;
}

std::optional<uint64_t>
RingGraph::GetOwnCopy(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const Position position = Locate(inbound, message);
    if (position.step + 1 != m_steps || !CopiesFrom(rank, m_rings.PreviousOf(rank, inbound)))
    {
        return std::nullopt;
    }
    return message + position.slices - position.slice;
}

} // namespace AstraSim
