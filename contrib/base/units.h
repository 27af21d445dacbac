/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef UNITS_H
#define UNITS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ns3
{

/**
 * @file
 * Exact conversion of the quantities users write ("400Gbps", "0.000025ms") to the integers the
 * simulator counts in. The arithmetic is decimal, so "0.1us" is 100000 ps and not a rounded double;
 * only digits below one unit (a tenth of a picosecond, say) are rounded, half away from zero.
 *
 * @code
 * ParseDataRateBps("2880Gbps");  // 2'880'000'000'000
 * ParseTimePs("0.000025ms");     // 25'000
 * ParseTimePs("soon");           // nullopt
 * @endcode
 */

/// Largest time in picoseconds: stands for "never".
inline constexpr int64_t TIME_PS_MAX = INT64_MAX;

/**
 * @param text a decimal number without a sign, with optional fraction and exponent
 * @param unit the value of 1 in @p text, as a multiple of the result's unit
 * @param tooLarge if not null, set when the text is a number that does not fit (nullopt is
 * returned)
 * @return text * unit, or nullopt if text is no number or the product does not fit in 63 bits
 */
std::optional<int64_t> ParseScaled(std::string_view text, int64_t unit, bool* tooLarge = nullptr);

/**
 * @param text a rate as ns-3's DataRate accepts it: "400Gbps", "50Mb/s", "12.5GB/s", "1Kibps", or a
 * bare number of bit/s; T and Ti prefixes besides
 * @return bit/s, or nullopt if the text is no rate or does not fit in 63 bits
 */
std::optional<uint64_t> ParseDataRateBps(std::string_view text);

/// @return the same; nullopt also for a number without a unit, unless it is 0
std::optional<uint64_t> ParseRateWithUnit(std::string_view text);

/**
 * @param text a time as ns-3's Time accepts it: "1000ns", "0.0005ms", "2s"; a bare number is
 * seconds
 * @return picoseconds, or nullopt if the text is no time, negative, or over 106 days
 */
std::optional<int64_t> ParseTimePs(std::string_view text);

/// @param text a whole number in decimal digits @return its value, or nullopt
std::optional<uint64_t> ParseUnsigned(std::string_view text);

/// @return the same of a number that may end in ".0", as Python's division writes it
std::optional<uint64_t> ParseWhole(std::string_view text);

/// @param text a finite decimal number @return its value, or nullopt
std::optional<double> ParseReal(std::string_view text);

/// @param text a share of 1 as "1%" or "0.01" @return it, 0 to 1, or nullopt
std::optional<double> ParseShare(std::string_view text);

/// @param rateBps a rate in bit/s @return short text such as "400Gbps" that ParseDataRateBps reads
/// back
std::string FormatDataRate(uint64_t rateBps);

} // namespace ns3

#endif /* UNITS_H */
