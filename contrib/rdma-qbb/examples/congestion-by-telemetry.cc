/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Congestion controls that react to in-band telemetry:
//   congestion-by-telemetry --senders=8 --gbps=100 --ms=10

#include "congestion-table.h"

int
main(int argc, char** argv)
{
    const std::string common = "PACKET_PAYLOAD_SIZE 1000\n";
    const std::string artifact = common + "CC_MODE 3\nMI_THRESH 0\nRATE_AI 50Mb/s\n";
    return ns3::CongestionTable::Main(
        argc,
        argv,
        {{"HPCC", common + "CC_MODE 3\n"},
         {"HPCC, once per RTT", common + "CC_MODE 3\nFAST_REACT 0\n"},
         {"HPCC, artifact", artifact},
         {"HPCC, MULTI_RATE", artifact + "MULTI_RATE 1\n"},
         {"HPCC, SAMPLE_FEEDBACK", artifact + "SAMPLE_FEEDBACK 1\n"},
         {"HPCC-PINT", common + "CC_MODE 10\n"},
         {"HPCC-PINT, p = 1/16", common + "CC_MODE 10\nPINT_PROB 0.0625\n"}});
}
