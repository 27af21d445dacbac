/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef ITERATIONS_RUN_H
#define ITERATIONS_RUN_H

#include "simulator/options/run-options.h"

namespace AstraSim
{

/**
 * @brief Simulates the iterations of a workload apart from each other (--separate-passes).
 *
 * Each iteration is a run of its own in a process of its own, on an idle network, with random
 * numbers of its own (ns-3's run number counts up), and leaves whole results in
 * `output/pass-0`, `pass-1`, ...; `passes.csv` has a row for each. So a run that was ended early
 * goes on with the iterations that it lacks (--resume), and leaves what it would have left anyway.
 *
 * SIGINT, SIGTERM and SIGHUP end the iteration under way, and with it the run.
 *
 * @param options with separatePasses
 * @return the exit status: that of the iteration that did not finish, if there is one
 * @throw ns3::InputError for a mistake in an input
 */
int RunIterations(const RunOptions& options);

} // namespace AstraSim

#endif /* ITERATIONS_RUN_H */
