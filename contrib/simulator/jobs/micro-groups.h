/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef MICRO_GROUPS_H
#define MICRO_GROUPS_H

#include "astra-frontend/model/system/workload.h"

#include <string>

namespace AstraSim
{

/// @return a line that says which groups micro lines without sizes have; empty for others
std::string DescribeMicroGroups(const Workload& workload);

} // namespace AstraSim

#endif /* MICRO_GROUPS_H */
