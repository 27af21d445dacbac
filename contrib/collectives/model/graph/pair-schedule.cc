/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pair-schedule.h"

#include <bit>
#include <numeric>

namespace AstraSim
{

PairSchedule::PairSchedule(const GroupShape& shape)
    : m_groupRanks(shape.GetNodes() == 1 ? shape.GetRanks() : GROUP_RANKS),
      m_places(shape.GetRanks())
{
    for (const auto& node : shape.nodes)
    {
        m_groupRanks = std::gcd(m_groupRanks, static_cast<uint32_t>(node.size()));
        for (const uint32_t rank : node)
        {
            m_places[rank] = static_cast<uint32_t>(m_ranks.size());
            m_ranks.push_back(rank);
        }
    }
    // Triangular numbers, modulo a power of two, are each number below it once.
    const uint32_t groups = shape.GetRanks() / m_groupRanks;
    const uint32_t power = std::bit_ceil(groups);
    uint32_t delta = 0;
    for (uint32_t step = 1; step <= power; ++step)
    {
        if (delta < groups)
        {
            m_groupDeltas.push_back(delta);
        }
        delta = (delta + step) % power;
    }
}

uint32_t
PairSchedule::SendsTo(uint32_t rank, uint32_t round) const
{
    // Plus 1: round 0 of NCCL's order is the rank with itself.
    return Further(rank, m_groupDeltas[(round + 1) / m_groupRanks], (round + 1) % m_groupRanks);
}

uint32_t
PairSchedule::ReceivesFrom(uint32_t rank, uint32_t round) const
{
    const auto groups = static_cast<uint32_t>(m_groupDeltas.size());
    return Further(rank,
                   groups - m_groupDeltas[(round + 1) / m_groupRanks],
                   m_groupRanks - (round + 1) % m_groupRanks);
}

uint32_t
PairSchedule::Further(uint32_t rank, uint32_t groupDelta, uint32_t placeDelta) const
{
    const auto groups = static_cast<uint32_t>(m_groupDeltas.size());
    const uint32_t group = (m_places[rank] / m_groupRanks + groupDelta) % groups;
    const uint32_t place = (m_places[rank] % m_groupRanks + placeDelta) % m_groupRanks;
    return m_ranks[group * m_groupRanks + place];
}

} // namespace AstraSim
