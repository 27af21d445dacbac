/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "links-writer.h"

#include "ns3/output-file.h"
#include "ns3/qbb-processes.h"
#include "ns3/rdma-fabric.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

constexpr std::size_t FLOWS_LISTED = 3;

using CounterTable = std::vector<std::vector<LinkCounters>>; ///< by node and port

/// @return the counters of all ports up to now, those that other processes run included
CounterTable
CountersOfAll(const RdmaFabric& fabric)
{
    const LinkCountersOf read = CountersOf(fabric);
    const ClusterTopology& topology = fabric.GetTopology();
    CounterTable table(topology.nodeCount);
    QbbBytes bytes;
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        for (uint16_t port = 0; port < topology.Ports(node).size(); ++port)
        {
            table[node].push_back(read(node, port));
        }
        PutValue(bytes, fabric.IsHere(node));
        PutValues(bytes, table[node]);
        table[node].assign(table[node].size(), {});
    }
    for (const QbbBytes& each : FromAllProcesses(bytes))
    {
        QbbByteReader reader(each);
        for (auto& counters : table)
        {
            const bool isHere = reader.Get<bool>();
            const auto values = reader.GetValues<std::vector<LinkCounters>>();
            for (std::size_t port = 0; port < values.size(); ++port)
            {
                // Losses on a wire count in the process that has its frames, which may be the far
                // end's.
                const uint64_t drops = counters[port].drops + values[port].drops;
                counters[port] = isHere ? values[port] : counters[port];
                counters[port].drops = drops;
            }
        }
    }
    return table;
}

/// @return a reader of CountersOfAll() at the first question, which all processes ask
LinkCountersOf
CountersLater(const RdmaFabric& fabric)
{
    return [&fabric, table = std::make_shared<CounterTable>()](uint32_t node, uint16_t port) {
        if (table->empty())
        {
            *table = CountersOfAll(fabric);
        }
        return (*table)[node][port];
    };
}

} // namespace

LinkCountersOf
CountersOf(const RdmaFabric& fabric)
{
    return [&fabric](uint32_t node, uint16_t port) {
        const QbbNetDevice& device = fabric.GetDevice(node, port);
        const QbbPortCounters counters = device.GetCounters(Simulator::Now().GetTimeStep());
        const SwitchNode* at = fabric.GetSwitch(node);
        return LinkCounters{device.GetRateBps(),
                            counters.txBytes + counters.pfcBytes,
                            static_cast<double>(counters.busyPs) / 1000.0,
                            static_cast<double>(counters.pausedPs) / 1000.0,
                            counters.lostFrames,
                            at ? at->GetMarks(port) : 0};
    };
}

LinkCountersOf
CountersNow(const RdmaFabric& fabric, int64_t endPs)
{
    const double endNs = static_cast<double>(endPs) / 1000.0;
    CounterTable now = CountersOfAll(fabric);
    for (auto& counters : now)
    {
        for (LinkCounters& each : counters)
        {
            // A frame counts from when its transmission begins.
            each.busyNs = std::min(each.busyNs, endNs);
        }
    }
    return [later = CountersLater(fabric), now = std::move(now)](uint32_t node, uint16_t port) {
        LinkCounters counters = later(node, port); // frames and pauses that end after the flows
        counters.txBytes = now[node][port].txBytes;
        counters.busyNs = now[node][port].busyNs;
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
    file.Print("node,port,peer,rate_bps,tx_bytes,busy_ns,pause_ns,drops,ecn_marks,messages,"
               "used_by,largest_flows\n");
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
                .Decimal(done.marks)
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
