/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "goal-schedule.h"

#include "goal-binary.h"
#include "goal-text.h"

#include "ns3/input-error.h"
#include "ns3/input-file.h"

#include <array>
#include <fmt/format.h>
#include <sstream>
#include <string_view>

namespace AstraSim
{

namespace
{

/// Refuse operations that cannot be carried out. @param rank of the program
void
CheckProgram(const std::string& path, GoalProgram& program, uint32_t rank, uint32_t ranks)
{
    const auto fail = [&](std::size_t operation, const std::string& what, const char* expected) {
        const std::size_t line = program.Operations()[operation].line;
        throw ns3::InputError(
            path,
            line,
            line ? what : fmt::format("operation {} of rank {}: {}", operation, rank, what),
            expected);
    };
    for (std::size_t i = 0; i < program.Operations().size(); ++i)
    {
        const GoalOperation& operation = program.Operations()[i];
        if (operation.type == GoalOperation::Type::Calculate)
        {
            continue;
        }
        if (operation.peer == UINT32_MAX || operation.tag == UINT32_MAX)
        {
            fail(i, "a message from any rank or with any tag is not read", "a rank and a tag");
        }
        if (operation.peer >= ranks || operation.peer == rank)
        {
            fail(i,
                 fmt::format("rank {} exchanges a message with rank {}", rank, operation.peer),
                 "another rank below num_ranks");
        }
    }
    if (const std::size_t stuck = program.Finish(); stuck < program.Operations().size())
    {
        fail(stuck, "the operation waits for itself", "requires and irequires without a cycle");
    }
}

} // namespace

bool
GoalSchedule::IsIn(const std::string& path)
{
    if (!ns3::InputExists(path))
    {
        return false;
    }
    std::array<char, 4096> begin{};
    const auto file = ns3::OpenInputFile(path);
    file->read(begin.data(), begin.size());
    const std::string_view text(begin.data(), static_cast<std::size_t>(file->gcount()));
    return IsGoalBinary(text) || IsGoalText(text);
}

GoalSchedule
GoalSchedule::Read(const std::string& path)
{
    GoalSchedule schedule;
    schedule.m_path = path;
    std::array<char, 8> begin{};
    const auto file = ns3::OpenInputFile(path, "a GOAL schedule");
    file->read(begin.data(), begin.size());
    if (IsGoalBinary({begin.data(), static_cast<std::size_t>(file->gcount())}))
    {
        file->seekg(0);
        std::ostringstream bytes;
        bytes << file->rdbuf();
        schedule.m_programs = ReadGoalBinary(bytes.view(), path);
    }
    else
    {
        schedule.m_programs = ReadGoalText(path);
    }
    const auto ranks = static_cast<uint32_t>(schedule.m_programs.size());
    for (uint32_t rank = 0; rank < ranks; ++rank)
    {
        CheckProgram(path, schedule.m_programs[rank], rank, ranks);
    }
    return schedule;
}

} // namespace AstraSim
