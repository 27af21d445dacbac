/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plotting-tool.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace AstraSim
{

namespace
{

namespace fs = std::filesystem;

/// @return scripts/plot.py above the program, or where an installation has it; or an empty path
fs::path
FindPlottingTool()
{
    std::error_code error;
    const fs::path program = fs::canonical("/proc/self/exe", error);
    for (fs::path folder = program; folder.has_relative_path();)
    {
        folder = folder.parent_path();
        for (const char* place : {"scripts/plot.py", "lib/cluster-sim/scripts/plot.py"})
        {
            if (fs::is_regular_file(folder / place, error))
            {
                return folder / place;
            }
        }
    }
    return {};
}

/// @return the exit status of a command without its standard output; -1 if it cannot be started,
/// with errno
int
RunCommand(std::vector<std::string> words)
{
    std::vector<char*> arguments;
    for (std::string& word : words)
    {
        arguments.push_back(word.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int failure =
        posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    if (failure != 0)
    {
        errno = failure;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
    {
        if (errno != EINTR)
        {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

std::string
DrawBreakdown(const std::string& endToEnd, const std::string& picture)
{
    const std::string directory = fs::path(picture).parent_path();
    const auto problem = [&](const std::string& what) {
        return fmt::format(
            "{}: is not drawn, all other results are written: {}; expected Python with "
            "matplotlib, by which \"scripts/plot.py breakdown {} -o {}\" draws it",
            picture,
            what,
            endToEnd,
            directory);
    };
    const fs::path tool = FindPlottingTool();
    if (tool.empty())
    {
        return problem("there is no scripts/plot.py above this program");
    }
    const int status =
        RunCommand({tool.string(), "breakdown", endToEnd, "-o", directory, "--format", "svg"});
    if (status < 0)
    {
        return problem(fmt::format("{}: {}", tool.string(), std::strerror(errno)));
    }
    if (status != 0)
    {
        return problem(fmt::format("{} ended with status {}", tool.string(), status));
    }
    return {};
}

} // namespace AstraSim
