/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "nvls-graph.h"

#include "astra-frontend/model/collective/divide-up.h"
#include "channel-graph.h"
#include "double-tree.h"

#include <algorithm>
#include <span>

namespace AstraSim
{

namespace
{

/// A head multicasts while it reduces the next chunk, which is the only limit of multicasts.
constexpr uint32_t REDUCE_SLOTS = 1;
constexpr uint32_t MULTICAST_SLOTS = UINT32_MAX;
constexpr uint8_t TREE_TAGS = 4 * NvlsGraph::MAX_HEADS; // after those of the switches' operations
constexpr uint32_t MAX_NICS = 32;                       ///< so that the tags of two trees fit

uint32_t
TreesOf(const GroupShape& shape)
{
    return shape.GetNodes() > 1 ? 2 : 1;
}

uint32_t
NicsOf(const GroupShape& shape, const NcclPlan& plan)
{
    return shape.GetNodes() > 1 ? std::clamp(plan.nics, 1U, MAX_NICS) : 1;
}

/// @return a channel's chunk (NCCL src/enqueue.cc, calcCollChunking; src/transport/nvls.cc)
uint64_t
NvlsChunkBytes(const GroupShape& shape, uint32_t heads, const NcclPlan& plan, uint64_t bytes)
{
    struct Limit
    {
        uint64_t chunk;
        uint64_t rounds; ///< least number of rounds of larger chunks
    };

    static constexpr Limit ONE_NODE[] = {{65536, 64}, {32768, 8}, {16384, 2}};
    static constexpr Limit TREE[] = {{262144, 32}, {131072, 16}, {65536, 4}, {32768, 1}};
    const uint64_t concurrent = uint64_t{plan.channels} * heads;
    uint64_t chunk = plan.nvlsChunk ? plan.nvlsChunk : 131072;
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
                     const NcclPlan& plan,
                     TimePs stepLatency)
    : FlowGraph(shape.GetRanks(),
                shape.GetRanks() > 1
                    ? TreesOf(shape) * (3 * NicsOf(shape, plan) + 3 +
                                        std::min(MAX_HEADS, shape.GetFewestRanks()))
                    : 0,
                REDUCE_SLOTS),
      m_op(request.op),
      m_shape(shape),
      m_plan(plan),
      m_bytes(request.bytes),
      m_stepLatency(stepLatency),
      m_heads(std::min(MAX_HEADS, shape.GetFewestRanks())),
      m_nics(NicsOf(shape, plan)),
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
    const uint64_t chunk = NvlsChunkBytes(shape, m_heads, plan, request.bytes);
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
    // NCCL src/device/all_reduce.h, all_gather.h, reduce_scatter.h, without registered buffers. Of
    // warps that send, one announces what the others have written (prims_simple.h).
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
    return std::max(1U, (m_plan.channels + trees - 1 - tree) / trees);
}

uint64_t
NvlsGraph::GetShareBytes(uint32_t head, uint32_t tree) const
{
    if (m_op != CollectiveOp::AllReduce)
    {
        return BlockRange(m_bytes, m_heads, head).second;
    }
    // Whole 16-byte units, the last heads taking what is left; the first tree the larger half.
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
    return lane < OwnLanes() ? m_headOf[rank] : lane - OwnLanes();
}

uint64_t
NvlsGraph::MessageBytes(uint32_t rank,
                        uint32_t index,
                        uint64_t message,
                        std::optional<uint32_t> nic) const
{
    const auto [tree, lane] = Locate(index);
    const uint64_t share = GetShareBytes(GetShareOf(rank, index), tree);
    if (!nic)
    {
        return std::min(m_messageBytes[tree], share - message * m_messageBytes[tree]);
    }
    const uint64_t chunk = std::min(ChunkBytes(tree), share - message * ChunkBytes(tree));
    const uint64_t each = RoundUp(DivideUp(chunk, m_nics), NCCL_ALIGNMENT);
    return std::min(each, chunk - std::min(chunk, *nic * each));
}

uint64_t
NvlsGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const auto [tree, lane] = Locate(outbound);
    if (lane == Scatter() || lane == Gather())
    {
        return RoundBytes(tree, message);
    }
    return MessageBytes(rank,
                        outbound,
                        message,
                        lane < Multicast() ? std::optional(lane % m_nics) : std::nullopt);
}

