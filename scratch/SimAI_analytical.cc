/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Computes the time of a training iteration from bus bandwidths, without packets:
 *
 *   SimAI_analytical -w workload_analytical.txt -g 9216 -g_p_s 8 -nv 360 -nic 48.5 -r example-
 *
 * Exit status: 0 the workload finished, 1 it did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/simulator-programs.h"

int
main(int argc, char* argv[])
{
    return AstraSim::AnalyticalProgram(argc, argv);
}
