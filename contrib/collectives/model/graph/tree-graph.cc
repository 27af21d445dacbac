/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tree-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "double-tree.h"
#include "ring-order.h"

#include <algorithm>
#include <bit>

namespace AstraSim
{

namespace
{

/// @return payload of a message of Simple
uint64_t
SimpleChunkBytes(const TreeLayout& layout, uint64_t bytesPerChannel, const GroupShape& shape)
{
    const uint64_t chunk = StepBytes(layout);
    if (!layout.cutsChunks)
    {
        return chunk;
    }
    // Up to 2.19: computeColl, with the depth of connectTrees.
    const uint64_t depth =
        shape.GetRanks() / shape.GetNodes() - 1 + std::bit_width(shape.GetNodes()) - 1;

    return CutChunk(chunk, {{131072, 8}, {65536, 4}, {32768, 1}}, bytesPerChannel, depth);
}

/// @return payload of a message (NCCL src/enqueue.cc, calcCollChunking)
uint64_t
TreeChunkBytes(const TreeLayout& layout, uint64_t bytesPerChannel, const GroupShape& shape)
{
    if (layout.protocol == NcclProtocol::Ll)
    {
        return StepBytes(layout);
    }
    if (layout.protocol == NcclProtocol::Simple)
    {
        return SimpleChunkBytes(layout, bytesPerChannel, shape);
    }
    const double perNode = static_cast<double>(shape.GetRanks()) / shape.GetNodes();
    const double steps = std::bit_width(shape.GetNodes()) + 0.1 * perNode;
    uint64_t chunk = StepBytes(layout);
    const auto chunks = [&] { return static_cast<double>(bytesPerChannel / chunk); };
    while (chunk > 131072 && chunks() < steps * 64 / perNode)
    {
        chunk /= 2;
    }
    while (chunk > 32768 && chunks() < steps * 16 / perNode)
    {
        chunk /= 2;
    }
    return chunk;
}

} // namespace

TreeGraph::TreeGraph(const CollectiveRequest& request,
                     const GroupShape& shape,
                     const TreeLayout& layout)
    : ChannelGraph(request, shape, layout, LANES, 8),
      m_chunkBytes(TreeChunkBytes(layout, GetSplit().GetBytes(0), shape)),
      m_places(std::size_t{GetSplit().GetChannels()} * shape.GetRanks())
{
    for (uint32_t channel = 0; channel < GetSplit().GetChannels(); ++channel)
    {
        AddChannel(channel);
    }
}

void
TreeGraph::AddChannel(uint32_t channel)
{
    const uint32_t half = (GetSplit().GetChannels() + 1) / 2;
    const bool second = channel >= half;
    Place* places = &m_places[std::size_t{channel} * GetRanks()];
    const auto attach = [&](uint32_t child, uint32_t parent) {
        places[child].parent = parent;
        places[parent].children[places[parent].childCount++] = child;
    };
    std::vector<std::vector<uint32_t>> paths;
    for (uint32_t node = 0; node < GetShape().GetNodes(); ++node)
    {
        paths.push_back(NodePath(GetShape(), node, channel % half));
    }
    for (uint32_t node = 0; node < GetShape().GetNodes(); ++node)
    {
        for (uint32_t place = 1; place < paths[node].size(); ++place)
        {
            attach(paths[node][place], paths[node][place - 1]);
        }
        if (const auto parent = DoubleTreeParent(GetShape().GetNodes(), node, second))
        {
            attach(paths[node].front(), paths[*parent].front());
        }
    }
}

std::optional<uint32_t>
TreeGraph::GetParent(uint32_t rank, uint32_t channel) const
{
    const uint32_t parent = PlaceOf(rank, channel).parent;
    return parent == NONE ? std::nullopt : std::optional(parent);
}

bool
TreeGraph::ForwardsWithinNode(uint32_t rank, uint32_t index) const
{
    const Place& place = PlaceOf(rank, index / LANES);
    const auto isNear = [&](uint32_t peer) {
        return peer != NONE && GetShape().NodeOf(peer) == GetShape().NodeOf(rank);
    };
    if (!GoesUp(index) && place.parent != NONE)
    {
        return isNear(place.parent);
    }
    // Sums of the children, which the root sends down itself.
    return place.childCount > 0 &&
           std::all_of(place.children, place.children + place.childCount, isNear);
}

Lane
TreeGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint32_t channel = index / LANES;
    const uint32_t slot = index % LANES;
    const Place& place = PlaceOf(rank, channel);
    if (slot == 0 ? place.parent == NONE : slot > place.childCount)
    {
        return {};
    }
    const uint32_t peer = slot == 0 ? place.parent : place.children[slot - 1];
    Lane lane = Connect(peer, channel, ConnType::Tree);
    lane.messages = DivideUp(GetSplit().GetBytes(channel), m_chunkBytes);
    return lane;
}

uint64_t
TreeGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t part = GetSplit().GetBytes(outbound / LANES);
    return std::min(m_chunkBytes, part - message * m_chunkBytes);
}

std::optional<Payload>
TreeGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint64_t begin = GetSplit().GetBegin(outbound / LANES) + message * m_chunkBytes;
    return Payload{begin, begin, GetBytes(rank, outbound, message), GoesUp(outbound)};
}

LaneRange
TreeGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const uint32_t first = outbound / LANES * LANES;
    const Place& place = PlaceOf(rank, outbound / LANES);
    const bool goesDown = outbound != first;
    // Sums come from the children; the root sends them down itself.
    return goesDown && place.parent != NONE ? Lanes(first, 1) : Lanes(first + 1, place.childCount);
}

LaneRange
TreeGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const uint32_t first = inbound / LANES * LANES;
    const Place& place = PlaceOf(rank, inbound / LANES);
    const bool fromChild = inbound != first;
    return fromChild && place.parent != NONE ? Lanes(first, 1) : Lanes(first + 1, place.childCount);
}

std::optional<uint64_t>
TreeGraph::GetOwnCopy(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const Place& place = PlaceOf(rank, inbound / LANES);
    const bool isLeaf = inbound % LANES == 0 && place.childCount == 0;
    return isLeaf && CopiesFrom(rank, place.parent) ? std::optional<uint64_t>(0) : std::nullopt;
}

uint32_t
TreeGraph::GetPeerLane(uint32_t rank, uint32_t inbound) const
{
    const uint32_t channel = inbound / LANES;
    if (inbound % LANES != 0)
    {
        return channel * LANES; // data from a child to its parent
    }
    const Place& above = PlaceOf(PlaceOf(rank, channel).parent, channel);
    const auto* const end = above.children + above.childCount;
    const auto* const self = std::find(above.children, end, rank);
    return channel * LANES + 1 + static_cast<uint32_t>(self - above.children);
}

} // namespace AstraSim
