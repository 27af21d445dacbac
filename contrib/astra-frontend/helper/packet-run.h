/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACKET_RUN_H
#define PACKET_RUN_H

#include "run-options.h"

namespace AstraSim
{

/**
 * @brief A whole packet-level simulation: reads the inputs, builds fabric and jobs, runs, writes
 * results. SimAI_simulator is a thin shell around it.
 *
 * Results go to the output directory as they come; run.json says whether the run finished.
 *
 * @param options what to run
 * @return exit status: 0 if all jobs finished, 1 if not
 * @throw ns3::InputError for a mistake in an input, before anything is simulated
 */
int RunPackets(const RunOptions& options);

} // namespace AstraSim

#endif /* PACKET_RUN_H */
