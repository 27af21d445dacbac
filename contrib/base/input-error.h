/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef INPUT_ERROR_H
#define INPUT_ERROR_H

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ns3
{

/**
 * @ingroup base
 * @brief The one exception that every reader of user input throws.
 *
 * Its text is one line for the user: `file:line: problem; expected ...`, in printable characters,
 * with words of a damaged file cut at 60. Programs catch it in main(), print it and end with exit
 * status 2. A line of 0 means the whole file (or the command line, when the file is "command line")
 * and is left out of the text.
 *
 * This header includes no ns-3 header, so every layer may use it.
 */
class InputError : public std::runtime_error
{
  public:
    /**
     * @param file the file (or "command line", "environment") the mistake is in
     * @param line line number from 1, or 0 for the whole file
     * @param what the problem, in words
     * @param expected a description of valid input
     */
    InputError(const std::string& file,
               std::size_t line,
               const std::string& what,
               const std::string& expected)
        : std::runtime_error(Printable(file + ":" + (line ? std::to_string(line) + ":" : "") + " " +
                                       Shortened(what) + "; expected " + Shortened(expected)))
    {
    }

    /// @param text of such an error, whole
    explicit InputError(const std::string& text)
        : std::runtime_error(text)
    {
    }

  private:
    static constexpr std::size_t LONGEST_WORD = 60;
    static constexpr std::size_t LONGEST_PATH = 1024; ///< of words with a slash

    /// @return @p text with its long words cut
    static std::string Shortened(const std::string& text)
    {
        std::string result;
        std::size_t begin = 0;
        while (begin < text.size())
        {
            const std::size_t end = std::min(text.find(' ', begin), text.size());
            const std::string_view word = std::string_view(text).substr(begin, end - begin);
            const std::size_t most =
                word.find('/') == std::string_view::npos ? LONGEST_WORD : LONGEST_PATH;
            result += word.substr(0, most);
            result += word.size() > most ? "..." : "";
            result += end < text.size() ? " " : "";
            begin = end + 1;
        }
        return result;
    }

    /// @return the length of the UTF-8 character at the start of @p text, 0 if there is none that
    /// can be printed
    static std::size_t CharacterAt(std::string_view text)
    {
        const auto byte = [&text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
        const std::size_t length = byte(0) < 0x80   ? 1
                                   : byte(0) < 0xc2 ? 0
                                   : byte(0) < 0xe0 ? 2
                                   : byte(0) < 0xf0 ? 3
                                   : byte(0) < 0xf5 ? 4
                                                    : 0;
        if (length == 1)
        {
            return byte(0) >= ' ' && byte(0) != 0x7f;
        }
        if (length == 0 || length > text.size() || (byte(0) == 0xc2 && byte(1) < 0xa0))
        {
            return 0; // also U+0080 to U+009F, which are control characters
        }
        for (std::size_t i = 1; i < length; ++i)
        {
            if ((byte(i) & 0xc0) != 0x80)
            {
                return 0;
            }
        }
        return length;
    }

    /// @return @p text on one line; characters that do not print are escapes
    static std::string Printable(std::string_view text)
    {
        static constexpr char DIGITS[] = "0123456789abcdef";
        std::string line;
        while (!text.empty())
        {
            const std::size_t length = CharacterAt(text);
            if (length == 0)
            {
                const auto code = static_cast<unsigned char>(text[0]);
                line += {'\\', 'x', DIGITS[code >> 4], DIGITS[code & 15]};
            }
            line += text.substr(0, length);
            text.remove_prefix(std::max<std::size_t>(length, 1));
        }
        return line;
    }
};

} // namespace ns3

#endif /* INPUT_ERROR_H */
