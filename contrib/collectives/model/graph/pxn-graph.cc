/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pxn-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "pair-bytes.h"

#include <algorithm>

namespace AstraSim
{

// Connect() lists the connections between nodes of each rank; a connection's data are the items
// that VisitNetItems() visits: the pair's own and, on one rail, those of pairs that use PXN at
// either end. Its bytes are cut into messages of at most MESSAGE_BYTES, each with a proportional
// piece of every item. The lanes within the node follow: towards a rank that sends for others
// (Stage::Init) there is one message per message of its connections, with this rank's items;
// from a rank that received for others (Stage::Final) likewise. Message numbers of these lanes
// run over all connections of the rank, which are added up in Connection::first, so Find()
// returns the connection by bisection.

PxnGraph::PxnGraph(const CollectiveRequest& request, const GroupShape& shape)
    : FlowGraph(shape.GetRanks(), 0, SLOTS),
      m_request(request),
      m_shape(shape),
      m_leastBytes(request.bytes / shape.GetRanks()),
      m_leftBytes(static_cast<uint32_t>(request.bytes % shape.GetRanks())),
      m_neighbours(shape.GetRanksPerNode() - 1),
      m_to(shape.GetRanks()),
      m_from(shape.GetRanks())
{
    Connect();
}

template <typename Visit>
void
PxnGraph::VisitNetItems(uint32_t from,
                        uint32_t to,
                        uint64_t message,
                        uint64_t messages,
                        Visit visit) const
{
    // Pairs of one size, which most are, are cut alike.
    uint64_t pairBytes = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    const auto add = [&](uint32_t src, uint32_t dst) {
        const uint64_t bytes = PairBytesOf(src, dst);
        if (bytes != pairBytes)
        {
            pairBytes = bytes;
            begin = bytes * message / messages;
            end = bytes * (message + 1) / messages;
        }
        visit(Item{src, dst, begin, end - begin});
    };
    add(from, to);
    if (m_shape.RailOf(from) != m_shape.RailOf(to))
    {
        return;
    }
    for (const uint32_t src : m_shape.nodes[m_shape.NodeOf(from)])
    {
        if (src != from)
        {
            add(src, to);
        }
    }
    for (const uint32_t dst : m_shape.nodes[m_shape.NodeOf(to)])
    {
        if (dst != to && !m_shape.FindOnRail(m_shape.NodeOf(from), m_shape.RailOf(dst)))
        {
            add(from, dst);
        }
    }
}

void
PxnGraph::Connect()
{
    std::size_t most = 0;
    const uint32_t nodes = m_shape.GetNodes();
    // A node sends to the nodes after it first, so that each node is the first of another one.
    for (uint32_t distance = 1; distance < nodes; ++distance)
    {
        for (uint32_t node = 0; node < nodes; ++node)
        {
            for (const uint32_t from : m_shape.nodes[node])
            {
                for (const uint32_t to : m_shape.nodes[(node + distance) % nodes])
                {
                    if (!AreJoined(from, to))
                    {
                        continue;
                    }
                    uint64_t bytes = 0;
                    VisitNetItems(from, to, 0, 1, [&](const Item& item) { bytes += item.bytes; });
                    const uint64_t messages = DivideUp(bytes, MESSAGE_BYTES);
                    const auto out = static_cast<uint32_t>(m_to[from].size());
                    const auto in = static_cast<uint32_t>(m_from[to].size());
                    m_to[from].push_back({to, Total(m_to[from]), messages, in});
                    m_from[to].push_back({from, Total(m_from[to]), messages, out});
                    most = std::max({most, m_to[from].size(), m_from[to].size()});
                }
            }
        }
    }
    SetLaneCount(FirstOf(Stage::Net) + static_cast<uint32_t>(most));
}

uint64_t
PxnGraph::PairBytesOf(uint32_t src, uint32_t dst) const
{
    if (m_request.op == CollectiveOp::AllToAll)
    {
        return m_leastBytes + (dst < m_leftBytes ? 1 : 0); // PairBytes() without a division
    }
    return PairBytes(m_request, GetRanks(), src, dst);
}

bool
PxnGraph::AreJoined(uint32_t from, uint32_t to) const
{
    return m_shape.RailOf(from) == m_shape.RailOf(to) ||
           (!m_shape.FindOnRail(m_shape.NodeOf(from), m_shape.RailOf(to)) &&
            !m_shape.FindOnRail(m_shape.NodeOf(to), m_shape.RailOf(from)));
}

uint64_t
PxnGraph::Total(const Connections& connections)
{
    return connections.empty() ? 0 : connections.back().first + connections.back().messages;
}

std::size_t
PxnGraph::Find(const Connections& connections, uint64_t message)
{
    const auto after = std::ranges::upper_bound(connections, message, {}, &Connection::first);
    return static_cast<std::size_t>(after - connections.begin()) - 1;
}

uint32_t
PxnGraph::FirstOf(Stage stage) const
{
    return static_cast<uint32_t>(stage) * m_neighbours;
}

PxnGraph::Place
PxnGraph::Locate(uint32_t lane) const
{
    if (lane >= FirstOf(Stage::Net))
    {
        return {Stage::Net, lane - FirstOf(Stage::Net)};
    }
    return {static_cast<Stage>(lane / m_neighbours), lane % m_neighbours};
}

std::optional<uint32_t>
PxnGraph::NeighbourOf(uint32_t rank, uint32_t index, bool outbound) const
{
    const auto& node = m_shape.nodes[m_shape.NodeOf(rank)];
    const auto size = static_cast<uint32_t>(node.size());
    if (index + 1 >= size)
    {
        return std::nullopt;
    }
    const uint32_t distance = outbound ? index + 1 : size - 1 - index;
    return node[(m_shape.PlaceInNode(rank) + distance) % size];
}

Lane
PxnGraph::GetLane(uint32_t rank, uint32_t number, bool outbound) const
{
    const auto [stage, index] = Locate(number);
    Lane lane;
    if (stage == Stage::Net)
    {
        const Connections& connections = outbound ? m_to[rank] : m_from[rank];
        if (index >= connections.size())
        {
            return {};
        }
        lane.peer = connections[index].peer;
        lane.messages = connections[index].messages;
        lane.type = ConnType::Net;
    }
    else
    {
        const auto peer = NeighbourOf(rank, index, outbound);
        if (!peer)
        {
            return {};
        }
        lane.peer = *peer;
        const uint32_t from = outbound ? rank : *peer;
        const uint32_t to = outbound ? *peer : rank;
        lane.tag = static_cast<uint8_t>(stage);
        if (stage == Stage::Local)
        {
            lane.type = ConnType::P2p;
            lane.messages = DivideUp(PairBytesOf(from, to), MESSAGE_BYTES);
        }
        else
        {
            lane.type = stage == Stage::Init ? ConnType::PxnInit : ConnType::PxnFinal;
            lane.messages = Total(stage == Stage::Init ? m_to[to] : m_from[from]);
        }
        if (stage == Stage::Final)
        {
            // Only nodes that have no rank on the receiver's rail need it.
            const bool needed = std::ranges::any_of(m_from[from], [&](const Connection& in) {
                return !m_shape.FindOnRail(m_shape.NodeOf(in.peer), m_shape.RailOf(to));
            });
            lane.messages = needed ? lane.messages : 0;
        }
    }
    lane.channel = PairChannel(m_shape, outbound ? rank : lane.peer, outbound ? lane.peer : rank);
    return lane;
}

template <typename Visit>
void
PxnGraph::VisitItems(uint32_t rank, uint32_t outbound, uint64_t message, Visit visit) const
{
    const auto [stage, index] = Locate(outbound);
    if (stage == Stage::Net)
    {
        const Connection& connection = m_to[rank][index];
        VisitNetItems(rank, connection.peer, message, connection.messages, visit);
        return;
    }
    const uint32_t peer = *NeighbourOf(rank, index, true);
    if (stage == Stage::Local)
    {
        const uint64_t begin = message * MESSAGE_BYTES;
        visit(Item{rank, peer, begin, std::min(MESSAGE_BYTES, PairBytesOf(rank, peer) - begin)});
        return;
    }
    // The part of the connection's message that comes from this rank, or goes to that one.
    const bool isInit = stage == Stage::Init;
    const Connections& connections = isInit ? m_to[peer] : m_from[rank];
    const Connection& at = connections[Find(connections, message)];
    VisitNetItems(isInit ? peer : at.peer,
                  isInit ? at.peer : rank,
                  message - at.first,
                  at.messages,
                  [&](const Item& item) {
                      if (isInit ? item.src == rank : item.dst == peer)
                      {
                          visit(item);
                      }
                  });
}

std::vector<PxnGraph::Item>
PxnGraph::GetItems(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    std::vector<Item> items;
    VisitItems(rank, outbound, message, [&](const Item& item) { items.push_back(item); });
    return items;
}

uint64_t
PxnGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    uint64_t bytes = 0;
    VisitItems(rank, outbound, message, [&](const Item& item) { bytes += item.bytes; });
    return bytes;
}

