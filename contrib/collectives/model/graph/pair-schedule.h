/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PAIR_SCHEDULE_H
#define PAIR_SCHEDULE_H

#include "collectives/model/gpu/machine-model.h"

#include <cstdint>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup collectives
 * @brief The order in which a rank turns to the others when all exchange data in pairs.
 *
 * In each round every rank sends to one other and receives from one other, so that no receiver is
 * the next of several senders. Ranks are in groups of equal size within nodes; a round leads from
 * each group to the one that lies a number of groups further, and in it to the rank that lies a
 * number of places further. Groups come in the order of triangular numbers, which spreads
 * successive messages over the network (NCCL src/init.cc, ncclP2pSchedule).
 */
class PairSchedule
{
  public:
    /// Most ranks of a group where there are several nodes (NCCL_MAX_DEV_WORK_P2P_PER_BATCH).
    static constexpr uint32_t GROUP_RANKS = 8;

    explicit PairSchedule(const GroupShape& shape);

    /// @return the rank that another one sends to. @param round 0 to the number of ranks - 2
    uint32_t SendsTo(uint32_t rank, uint32_t round) const;

    /// @return the rank that another one receives from. @param round 0 to the number of ranks - 2
    uint32_t ReceivesFrom(uint32_t rank, uint32_t round) const;

    /// @return ranks of the schedule's groups. Pairs of a rank with those of a group share
    /// channels.
    uint32_t GetGroupRanks() const
    {
        return m_groupRanks;
    }

    /// @return the rank at a place of another rank's group
    uint32_t InGroupOf(uint32_t rank, uint32_t place) const
    {
        return m_ranks[m_places[rank] / m_groupRanks * m_groupRanks + place];
    }

  private:
    /// @return the rank that is so many groups, and places in its group, further than another one
    uint32_t Further(uint32_t rank, uint32_t groupDelta, uint32_t placeDelta) const;

    uint32_t m_groupRanks;
    std::vector<uint32_t> m_ranks;       ///< group by group
    std::vector<uint32_t> m_places;      ///< by rank: where it is in m_ranks
    std::vector<uint32_t> m_groupDeltas; ///< how many groups further, in the order of rounds
};

} // namespace AstraSim

#endif /* PAIR_SCHEDULE_H */
