/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef GOAL_BINARY_H
#define GOAL_BINARY_H

#include "goal-program.h"

#include <string>
#include <string_view>
#include <vector>

namespace AstraSim
{

/// @return whether a file that begins so is a GOAL schedule in LogGOPSim's binary form
bool IsGoalBinary(std::string_view begin);

/// @param file all of it @param path its name in errors @throw ns3::InputError
std::vector<GoalProgram> ReadGoalBinary(std::string_view file, const std::string& path);

} // namespace AstraSim

#endif /* GOAL_BINARY_H */
