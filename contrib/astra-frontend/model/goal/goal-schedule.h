/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GOAL_SCHEDULE_H
#define GOAL_SCHEDULE_H

#include "goal-program.h"

#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup astra-frontend
 * @brief A GOAL schedule, the form of workloads of LogGOPSim and ATLAHS: a program for each rank.
 *
 * A text begins with num_ranks; the binary form is that of LogGOPSim's txt2bin.
 */
class GoalSchedule
{
  public:
    /// @return whether a file has a schedule of either form; false for one that is not there
    static bool IsIn(const std::string& path);

    /// @throw ns3::InputError if the file has a mistake
    static GoalSchedule Read(const std::string& path);

    const std::vector<GoalProgram>& Programs() const
    {
        return m_programs;
    }

    const std::string& GetPath() const
    {
        return m_path;
    }

  private:
    std::string m_path;
    std::vector<GoalProgram> m_programs;
};

} // namespace AstraSim

#endif /* GOAL_SCHEDULE_H */
