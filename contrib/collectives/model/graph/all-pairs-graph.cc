/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "all-pairs-graph.h"

#include "collectives/model/collective/divide-up.h"

namespace AstraSim
{

// The lanes of a rank are those of the first step, to the ranks after it in turn, and then those of
// the second step, to the same ranks.

AllPairsGraph::AllPairsGraph(uint64_t bytes, uint32_t ranks, uint32_t steps)
    : FlowGraph(ranks, steps * (ranks - 1), 1),
      m_bytes(bytes)
{
}

Lane
AllPairsGraph::GetLane(uint32_t rank, uint32_t index, bool outbound) const
{
    const uint32_t step = index % Others() + 1;
    Lane lane;
    lane.peer = (rank + (outbound ? step : GetRanks() - step)) % GetRanks();
    lane.tag = static_cast<uint8_t>(index / Others());
    lane.messages = 1;
    return lane;
}

uint64_t
AllPairsGraph::GetBytes(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    return HasOneStep() ? m_bytes : BlockRange(m_bytes, GetRanks(), OwnerOf(rank, outbound)).second;
}

std::optional<Payload>
AllPairsGraph::GetPayload(uint32_t rank, uint32_t outbound, uint64_t message) const
{
    if (HasOneStep())
    {
        return std::nullopt; // a rank adds arriving data elsewhere: it still has to send its own
    }
    const auto [begin, bytes] = BlockRange(m_bytes, GetRanks(), OwnerOf(rank, outbound));
    return Payload{begin, begin, bytes, outbound < Others()};
}

uint32_t
AllPairsGraph::OwnerOf(uint32_t rank, uint32_t outbound) const
{
    return outbound < Others() ? GetLane(rank, outbound, true).peer : rank;
}

LaneRange
AllPairsGraph::GetSources(uint32_t rank, uint32_t outbound) const
{
    return outbound < Others() ? Lanes(0, 0) : Lanes(0, Others());
}

LaneRange
AllPairsGraph::GetTargets(uint32_t rank, uint32_t inbound, uint64_t message) const
{
    return inbound < Others() && !HasOneStep() ? Lanes(Others(), Others()) : Lanes(0, 0);
}

} // namespace AstraSim
