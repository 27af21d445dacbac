/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ended-process.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

namespace AstraSim
{

constexpr uint64_t EXITING_FLAG = 0x4; ///< PF_EXITING, in the flags of proc(5)'s stat

bool
HasProcessEnded(int64_t pid)
{
    if (kill(static_cast<pid_t>(pid), 0) != 0)
    {
        return errno == ESRCH;
    }
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name = text.rfind(") ");
    if (name == std::string::npos)
    {
        return false;
    }
    std::istringstream fields(text.substr(name + 2));
    char state = ' ';
    std::string skipped; // the parent, group, session, terminal, and the terminal's group
    uint64_t flags = 0;
    fields >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> flags;
    // Its connections are closed before it becomes a zombie.
    return state == 'Z' || state == 'X' || (flags & EXITING_FLAG) != 0;
}

} // namespace AstraSim
