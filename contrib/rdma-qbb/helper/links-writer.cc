/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "links-writer.h"

#include "output-file.h"
#include "rdma-fabric.h"

#include "ns3/simulator.h"

namespace ns3
{

namespace
{

constexpr std::size_t FLOWS_LISTED = 3;

} // namespace

LinkCountersOf
CountersOf(const RdmaFabric& fabric)
{
    return [&fabric](uint32_t node, uint16_t port) {
        const QbbNetDevice& device = fabric.GetDevice(node, port);
        const QbbPortCounters counters = device.GetCounters(Simulator::Now().GetTimeStep());
        return LinkCounters{device.GetRateBps(),
                            counters.txBytes,
                            static_cast<double>(counters.busyPs) / 1000.0,
                            static_cast<double>(counters.pausedPs) / 1000.0,
                            counters.lostFrames};
    };
}

void
WriteLinks(const ClusterTopology& topology,
           const LinkCountersOf& counters,
           const LinkUse& use,
           const std::vector<std::string>& purposes,
           const std::string& path)
{
    OutputFile file(path);
    file.Print("node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops,messages,used_by,"
               "largest_flows\n");
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        for (uint16_t port = 0; port < ports.size(); ++port)
        {
            const LinkCounters done = counters(node, port);
            file.Print("%u,%u,%u,%lu,%lu,%.3f,%.3f,%lu,%lu,%s,%s\n",
                       node,
                       port + 1U,
                       ports[port].peer,
                       done.rateBps,
                       done.txBytes,
                       done.busyNs,
                       done.pauseNs,
                       done.drops,
                       use.Of(node, port).messages,
                       use.DescribePurposes(node, port, purposes).c_str(),
                       use.DescribePairs(node, port, FLOWS_LISTED).c_str());
        }
    }
    file.Flush();
}

} // namespace ns3
