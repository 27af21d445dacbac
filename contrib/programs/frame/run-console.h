/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_CONSOLE_H
#define RUN_CONSOLE_H

#include "ns3/legible.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace AstraSim
{

/// Levels of a run's messages; a level includes those after it.
enum class LogLevel : uint8_t
{
    Debug,   ///< each collective as it starts and ends
    Info,    ///< the inputs, the results
    Warning, ///< probable mistakes of the user
    Error,   ///< why a run fails
};

/// Messages of a run to the user.
class RunConsole
{
  public:
    /// @param quiet say nothing but warnings @param level AS_LOG_LEVEL
    explicit RunConsole(bool quiet, LogLevel level = LogLevel::Info)
        : m_level(quiet ? std::max(level, LogLevel::Warning) : level)
    {
    }

    LogLevel GetLevel() const
    {
        return m_level;
    }

    /// Print @p text to standard output.
    void Say(const std::string& text) const
    {
        if (m_level <= LogLevel::Info)
        {
            std::cout << text << std::flush;
        }
    }

    /// Print @p warnings to standard error, a line each, and forget them. A run that begins anew
    /// has some twice, which are printed once.
    void Warn(std::vector<std::string>& warnings) const
    {
        for (const std::string& warning : warnings)
        {
            if (std::ranges::find(m_warnings, warning) != m_warnings.end())
            {
                continue;
            }
            m_warnings.push_back(warning);
            if (m_level <= LogLevel::Warning)
            {
                std::cerr << "warning: " << ns3::Legible(warning) << "\n";
            }
        }
        warnings.clear();
    }

    /// @return all warnings so far, those that the level leaves out too, for the record of the run
    const std::vector<std::string>& GetWarnings() const
    {
        return m_warnings;
    }

  private:
    LogLevel m_level;
    mutable std::vector<std::string> m_warnings;
};

} // namespace AstraSim

#endif /* RUN_CONSOLE_H */
