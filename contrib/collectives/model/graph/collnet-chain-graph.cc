/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collnet-chain-graph.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

CollNetChainGraph::CollNetChainGraph(const CollectiveRequest& request,
                                     const GroupShape& shape,
                                     const ChannelLayout& layout)
    : ChannelGraph(request, shape, layout, LANES, NCCL_STEPS),
      m_chunkBytes(CutChunk(262144,
                            {{131072, 64}, {65536, 8}, {32768, 1}},
                            request.bytes / layout.channels,
                            shape.GetRanksPerNode()))
{
}

uint32_t
CollNetChainGraph::DepthOf(uint32_t rank, uint32_t channel) const
{
    const uint32_t size = SizeOf(rank);
    return (channel % size + size - GetShape().PlaceInNode(rank)) % size;
}

uint32_t
CollNetChainGraph::AtDepth(uint32_t node, uint32_t depth, uint32_t channel) const
{
    const auto& ranks = GetShape().nodes[node];
    const auto size = static_cast<uint32_t>(ranks.size());
    return ranks[(channel % size + size - depth) % size];
}

Lane
CollNetChainGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint32_t channel = index / LANES;
    const uint32_t link = index % LANES;
    const uint32_t node = GetShape().NodeOf(rank);
    const uint32_t depth = DepthOf(rank, channel);
    const bool isHead = depth == 0;
    const bool toHead = (link == UP) == outbound; // the neighbour is nearer to the head
    uint32_t peer;
    if (link == SWITCHES)
    {
        if (!isHead)
        {
            return {};
        }
        peer = AtDepth(0, 0, channel);
    }
    else
    {
        if (toHead ? isHead : depth + 1 == SizeOf(rank))
        {
            return {};
        }
        peer = AtDepth(node, toHead ? depth - 1 : depth + 1, channel);
    }
    Lane lane = Connect(peer, channel, ConnType::CollNet);
    lane.messages = DivideUp(GetSplit().GetBytes(channel), m_chunkBytes);
    if (link == SWITCHES)
    {
        lane.kind = LaneKind::ReduceMulticast;
        lane.members = channel;
        lane.result = outbound ? index : Lane::NONE;
    }
    return lane;
}

uint64_t
CollNetChainGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t part = GetSplit().GetBytes(outbound / LANES);
    return std::min(m_chunkBytes, part - message * m_chunkBytes);
}

LaneRange
CollNetChainGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t channel = outbound / LANES;
    const uint32_t first = channel * LANES;
    const uint32_t depth = DepthOf(rank, channel);
    if (outbound == first + DOWN)
    {
        return Lanes(first + (depth == 0 ? SWITCHES : DOWN), 1);
    }
    return Lanes(first + UP, depth + 1 < SizeOf(rank) ? 1 : 0);
}

LaneRange
CollNetChainGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const uint32_t channel = inbound / LANES;
    const uint32_t first = channel * LANES;
    if (inbound != first + UP)
    {
        return Lanes(first + DOWN, 1);
    }
    return Lanes(first + (DepthOf(rank, channel) == 0 ? SWITCHES : UP), 1);
}

std::vector<std::vector<uint32_t>>
CollNetChainGraph::GetMemberSets() const
{
    std::vector<std::vector<uint32_t>> sets(GetSplit().GetChannels());
    for (uint32_t channel = 0; channel < sets.size(); ++channel)
    {
        for (uint32_t node = 0; node < GetShape().GetNodes(); ++node)
        {
            sets[channel].push_back(AtDepth(node, 0, channel));
        }
    }
    return sets;
}

} // namespace AstraSim
