/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operation-shape.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr uint16_t RANKS_DPORT = 100;

/// Take in, for each operation, how alike those are that it meets (Weisfeiler and Lehman, 1968).
void
RefineLikeness(const std::vector<const OperationShape*>& operations, std::vector<Digest>& likeness)
{
    const auto hashAt = [&likeness](std::size_t operation, uint64_t place) {
        Digest digest = likeness[operation];
        digest.Add(place);
        return uint64_t{Digest::Hash()(digest)};
    };
    boost::unordered_flat_map<uint32_t, uint64_t> meeting; // by link: sum over its operations
    for (std::size_t i = 0; i < operations.size(); ++i)
    {
        for (uint64_t place = 0; place < operations[i]->links.size(); ++place)
        {
            meeting[operations[i]->links[place]] += hashAt(i, place);
        }
    }
    std::vector<Digest> refined = likeness;
    for (std::size_t i = 0; i < operations.size(); ++i)
    {
        for (uint64_t place = 0; place < operations[i]->links.size(); ++place)
        {
            refined[i].Add(meeting[operations[i]->links[place]] - hashAt(i, place));
        }
    }
    likeness = std::move(refined);
}

} // namespace

std::vector<Digest>
LikenessOf(const std::vector<const OperationShape*>& operations)
{
    constexpr int ROUNDS = 2; // those that it meets, and those that they meet
    std::vector<Digest> likeness;
    for (const OperationShape* operation : operations)
    {
        likeness.push_back(operation->digest);
    }
    for (int round = 0; round < ROUNDS && operations.size() > 1; ++round)
    {
        RefineLikeness(operations, likeness);
    }
    return likeness;
}

ShapeFinder::ShapeFinder(const ns3::ClusterTopology& topology,
                         uint32_t ecmpSeed,
                         bool messagesKeepPaths)
    : m_topology(topology),
      m_router(topology, ecmpSeed, {}, {}, false),
      m_messagesKeepPaths(messagesKeepPaths)
{
    m_router.SetSpreading(std::vector<bool>(topology.nodeCount, true));
}

OperationShape
ShapeFinder::Find(const PartOperation& operation, const FlowGraph* graph)
{
    m_shape = {};
    m_links.clear();
    m_nodes.clear();
    m_router.ForgetConnections();
    Digest& digest = m_shape.digest;
    const CollectiveRequest& request = operation.request;
    digest.Add(uint64_t{operation.isMessage});
    digest.Add(static_cast<uint64_t>(request.op));
    digest.Add(request.bytes);
    digest.Add(static_cast<uint64_t>(request.root));
    for (const uint64_t bytes : request.bytesPerPair)
    {
        digest.Add(bytes);
    }
    const MessageInfo& info = operation.info;
    digest.Add(uint64_t{info.channel});
    digest.Add(static_cast<uint64_t>(info.sendLatency));
    digest.Add(info.wireInflation);
    digest.Add(info.rateCapBps);
    const auto& ranks = operation.group.ranks;
    digest.Add(uint64_t{ranks.size()});
    if (graph)
    {
        AddLanes(operation, *graph);
    }
    else
    {
        AddPath(ranks[0], ranks[1], info.channel, !m_messagesKeepPaths);
    }
    return std::move(m_shape);
}

void
ShapeFinder::AddLanes(const PartOperation& operation, const FlowGraph& graph)
{
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            AddLane(operation, graph, rank, index);
        }
    }
    for (uint32_t set = 0; set < graph.GetMemberSets(); ++set)
    {
        for (const uint32_t member : graph.GetMembers(set))
        {
            m_shape.digest.Add(uint64_t{member});
        }
    }
}

