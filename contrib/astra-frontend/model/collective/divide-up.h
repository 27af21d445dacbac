/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DIVIDE_UP_H
#define DIVIDE_UP_H

#include <cstdint>

namespace AstraSim
{

/// NCCL cuts buffers at multiples of so many bytes (src/enqueue.cc, src/device).
inline constexpr uint64_t NCCL_ALIGNMENT = 16;

/// @return how many parts of @p part hold @p whole; @p part is not 0
constexpr uint64_t
DivideUp(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

/// @return the first multiple of @p unit that is not below @p value
constexpr uint64_t
RoundUp(uint64_t value, uint64_t unit)
{
    return DivideUp(value, unit) * unit;
}

} // namespace AstraSim

#endif /* DIVIDE_UP_H */
