/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMULATION_RUN_H
#define SIMULATION_RUN_H

#include "simulator/options/run-options.h"

namespace AstraSim
{

/**
 * @brief A whole simulation: reads the inputs, builds network and jobs, runs, writes results.
 * SimAI_simulator is a thin shell around it.
 *
 * Results go to the output directory as they come; run.json says whether the run finished.
 *
 * @param options what to run, and on which kind of network
 * @return exit status: 0 if all jobs finished, 1 if not
 * @throw ns3::InputError for a mistake in an input, before anything is simulated
 */
int RunSimulation(const RunOptions& options);

} // namespace AstraSim

#endif /* SIMULATION_RUN_H */
