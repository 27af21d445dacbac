/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "legible.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace ns3
{

namespace
{

constexpr std::size_t LONGEST = 80; ///< characters of a token; of a longer one the first are shown
constexpr std::size_t LONGEST_PATH = 512; ///< the same, of one with a slash
constexpr std::size_t MOST = 2000;        ///< of a message, which is cut in its middle

bool
IsLetter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// @return the length of the token at the start of @p text: a word, or text in quotes, which end
/// where no letter follows
std::size_t
TokenAt(std::string_view text)
{
    const char quote = text.front();
    if (quote == '"' || quote == '\'')
    {
        for (std::size_t end = text.find(quote, 1); end != std::string_view::npos;
             end = text.find(quote, end + 1))
        {
            if (end + 1 == text.size() || !IsLetter(text[end + 1]))
            {
                return end + 1;
            }
        }
    }
    return std::min(text.find(' '), text.size());
}

/// @return how many of the first bytes to keep: @p count, or fewer where that would cut a character
/// of UTF-8
std::size_t
WholeCharacters(std::string_view text, std::size_t count)
{
    while (count > 0 && (static_cast<unsigned char>(text[count]) & 0xc0) == 0x80)
    {
        --count;
    }
    return count;
}

/// @param isOurs whether the program wrote it after "expected", such as a list of columns
std::string
Cut(std::string_view token, bool isOurs)
{
    const bool isPath = token.find('/') != std::string_view::npos;
    if (token.size() <= (isPath || isOurs ? LONGEST_PATH : LONGEST))
    {
        return std::string(token);
    }
    const std::size_t inside = token.find_last_not_of("'\",;:()") + 1; // 0 if all of it is such
    return std::string(token.substr(0, WholeCharacters(token, LONGEST))) + "..." +
           std::string(token.substr(std::max(inside, LONGEST)).substr(0, 3));
}

std::string
Escaped(std::string_view text)
{
    constexpr char DIGITS[] = "0123456789abcdef";
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

} // namespace

std::string
Legible(std::string_view text)
{
    std::string whole(text);
    if (whole.size() > MOST)
    {
        whole = whole.substr(0, WholeCharacters(whole, MOST / 2)) + "..." +
                whole.substr(whole.size() - MOST / 2);
    }
    const std::size_t ours = whole.find("; expected ");
    std::string result;
    std::string_view rest = whole;
    while (!rest.empty())
    {
        // Brackets before a token are no part of it.
        const std::size_t begin = std::min(rest.find_first_not_of(" ("), rest.size());
        result += rest.substr(0, begin);
        rest.remove_prefix(begin);
        if (!rest.empty())
        {
            const std::size_t length = std::max<std::size_t>(TokenAt(rest), 1);
            result += Cut(rest.substr(0, length), whole.size() - rest.size() > ours);
            rest.remove_prefix(length);
        }
    }
    return Escaped(result);
}

} // namespace ns3
