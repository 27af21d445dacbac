/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CLOCK_RANGE_H
#define CLOCK_RANGE_H

#include "input-error.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace ns3
{

/**
 * @file
 * Keeps times and their sums from wrapping round. The simulated clock counts picoseconds in 63
 * bits: it ends after 106 days. Times that are computed (a size over a rate, a scaled duration)
 * stop at that end instead of becoming negative, and the scheduler refuses such a time.
 */

/// The clock's end in picoseconds: nothing is scheduled for it or for later.
inline constexpr int64_t CLOCK_END_PS = INT64_MAX;

inline constexpr int64_t PS_PER_SECOND = 1'000'000'000'000;

/// @return @p ps to the nearest picosecond; the clock's end if it is later or no number
inline int64_t
RoundToPs(double ps)
{
    constexpr double END = 9'223'372'036'854'774'784.0; // the largest double below 2^63
    if (ps <= END) [[likely]]
    {
        return ps >= -END ? std::llround(ps) : -CLOCK_END_PS;
    }
    return CLOCK_END_PS;
}

/// @return the whole picoseconds in @p ps, 0 or more; the clock's end if it is later or no number
inline int64_t
TruncateToPs(double ps)
{
    return ps < 9'223'372'036'854'774'784.0 ? static_cast<int64_t>(ps) : CLOCK_END_PS;
}

/// @return the sum of times, neither of them negative; the clock's end if it is later
inline int64_t
AddPs(int64_t a, int64_t b)
{
    return b > CLOCK_END_PS - a ? CLOCK_END_PS : a + b;
}

/// @return a time as often as that, neither of them negative; the clock's end if it is later
inline int64_t
TimesPs(int64_t ps, uint64_t factor)
{
    int64_t product = 0;
    return __builtin_mul_overflow(ps, factor, &product) ? CLOCK_END_PS : product;
}

/**
 * @ingroup base
 * @brief Sum of times over ranks, ports or queues, of which there may be millions: 128 bits.
 */
class TimeSum
{
  public:
    TimeSum() = default;

    /// The sum of one time.
    TimeSum(int64_t ps)
        : m_ps(ps)
    {
    }

    TimeSum& operator+=(const TimeSum& other)
    {
        m_ps += other.m_ps;
        return *this;
    }

    friend TimeSum operator+(TimeSum a, const TimeSum& b)
    {
        return a += b;
    }

    friend TimeSum operator-(const TimeSum& a, const TimeSum& b)
    {
        TimeSum difference;
        difference.m_ps = a.m_ps - b.m_ps;
        return difference;
    }

    friend TimeSum operator*(const TimeSum& sum, uint32_t factor)
    {
        TimeSum product;
        product.m_ps = sum.m_ps * factor;
        return product;
    }

    bool operator==(const TimeSum&) const = default;
    auto operator<=>(const TimeSum&) const = default;

    /// @return the sum in picoseconds, rounded as any conversion of an integer is
    double ToPs() const
    {
        return static_cast<double>(m_ps);
    }

  private:
    __extension__ using Wide = __int128;

    Wide m_ps{0};
};

/// Refuse a time that the clock does not reach. @param what the input that asks for it
[[noreturn]] inline void
RefuseBeyondClock(const std::string& file, const std::string& what)
{
    throw InputError(file,
                     0,
                     what + " past the end of the simulated clock",
                     "times that add up to less than 9223372 s (106 days)");
}

} // namespace ns3

#endif /* CLOCK_RANGE_H */
