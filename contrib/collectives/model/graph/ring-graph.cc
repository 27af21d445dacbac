/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ring-graph.h"

#include "collectives/model/collective/divide-up.h"

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
SizesOf(const ChannelLayout& layout)
{
    const uint64_t step = StepBytes(layout);
    if (layout.protocol == NcclProtocol::Simple)
    {
        return {4 * step, 32768, 4}; // chunks of 4 steps, slices of 2: 8 steps are 4 slices
    }
    return {step, step, NCCL_STEPS};
}

} // namespace

RingGraph::RingGraph(const CollectiveRequest& request,
                     const GroupShape& shape,
                     const RingLayout& layout)
    : ChannelGraph(request, shape, layout, 1, SizesOf(layout).slots),
      m_op(request.op),
      m_chunkGrain(layout.chunkGrain),
      m_copiesAcross(layout.byBlocks && layout.copiesAcross &&
                     layout.protocol == NcclProtocol::Simple),
      m_inBlocks(request.op != CollectiveOp::AllReduce),
      m_steps((m_inBlocks ? 1 : 2) * (shape.GetRanks() - 1)),
      m_mostSteps(layout.protocol == NcclProtocol::Simple ? layout.stepsPerMessage : 1),
      m_loopChunk(SizesOf(layout).chunk),
      m_maxChunk(m_loopChunk * FindMergedLoops(request.bytes, layout)),
      m_sliceMessages(m_steps),
      m_minSlice(SizesOf(layout).minSlice),
      m_full(ShapeOf(m_maxChunk * GetRanks())),
      m_rings(shape, GetSplit().GetChannels(), layout.crossNic)
{
    MergeSteps(static_cast<uint32_t>(m_mostSteps * m_loopChunk / m_maxChunk));
    for (uint32_t channel = 0; channel < GetSplit().GetChannels(); ++channel)
    {
        m_channels.push_back(ShapeOfChannel(channel));
    }
}

uint64_t
RingGraph::FindMergedLoops(uint64_t bytes, const RingLayout& layout) const
{
    if (m_mostSteps == 1)
    {
        return 1;
    }
    // A ring takes about half a message longer than its steps do, so those at the ends, of one step
    // of merged loops, are to be no more than a hundredth of it.
    constexpr uint64_t LEAST_MESSAGES = 100;
    const uint64_t loops = DivideUp(bytes, m_loopChunk * GetRanks() * layout.channels);
    return std::clamp<uint64_t>(m_steps * loops / LEAST_MESSAGES,
                                1,
                                std::min<uint64_t>(loops, m_mostSteps));
}

void
RingGraph::MergeSteps(uint32_t most)
{
    if (most <= 1)
    {
        return;
    }
    std::vector<uint32_t> messages; // their steps
    std::vector<uint32_t> last;
    uint32_t left = m_steps;
    for (uint32_t steps = 1; steps < most && 2 * steps <= left; steps *= 2)
    {
        messages.push_back(steps);
        last.push_back(steps);
        left -= 2 * steps;
    }
    for (; left > 0; left -= messages.back())
    {
        messages.push_back(std::min(left, most));
    }
    messages.insert(messages.end(), last.rbegin(), last.rend());
    m_firstSteps.push_back(0);
    for (const uint32_t steps : messages)
    {
        m_firstSteps.push_back(m_firstSteps.back() + steps);
    }
    m_sliceMessages = static_cast<uint32_t>(messages.size());
}

RingGraph::LoopShape
RingGraph::ShapeOf(uint64_t bytes) const
{
    const uint64_t even = DivideUp(bytes, GetRanks());
    LoopShape shape;
    // A rank's block is its own data: only the chunks of an AllReduce can have another size.
    shape.chunk = std::min(m_maxChunk, m_inBlocks ? even : RoundUp(even, m_chunkGrain));
    shape.slices = shape.chunk > m_minSlice && GetLayout().protocol == NcclProtocol::Simple ? 2 : 1;
    return shape;
}

RingGraph::ChannelShape
RingGraph::ShapeOfChannel(uint32_t channel) const
{
    ChannelShape shape;
    shape.bytes = GetSplit().GetBytes(channel);
    if (shape.bytes == 0)
    {
        return shape;
    }
    const uint64_t loop = m_maxChunk * GetRanks();
    shape.fullLoops = (shape.bytes - 1) / loop;
    shape.perFullLoop = static_cast<uint64_t>(m_sliceMessages) * m_full.slices;
    shape.last = ShapeOf(shape.bytes - shape.fullLoops * loop);
    return shape;
}

RingGraph::Position
RingGraph::Locate(uint32_t channel, uint64_t message) const
{
    const ChannelShape& shape = m_channels[channel];
    const uint64_t beforeLast = shape.fullLoops * shape.perFullLoop;
    const bool isLast = message >= beforeLast;
    const uint64_t loop = isLast ? shape.fullLoops : message / shape.perFullLoop;
    const uint32_t slices = isLast ? shape.last.slices : m_full.slices;
    const auto within =
        static_cast<uint32_t>(message - (isLast ? beforeLast : loop * shape.perFullLoop));
    // A chunk has one slice or two.
    const uint32_t place = slices == 2 ? within / 2 : within;
    const uint32_t slice = slices == 2 ? within % 2 : 0;
    if (m_firstSteps.empty())
    {
        return {loop, place, slice, slices};
    }
    const uint32_t first = m_firstSteps[place];
    return {loop, first, slice, slices, m_firstSteps[place + 1] - first};
}