void
ShapeFinder::AddLane(const PartOperation& operation,
                     const FlowGraph& graph,
                     uint32_t rank,
                     uint32_t index)
{
    const Lane lane = graph.GetOutbound(rank, index);
    if (lane.messages == 0)
    {
        return;
    }
    Digest& digest = m_shape.digest;
    const uint64_t kind = static_cast<uint64_t>(lane.type) << 32 |
                          static_cast<uint64_t>(lane.kind) << 8 | uint64_t{lane.waitsEachPass};
    digest.Add(uint64_t{rank} << 32 | index);
    digest.Add(uint64_t{lane.peer} << 32 | lane.channel);
    digest.Add(kind);
    digest.Add(uint64_t{lane.slots} << 32 | lane.passBytes);
    digest.Add(uint64_t{lane.members} << 32 | lane.result);
    digest.Add(lane.messages);
    digest.Add(static_cast<uint64_t>(lane.latency));
    digest.Add(lane.rateCapBps);
    digest.Add(uint64_t{static_cast<uint8_t>(lane.aloneAt)});
    digest.Add(double{lane.aloneSpeed});
    digest.Add(double{lane.wireInflation});
    digest.Add(graph.GetBytes(rank, index, 0));
    digest.Add(graph.GetBytes(rank, index, lane.messages - 1));
    if (lane.kind == LaneKind::Copy)
    {
        return;
    }
    const auto& ranks = operation.group.ranks;
    if (lane.peer != rank)
    {
        AddPath(ranks[rank], ranks[lane.peer], lane.channel, true);
    }
    if (lane.kind == LaneKind::Message)
    {
        return;
    }
    // An in-network operation goes up to switches between its members, and down from them.
    for (const uint32_t member : graph.GetMembers(lane.members))
    {
        if (member != rank)
        {
            AddPath(ranks[rank], ranks[member], lane.channel, true);
            AddPath(ranks[member], ranks[rank], lane.channel, true);
        }
    }
}

void
ShapeFinder::AddPath(int from, int to, uint32_t channel, bool all)
{
    const auto src = static_cast<uint32_t>(from);
    const auto dst = static_cast<uint32_t>(to);
    if (src == dst)
    {
        return;
    }
    const auto start = m_router.Open(src, dst, channel, RANKS_DPORT);
    if (!start || !m_router.Follow(src, dst, *start, m_path, &m_back))
    {
        m_shape.digest.Add(UINT64_MAX); // no path: it waits for ever
        return;
    }
    for (const ns3::PathHop& hop : m_path.hops)
    {
        AddLink(m_router.DirectedLink(hop));
    }
    for (const uint32_t link : m_back)
    {
        AddLink(link);
    }
    if (!all)
    {
        return;
    }
    m_router.Spread(src, dst, start->firstPort, start->hash, m_shares);
    AddShares();
    const auto& last = m_topology.links[m_path.hops.back().link];
    const uint16_t port = last.a == m_topology.NodeOfHost(dst) ? last.portA : last.portB;
    m_router.Spread(dst, src, port, ~start->hash, m_shares);
    AddShares();
}

void
ShapeFinder::AddShares()
{
    const auto placeOf = [](const auto& places, uint32_t what) {
        const auto known = places.find(what);
        return known == places.end() ? UINT32_MAX : known->second;
    };
    std::stable_sort(m_shares.begin(), m_shares.end(), [&](const auto& a, const auto& b) {
        const auto order = [&](uint32_t link) {
            const auto [from, to] = NodesOf(link);
            return std::tuple(placeOf(m_links, link), placeOf(m_nodes, from), placeOf(m_nodes, to));
        };
        return order(a.link) < order(b.link);
    });
    for (const FlowRouter::Share& share : m_shares)
    {
        AddLink(share.link);
    }
}

std::pair<uint32_t, uint32_t>
ShapeFinder::NodesOf(uint32_t directedLink) const
{
    const auto& link = m_topology.links[directedLink / 2];
    const bool fromB = directedLink % 2;
    return fromB ? std::pair(link.b, link.a) : std::pair(link.a, link.b);
}

void
ShapeFinder::AddLink(uint32_t directedLink)
{
    const auto [place, isNew] =
        m_links.try_emplace(directedLink, static_cast<uint32_t>(m_shape.links.size()));
    m_shape.digest.Add(uint64_t{place->second});
    if (!isNew)
    {
        return;
    }
    m_shape.links.push_back(directedLink);
    const auto& link = m_topology.links[directedLink / 2];
    const auto [from, to] = NodesOf(directedLink);
    m_shape.digest.Add(uint64_t{NumberOfNode(from)});
    m_shape.digest.Add(uint64_t{NumberOfNode(to)});
    m_shape.digest.Add(link.rateBps);
    m_shape.digest.Add(static_cast<uint64_t>(link.delayPs));
}

uint32_t
ShapeFinder::NumberOfNode(uint32_t node)
{
    const auto [place, isNew] = m_nodes.try_emplace(node, static_cast<uint32_t>(m_nodes.size()));
    if (isNew)
    {
        m_shape.digest.Add(static_cast<uint64_t>(m_topology.kind[node]));
    }
    return place->second;
}

} // namespace AstraSim
