/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "direct-graph.h"

#include "collectives/model/collective/divide-up.h"
#include "pair-bytes.h"

#include <algorithm>
#include <cmath>

namespace AstraSim
{

uint32_t
ChannelsOfPair(uint64_t bytes, const PairLayout& layout, uint32_t ranks, uint32_t nodes)
{
    const uint64_t leastPart = nodes > 1 ? layout.step / 2 : layout.step / 8;
    const uint64_t mostPart = nodes > 1 ? layout.step : layout.step * 32;
    uint32_t few = layout.perPair;
    while (few > 1 && few * ranks > layout.channels)
    {
        few /= 2;
    }
    auto used = static_cast<uint32_t>(std::min<uint64_t>(few, DivideUp(bytes, leastPart)));
    while (used <= layout.perPair / 2 && DivideUp(bytes, used) > mostPart)
    {
        used *= 2;
    }
    return used;
}

uint64_t
NetworkMessageBytes(const PairLayout& layout, uint64_t bytes)
{
    const uint64_t step = layout.chunk;
    return bytes < step ? step / 4 : bytes < 8 * step ? step / 2 : step;
}

DirectGraph::DirectGraph(const CollectiveRequest& request,
                         const GroupShape& shape,
                         const PairLayout& layout)
    : FlowGraph(shape.GetRanks(), shape.GetRanks() - 1, 8),
      m_request(request),
      m_shape(shape),
      m_schedule(shape),
      m_layout(layout)
{
}

uint64_t
DirectGraph::PairBytesOf(uint32_t from, uint32_t to) const
{
    return PairBytes(m_request, GetRanks(), from, to);
}

uint32_t
DirectGraph::PeerOf(uint32_t rank, uint32_t index, bool outbound) const
{
    return outbound ? m_schedule.SendsTo(rank, index) : m_schedule.ReceivesFrom(rank, index);
}

bool
DirectGraph::AreInOneNode(uint32_t from, uint32_t to) const
{
    return m_shape.NodeOf(from) == m_shape.NodeOf(to);
}

uint64_t
DirectGraph::WholeBytesOf(uint32_t from, uint32_t to) const
{
    const auto bytes = static_cast<double>(PairBytesOf(from, to));
    return static_cast<uint64_t>(std::llround(bytes * m_layout.wholeParts));
}

uint32_t
DirectGraph::ChannelsOf(uint32_t from, uint32_t to) const
{
    const uint64_t bytes = WholeBytesOf(from, to);
    return m_layout.channels && bytes
               ? ChannelsOfPair(bytes, m_layout, GetRanks(), m_shape.GetNodes())
               : 1;
}

uint32_t
DirectGraph::PairsOfBlock(uint32_t from, uint32_t to) const
{
    uint32_t sends = 0;
    uint32_t receives = 0;
    for (uint32_t place = 0; place < m_schedule.GetGroupRanks(); ++place)
    {
        sends += PairBytesOf(from, m_schedule.InGroupOf(to, place)) > 0;
        receives += PairBytesOf(m_schedule.InGroupOf(from, place), to) > 0;
    }
    return std::max(sends, receives);
}

uint64_t
DirectGraph::MessageBytesOf(uint32_t from, uint32_t to) const
{
    if (m_layout.protocol == NcclProtocol::Ll)
    {
        return PAIR_LL_STEP / 2 * ChannelsOf(from, to);
    }
    return AreInOneNode(from, to) ? m_layout.chunk * ChannelsOf(from, to)
                                  : NetworkMessageBytes(m_layout, WholeBytesOf(from, to));
}

Lane
DirectGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    Lane lane;
    lane.peer = PeerOf(rank, index, outbound);
    const uint32_t from = outbound ? rank : lane.peer;
    const uint32_t to = outbound ? lane.peer : rank;
    lane.channel = PairChannel(m_shape, from, to);
    lane.messages = DivideUp(PairBytesOf(from, to), MessageBytesOf(from, to));
    return lane;
}

uint64_t
DirectGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint32_t peer = PeerOf(rank, outbound, true);
    const uint64_t most = MessageBytesOf(rank, peer);
    return std::min(most, PairBytesOf(rank, peer) - message * most);
}

std::optional<Payload>
DirectGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    const uint32_t peer = PeerOf(rank, outbound, true);
    const auto bytesOf = [this](uint32_t from, uint32_t to) {
        return from == to ? 0 : PairBytesOf(from, to);
    };
    const uint64_t within = message * MessageBytesOf(rank, peer);
    Payload payload{within, within, GetBytes(rank, outbound, message)};
    for (uint32_t to = 0; to < peer; ++to)
    {
        payload.from += bytesOf(rank, to);
    }
    for (uint32_t from = 0; from < rank; ++from)
    {
        payload.to += bytesOf(from, peer);
    }
    return payload;
}

std::optional<uint64_t>
DirectGraph::GetOwnCopy(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return m_layout.byBlocks && m_layout.protocol == NcclProtocol::Simple &&
                   AreInOneNode(PeerOf(rank, inbound, false), rank)
               ? std::optional<uint64_t>(0)
               : std::nullopt;
}

LaneRange
DirectGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return Lanes(0, 0);
}

LaneRange
DirectGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return Lanes(0, 0);
}

uint64_t
DirectGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    return 0;
}

} // namespace AstraSim
