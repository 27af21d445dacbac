/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Simulates a program of nccl-tests and prints its table:
 *
 *   collective-perf all_reduce_perf -b 8 -e 1G -f 2 --network-topo Spectrum-X_16g_8gps_400Gbps_H100
 *
 * Links named after the tests choose the test: all_reduce_perf -b 8 -e 1G ...
 * Exit status: 0 done, 1 the test did not finish, 2 an input is wrong, 128 + n ended by signal n.
 */
#include "ns3/simulator-programs.h"

int
main(int argc, char* argv[])
{
    return AstraSim::CollectivePerfProgram(argc, argv);
}