uint32_t
RingGraph::ChunkOf(uint32_t place, uint32_t step) const
{
    const uint32_t ranks = GetRanks();
    // At step 0 AllGather sends the rank's own chunk, the others the chunk of the rank before.
    uint32_t chunk =
        (m_op == CollectiveOp::AllGather ? place : place + ranks - 1) + 2 * ranks - step;
    // There are fewer than 2 * ranks steps, and a division would take longer than all else here.
    chunk -= chunk >= 2 * ranks ? 2 * ranks : 0;
    chunk -= chunk >= ranks ? ranks : 0;
    return chunk;
}

std::pair<uint64_t, uint64_t>
RingGraph::SliceRange(uint32_t channel, const Position& position, uint32_t chunk) const
{
    const ChannelShape& shape = m_channels[channel];
    const uint64_t loop = m_maxChunk * GetRanks();
    const uint64_t begin = position.loop * loop;
    const uint64_t bytes = std::min(shape.bytes - begin, loop);
    const uint64_t chunkBytes = position.loop < shape.fullLoops ? m_full.chunk : shape.last.chunk;
    const auto [from, length] =
        m_inBlocks ? BlockRange(bytes, GetRanks(), chunk)
                   : std::pair(std::min(bytes, chunk * chunkBytes),
                               std::min(chunkBytes, bytes - std::min(bytes, chunk * chunkBytes)));
    const uint64_t slice =
        position.slices == 1
            ? length
            : std::max(RoundUp(DivideUp(length, 2), NCCL_ALIGNMENT), std::min(length, m_minSlice));
    const uint64_t offset = std::min(length, position.slice * slice);
    return {begin + from + offset, std::min(slice, length - offset)};
}

uint32_t
RingGraph::GetSlices(uint32_t channel) const
{
    const ChannelShape& shape = m_channels[channel];
    return shape.fullLoops ? m_full.slices : std::max(1U, shape.last.slices);
}

uint64_t
RingGraph::GetSliceBytes(uint32_t channel, bool ofMergedLoops) const
{
    const ChannelShape& shape = m_channels[channel];
    const uint64_t chunk = shape.fullLoops ? m_full.chunk : shape.last.chunk;
    return DivideUp(ofMergedLoops ? chunk : std::min(chunk, m_loopChunk), GetSlices(channel));
}

bool
RingGraph::ServesNetwork(uint32_t rank, uint32_t channel) const
{
    return m_copiesAcross && ReceivesAcross(rank, channel) &&
           GetShape().NodeOf(rank) != GetShape().NodeOf(m_rings.NextOf(rank, channel));
}

bool
RingGraph::ReceivesAcross(uint32_t rank, uint32_t channel) const
{
    return GetShape().NodeOf(rank) != GetShape().NodeOf(m_rings.PreviousOf(rank, channel));
}

uint64_t
RingGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const Position position = Locate(outbound, message);
    const uint32_t place = PlaceOf(rank, outbound);
    uint64_t bytes = 0;
    for (uint32_t step = position.step; step < position.step + position.steps; ++step)
    {
        bytes += SliceRange(outbound, position, ChunkOf(place, step)).second;
    }
    return bytes;
}

std::optional<Payload>
RingGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    if (!m_firstSteps.empty())
    {
        return std::nullopt; // of several chunks
    }
    const Position position = Locate(outbound, message);
    const uint32_t chunk = ChunkOf(PlaceOf(rank, outbound), position.step);
    const auto [offset, bytes] = SliceRange(outbound, position, chunk);
    const uint64_t begin = GetSplit().GetBegin(outbound) + offset;
    const bool adds = m_op == CollectiveOp::ReduceScatter ||
                      (m_op == CollectiveOp::AllReduce && position.step < GetRanks() - 1);
    return Payload{begin, begin, bytes, adds, m_rings.RankAt(chunk, outbound)};
}

Lane
RingGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const ChannelShape& shape = m_channels[index];
    const uint32_t peer = outbound ? m_rings.NextOf(rank, index) : m_rings.PreviousOf(rank, index);
    Lane lane = Connect(peer, index, ConnType::Ring);
    lane.messages = shape.bytes == 0
                        ? 0
                        : shape.fullLoops * shape.perFullLoop +
                              static_cast<uint64_t>(m_sliceMessages) * shape.last.slices;
    return lane;
}

uint64_t
RingGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    // The step before sent the same slice `slices` messages earlier. Step 0 of a loop waits for the
    // end of the loop before.
    const Position position = Locate(outbound, message);
    return position.step == 0 ? message - position.slice : message - position.slices + 1;
}

std::optional<uint64_t>
RingGraph::GetOwnCopy(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const Position position = Locate(inbound, message);
    const uint32_t previous = m_rings.PreviousOf(rank, inbound);
    if (position.step + position.steps != m_steps ||
        (!CopiesFrom(rank, previous) && !TakesWords() && !ServesNetwork(rank, inbound)))
    {
        return std::nullopt;
    }
    return message + position.slices - position.slice;
}

} // namespace AstraSim
