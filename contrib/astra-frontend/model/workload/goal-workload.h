/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GOAL_WORKLOAD_H
#define GOAL_WORKLOAD_H

#include "astra-frontend/model/goal/goal-schedule.h"
#include "astra-frontend/model/system/workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A GOAL schedule: sends, receives and calculations of each rank in a partial order.
 *
 * The network decides how long a message takes. The parameters of LogGP (overheads, gaps, the
 * number of NICs) have no counterpart: an operation takes no time but its calculation or message.
 */
class GoalWorkload : public Workload
{
  public:
    explicit GoalWorkload(GoalSchedule schedule)
        : Workload({.file = schedule.GetPath(),
                    .layers = {"calc", "messages"},
                    .ranks = static_cast<uint32_t>(schedule.Programs().size())}),
          m_schedule(std::move(schedule))
    {
    }

    void Bind(const std::vector<int>& ranks) override;
    std::unique_ptr<RankWorkload> CreateRank(uint32_t rank, Sys& sys) override;

    /// @return the network's rank of a rank of the schedule
    int NetworkRank(uint32_t rank) const
    {
        return m_ranks[rank];
    }

  private:
    GoalSchedule m_schedule;
    std::vector<int> m_ranks;
};

} // namespace AstraSim

#endif /* GOAL_WORKLOAD_H */
