/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ANALYTICAL_RUN_H
#define ANALYTICAL_RUN_H

#include "astra-frontend/model/gpu/machine-model.h"
#include "simulator/options/analytical-options.h"

namespace AstraSim
{

/**
 * @return the machine that topology and flags describe; a flag wins over the topology
 * @param[out] gpus of the topology; 0 without one
 * @throw ns3::InputError for a type nobody knows
 */
MachineModel MakeMachine(const AnalyticalOptions& options, uint32_t* gpus);

/**
 * @brief A whole analytical run: the workload on AnaSim, each collective costed as a whole.
 * SimAI_analytical is a thin shell around it.
 *
 * @return exit status: 0 if the workload finished, 1 if not
 * @throw ns3::InputError for a mistake in an input
 */
int RunAnalytical(const AnalyticalOptions& options);

} // namespace AstraSim

#endif /* ANALYTICAL_RUN_H */
