/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SIMULATOR_PROGRAMS_H
#define SIMULATOR_PROGRAMS_H

namespace AstraSim
{

/**
 * @file
 * The programs of scratch/: each takes the arguments of its main() and returns its exit
 * status.
 */

/// SimAI_simulator: packets, flows or formulas carry a workload's collectives.
int SimulatorProgram(int argc, char* argv[]);

/// SimAI_analytical: closed forms alone.
int AnalyticalProgram(int argc, char* argv[]);

/// SimCCL: prints the flows of collectives.
int SimCclProgram(int argc, char* argv[]);

/// collective-perf: nccl-tests' programs.
int CollectivePerfProgram(int argc, char* argv[]);

} // namespace AstraSim

#endif /* SIMULATOR_PROGRAMS_H */
