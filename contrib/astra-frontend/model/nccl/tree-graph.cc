/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tree-graph.h"

#include "double-tree.h"

#include <algorithm>
#include <numeric>

namespace AstraSim
{

namespace
{

/// @return payload of a message (NCCL src/enqueue.cc, calcCollChunking)
uint64_t
ChunkBytes(NcclProtocol protocol, uint64_t bytesPerChannel, uint32_t nodes)
{
    constexpr uint64_t LL_CHUNK = 32768;
    constexpr uint64_t LL128_CHUNK = 576000;
    constexpr uint64_t SIMPLE_CHUNK = 524288;
    constexpr uint64_t SIMPLE_CHUNK_MANY_NODES = 65536;
    if (protocol == NcclProtocol::Ll)
    {
        return LL_CHUNK;
    }
    if (protocol == NcclProtocol::Simple)
    {
        return nodes >= 4 ? SIMPLE_CHUNK_MANY_NODES : SIMPLE_CHUNK;
    }
    uint64_t chunk = LL128_CHUNK;
    uint64_t depth = 1;
    while ((2ULL << depth) <= nodes)
    {
        ++depth;
    }
    while (chunk > 131072 && bytesPerChannel / chunk < depth * 64)
    {
        chunk /= 2;
    }
    while (chunk > 32768 && bytesPerChannel / chunk < depth * 16)
    {
        chunk /= 2;
    }
    return chunk;
}

} // namespace

TreeGraph::TreeGraph(const GroupShape& shape,
                     const NcclPlan& plan,
                     uint64_t bytes,
                     TimePs stepLatency)
    : m_shape(shape),
      m_plan(plan),
      m_bytes(bytes),
      m_chunkBytes(ChunkBytes(plan.protocol, bytes / plan.channels, shape.GetNodes())),
      m_stepLatency(stepLatency),
      m_places(std::size_t{plan.channels} * shape.GetRanks()),
      m_laneNumbers(plan.channels * SLOTS)
{
    std::iota(m_laneNumbers.begin(), m_laneNumbers.end(), 0);
    for (uint32_t channel = 0; channel < plan.channels; ++channel)
    {
        AddChannel(channel);
    }
}

void
TreeGraph::AddChannel(uint32_t channel)
{
    const uint32_t half = (m_plan.channels + 1) / 2;
    const bool second = channel >= half;
    Place* places = &m_places[std::size_t{channel} * GetRanks()];
    const auto attach = [&](uint32_t child, uint32_t parent) {
        places[child].parent = parent;
        places[parent].children[places[parent].childCount++] = child;
    };
    const auto member = [&](uint32_t node, uint32_t place) {
        const auto& ranks = m_shape.nodes[node];
        const auto size = static_cast<uint32_t>(ranks.size());
        return ranks[(channel % half + size - place) % size];
    };
    for (uint32_t node = 0; node < m_shape.GetNodes(); ++node)
    {
        for (uint32_t place = 1; place < m_shape.nodes[node].size(); ++place)
        {
            attach(member(node, place), member(node, place - 1));
        }
        if (const auto parent = DoubleTreeParent(m_shape.GetNodes(), node, second))
        {
            attach(member(node, 0), member(*parent, 0));
        }
    }
}

uint32_t
TreeGraph::GetRanks() const
{
    return m_shape.GetRanks();
}

std::optional<uint32_t>
TreeGraph::GetParent(uint32_t rank, uint32_t channel) const
{
    const uint32_t parent = PlaceOf(rank, channel).parent;
    return parent == NONE ? std::nullopt : std::optional(parent);
}

uint64_t
TreeGraph::PartOf(uint32_t channel) const
{
    constexpr uint64_t ALIGNMENT = 16;
    const uint64_t even = (m_bytes + m_plan.channels - 1) / m_plan.channels;
    const uint64_t part = (even + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uint64_t begin = std::min(m_bytes, part * channel);
    return std::min(part, m_bytes - begin);
}

uint32_t
TreeGraph::GetOutboundCount(uint32_t rank) const
{
    return GetRanks() > 1 ? m_plan.channels * SLOTS : 0;
}

uint32_t
TreeGraph::GetInboundCount(uint32_t rank) const
{
    return GetOutboundCount(rank);
}

Lane
TreeGraph::MakeLane(uint32_t rank, uint32_t index) const
{
    const uint32_t channel = index / SLOTS;
    const uint32_t slot = index % SLOTS;
    const Place& place = PlaceOf(rank, channel);
    Lane lane;
    lane.channel = channel;
    lane.tag = static_cast<uint8_t>(channel);
    lane.type = ConnType::Tree;
    if (slot == 0 ? place.parent == NONE : slot > place.childCount)
    {
        return lane;
    }
    lane.peer = slot == 0 ? place.parent : place.children[slot - 1];
    lane.messages = (PartOf(channel) + m_chunkBytes - 1) / m_chunkBytes;
    const bool inter = m_shape.NodeOf(rank) != m_shape.NodeOf(lane.peer);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency
                   : inter            ? m_plan.interLatency
                                      : m_plan.intraLatency;
    lane.slots = !inter && m_plan.protocol == NcclProtocol::Simple ? 1 : 0;
    lane.rateCapBps = inter ? 0 : static_cast<uint64_t>(m_plan.channelGBps * 8e9);
    return lane;
}

Lane
TreeGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, index);
}

Lane
TreeGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    return MakeLane(rank, index);
}

uint64_t
TreeGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return std::min(m_chunkBytes, PartOf(outbound / SLOTS) - message * m_chunkBytes);
}

uint64_t
TreeGraph::GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return GetBytes(rank, inbound, message);
}

std::span<const uint32_t>
TreeGraph::Numbers(uint32_t channel, uint32_t first, uint32_t count) const
{
    return {&m_laneNumbers[channel * SLOTS] + first, count};
}

std::span<const uint32_t>
TreeGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t channel = outbound / SLOTS;
    const Place& place = PlaceOf(rank, channel);
    const bool goesDown = outbound % SLOTS != 0;
    // Sums come from the children; the root sends them down itself.
    return goesDown && place.parent != NONE ? Numbers(channel, 0, 1)
                                            : Numbers(channel, 1, place.childCount);
}

std::span<const uint32_t>
TreeGraph::GetTargets(uint32_t rank, uint32_t inbound) const
{
    const uint32_t channel = inbound / SLOTS;
    const Place& place = PlaceOf(rank, channel);
    const bool fromChild = inbound % SLOTS != 0;
    return fromChild && place.parent != NONE ? Numbers(channel, 0, 1)
                                             : Numbers(channel, 1, place.childCount);
}

uint64_t
TreeGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    return message + 1;
}

} // namespace AstraSim
