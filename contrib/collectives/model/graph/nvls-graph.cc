/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvls-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "double-tree.h"

#include <algorithm>
#include <span>

namespace AstraSim
{

// A rank has the same lanes in each of the trees (Locate): copies from and to its buffers
// (SCATTER, GATHER), lanes of its head to tree neighbours on other nodes, one multicast, and one
// reduction per head of its node. A chain of dependences links them (GetSources, GetNeeds): a
// reduction of a share waits for the scattered chunk and, at a head, for the children's chunks;
// the head's sum goes to the parent, or at the root to the multicast and the children; a result
// from the parent is multicast and passed on; the multicasts of all heads feed GATHER. The
// stages count different units: switches' operations are messages of one pass, copies and tree
// lanes whole chunks, so GetNeeds() converts by m_messagesPerChunk.

namespace
{

constexpr uint8_t TREE_TAGS = 4 * NvlsGraph::MAX_HEADS; // after those of the switches' operations

uint32_t
TreesOf(const GroupShape& shape)
{
    return shape.GetNodes() > 1 ? 2 : 1;
}

/// @return a channel's chunk (NCCL src/enqueue.cc, calcCollChunking; src/transport/nvls.cc)
uint64_t
NvlsChunkBytes(const GroupShape& shape, uint32_t heads, const NvlsLayout& layout, uint64_t bytes)
{
    struct Limit
    {
        uint64_t chunk;
        uint64_t rounds; ///< least number of rounds of larger chunks
    };

    static constexpr Limit ONE_NODE[] = {{65536, 64}, {32768, 8}, {16384, 2}};
    static constexpr Limit TREE[] = {{262144, 32}, {131072, 16}, {65536, 4}, {32768, 1}};
    const uint64_t concurrent = uint64_t{layout.channels} * heads;
    uint64_t chunk = layout.chunk ? layout.chunk : 131072;
    const auto limits =
        shape.GetNodes() > 1 ? std::span<const Limit>(TREE) : std::span<const Limit>(ONE_NODE);
    for (const Limit& limit : limits)
    {
        if (bytes < limit.rounds * concurrent * chunk)
        {
            chunk = std::min(chunk, limit.chunk);
        }
    }
    return chunk;
}

} // namespace

NvlsGraph::NvlsGraph(const CollectiveRequest& request,
                     const GroupShape& shape,
                     const NvlsLayout& layout)
    : FlowGraph(shape.GetRanks(),
                shape.GetRanks() > 1
                    ? TreesOf(shape) * (OWN_LANES + std::min(MAX_HEADS, shape.GetFewestRanks()))
                    : 0,
                1),
      m_op(request.op),
      m_shape(shape),
      m_channels(layout.channels),
      m_copies(layout.byBlocks),
      m_bytes(request.bytes),
      m_heads(std::min(MAX_HEADS, shape.GetFewestRanks())),
      m_headOf(shape.GetRanks()),
      m_trees(TreesOf(shape))
{
    for (const auto& node : shape.nodes)
    {
        for (uint32_t i = 0; i < node.size(); ++i)
        {
            m_headOf[node[i]] = i;
        }
    }
    const uint64_t cutBy = layout.bytes ? layout.bytes : request.bytes;
    const uint64_t chunk = NvlsChunkBytes(shape, m_heads, layout, cutBy);
    m_chunkBytes = chunk;
    m_messagesPerChunk =
        DivideUp(chunk, WarpsOf(m_op, shape.GetRanks(), false).reduce * HUNK_BYTES);
    const uint64_t message = RoundUp(DivideUp(chunk, m_messagesPerChunk), NCCL_ALIGNMENT);
    const auto trees = static_cast<uint32_t>(m_trees.size());
    for (uint32_t tree = 0; tree < trees; ++tree)
    {
        m_messageBytes.push_back(message * ChannelsOf(tree));
        m_trees[tree].resize(shape.GetNodes());
        for (uint32_t node = 0; node < shape.GetNodes(); ++node)
        {
            if (const auto parent = DoubleTreeParent(shape.GetNodes(), node, tree == 1))
            {
                m_trees[tree][node].parent = *parent;
                TreeNode& above = m_trees[tree][*parent];
                above.children[above.childCount++] = node;
            }
        }
    }
}

NvlsGraph::Warps
NvlsGraph::WarpsOf(CollectiveOp op, uint32_t ranks, bool passesUp)
{
    // NCCL src/device/all_reduce.h, all_gather.h, reduce_scatter.h, without registered buffers. One
    // sending warp announces the data that the others have written (prims_simple.h).
    constexpr uint32_t WARPS = 20;
    constexpr uint32_t FEW_RANKS = 6;
    switch (op)
    {
    case CollectiveOp::AllGather:
        return {0, 8, WARPS - 8 - 1};
    case CollectiveOp::ReduceScatter:
        return {8 - 1, 0, WARPS - 8};
    default: {
        const uint32_t multicast = passesUp ? 4 : 0;
        const uint32_t reduce = passesUp || ranks > FEW_RANKS ? 5 : 7;
        const uint32_t left = WARPS - multicast - reduce;
        return {(left + 1) / 2 - 1, left / 2, reduce - 1};
    }
    }
}

uint32_t
NvlsGraph::ChannelsOf(uint32_t tree) const
{
    // Channel c uses tree c modulo 2.
    const auto trees = static_cast<uint32_t>(m_trees.size());
    return std::max(1U, (m_channels + trees - 1 - tree) / trees);
}

uint64_t
NvlsGraph::GetShareBytes(uint32_t head, uint32_t tree) const
{
    if (m_op != CollectiveOp::AllReduce)
    {
        return BlockRange(m_bytes, m_heads, head).second;
    }
    // Whole 16-byte units, the last heads taking the rest; the first tree the larger half.
    const uint64_t even = RoundUp(DivideUp(m_bytes, m_heads), NCCL_ALIGNMENT);
    const uint64_t share = std::min(even, m_bytes - std::min(m_bytes, even * head));
    if (m_trees.size() == 1)
    {
        return share;
    }
    const uint64_t first = std::min(share, RoundUp(DivideUp(share, 2), NCCL_ALIGNMENT));
    return tree == 0 ? first : share - first;
}

uint64_t
NvlsGraph::MessageCount(uint32_t head, uint32_t tree) const
{
    return DivideUp(GetShareBytes(head, tree), m_messageBytes[tree]);
}

uint64_t
NvlsGraph::ChunkBytes(uint32_t tree) const
{
    return m_messagesPerChunk * m_messageBytes[tree];
}

uint64_t
NvlsGraph::ChunkCount(uint32_t head, uint32_t tree) const
{
    return DivideUp(MessageCount(head, tree), m_messagesPerChunk);
}

uint64_t
NvlsGraph::RoundCount(uint32_t tree) const
{
    return ChunkCount(0, tree);
}

uint64_t
NvlsGraph::RoundBytes(uint32_t tree, uint64_t round) const
{
    uint64_t bytes = 0;
    for (uint32_t head = 0; head < m_heads; ++head)
    {
        const uint64_t share = GetShareBytes(head, tree);
        bytes += std::min(ChunkBytes(tree), share - std::min(share, round * ChunkBytes(tree)));
    }
    return bytes;
}

uint32_t
NvlsGraph::GetShareOf(uint32_t rank, uint32_t index) const
{
    const uint32_t lane = Locate(index).lane;
    return lane < OWN_LANES ? m_headOf[rank] : lane - OWN_LANES;
}

uint64_t
NvlsGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const auto [tree, lane] = Locate(outbound);
    if (lane == SCATTER || lane == GATHER)
    {
        return RoundBytes(tree, message);
    }
    const uint64_t share = GetShareBytes(GetShareOf(rank, outbound), tree);
    const uint64_t most = lane < MULTICAST ? ChunkBytes(tree) : m_messageBytes[tree];
    return std::min(most, share - message * most);
}

