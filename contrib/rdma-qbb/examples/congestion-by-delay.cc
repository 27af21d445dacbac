/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
// Congestion controls that react to delay:
//   congestion-by-delay --senders=8 --gbps=100 --ms=50

#include "congestion-table.h"

int
main(int argc, char** argv)
{
    const std::string common = "PACKET_PAYLOAD_SIZE 1000\nHAS_WIN 0\n";
    return ns3::CongestionTable::Main(
        argc,
        argv,
        {{"TIMELY", common + "CC_MODE RdmaTimely\n"},
         {"TIMELY, faster steps",
          common + "CC_MODE RdmaTimely\nRATE_AI 500Mb/s\nRATE_HAI 2500Mb/s\n"},
         {"Swift", common + "CC_MODE ns3::RdmaSwift\n"}});
}
