/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-books.h"

#include "divide-up.h"

#include <algorithm>
#include <fmt/format.h>

namespace AstraSim
{

// Each rank has a set of ranks, m_ranks[rank].has: those with data in its buffer, at first
// itself. Sent() stores a copy of the sender's set with the message, Received() adds it to the
// receiver's; a switch's sum is the union of its senders' sets. With a graph, CheckOrder() also
// compares each message with its lane: the size must be the graph's, and as many messages of the
// source lanes must have arrived as GetNeeds() says. Messages without bytes do not reach the
// network, so SkipEmpty() counts them when their turn comes. At a rank's end, Done() compares
// its set, its bytes and its lanes with the operation's demands. A set cannot tell parts of the
// data apart; tests of the graphs do that.

namespace
{

constexpr LaneKind KINDS[] = {LaneKind::Reduce, LaneKind::Multicast, LaneKind::ReduceMulticast};

bool
IsInNetwork(LaneKind kind)
{
    return std::find(std::begin(KINDS), std::end(KINDS), kind) != std::end(KINDS);
}

} // namespace

CollectiveBooks::CollectiveBooks(const CommGroup& group,
                                 const CollectiveRequest& request,
                                 const FlowGraph* graph,
                                 std::string algorithm,
                                 CheckReport report)
    : m_group(group),
      m_request(request),
      m_graph(graph),
      m_algorithm(std::move(algorithm)),
      m_report(std::move(report)),
      m_ranks(group.ranks.size())
{
    if (graph)
    {
        m_memberSets = graph->GetMemberSets();
    }
    for (uint32_t rank = 0; rank < m_ranks.size(); ++rank)
    {
        m_indexOf[group.ranks[rank]] = rank;
        m_ranks[rank].has.resize(m_ranks.size());
        m_ranks[rank].has.set(rank);
        if (m_graph)
        {
            FindLanes(rank);
        }
    }
}

void
CollectiveBooks::FindLanes(uint32_t rank)
{
    Rank& books = m_ranks[rank];
    books.sent.resize(m_graph->GetLaneCount());
    books.received.resize(m_graph->GetLaneCount());
    for (uint32_t lane = 0; lane < m_graph->GetLaneCount(); ++lane)
    {
        const Lane out = m_graph->GetOutbound(rank, lane);
        if (out.messages > 0 && out.kind == LaneKind::Message)
        {
            books.outbound[{out.peer, out.tag}] = lane;
        }
        const Lane in = m_graph->GetInbound(rank, lane);
        if (in.messages > 0 && in.kind == LaneKind::Message)
        {
            books.inbound[{in.peer, in.tag}] = lane;
        }
    }
}

uint32_t
CollectiveBooks::IndexOf(int rank) const
{
    return m_indexOf.at(rank);
}

void
CollectiveBooks::Fail(const std::string& what) const
{
    m_report(fmt::format("{} of {} bytes by {} in group {}: {}",
                         ToString(m_request.op),
                         m_request.bytes,
                         m_algorithm,
                         m_group.name,
                         what));
}

void
CollectiveBooks::SkipEmpty(uint32_t rank, uint32_t lane, bool isOutbound)
{
    Rank& books = m_ranks[rank];
    uint64_t& count = isOutbound ? books.sent[lane] : books.received[lane];
    const uint64_t messages = isOutbound ? m_graph->GetOutbound(rank, lane).messages
                                         : m_graph->GetInbound(rank, lane).messages;
    while (count < messages && (isOutbound ? m_graph->GetBytes(rank, lane, count)
                                           : m_graph->GetInboundBytes(rank, lane, count)) == 0)
    {
        ++count;
    }
}

void
CollectiveBooks::CheckOrder(uint32_t rank, uint32_t lane, uint64_t bytes)
{
    Rank& books = m_ranks[rank];
    SkipEmpty(rank, lane, true);
    const uint64_t message = books.sent[lane]++;
    if (message >= m_graph->GetOutbound(rank, lane).messages)
    {
        Fail(fmt::format("rank {} sends more messages than it has on lane {}", rank, lane));
        return;
    }
    if (bytes != m_graph->GetBytes(rank, lane, message))
    {
        Fail(fmt::format("rank {} sends {} bytes as message {} of lane {}, which has {}",
                         rank,
                         bytes,
                         message,
                         lane,
                         m_graph->GetBytes(rank, lane, message)));
    }
    for (const uint32_t source : m_graph->GetSources(rank, lane))
    {
        const Lane in = m_graph->GetInbound(rank, source);
        SkipEmpty(rank, source, false);
        const uint64_t needs = m_graph->GetNeeds(rank, lane, message, source);
        // The network hears nothing of copies within a GPU.
        if (in.kind != LaneKind::Copy && books.received[source] < needs)
        {
            Fail(fmt::format("rank {} sends message {} of lane {} after {} messages of lane {}; it "
                             "depends on {}",
                             rank,
                             message,
                             lane,
                             books.received[source],
                             source,
                             needs));
        }
    }
}

void
CollectiveBooks::Sent(uint32_t src, int dstRank, int tag, uint64_t bytes)
{
    const uint32_t dst = IndexOf(dstRank);
    if (m_graph)
    {
        const auto lane = m_ranks[src].outbound.find({dst, tag});
        if (lane == m_ranks[src].outbound.end())
        {
            Fail(fmt::format("rank {} sends to rank {}, which no lane leads to", src, dst));
        }
        else
        {
            CheckOrder(src, lane->second, bytes);
        }
    }
    m_underWay[{src, dst, tag}].push_back({bytes, m_ranks[src].has});
}

void
CollectiveBooks::Arrived(uint32_t rank, uint32_t inbound)
{
    SkipEmpty(rank, inbound, false);
    ++m_ranks[rank].received[inbound];
}

void
CollectiveBooks::Received(uint32_t rank, int srcRank, int tag, uint64_t bytes)
{
    const uint32_t src = IndexOf(srcRank);
    auto& messages = m_underWay[{src, rank, tag}];
    Rank& books = m_ranks[rank];
    uint64_t left = bytes;
    while (left > 0 && !messages.empty())
    {
        Message& first = messages.front();
        const uint64_t part = std::min(left, first.bytes);
        books.has |= first.carries;
        left -= part;
        first.bytes -= part;
        if (first.bytes == 0)
        {
            messages.pop_front();
        }
    }
    if (left > 0)
    {
        Fail(fmt::format("rank {} receives {} bytes of rank {} that were not sent",
                         rank,
                         left,
                         src));
    }
    books.bytesReceived += bytes;
    const auto lane = books.inbound.find({src, tag});
    if (lane != books.inbound.end())
    {
        Arrived(rank, lane->second);
    }
}

std::optional<uint32_t>
CollectiveBooks::FindJoined(uint32_t rank, InNetworkOp op, int tag, bool sends) const
{
    const LaneKind kind = KINDS[static_cast<uint8_t>(op)];
    for (uint32_t lane = 0; lane < m_graph->GetLaneCount(); ++lane)
    {
        const Lane each =
            sends ? m_graph->GetOutbound(rank, lane) : m_graph->GetInbound(rank, lane);
        if (each.messages > 0 && each.kind == kind && each.tag == tag &&
            (sends || each.OnlyReceives(rank)))
        {
            return lane;
        }
    }
    return std::nullopt;
}

CollectiveBooks::Joined
CollectiveBooks::Join(uint32_t rank, InNetworkOp op, int tag, uint64_t bytes)
{
    if (const auto out = m_graph ? FindJoined(rank, op, tag, true) : std::nullopt)
    {
        const Lane lane = m_graph->GetOutbound(rank, *out);
        CheckOrder(rank, *out, bytes);
        const uint64_t message = m_ranks[rank].sent[*out] - 1;
        Sum& sum = m_sums[{lane.members, tag, message}];
        sum.carries.resize(m_ranks.size());
        sum.carries |= m_ranks[rank].has;
        ++sum.senders;
        return {message, lane.result, lane.members};
    }
    const auto in = m_graph ? FindJoined(rank, op, tag, false) : std::nullopt;
    if (!in)
    {
        Fail(fmt::format("rank {} takes part in an operation that is not its own", rank));
        return {0, Lane::NONE, Lane::NONE};
    }
    SkipEmpty(rank, *in, false);
    return {m_ranks[rank].received[*in], *in, m_graph->GetInbound(rank, *in).members};
}

void
CollectiveBooks::JoinEnded(uint32_t rank, const Joined& joined, int tag, uint64_t bytes)
{
    if (joined.inbound == Lane::NONE)
    {
        return;
    }
    const Sum& sum = m_sums[{joined.set, tag, joined.message}];
    const LaneKind kind = m_graph->GetInbound(rank, joined.inbound).kind;
    const std::size_t senders = kind == LaneKind::Multicast ? 1 : m_memberSets[joined.set].size();
    if (sum.senders != senders)
    {
        Fail(fmt::format("rank {} gets a result of {} contributions instead of {}",
                         rank,
                         sum.senders,
                         senders));
        return;
    }
    m_ranks[rank].has |= sum.carries;
    m_ranks[rank].bytesReceived += bytes;
    Arrived(rank, joined.inbound);
}

// --- the data that a rank must have in the end

bool
CollectiveBooks::HasExactBlocks() const
{
    // The blocks of two ranks differ by at most a byte. In an AllReduce, NCCL chooses the parts.
    return m_graph && m_request.op != CollectiveOp::AllReduce;
}

bool
CollectiveBooks::HasShares() const
{
    const uint64_t ranks = m_ranks.size();
    if (HasExactBlocks())
    {
        return m_request.bytes >= ranks;
    }
    // Shares are rounded up, so a short buffer may be used up before the last rank's.
    const uint64_t share = RoundUp(DivideUp(m_request.bytes, ranks), NCCL_ALIGNMENT);
    return (ranks - 1) * share < m_request.bytes;
}

bool
CollectiveBooks::Demands(uint32_t src, uint32_t dst) const
{
    const auto root = static_cast<uint32_t>(m_request.root);
    const bool hasShares = HasShares();
    switch (m_request.op)
    {
    case CollectiveOp::Broadcast:
        return src == root;
    case CollectiveOp::Scatter:
        return src == root && hasShares;
    case CollectiveOp::Reduce:
        return dst == root;
    case CollectiveOp::Gather:
        return dst == root && hasShares;
    case CollectiveOp::SendRecv:
        return src == 0 && dst == 1;
    case CollectiveOp::AllToAllV:
        return m_request.bytesPerPair[src * m_ranks.size() + dst] > 0;
    case CollectiveOp::AllReduce:
    case CollectiveOp::Barrier:
        return true;
    default:
        return hasShares;
    }
}

uint64_t
CollectiveBooks::BytesDemanded(uint32_t rank) const
{
    const uint64_t ranks = m_ranks.size();
    const uint64_t bytes = m_request.bytes;
    const auto sharesOf = [&](uint64_t count) -> uint64_t {
        if (!HasShares())
        {
            return 0;
        }
        const uint64_t least = bytes / ranks * count;
        // Shares are cut at multiples of NCCL_ALIGNMENT, so each may lack up to that.
        return HasExactBlocks() ? least : least - std::min(least, NCCL_ALIGNMENT * count);
    };
    const bool isRoot = rank == static_cast<uint32_t>(m_request.root);
    switch (m_request.op)
    {
    case CollectiveOp::AllReduce:
    case CollectiveOp::AllGather:
    case CollectiveOp::AllToAll:
        return sharesOf(ranks - 1);
    case CollectiveOp::ReduceScatter:
        return sharesOf(1);
    case CollectiveOp::Broadcast:
        return isRoot ? 0 : bytes;
    case CollectiveOp::Reduce:
        return isRoot ? bytes : 0;
    case CollectiveOp::Gather:
        return isRoot ? sharesOf(ranks - 1) : 0;
    case CollectiveOp::Scatter:
        return isRoot ? 0 : sharesOf(1);
    case CollectiveOp::SendRecv:
        return rank == 1 ? bytes : 0;
    case CollectiveOp::AllToAllV: {
        uint64_t sum = 0;
        for (uint64_t src = 0; src < ranks; ++src)
        {
            sum += src == rank ? 0 : m_request.bytesPerPair[src * ranks + rank];
        }
        return sum;
    }
    default:
        return 0;
    }
}

void
CollectiveBooks::CheckComplete(uint32_t rank)
{
    const Rank& books = m_ranks[rank];
    const auto expect = [&](uint32_t lane, bool outbound, uint64_t messages) {
        SkipEmpty(rank, lane, outbound);
        const uint64_t done = outbound ? books.sent[lane] : books.received[lane];
        if (done != messages)
        {
            Fail(fmt::format("rank {} is done and has {} {} of {} messages of lane {}",
                             rank,
                             outbound ? "sent" : "received",
                             done,
                             messages,
                             lane));
        }
    };
    for (uint32_t lane = 0; lane < books.sent.size(); ++lane)
    {
        const Lane out = m_graph->GetOutbound(rank, lane);
        const Lane in = m_graph->GetInbound(rank, lane);
        if (out.kind == LaneKind::Message || IsInNetwork(out.kind))
        {
            expect(lane, true, out.messages);
        }
        if (in.kind != LaneKind::Copy)
        {
            expect(lane, false, in.messages);
        }
    }
}

bool
CollectiveBooks::Done(uint32_t rank)
{
    const Rank& books = m_ranks[rank];
    CheckComplete(rank);
    const bool demands = m_demands && m_request.bytes > 0;
    for (uint32_t src = 0; demands && src < m_ranks.size(); ++src)
    {
        if (Demands(src, rank) && !books.has[src])
        {
            Fail(fmt::format("rank {} is done without data of rank {}", rank, src));
        }
    }
    if (demands && books.bytesReceived < BytesDemanded(rank))
    {
        Fail(fmt::format("rank {} is done with {} bytes; it needs {}",
                         rank,
                         books.bytesReceived,
                         BytesDemanded(rank)));
    }
    if (++m_done < m_ranks.size())
    {
        return false;
    }
    for (const auto& [connection, messages] : m_underWay)
    {
        if (!messages.empty())
        {
            Fail(fmt::format("rank {} has sent rank {} what nobody receives",
                             std::get<0>(connection),
                             std::get<1>(connection)));
        }
    }
    return true;
}

} // namespace AstraSim
