/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "pauses-writer.h"

#include "rdma-qbb/fabric/pfc-watchdog.h"

#include "ns3/output-file.h"
#include "ns3/rdma-fabric.h"

namespace ns3
{

void
WritePauses(const RdmaFabric& fabric, const std::string& path)
{
    OutputFile file(path);
    file.Print("node,port,priority,paused_by,pauses,paused_ns,longest_ns,storms\n");
    for (const PfcPauseRecord& record : fabric.GetPfcWatchdog().GetRecords())
    {
        file.Print("%u,%u,%u,%u,%lu,%.3f,%.3f,%lu\n",
                   record.node,
                   record.port + 1U,
                   record.priority,
                   fabric.GetTopology().Ports(record.node)[record.port].peer,
                   record.pauses,
                   static_cast<double>(record.totalPs) / 1000.0,
                   static_cast<double>(record.longestPs) / 1000.0,
                   record.storms);
    }
    file.Finish();
}

} // namespace ns3
