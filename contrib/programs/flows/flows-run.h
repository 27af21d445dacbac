/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOWS_RUN_H
#define FLOWS_RUN_H

#include "flows-options.h"

namespace AstraSim
{

/**
 * @brief A whole run of a list of flows over a topology, without collectives: the main job of the
 * HPCC simulator. qbb-flows is a thin shell around it.
 *
 * @return exit status: 0 if all flows finished, 1 if not
 * @throw ns3::InputError for a mistake in an input
 */
int RunFlows(const FlowsOptions& options);

} // namespace AstraSim

#endif /* FLOWS_RUN_H */
