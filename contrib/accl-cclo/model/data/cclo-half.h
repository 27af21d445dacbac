/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef CCLO_HALF_H
#define CCLO_HALF_H

#include <cstdint>

namespace ns3
{

/// @return the IEEE 754 binary16 nearest to @p value, ties to even
uint16_t CcloFloatToHalf(float value);

/// @return the value of an IEEE 754 binary16
float CcloHalfToFloat(uint16_t half);

} // namespace ns3

#endif /* CCLO_HALF_H */
