/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "cclo-half.h"

#include <bit>

namespace ns3
{

namespace
{

/// @return value shifted right, rounded to nearest, ties to even
uint32_t
RoundingShift(uint32_t value, uint32_t bits)
{
    const uint32_t half = 1U << (bits - 1);
    const uint32_t rest = value & ((1U << bits) - 1);
    const uint32_t whole = value >> bits;
    return whole + (rest > half || (rest == half && (whole & 1)));
}

} // namespace

uint16_t
CcloFloatToHalf(float value)
{
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000)
    {
        return static_cast<uint16_t>(sign | 0x7E00); // not a number
    }
    if (magnitude >= 0x477FF000)
    {
        return static_cast<uint16_t>(sign | 0x7C00); // rounds to infinity
    }
    if (magnitude >= 0x38800000)
    {
        return static_cast<uint16_t>(sign | (RoundingShift(magnitude, 13) - (112U << 10)));
    }
    // Below 2^-14: a multiple of 2^-24.
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102)
    {
        return static_cast<uint16_t>(sign);
    }
    const uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    return static_cast<uint16_t>(sign | RoundingShift(mantissa, 126 - exponent));
}

float
CcloHalfToFloat(uint16_t half)
{
    const uint32_t sign = (half & 0x8000U) << 16;
    const uint32_t exponent = half >> 10 & 0x1F;
    const uint32_t mantissa = half & 0x3FF;
    if (exponent == 0x1F)
    {
        return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
    }
    if (exponent != 0)
    {
        return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
    }
    const float value = static_cast<float>(mantissa) * 0x1p-24F;
    return sign ? -value : value;
}

} // namespace ns3
