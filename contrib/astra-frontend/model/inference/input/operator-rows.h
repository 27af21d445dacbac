/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATOR_ROWS_H
#define OPERATOR_ROWS_H

#include "serving-config.h"
#include "serving-values.h"

namespace AstraSim
{

/// @return what a line "gpu" says: a GPU's rates @throw ns3::InputError
GpuRoofline ReadGpuRoofline(const ServingValues& values);

/// @return what a line "row" says: an operator of a model @throw ns3::InputError
OperatorRow ReadOperatorRow(const ServingValues& values);

/// Read a line "times": measured times of @p row. @throw ns3::InputError
void ReadOperatorTimes(const ServingValues& values, OperatorRow& row);

} // namespace AstraSim

#endif /* OPERATOR_ROWS_H */