Lane
NvlsGraph::TreeLane(uint32_t rank, uint32_t tree, uint32_t neighbour) const
{
    if (neighbour == Lane::NONE || m_headOf[rank] >= m_heads)
    {
        return {};
    }
    Lane lane;
    lane.peer = m_shape.nodes[neighbour][m_headOf[rank]];
    lane.channel = m_headOf[rank];
    lane.tag = static_cast<uint8_t>(TREE_TAGS + tree);
    lane.type = ConnType::Tree;
    lane.messages = ChunkCount(m_headOf[rank], tree);
    return lane;
}

Lane
NvlsGraph::SwitchLane(uint32_t rank, uint32_t tree, uint32_t head, LaneKind kind) const
{
    const bool reduces = kind == LaneKind::Reduce;
    if (head >= m_heads || !(reduces ? Reduces() : Multicasts()))
    {
        return {};
    }
    Lane lane;
    const uint32_t node = m_shape.NodeOf(rank);
    lane.peer = m_shape.nodes[node][head];
    lane.channel = head;
    lane.tag = static_cast<uint8_t>((2 * tree + (reduces ? 0 : 1)) * m_heads + head);
    lane.type = ConnType::Nvls;
    lane.kind = kind;
    lane.messages = MessageCount(head, tree);
    lane.members = node;
    return lane;
}

Lane
NvlsGraph::CopyLane(uint32_t rank, uint32_t tree, bool scatters) const
{
    if (!m_copies || !(scatters ? Reduces() : Multicasts()))
    {
        return {};
    }
    Lane lane;
    lane.peer = rank;
    lane.type = ConnType::Nvls;
    lane.kind = LaneKind::Copy;
    lane.messages = RoundCount(tree);
    lane.result = tree * LanesPerTree() + (scatters ? SCATTERED : GATHERED);
    return lane;
}

Lane
NvlsGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    return outbound ? OutboundLane(rank, index) : InboundLane(rank, index);
}