uint64_t
NvlsGraph::GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const auto [tree, lane] = Locate(inbound);
    if (lane == Scattered() || lane == Gathered())
    {
        return RoundBytes(tree, message);
    }
    std::optional<uint32_t> nic;
    if (lane < Scattered() && lane != Sum())
    {
        nic = lane < Sum() ? lane : (lane - FromChildren()) % m_nics;
    }
    return MessageBytes(rank, inbound, message, nic);
}

Lane
NvlsGraph::TreeLane(uint32_t rank, uint32_t tree, uint32_t nic, uint32_t neighbour) const
{
    if (neighbour == Lane::NONE || m_headOf[rank] >= m_heads)
    {
        return {};
    }
    Lane lane;
    lane.peer = m_shape.nodes[neighbour][m_headOf[rank]];
    lane.channel = m_headOf[rank];
    lane.nic = tree * m_nics + nic;
    lane.tag = static_cast<uint8_t>(TREE_TAGS + lane.nic);
    lane.type = ConnType::Tree;
    lane.messages = ChunkCount(m_headOf[rank], tree);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency : m_plan.interLatency;
    lane.slots = std::max(1U, NCCL_STEPS / m_plan.slotTrips);
    lane.slowStarts = m_plan.slowStarts;
    return lane;
}

Lane
NvlsGraph::ChildLane(uint32_t rank, uint32_t tree, uint32_t child, uint32_t nic) const
{
    const TreeNode& node = NodeOf(rank, tree);
    return TreeLane(rank, tree, nic, child < node.childCount ? node.children[child] : Lane::NONE);
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
    // All heads' chunks go through a GPU's links at once. The trees share these links, too: while
    // one waits for the network, the other has them to itself.
    lane.wireInflation = static_cast<float>(m_plan.nvlsInflation);
    lane.rateCapBps = static_cast<uint64_t>(m_plan.channelGBps * m_plan.channels * 8e9 *
                                            m_plan.nvlsInflation / m_heads);
    lane.slots = reduces || !Reduces() || lane.peer != rank ? REDUCE_SLOTS : MULTICAST_SLOTS;
    if (m_stepLatency < 0 && (reduces || !Reduces()))
    {
        lane.latency = m_plan.intraLatency / static_cast<TimePs>(m_messagesPerChunk);
    }
    lane.members = node;
    return lane;
}

double
NvlsGraph::CopyGBps(uint32_t rank, uint32_t tree, bool scatters) const
{
    const bool passesUp = NodeOf(rank, tree).parent != Lane::NONE;
    const Warps warps = WarpsOf(m_op, m_shape.GetRanks(), passesUp);
    const uint64_t iterations =
        DivideUp(m_chunkBytes, (scatters ? warps.scatter : warps.gather) * HUNK_BYTES);
    const double us = static_cast<double>(iterations) * m_plan.nvlsHunkUs;
    return us > 0 ? static_cast<double>(m_chunkBytes) / us / 1e3 : 0;
}

Lane
NvlsGraph::CopyLane(uint32_t rank, uint32_t tree, bool scatters) const
{
    if (m_stepLatency >= 0 || !(scatters ? Reduces() : Multicasts()))
    {
        return {};
    }
    Lane lane;
    lane.peer = rank;
    lane.type = ConnType::Nvls;
    lane.kind = LaneKind::Copy;
    lane.messages = RoundCount(tree);
    lane.rateCapBps =
        static_cast<uint64_t>(CopyGBps(rank, tree, scatters) * ChannelsOf(tree) * 8e9);
    if (m_plan.nvlsAloneUs > 0)
    {
        // Scatters begin before anything else does, and gathers end after it.
        lane.aloneAt = scatters ? AloneAt::First : AloneAt::Last;
        lane.aloneSpeed = static_cast<float>(m_plan.nvlsHunkUs / m_plan.nvlsAloneUs);
    }
    lane.slots = 1;
    lane.result = tree * LanesPerTree() + (scatters ? Scattered() : Gathered());
    return lane;
}

