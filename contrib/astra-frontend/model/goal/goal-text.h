/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GOAL_TEXT_H
#define GOAL_TEXT_H

#include "goal-program.h"

#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// @return whether a text that begins so is a GOAL schedule: its first word is num_ranks
bool IsGoalText(std::string_view begin);

/// @throw ns3::InputError for a mistake, with its line
std::vector<GoalProgram> ReadGoalText(const std::string& path);

} // namespace AstraSim

#endif /* GOAL_TEXT_H */
