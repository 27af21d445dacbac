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
     * @param expected what was expected
     */
    InputError(const std::string& file,
               std::size_t line,
               const std::string& what,
               const std::string& expected)
        : std::runtime_error(Printable(file + ":" + (line ? std::to_string(line) + ":" : "") + " " +
                                       what + "; expected " + expected))
    {
    }

  private:
    /// @return @p text on one line, whatever a damaged file put in it
    static std::string Printable(const std::string& text)
    {
        static constexpr char DIGITS[] = "0123456789abcdef";
        std::string line;
        for (const char c : text)
        {
            const auto code = static_cast<unsigned char>(c);
            if (code < ' ' || code == 0x7f)
            {
                line += {'\\', 'x', DIGITS[code >> 4], DIGITS[code & 15]};
            }
            else
            {
                line += c;
            }
        }
        return line;
    }
};

} // namespace ns3

#endif /* INPUT_ERROR_H */
