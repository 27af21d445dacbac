/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collnet-direct-graph.h"

#include "collectives/model/collective/divide-up.h"

#include <algorithm>

namespace AstraSim
{

CollNetDirectGraph::CollNetDirectGraph(const CollectiveRequest& request,
                                       const GroupShape& shape,
                                       const ChannelLayout& layout)
    : ChannelGraph(request, shape, layout, 1, NCCL_STEPS),
      m_bytes(request.bytes),
      m_heads(std::min(MAX_HEADS, shape.GetFewestRanks())),
      m_neighbours(shape.GetRanksPerNode() - 1),
      m_messageBytes(layout.channels * CutChunk(StepBytes(layout),
                                                {{131072, 64}, {65536, 8}, {32768, 8}},
                                                request.bytes / (layout.channels * m_heads),
                                                shape.GetRanksPerNode() > 1 ? 2 : 1))
{
    SetLaneCount(2 * m_neighbours + 1);
}

std::optional<uint32_t>
CollNetDirectGraph::NeighbourOf(uint32_t rank, uint32_t index, bool outbound) const
{
    // A rank serves the heads after it first, so that each head is the first of another rank.
    const auto& node = GetShape().nodes[GetShape().NodeOf(rank)];
    const auto size = static_cast<uint32_t>(node.size());
    const uint32_t step = (index < FirstBack() ? index : index - FirstBack()) + 1;
    if (step >= size)
    {
        return std::nullopt;
    }
    return node[(GetShape().PlaceInNode(rank) + (outbound ? step : size - step)) % size];
}

std::optional<uint32_t>
CollNetDirectGraph::ShareOfLane(uint32_t rank, uint32_t index, bool outbound) const
{
    uint32_t head = GetShape().PlaceInNode(rank);
    if (index != SwitchLane())
    {
        const auto neighbour = NeighbourOf(rank, index, outbound);
        if (!neighbour)
        {
            return std::nullopt;
        }
        // Lanes to a head and back carry the head's share.
        const bool toHead = index < SwitchLane();
        head = toHead == outbound ? GetShape().PlaceInNode(*neighbour) : head;
    }
    return head < m_heads ? std::optional(head) : std::nullopt;
}

std::optional<uint32_t>
CollNetDirectGraph::GetShareOf(uint32_t rank, uint32_t outbound) const
{
    return ShareOfLane(rank, outbound, true);
}

uint64_t
CollNetDirectGraph::ShareBytes(uint32_t head) const
{
    const uint64_t even = RoundUp(DivideUp(m_bytes, m_heads), NCCL_ALIGNMENT);
    return std::min(even, m_bytes - std::min(m_bytes, even * head));
}

uint64_t
CollNetDirectGraph::MessageBytes(uint32_t head, uint64_t message) const
{
    return std::min(m_messageBytes, ShareBytes(head) - message * m_messageBytes);
}

Lane
CollNetDirectGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const auto head = ShareOfLane(rank, index, outbound);
    if (!head)
    {
        return {};
    }
    const bool toSwitch = index == SwitchLane();
    const uint32_t peer =
        toSwitch ? GetShape().nodes.front()[*head] : *NeighbourOf(rank, index, outbound);
    Lane lane = Connect(peer, *head, ConnType::CollNet);
    lane.messages = DivideUp(ShareBytes(*head), m_messageBytes);
    if (!toSwitch)
    {
        // All channels of a head at once.
        lane.tag = static_cast<uint8_t>(index < FirstBack() ? 0 : 1);
        return lane;
    }
    lane.kind = LaneKind::ReduceMulticast;
    lane.tag = static_cast<uint8_t>(2 + *head);
    lane.members = *head;
    lane.result = outbound ? SwitchLane() : Lane::NONE;
    return lane;
}

uint64_t
CollNetDirectGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return MessageBytes(*ShareOfLane(rank, outbound, true), message);
}

LaneRange
CollNetDirectGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    if (outbound < SwitchLane())
    {
        return Lanes(0, 0);
    }
    const auto& node = GetShape().nodes[GetShape().NodeOf(rank)];
    return outbound == SwitchLane() ? Lanes(0, static_cast<uint32_t>(node.size()) - 1)
                                    : Lanes(SwitchLane(), 1);
}

LaneRange
CollNetDirectGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    if (inbound < SwitchLane())
    {
        return Lanes(SwitchLane(), 1);
    }
    return inbound == SwitchLane() ? Lanes(FirstBack(), m_neighbours) : Lanes(0, 0);
}

std::vector<std::vector<uint32_t>>
CollNetDirectGraph::GetMemberSets() const
{
    std::vector<std::vector<uint32_t>> sets(m_heads);
    for (const auto& node : GetShape().nodes)
    {
        for (uint32_t head = 0; head < m_heads; ++head)
        {
            sets[head].push_back(node[head]);
        }
    }
    return sets;
}

} // namespace AstraSim
