/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef OPERATOR_ROWS_H
#define OPERATOR_ROWS_H

#include "serving-config.h"
#include "serving-values.h"

namespace AstraSim
{

/// @return a GPU's rates, from a line "gpu" @throw ns3::InputError
GpuRoofline ReadGpuRoofline(const ServingValues& values);

/// @return an operator of a model, from a line "row" @throw ns3::InputError
OperatorRow ReadOperatorRow(const ServingValues& values);

/// Read a line "times": measured times of @p row. @throw ns3::InputError
void ReadOperatorTimes(const ServingValues& values, OperatorRow& row);

} // namespace AstraSim

#endif /* OPERATOR_ROWS_H */
