/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FLOWS_PROGRAM_H
#define FLOWS_PROGRAM_H

namespace AstraSim
{

/**
 * @file
 * A program of scratch/: takes the arguments of its main() and returns its exit status.
 */

/// qbb-flows: flows of a file, without a workload.
int FlowsProgram(int argc, char* argv[]);

} // namespace AstraSim

#endif /* FLOWS_PROGRAM_H */
