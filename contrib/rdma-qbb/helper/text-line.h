/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <array>
#include <charconv>
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
        m_end = std::to_chars(m_end, m_text.data() + m_text.size(), value).ptr;
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
    std::array<char, 256> m_text;
    char* m_end{m_text.data()};
};

} // namespace ns3

#endif /* TEXT_LINE_H */
