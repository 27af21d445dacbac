/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef BREAKDOWN_TABLE_H
#define BREAKDOWN_TABLE_H

#include "end-to-end-writer.h"

#include <string>

namespace AstraSim
{

/// @return a table of a run's time: compute, exposed communication of each kind of group, bubble,
/// each with its share of the total
std::string BreakdownTable(const TimeBreakdown& breakdown);

} // namespace AstraSim

#endif /* BREAKDOWN_TABLE_H */
