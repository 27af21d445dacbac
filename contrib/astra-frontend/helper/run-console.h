/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_CONSOLE_H
#define RUN_CONSOLE_H

#include <iostream>
#include <string>
#include <vector>

namespace AstraSim
{

/// What a run tells the person who started it.
class RunConsole
{
  public:
    /// @param quiet say nothing but warnings
    explicit RunConsole(bool quiet)
        : m_quiet(quiet)
    {
    }

    /// Print @p text to standard output.
    void Say(const std::string& text) const
    {
        if (!m_quiet)
        {
            std::cout << text << std::flush;
        }
    }

    /// Print @p warnings to standard error, a line each, and forget them.
    void Warn(std::vector<std::string>& warnings) const
    {
        for (const std::string& warning : warnings)
        {
            std::cerr << "warning: " << warning << "\n";
        }
        warnings.clear();
    }

  private:
    bool m_quiet;
};

} // namespace AstraSim

#endif /* RUN_CONSOLE_H */
