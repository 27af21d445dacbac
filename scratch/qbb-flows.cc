/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Runs a list of flows over a topology, without collectives: the main job of the HPCC simulator.
 *
 *   qbb-flows -c SimAI.conf -n topology.txt -f flow.txt -o results/flows
 *   qbb-flows config.txt                          # topology and flows as the configuration says
 *
 * Exit status: 0 all flows finished, 1 some did not, 2 an input is wrong, 129, 130 and 143 ended
 * by SIGHUP, SIGINT and SIGTERM.
 */
#include "ns3/flows-program.h"

int
main(int argc, char* argv[])
{
    return AstraSim::FlowsProgram(argc, argv);
}
