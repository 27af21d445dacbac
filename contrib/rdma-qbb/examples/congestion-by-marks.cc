/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Congestion controls that react to ECN marks, and none for comparison:
//   congestion-by-marks --senders=8 --gbps=100 --ms=100

#include "congestion-table.h"

int
main(int argc, char** argv)
{
    const std::string common = "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\n";
    const std::string step = "KMIN 100000\nKMAX 100000\nPMAX 1\n";
    return ns3::CongestionTable::Main(
        argc,
        argv,
        {{"none", common + "CC_MODE 0\n"},
         {"none, with a window", "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 1\nCC_MODE 0\n"},
         {"DCQCN", common + "CC_MODE 1\n"},
         {"DCQCN, paper", common + "CC_MODE ns3::RdmaDcqcnPaper\n"},
         {"DCQCN, HPCC artifact", common + "CC_MODE ns3::RdmaDcqcnHpccArtifact\n"},
         {"DCTCP", common + step + "CC_MODE 8\n"},
         {"DCTCP, rate based", common + step + "CC_MODE 8\nDCTCP_RATE_AI 1000Mb/s\n"}});
}
