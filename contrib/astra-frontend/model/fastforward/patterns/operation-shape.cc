/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "operation-shape.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace AstraSim
{

// Find() makes two things of an operation: the list of links that it may use, and a digest that
// is the same wherever in the network the operation takes place. So the digest has no numbers of
// nodes or ranks. A link enters as its place in the list of links met so far, a node as its
// place among the nodes met so far (AddLink, NumberOfNode), with rates and delays; these places
// record which paths join where. Lanes enter with their counts and times. Where switches choose,
// all links of the fan of shortest paths count (AddFan), once per switch and destination. The
// paths take most of the work and are the same for collectives of all sizes, so FindPaths()
// keeps them by pairs and channels.

namespace
{

constexpr uint16_t RANKS_DPORT = 100;
constexpr uint32_t NOWHERE = UINT32_MAX;
constexpr std::size_t MOST_KNOWN_LINKS = 1 << 20;

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
      m_router(topology, ecmpSeed, {}, {}, ns3::PathUse::Fixed),
      m_messagesKeepPaths(messagesKeepPaths),
      m_linkPlaces(2 * topology.links.size(), NOWHERE),
      m_nodePlaces(topology.nodeCount, NOWHERE)
{
    m_router.SetSpreading(std::vector<bool>(topology.nodeCount, true));
}

OperationShape
ShapeFinder::Find(const PartOperation& operation, const TimedGraph& timed)
{
    Digest digest;
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
    m_pairs.clear();
    m_laneKind = {};
    const bool hasGraph = timed.graph != nullptr;
    if (hasGraph)
    {
        AddLanes(digest, operation, timed);
    }
    else
    {
        AddPair(ranks[0], ranks[1], info.channel);
    }
    OperationShape shape = hasGraph ? FindPaths() : MakePaths(!m_messagesKeepPaths);
    digest.Add(shape.digest);
    shape.digest = digest;
    shape.connections = m_pairs.size();
    return shape;
}

std::vector<uint32_t>
ShapeFinder::FindLinks(int src, int dst, uint32_t channel)
{
    m_pairs.clear();
    AddPair(src, dst, channel);
    return MakePaths(true).links;
}

void
ShapeFinder::AddLanes(Digest& digest, const PartOperation& operation, const TimedGraph& timed)
{
    const FlowGraph& graph = *timed.graph;
    m_memberSets = graph.GetMemberSets();
    for (uint32_t rank = 0; rank < graph.GetRanks(); ++rank)
    {
        for (uint32_t index = 0; index < graph.GetLaneCount(); ++index)
        {
            AddLane(digest, operation, timed, rank, index);
        }
    }
    for (const auto& members : m_memberSets)
    {
        for (const uint32_t member : members)
        {
            digest.Add(uint64_t{member});
        }
    }
}

void
ShapeFinder::AddLane(Digest& digest,
                     const PartOperation& operation,
                     const TimedGraph& timed,
                     uint32_t rank,
                     uint32_t index)
{
    const FlowGraph& graph = *timed.graph;
    const Lane lane = graph.GetOutbound(rank, index);
    if (lane.messages == 0)
    {
        return;
    }
    const LaneTimes times = timed.gpu->GetTimes(rank, index, true, lane);
    // Most lanes are of the same kind as the one before: one bit says so in place of the kind.
    const std::array<uint64_t, 10> kind{
        static_cast<uint64_t>(lane.type) << 32 | static_cast<uint64_t>(times.aloneAt) << 16 |
            static_cast<uint64_t>(lane.kind) << 8 | uint64_t{times.wholePasses} << 1 |
            uint64_t{times.waitsEachPass},
        uint64_t{times.slots} << 32 | times.passBytes,
        uint64_t{lane.members} << 32 | lane.result,
        lane.messages,
        static_cast<uint64_t>(times.latency),
        times.messageBytes << 32 | times.withLatency,
        times.rateCapBps,
        std::bit_cast<uint64_t>(double{times.aloneSpeed}),
        std::bit_cast<uint64_t>(times.psPerAccess),
        std::bit_cast<uint64_t>(double{times.wireInflation})};
    const bool isOther = kind != m_laneKind;
    digest.Add(uint64_t{rank} << 32 | index);
    digest.Add(uint64_t{isOther} << 63 | uint64_t{lane.peer} << 32 | lane.channel);
    if (isOther)
    {
        m_laneKind = kind;
        for (const uint64_t value : kind)
        {
            digest.Add(value);
        }
    }
    digest.Add(graph.GetBytes(rank, index, 0));
    if (lane.messages > 1)
    {
        digest.Add(graph.GetBytes(rank, index, lane.messages - 1));
    }
    if (lane.kind == LaneKind::Copy)
    {
        return;
    }
    const auto& ranks = operation.group.ranks;
    if (lane.peer != rank)
    {
        AddPair(ranks[rank], ranks[lane.peer], lane.channel);
    }
    if (lane.kind == LaneKind::Message)
    {
        return;
    }
    // An in-network operation goes up to switches between its members, and down from them.
    for (const uint32_t member : m_memberSets[lane.members])
    {
        if (member != rank)
        {
            AddPair(ranks[rank], ranks[member], lane.channel);
            AddPair(ranks[member], ranks[rank], lane.channel);
        }
    }
}

void
ShapeFinder::AddPair(int src, int dst, uint32_t channel)
{
    if (src != dst)
    {
        m_pairs.push_back({static_cast<uint32_t>(src), static_cast<uint32_t>(dst), channel});
    }
}

const ShapeFinder::Paths&
ShapeFinder::FindPaths()
{
    Digest key;
    for (const auto& [src, dst, channel] : m_pairs)
    {
        key.Add(uint64_t{src} << 32 | dst);
        key.Add(uint64_t{channel});
    }
    if (m_knownLinks > MOST_KNOWN_LINKS)
    {
        m_known.clear();
        m_knownLinks = 0;
    }
    const auto [known, isNew] = m_known.try_emplace(key);
    if (isNew)
    {
        known->second = MakePaths(true);
        m_knownLinks += known->second.links.size();
    }
    return known->second;
}

ShapeFinder::Paths
ShapeFinder::MakePaths(bool all)
{
    m_router.ForgetConnections();
    m_fans.clear();
    for (const Pair& pair : m_pairs)
    {
        AddPath(pair, all);
    }
    for (const uint32_t link : m_paths.links)
    {
        m_linkPlaces[link] = NOWHERE;
    }
    for (const uint32_t node : m_nodes)
    {
        m_nodePlaces[node] = NOWHERE;
    }
    m_nodes.clear();
    return std::exchange(m_paths, {});
}

void
ShapeFinder::AddPath(const Pair& pair, bool all)
{
    // A message of many frames takes all the ports that one of few may take.
    for (const auto& part :
         m_router.FindCut(pair.src, pair.dst).Divide(UINT32_MAX, 1, pair.channel))
    {
        AddPathFrom(pair, part.port, all);
    }
}

void
ShapeFinder::AddPathFrom(const Pair& pair, uint32_t port, bool all)
{
    const auto& [src, dst, channel] = pair;
    const auto start = m_router.Open(src, dst, port, RANKS_DPORT);
    if (!start || !m_router.Follow(src, dst, *start, m_path, &m_back))
    {
        m_paths.digest.Add(UINT64_MAX); // no path: it waits for ever
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
    AddFan(src, dst, start->firstPort, start->hash, all);
    const auto& last = m_topology.links[m_path.hops.back().link];
    const uint16_t lastPort = last.a == m_topology.NodeOfHost(dst) ? last.portA : last.portB;
    AddFan(dst, src, lastPort, ~start->hash, all);
}

void
ShapeFinder::AddFan(uint32_t from, uint32_t to, uint16_t port, uint32_t hash, bool all)
{
    // The link to the first switch is on the path, and has been taken in.
    const uint32_t first = m_topology.Ports(m_topology.NodeOfHost(from))[port].peer;
    const auto [fan, isNew] = m_fans.try_emplace(uint64_t{first} << 32 | to);
    if (isNew)
    {
        m_router.Spread(from, to, port, hash, m_shares);
        m_paths.hasChoice =
            m_paths.hasChoice || std::ranges::any_of(m_shares, [](const FlowRouter::Share& share) {
                return share.fraction < 0.99F; // less than 1, allowing for rounding
            });
    }
    if (!all)
    {
        return;
    }
    if (isNew)
    {
        AddShares();
        for (const FlowRouter::Share& share : m_shares)
        {
            fan->second.Add(uint64_t{m_linkPlaces[share.link]});
        }
    }
    m_paths.digest.Add(fan->second);
}

void
ShapeFinder::AddShares()
{
    const auto order = [this](uint32_t link) {
        const auto [from, to] = NodesOf(link);
        return std::tuple(m_linkPlaces[link], m_nodePlaces[from], m_nodePlaces[to]);
    };
    std::ranges::stable_sort(m_shares, [&](const auto& a, const auto& b) {
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
    uint32_t& place = m_linkPlaces[directedLink];
    const bool isNew = place == NOWHERE;
    place = isNew ? static_cast<uint32_t>(m_paths.links.size()) : place;
    Digest& digest = m_paths.digest;
    digest.Add(uint64_t{place});
    if (!isNew)
    {
        return;
    }
    m_paths.links.push_back(directedLink);
    const auto& link = m_topology.links[directedLink / 2];
    const auto [from, to] = NodesOf(directedLink);
    digest.Add(uint64_t{NumberOfNode(from)});
    digest.Add(uint64_t{NumberOfNode(to)});
    digest.Add(link.rateBps);
    digest.Add(static_cast<uint64_t>(link.delayPs));
}

uint32_t
ShapeFinder::NumberOfNode(uint32_t node)
{
    uint32_t& place = m_nodePlaces[node];
    if (place == NOWHERE)
    {
        place = static_cast<uint32_t>(m_nodes.size());
        m_nodes.push_back(node);
        m_paths.digest.Add(static_cast<uint64_t>(m_topology.kind[node]));
    }
    return place;
}

} // namespace AstraSim
