/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "links-writer.h"

#include "output-file.h"
#include "rdma-fabric.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>
#include <vector>

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
                            counters.txBytes + counters.pfcBytes,
                            static_cast<double>(counters.busyPs) / 1000.0,
                            static_cast<double>(counters.pausedPs) / 1000.0,
                            counters.lostFrames};
    };
}

LinkCountersOf
CountersNow(const RdmaFabric& fabric, int64_t endPs)
{
    const double endNs = static_cast<double>(endPs) / 1000.0;
    const LinkCountersOf later = CountersOf(fabric);
    const ClusterTopology& topology = fabric.GetTopology();
    std::vector<std::vector<LinkCounters>> now(topology.nodeCount);
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            LinkCounters& counters = now[node].emplace_back(later(node, port));
            // A frame counts from when its transmission begins.
            counters.busyNs = std::min(counters.busyNs, endNs);
            counters.pauseNs = std::min(counters.pauseNs, endNs);
        }
    }
    return [later, now = std::move(now)](uint32_t node, uint16_t port) {
        LinkCounters counters = now[node][port];
        counters.drops = later(node, port).drops;
        return counters;
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
    std::string row; // names have any length
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        for (uint16_t port = 0; port < ports.size(); ++port)
        {
            const LinkCounters done = counters(node, port);
            char room[TextLine::ROOM];
            TextLine numbers(room);
            numbers.Decimal(node)
                .Text(',')
                .Decimal(port + 1U)
                .Text(',')
                .Decimal(ports[port].peer)
                .Text(',')
                .Decimal(done.rateBps)
                .Text(',')
                .Decimal(done.txBytes)
                .Text(',')
                .Fixed<3>(done.busyNs)
                .Text(',')
                .Fixed<3>(done.pauseNs)
                .Text(',')
                .Decimal(done.drops)
                .Text(',')
                .Decimal(use.Of(node, port).messages)
                .Text(',');
            row = numbers.View();
            row += use.DescribePurposes(node, port, purposes) + ',' +
                   use.DescribePairs(node, port, FLOWS_LISTED) + '\n';
            file.Write(row);
        }
    }
    file.Finish();
}

} // namespace ns3
