/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_PLUGINS_H
#define CCLO_PLUGINS_H

#include "ns3/cclo-constants.h"

#include <cstdint>
#include <span>

namespace ns3
{

/**
 * @ingroup accl-cclo
 * @brief Functions of the arithmetic unit.
 *
 * Functions 0 to 4 are sums of float32, float64, int32, int64 and float16, functions 5 to 9 maxima
 * of the same types, as in ACCL's default kernel. Integer sums wrap; sums of float16 are rounded to
 * nearest.
 */
class CcloArithmetic
{
  public:
    static constexpr uint32_t FUNCTIONS = 10;

    /**
     * Combine two operands of the same length, element by element.
     * @param a operand 0, becomes the result
     */
    static void Combine(uint32_t function, std::span<uint8_t> a, std::span<const uint8_t> b);
};

/// A compression lane: function 0 converts float32 to float16, function 1 the reverse.
class CcloCompressionLane
{
  public:
    static constexpr uint32_t FLOAT32_TO_FLOAT16 = 0;
    static constexpr uint32_t FLOAT16_TO_FLOAT32 = 1;

    /// @return the converted elements
    static CcloBytes Convert(uint32_t function, std::span<const uint8_t> in);
};

} // namespace ns3

#endif /* CCLO_PLUGINS_H */