Lane
NvlsGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    const auto [tree, lane] = Locate(index);
    const uint32_t base = tree * LanesPerTree();
    Lane out;
    if (lane < ToChild())
    {
        return TreeLane(rank, tree, lane, NodeOf(rank, tree).parent);
    }
    if (lane < Multicast())
    {
        return ChildLane(rank, tree, (lane - ToChild()) / m_nics, lane % m_nics);
    }
    if (lane == Multicast())
    {
        out = SwitchLane(rank, tree, m_headOf[rank], LaneKind::Multicast);
        out.result = out.messages ? base + OwnLanes() + m_headOf[rank] : Lane::NONE;
        return out;
    }
    if (lane < OwnLanes())
    {
        return CopyLane(rank, tree, lane == Scatter());
    }
    const uint32_t head = lane - OwnLanes();
    out = SwitchLane(rank, tree, head, LaneKind::Reduce);
    out.result = head == m_headOf[rank] ? base + Sum() : Lane::NONE;
    return out;
}

Lane
NvlsGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    const auto [tree, lane] = Locate(index);
    if (lane < Sum())
    {
        return TreeLane(rank, tree, lane, NodeOf(rank, tree).parent);
    }
    if (lane == Sum())
    {
        return SwitchLane(rank, tree, m_headOf[rank], LaneKind::Reduce);
    }
    if (lane < Scattered())
    {
        const uint32_t number = lane - FromChildren();
        return ChildLane(rank, tree, number < m_nics ? 1 : 0, number % m_nics);
    }
    if (lane < OwnLanes())
    {
        return CopyLane(rank, tree, lane == Scattered());
    }
    return SwitchLane(rank, tree, lane - OwnLanes(), LaneKind::Multicast);
}

LaneRange
NvlsGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const auto [tree, lane] = Locate(outbound);
    const uint32_t base = tree * LanesPerTree();
    if (lane >= OwnLanes())
    {
        const uint32_t lanes = ChildrenOf(rank, tree) * m_nics;
        return Lanes(base + Scattered() - lanes, lanes + (m_stepLatency < 0 ? 1 : 0));
    }
    if (lane == Gather())
    {
        return Lanes(base + OwnLanes(), m_heads);
    }
    if (lane == Scatter() || !Reduces())
    {
        return Lanes(0, 0);
    }
    // The root of a tree sends the sum down itself.
    if (lane < ToChild() || NodeOf(rank, tree).parent == Lane::NONE)
    {
        return Lanes(base + Sum(), 1);
    }
    return lane < Multicast() ? Lanes(base + lane % m_nics, 1) : Lanes(base, m_nics);
}

LaneRange
NvlsGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    const auto [tree, lane] = Locate(inbound);
    const uint32_t base = tree * LanesPerTree();
    if (lane >= OwnLanes())
    {
        return Lanes(base + Gather(), 1);
    }
    if (lane == Gathered())
    {
        return Lanes(0, 0);
    }
    if (lane >= FromChildren())
    {
        return Lanes(base + OwnLanes(), m_heads);
    }
    const bool goesDown = lane < Sum() || NodeOf(rank, tree).parent == Lane::NONE;
    return goesDown ? Lanes(base + ToChild(), 2 * m_nics + 1) : Lanes(base, m_nics);
}

uint64_t
NvlsGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const auto [tree, lane] = Locate(inbound);
    const uint32_t to = Locate(outbound).lane;
    if (lane >= OwnLanes())
    {
        // Results of each share are gathered by chunks.
        return std::min((message + 1) * m_messagesPerChunk, MessageCount(lane - OwnLanes(), tree));
    }
    if (lane == Sum() && to != Multicast())
    {
        return std::min((message + 1) * m_messagesPerChunk, MessageCount(m_headOf[rank], tree));
    }
    if (to >= Multicast() && lane != Sum())
    {
        // Others' shares may have more chunks than the rank's own.
        const uint64_t chunk = message / m_messagesPerChunk + 1;
        return lane == Scattered() ? chunk : std::min(chunk, ChunkCount(m_headOf[rank], tree));
    }
    return message + 1;
}

uint32_t
NvlsGraph::GetMemberSets() const
{
    return m_shape.GetNodes();
}

std::vector<uint32_t>
NvlsGraph::GetMembers(uint32_t set) const
{
    return m_shape.nodes[set];
}

} // namespace AstraSim
