/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OVERLAP_RATIOS_H
#define OVERLAP_RATIOS_H

#include <array>

namespace AstraSim
{

/// Share of each kind of group's communication that runs beside computation; by GroupKind, 0 to 1.
using OverlapRatios = std::array<double, 7>;

} // namespace AstraSim

#endif /* OVERLAP_RATIOS_H */
