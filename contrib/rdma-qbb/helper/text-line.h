/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef TEXT_LINE_H
#define TEXT_LINE_H

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
 * line.Hex8(address).Space().Decimal(bytes).Comma().Fixed6(gbps).End();
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
        constexpr uint64_t EIGHT = 100'000'000; // so many numbers have up to eight digits
        if (value < EIGHT) [[likely]]
        {
            Leading(value);
        }
        else if (value < EIGHT * EIGHT)
        {
            Leading(value / EIGHT);
            Store<8>(Digits(value % EIGHT));
        }
        else
        {
            Leading(value / (EIGHT * EIGHT));
            Store<8>(Digits(value / EIGHT % EIGHT));
            Store<8>(Digits(value % EIGHT));
        }
        return *this;
    }

    /// Append a number with six decimals, as "%.6f". @param value finite, below 1e100
    TextLine& Fixed6(double value)
    {
        // Below 2^40 the product is off by 2^-13 at most: unless it is that close to the middle
        // between two numbers, it tells which is the nearest.
        const double millionths = value * 1e6;
        if (millionths > 0 && millionths < 0x1p40)
        {
            const auto below = static_cast<uint64_t>(millionths);
            const double rest = millionths - static_cast<double>(below);
            if (std::abs(rest - 0.5) > 0x1p-12)
            {
                const uint64_t nearest = below + (rest > 0.5);
                Decimal(nearest / 1'000'000);
                *m_end++ = '.';
                Store<6>(Digits(nearest % 1'000'000) >> 16); // without the first two of eight
                return *this;
            }
        }
        m_end =
            std::to_chars(m_end, m_text.data() + m_text.size(), value, std::chars_format::fixed, 6)
                .ptr;
        return *this;
    }

    /// Append text. @param text short
    TextLine& Text(std::string_view text)
    {
        std::memcpy(m_end, text.data(), text.size());
        m_end += text.size();
        return *this;
    }

    /// Append a character.
    TextLine& Text(char character)
    {
        *m_end++ = character;
        return *this;
    }

    /// Append a blank.
    TextLine& Space()
    {
        return Text(' ');
    }

    /// Append a comma and a blank.
    TextLine& Comma()
    {
        return Text(", ");
    }

    /// Append the end of the line.
    TextLine& End()
    {
        return Text('\n');
    }

    /// @return what has been appended
    std::string_view View() const
    {
        return {m_text.data(), static_cast<std::size_t>(m_end - m_text.data())};
    }

  private:
    /**
     * @param value below 10^8
     * @return its eight decimal digits, the first in the lowest byte
     */
    static uint64_t Digits(uint64_t value)
    {
        // Halves, quarters and eighths of the word hold four, two and one digits: each step divides
        // all of them at once, by a product whose quotients are exact for numbers so small.
        const uint64_t fours = value / 10'000 | value % 10'000 << 32;
        const uint64_t hundreds = fours * 10'486 >> 20 & 0x7f'0000'007f;
        const uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
        const uint64_t tens = twos * 103 >> 10 & 0x000f'000f'000f'000f;
        return tens | (twos - 10 * tens) << 8;
    }

    /// Append the number without zeros in front. @param value below 10^8
    void Leading(uint64_t value)
    {
        const uint64_t digits = Digits(value);
        constexpr uint64_t LAST = uint64_t{1} << 56; // a zero has its last digit
        const int zeros = std::countr_zero(digits | LAST) / 8;
        Store<8>(digits >> 8 * zeros);
        m_end -= zeros;
    }

    /// Append digits, the first in the lowest byte.
    template <int COUNT>
    void Store(uint64_t digits)
    {
        uint64_t characters = digits | 0x3030'3030'3030'3030;
        if constexpr (std::endian::native == std::endian::big)
        {
            characters = __builtin_bswap64(characters);
        }
        std::memcpy(m_end, &characters, sizeof characters);
        m_end += COUNT;
    }

    static constexpr std::size_t SLACK = 8; // Store() writes eight characters for fewer

    std::array<char, 256 + SLACK> m_text;
    char* m_end{m_text.data()};
};

} // namespace ns3

#endif /* TEXT_LINE_H */