Lane
NvlsGraph::OutboundLane(uint32_t rank, uint32_t index) const
{
    const auto [tree, lane] = Locate(index);
    const uint32_t base = tree * LanesPerTree();
    const TreeNode& node = NodeOf(rank, tree);
    Lane out;
    if (lane == TO_PARENT)
    {
        return TreeLane(rank, tree, node.parent);
    }
    if (lane < MULTICAST)
    {
        const uint32_t child = lane - TO_CHILD;
        return TreeLane(rank, tree, child < node.childCount ? node.children[child] : Lane::NONE);
    }
    if (lane == MULTICAST)
    {
        out = SwitchLane(rank, tree, m_headOf[rank], LaneKind::Multicast);
        out.result = out.messages ? base + OWN_LANES + m_headOf[rank] : Lane::NONE;
        return out;
    }
    if (lane < OWN_LANES)
    {
        return CopyLane(rank, tree, lane == SCATTER);
    }
    const uint32_t head = lane - OWN_LANES;
    out = SwitchLane(rank, tree, head, LaneKind::Reduce);
    out.result = head == m_headOf[rank] ? base + SUM : Lane::NONE;
    return out;
}

Lane
NvlsGraph::InboundLane(uint32_t rank, uint32_t index) const
{
    const auto [tree, lane] = Locate(index);
    const TreeNode& node = NodeOf(rank, tree);
    if (lane == FROM_PARENT)
    {
        return TreeLane(rank, tree, node.parent);
    }
    if (lane == SUM)
    {
        return SwitchLane(rank, tree, m_headOf[rank], LaneKind::Reduce);
    }
    if (lane == SCATTERED || lane == GATHERED)
    {
        return CopyLane(rank, tree, lane == SCATTERED);
    }
    if (lane < OWN_LANES)
    {
        const uint32_t child = FROM_FIRST_CHILD - lane;
        return TreeLane(rank, tree, child < node.childCount ? node.children[child] : Lane::NONE);
    }
    return SwitchLane(rank, tree, lane - OWN_LANES, LaneKind::Multicast);
}

LaneRange
NvlsGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const auto [tree, lane] = Locate(outbound);
    const uint32_t base = tree * LanesPerTree();
    if (lane >= OWN_LANES)
    {
        const uint32_t children = ChildrenOf(rank, tree);
        return Lanes(base + SCATTERED - children, children + (m_copies ? 1 : 0));
    }
    if (lane == GATHER)
    {
        return Lanes(base + OWN_LANES, m_heads);
    }
    if (lane == SCATTER || !Reduces())
    {
        return Lanes(0, 0);
    }
    // The root of a tree sends the sum down itself.
    const bool isSum = lane == TO_PARENT || NodeOf(rank, tree).parent == Lane::NONE;
    return Lanes(base + (isSum ? SUM : FROM_PARENT), 1);
}

LaneRange
NvlsGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const auto [tree, lane] = Locate(inbound);
    const uint32_t base = tree * LanesPerTree();
    if (lane >= OWN_LANES)
    {
        return Lanes(base + GATHER, 1);
    }
    if (lane == GATHERED)
    {
        return Lanes(0, 0);
    }
    if (lane >= FROM_SECOND_CHILD)
    {
        return Lanes(base + OWN_LANES, m_heads);
    }
    return lane == FROM_PARENT || NodeOf(rank, tree).parent == Lane::NONE
               ? Lanes(base + TO_CHILD, 3)
               : Lanes(base + TO_PARENT, 1);
}

uint64_t
NvlsGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const auto [tree, lane] = Locate(inbound);
    const uint32_t to = Locate(outbound).lane;
    if (lane >= OWN_LANES)
    {
        // Results of each share are gathered by chunks.
        return std::min((message + 1) * m_messagesPerChunk, MessageCount(lane - OWN_LANES, tree));
    }
    if (lane == SUM && to != MULTICAST)
    {
        return std::min((message + 1) * m_messagesPerChunk, MessageCount(m_headOf[rank], tree));
    }
    if (to >= MULTICAST && lane != SUM)
    {
        // Others' shares may have more chunks than the rank's own.
        const uint64_t chunk = message / m_messagesPerChunk + 1;
        return lane == SCATTERED ? chunk : std::min(chunk, ChunkCount(m_headOf[rank], tree));
    }
    return message + 1;
}

uint32_t
NvlsGraph::GetPeerLane(uint32_t rank, uint32_t inbound) const
{
    const auto [tree, lane] = Locate(inbound);
    const uint32_t base = tree * LanesPerTree();
    if (lane >= OWN_LANES)
    {
        return base + MULTICAST;
    }
    const TreeNode& node = NodeOf(rank, tree);
    switch (lane)
    {
    case FROM_PARENT: {
        const bool isFirst = m_trees[tree][node.parent].children[0] == m_shape.NodeOf(rank);
        return base + TO_CHILD + (isFirst ? 0 : 1);
    }
    case SUM:
        return base + OWN_LANES + m_headOf[rank];
    case SCATTERED:
        return base + SCATTER;
    case GATHERED:
        return base + GATHER;
    default:
        return base + TO_PARENT;
    }
}

std::vector<std::vector<uint32_t>>
NvlsGraph::GetMemberSets() const
{
    return m_shape.nodes;
}

} // namespace AstraSim
