/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a workload's collectives at packet level:
 *
 *   SimAI_simulator -w microAllReduce.txt -n Spectrum-X_128g_8gps_100Gbps_A100 -c SimAI.conf
 *
 * Exit status: 0 the workload finished, 1 it did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/simulator-programs.h"

int
main(int argc, char* argv[])
{
    return AstraSim::SimulatorProgram(argc, argv);
}
