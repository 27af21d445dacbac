/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INPUT_ERROR_H
#define INPUT_ERROR_H

#include <stdexcept>
#include <string>

namespace ns3
{

/**
 * @brief The one exception that every reader of user input throws.
 *
 * Its text is the line a user sees: `file:line: what is wrong; what was expected`. Programs catch
 * it in main(), print what() and end with exit status 2. A line of 0 means the whole file (or the
 * command line, when the file is "command line") and is left out of the text.
 *
 * This header includes no ns-3 header, so every layer may use it.
 */
class InputError : public std::runtime_error
{
  public:
    /**
     * @param file the file (or "command line", "environment") the mistake is in
     * @param line line number from 1, or 0 for the whole file
     * @param what what is wrong
     * @param expected what was expected; may be empty
     */
    InputError(const std::string& file,
               std::size_t line,
               const std::string& what,
               const std::string& expected = "")
        : std::runtime_error(file + ":" + (line ? std::to_string(line) + ":" : "") + " " + what +
                             (expected.empty() ? "" : "; expected " + expected))
    {
    }
};

} // namespace ns3

#endif /* INPUT_ERROR_H */
