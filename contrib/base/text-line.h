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

/// Text that many lines have in common; copied with CAPACITY characters, as a fixed size costs
/// less.
template <std::size_t CAPACITY>
struct TextPiece
{
    std::array<char, CAPACITY> characters{};
    std::size_t size{0};

    /// Keep @p text. @param text of up to CAPACITY characters
    TextPiece& operator=(std::string_view text)
    {
        size = text.copy(characters.data(), CAPACITY);
        return *this;
    }
};

/**
 * @ingroup base
 * @brief Builds a line of numbers, for files with a line per flow or per packet: printf would cost
 * more than the simulation of the packet.
 *
 * @code
 * TextLine line(file.Room());
 * line.Hex8(address).Space().Decimal(bytes).Comma().Fixed<6>(gbps).End();
 * file.Take(line);
 * @endcode
 */
class TextLine
{
  public:
    /// Bytes that a line needs: up to 248 characters, such as ten numbers and their separators.
    static constexpr std::size_t ROOM = 256;

    /// @param begin where to put the line: ROOM bytes
    explicit TextLine(char* begin)
        : m_begin(begin),
          m_end(begin)
    {
    }

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

    /**
     * Append a number with decimals, as "%.6f".
     * @tparam DECIMALS how many: 3 or 6
     * @param value finite, below 1e100
     */
    template <int DECIMALS>
    TextLine& Fixed(double value)
    {
        static_assert(DECIMALS == 3 || DECIMALS == 6);
        constexpr uint64_t UNIT = DECIMALS == 3 ? 1'000 : 1'000'000;
        // Below 2^40 the product is off by 2^-13 at most: unless it is that close to the middle
        // between two numbers, it tells which is the nearest.
        const double parts = value * static_cast<double>(UNIT);
        if (parts > 0 && parts < 0x1p40)
        {
            const auto below = static_cast<uint64_t>(parts);
            const double rest = parts - static_cast<double>(below);
            if (std::abs(rest - 0.5) > 0x1p-12)
            {
                const uint64_t nearest = below + (rest > 0.5);
                Decimal(nearest / UNIT);
                *m_end++ = '.';
                Store<DECIMALS>(Digits(nearest % UNIT) >> 8 * (8 - DECIMALS)); // the last of eight
                return *this;
            }
        }
        m_end = std::to_chars(m_end, m_begin + ROOM, value, std::chars_format::fixed, DECIMALS).ptr;
        return *this;
    }

    /// Append text. @param text short
    TextLine& Text(std::string_view text)
    {
        std::memcpy(m_end, text.data(), text.size());
        m_end += text.size();
        return *this;
    }

    /// Append text that is kept.
    template <std::size_t CAPACITY>
    TextLine& Text(const TextPiece<CAPACITY>& piece)
    {
        std::memcpy(m_end, piece.characters.data(), CAPACITY);
        m_end += piece.size;
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

    /// @return the text appended so far
    std::string_view View() const
    {
        return {m_begin, static_cast<std::size_t>(m_end - m_begin)};
    }

  private:
    /**
     * @param value below 10^8
     * @return its eight decimal digits, the first in the lowest byte
     */
    static uint64_t Digits(uint64_t value)
    {
        // Halves, quarters and eighths of the word hold four, two and one digits. Each step divides
        // all of them at once, by a product whose quotients are exact for numbers so small, and
        // puts quotient and remainder side by side: q + ((n - d * q) << w) is (n << w) - q * ((d <<
        // w) - 1).
        const uint64_t fours = (value << 32) - value / 10'000 * ((uint64_t{10'000} << 32) - 1);
        const uint64_t hundreds = fours * 10'486 >> 20 & 0x7f'0000'007f;
        const uint64_t twos = (fours << 16) - hundreds * ((100 << 16) - 1);
        const uint64_t tens = twos * 103 >> 10 & 0x000f'000f'000f'000f;
        return (twos << 8) - tens * ((10 << 8) - 1);
    }

    /// Append the number without zeros in front. @param value below 10^8
    void Leading(uint64_t value)
    {
        const uint64_t digits = Digits(value);
        constexpr uint64_t LAST = uint64_t{1} << 56; // a zero has its last digit
        const uint32_t zeroBits = static_cast<uint32_t>(std::countr_zero(digits | LAST)) & ~7U;
        Store<8>(digits >> zeroBits);
        m_end -= zeroBits / 8;
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
        std::memcpy(m_end, &characters, sizeof characters); // eight, of which COUNT remain
        m_end += COUNT;
    }

    // Not an array of characters beside m_end: to the compiler, a store into it could change m_end.
    char* m_begin;
    char* m_end;
};

} // namespace ns3

#endif /* TEXT_LINE_H */
