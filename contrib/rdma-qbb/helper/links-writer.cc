/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "links-writer.h"

#include "output-file.h"
#include "rdma-fabric.h"

#include "ns3/simulator.h"

namespace ns3
{

void
WriteLinks(const RdmaFabric& fabric, const std::string& path)
{
    OutputFile file(path);
    file.Print("node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops\n");
    const ClusterTopology& topology = fabric.GetTopology();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        for (uint16_t port = 0; port < ports.size(); ++port)
        {
            const QbbNetDevice& device = fabric.GetDevice(node, port);
            const QbbPortCounters counters = device.GetCounters(nowPs);
            file.Print("%u,%u,%u,%lu,%lu,%.3f,%.3f,%lu\n",
                       node,
                       port + 1U,
                       ports[port].peer,
                       device.GetRateBps(),
                       counters.txBytes,
                       static_cast<double>(counters.busyPs) / 1000.0,
                       static_cast<double>(counters.pausedPs) / 1000.0,
                       counters.lostFrames);
        }
    }
    file.Flush();
}

} // namespace ns3
