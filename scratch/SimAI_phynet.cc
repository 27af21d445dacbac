/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a workload with real traffic between processes, one per rank:
 *
 *   mpirun -np 16 SimAI_phynet -w microAllReduce.txt -n Spectrum-X_16g_8gps_100Gbps_A100 -o
 * results/a
 *
 * Exit status: 0 the workload finished, 1 a rank failed, 2 an input is wrong, 129, 130 and 143
 * ended by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/simulator-programs.h"

int
main(int argc, char* argv[])
{
    return AstraSim::PhynetProgram(argc, argv);
}
