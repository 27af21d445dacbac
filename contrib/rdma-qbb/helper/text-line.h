/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ns3
{

/**
 * @brief A line of numbers being put together: for files with a line per flow or per packet, where
 * printf would cost more than simulating what the line tells of.
 *
 * Holds 256 bytes: ten numbers with what parts them.
 *
 * @code
 * TextLine line;
 * line.Hex8(address).Space().Decimal(bytes).End();
 * file.Write(line.View());
 * @endcode
 */
class TextLine
{
  public:
    /// Append eight hexadecimal digits, as "%08x".
    TextLine& Hex8(uint32_t value)
    {
        constexpr std::string_view DIGITS = "0123456789abcdef";
        for (int shift = 28; shift >= 0; shift -= 4)
        {
            *m_end++ = DIGITS[value >> shift & 15];
        }
        return *this;
    }

    /// Append a number.
    TextLine& Decimal(uint64_t value)
    {
        std::array<char, 20> digits; // of the largest number
        char* begin = digits.data() + digits.size();
        for (; value >= 100; value /= 100)
        {
            const std::size_t pair = 2 * (value % 100);
            *--begin = PAIRS[pair + 1];
            *--begin = PAIRS[pair];
        }
        *--begin = PAIRS[2 * value + 1];
        if (value >= 10)
        {
            *--begin = PAIRS[2 * value];
        }
        m_end = std::copy(begin, digits.data() + digits.size(), m_end);
        return *this;
    }

    /// Append a blank.
    TextLine& Space()
    {
        *m_end++ = ' ';
        return *this;
    }

    /// Append the end of the line.
    TextLine& End()
    {
        *m_end++ = '\n';
        return *this;
    }

    /// @return what has been appended
    std::string_view View() const
    {
        return {m_text.data(), static_cast<std::size_t>(m_end - m_text.data())};
    }

  private:
    /// "00" to "99"
    static constexpr auto PAIRS = [] {
        std::array<char, 200> pairs{};
        for (std::size_t i = 0; i < 100; ++i)
        {
            pairs[2 * i] = static_cast<char>('0' + i / 10);
            pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
        }
        return pairs;
    }();

    std::array<char, 256> m_text;
    char* m_end{m_text.data()};
};

} // namespace ns3

#endif /* TEXT_LINE_H */
