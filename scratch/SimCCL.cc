/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shows NCCL's choice and its flows for a collective, without a network.
 *
 *   SimCCL --op AllReduce --size 4194304 --nRanks 16 --nNodes 2 --gpus_per_node 8 --gpu_type H100
 *   SimCCL -w microAllReduce.txt -n Spectrum-X_16g_8gps_400Gbps_H100
 *
 * Writes ncclFlowModel_detailed_flows.csv and, for small collectives, ncclFlowModel_flows.dot.
 * Exit status: 0, or 2 if an input is wrong.
 */
#include "ns3/simulator-programs.h"

int
main(int argc, char* argv[])
{
    return AstraSim::SimCclProgram(argc, argv);
}
