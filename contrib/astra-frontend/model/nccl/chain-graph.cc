/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "chain-graph.h"

#include "ring-order.h"

#include <algorithm>
#include <numeric>

namespace AstraSim
{

ChainGraph::ChainGraph(const CollectiveRequest& request,
                       const GroupShape& shape,
                       const NcclPlan& plan,
                       bool crossNic,
                       TimePs stepLatency)
    : m_shape(shape),
      m_plan(plan),
      m_bytes(request.bytes),
      m_stepLatency(stepLatency),
      m_chains(plan.channels),
      m_laneNumbers(plan.channels)
{
    std::iota(m_laneNumbers.begin(), m_laneNumbers.end(), 0);
    for (uint32_t c = 0; c < plan.channels; ++c)
    {
        auto& chain = m_chains[c];
        chain.order = RingOrder(shape, c, crossNic);
        const auto root =
            std::find(chain.order.begin(), chain.order.end(), static_cast<uint32_t>(request.root));
        // Broadcast begins at the root, Reduce ends there.
        const auto first = request.op == CollectiveOp::Reduce ? std::next(root) : root;
        std::rotate(chain.order.begin(), first, chain.order.end());
        chain.place.resize(chain.order.size());
        for (uint32_t i = 0; i < chain.order.size(); ++i)
        {
            chain.place[chain.order[i]] = i;
        }
    }
}

uint32_t
ChainGraph::GetRanks() const
{
    return m_shape.GetRanks();
}

uint64_t
ChainGraph::PartOf(uint32_t channel) const
{
    constexpr uint64_t ALIGNMENT = 16;
    const uint64_t even = (m_bytes + m_plan.channels - 1) / m_plan.channels;
    const uint64_t part = (even + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const uint64_t begin = std::min(m_bytes, part * channel);
    return std::min(part, m_bytes - begin);
}

// The last of a chain sends nothing and the first receives nothing; their lanes have no messages.

uint32_t
ChainGraph::GetOutboundCount(uint32_t rank) const
{
    return GetRanks() > 1 ? m_plan.channels : 0;
}

uint32_t
ChainGraph::GetInboundCount(uint32_t rank) const
{
    return GetRanks() > 1 ? m_plan.channels : 0;
}

Lane
ChainGraph::MakeLane(uint32_t from, uint32_t to, uint32_t other, uint32_t channel) const
{
    Lane lane;
    lane.peer = other;
    lane.channel = channel;
    lane.tag = static_cast<uint8_t>(channel);
    lane.type = ConnType::Ring;
    const bool inChain = ChainOf(channel).place[to] == ChainOf(channel).place[from] + 1;
    lane.messages = inChain ? (PartOf(channel) + MESSAGE_BYTES - 1) / MESSAGE_BYTES : 0;
    const bool inter = m_shape.NodeOf(from) != m_shape.NodeOf(to);
    lane.latency = m_stepLatency >= 0 ? m_stepLatency
                   : inter            ? m_plan.interLatency
                                      : m_plan.intraLatency;
    lane.slots = !inter && m_plan.protocol == NcclProtocol::Simple ? 1 : 0;
    lane.rateCapBps = inter ? 0 : static_cast<uint64_t>(m_plan.channelGBps * 8e9);
    return lane;
}

Lane
ChainGraph::GetOutbound(uint32_t rank, uint32_t index) const
{
    const Chain& chain = ChainOf(index);
    const uint32_t next = chain.order[(chain.place[rank] + 1) % GetRanks()];
    return MakeLane(rank, next, next, index);
}

Lane
ChainGraph::GetInbound(uint32_t rank, uint32_t index) const
{
    const Chain& chain = ChainOf(index);
    const uint32_t previous = chain.order[(chain.place[rank] + GetRanks() - 1) % GetRanks()];
    return MakeLane(previous, rank, previous, index);
}

uint64_t
ChainGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return std::min(MESSAGE_BYTES, PartOf(outbound) - message * MESSAGE_BYTES);
}

uint64_t
ChainGraph::GetInboundBytes(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return GetBytes(rank, inbound, message);
}

std::span<const uint32_t>
ChainGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return {&m_laneNumbers[outbound], 1};
}

std::span<const uint32_t>
ChainGraph::GetTargets(uint32_t rank, uint32_t inbound) const
{
    return {&m_laneNumbers[inbound], 1};
}

uint64_t
ChainGraph::GetNeeds(uint32_t rank, uint32_t outbound, uint64_t message, uint32_t inbound) const
{
    return ChainOf(outbound).place[rank] == 0 ? 0 : message + 1;
}

} // namespace AstraSim
