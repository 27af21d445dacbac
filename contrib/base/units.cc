/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "units.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace ns3
{

namespace
{

__extension__ using Wide = unsigned __int128;

constexpr Wide WIDE_MAX = ~Wide{0};
constexpr int MAX_EXPONENT = 60;

bool
IsDigit(char c)
{
    return c >= '0' && c <= '9';
}

/// A decimal number: digits * 10^exponent.
struct Decimal
{
    Wide digits{0};
    int exponent{0};
};

/// Read a decimal number at the front of text and remove it from there.
std::optional<Decimal>
TakeDecimal(std::string_view& text)
{
    Decimal number;
    bool any = false;
    bool fraction = false;
    std::size_t i = 0;
    for (; i < text.size(); ++i)
    {
        if (text[i] == '.' && !fraction)
        {
            fraction = true;
            continue;
        }
        if (!IsDigit(text[i]))
        {
            break;
        }
        any = true;
        // Digits beyond 30 places cannot change a 63-bit result by more than its rounding.
        if (number.digits < WIDE_MAX / 1'000'000'000)
        {
            number.digits = number.digits * 10 + (text[i] - '0');
            number.exponent -= fraction;
        }
        else
        {
            number.exponent += !fraction;
        }
    }
    if (!any)
    {
        return std::nullopt;
    }
    if (i + 1 < text.size() && (text[i] == 'e' || text[i] == 'E'))
    {
        const std::size_t sign = text[i + 1] == '-' || text[i + 1] == '+';
        std::size_t end = i + 1 + sign;
        int exponent = 0;
        for (; end < text.size() && IsDigit(text[end]) && exponent < 10000; ++end)
        {
            exponent = exponent * 10 + (text[end] - '0');
        }
        if (end > i + 1 + sign)
        {
            number.exponent += text[i + 1] == '-' ? -exponent : exponent;
            i = end;
        }
    }
    text.remove_prefix(i);
    return number;
}

/// @return number * unit rounded to an integer, or nullopt if it does not fit in 63 bits
std::optional<int64_t>
Scale(Decimal number, Wide unit)
{
    if (number.digits == 0)
    {
        return 0;
    }
    while (number.exponent < 0 && unit % 10 == 0)
    {
        unit /= 10;
        ++number.exponent;
    }
    if (number.exponent > MAX_EXPONENT)
    {
        return std::nullopt;
    }
    // Only far too many digits get here with digits * unit over 128 bits.
    while (number.digits > WIDE_MAX / unit && number.exponent < 0)
    {
        number.digits /= 10;
        ++number.exponent;
    }
    if (number.digits > WIDE_MAX / unit)
    {
        return std::nullopt;
    }
    Wide value = number.digits * unit;
    for (; number.exponent > 0; --number.exponent)
    {
        if (value > static_cast<Wide>(INT64_MAX))
        {
            return std::nullopt;
        }
        value *= 10;
    }
    for (; number.exponent < -1 && value > 0; ++number.exponent)
    {
        value /= 10;
    }
    if (number.exponent == -1)
    {
        value = value / 10 + (value % 10 >= 5);
    }
    if (value > static_cast<Wide>(INT64_MAX))
    {
        return std::nullopt;
    }
    return static_cast<int64_t>(value);
}

/// @return bit/s of a rate's unit text, 0 if there is no such unit
uint64_t
RateUnit(std::string_view unit)
{
    if (unit.empty())
    {
        return 1;
    }
    uint64_t bits = 0;
    for (auto [suffix, size] : {std::pair{"bps", 1}, {"b/s", 1}, {"Bps", 8}, {"B/s", 8}})
    {
        if (unit.ends_with(suffix))
        {
            bits = size;
            unit.remove_suffix(3);
            break;
        }
    }
    const bool binary = unit.size() == 2 && unit[1] == 'i';
    if (bits == 0 || (unit.size() > 1 && !binary))
    {
        return 0;
    }
    const uint64_t base = binary ? 1024 : 1000;
    switch (unit.empty() ? ' ' : unit[0])
    {
    case ' ':
        return bits;
    case 'k':
    case 'K':
        return bits * base;
    case 'M':
        return bits * base * base;
    case 'G':
        return bits * base * base * base;
    case 'T':
        return bits * base * base * base * base;
    default:
        return 0;
    }
}

/// @return femtoseconds of a time's unit text, 0 if there is no such unit
Wide
TimeUnitFs(std::string_view unit)
{
    constexpr Wide SECOND = 1'000'000'000'000'000;
    for (auto [name, size] : {std::pair<std::string_view, Wide>{"", SECOND},
                              {"s", SECOND},
                              {"ms", SECOND / 1'000},
                              {"us", SECOND / 1'000'000},
                              {"ns", SECOND / 1'000'000'000},
                              {"ps", 1000},
                              {"fs", 1},
                              {"min", 60 * SECOND},
                              {"h", 3600 * SECOND},
                              {"d", 86400 * SECOND},
                              {"y", 365 * 86400 * SECOND}})
    {
        if (unit == name)
        {
            return size;
        }
    }
    return 0;
}

} // namespace

std::optional<int64_t>
ParseScaled(std::string_view text, int64_t unit, bool* tooLarge)
{
    const auto number = TakeDecimal(text);
    if (!number || !text.empty())
    {
        return std::nullopt;
    }
    const auto value = Scale(*number, unit);
    if (tooLarge)
    {
        *tooLarge = !value;
    }
    return value;
}

std::optional<uint64_t>
ParseDataRateBps(std::string_view text)
{
    const auto number = TakeDecimal(text);
    const uint64_t unit = RateUnit(text);
    if (!number || unit == 0)
    {
        return std::nullopt;
    }
    return Scale(*number, unit);
}

std::optional<uint64_t>
ParseRateWithUnit(std::string_view text)
{
    const auto rate = ParseDataRateBps(text);
    const bool isBare = !text.empty() && (IsDigit(text.back()) || text.back() == '.');
    return isBare && rate != 0 ? std::nullopt : rate;
}

std::optional<int64_t>
ParseTimePs(std::string_view text)
{
    auto number = TakeDecimal(text);
    const Wide unitFs = TimeUnitFs(text);
    if (!number || unitFs == 0)
    {
        return std::nullopt;
    }
    number->exponent -= 3; // femtoseconds to picoseconds
    return Scale(*number, unitFs);
}

std::optional<uint64_t>
ParseUnsigned(std::string_view text)
{
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
    {
        return std::nullopt;
    }
    return value;
}

std::optional<uint64_t>
ParseWhole(std::string_view text)
{
    const std::size_t point = std::min(text.find('.'), text.size());
    const bool isWhole = text.find_first_not_of('0', point + 1) == std::string_view::npos;
    return isWhole ? ParseUnsigned(text.substr(0, point)) : std::nullopt;
}

std::optional<double>
ParseReal(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    {
        return std::nullopt;
    }
    return value;
}

std::optional<double>
ParseShare(std::string_view text)
{
    const bool isPercent = text.ends_with('%');
    if (isPercent)
    {
        text.remove_suffix(1);
    }
    const auto value = ParseReal(text);
    const double whole = isPercent ? 100 : 1;
    return value && *value >= 0 && *value <= whole ? std::optional(*value / whole) : std::nullopt;
}

std::string
FormatDataRate(uint64_t rateBps)
{
    for (auto [unit, size] : {std::pair<const char*, uint64_t>{"Gbps", 1'000'000'000},
                              {"Mbps", 1'000'000},
                              {"kbps", 1'000}})
    {
        if (rateBps >= size && rateBps % size == 0)
        {
            return std::to_string(rateBps / size) + unit;
        }
    }
    return std::to_string(rateBps) + "bps";
}

} // namespace ns3