uint32_t
PxnGraph::GetPeerLane(uint32_t rank, uint32_t inbound) const
{
    const auto [stage, index] = Locate(inbound);
    return stage == Stage::Net ? FirstOf(Stage::Net) + m_from[rank][index].number : inbound;
}

LaneRange
PxnGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    const auto [stage, index] = Locate(outbound);
    const auto neighbours = static_cast<uint32_t>(m_shape.nodes[m_shape.NodeOf(rank)].size()) - 1;
    switch (stage)
    {
    case Stage::Net:
        return Lanes(FirstOf(Stage::Init), neighbours);
    case Stage::Final:
        return Lanes(FirstOf(Stage::Net), static_cast<uint32_t>(m_from[rank].size()));
    default:
        return Lanes(0, 0);
    }
}

LaneRange
PxnGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    switch (Locate(inbound).stage)
    {
    case Stage::Init:
        return Lanes(FirstOf(Stage::Net) + static_cast<uint32_t>(Find(m_to[rank], message)), 1);
    case Stage::Net:
        return Lanes(FirstOf(Stage::Final), m_neighbours);
    default:
        return Lanes(0, 0);
    }
}

uint64_t
PxnGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    const auto [stage, index] = Locate(outbound);
    if (stage == Stage::Net)
    {
        return m_to[rank][index].first + message + 1;
    }
    // A message passes on the data of one connection; those before it, the data of the others.
    const Connection& in = m_from[rank][Locate(inbound).index];
    return message < in.first ? 0 : std::min(message - in.first + 1, in.messages);
}

} // namespace AstraSim
