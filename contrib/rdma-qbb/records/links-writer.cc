/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "links-writer.h"

#include "ns3/columns.h"
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

/// A port, for its row.
struct PortRecord
{
    uint32_t node;
    uint16_t port;
    uint32_t peer;
    LinkCounters counters;
    const LinkUse& use;
    const std::vector<std::string>& purposes;
};

const Columns<PortRecord>&
PortColumns()
{
    using Of = const PortRecord&;
    static const Columns<PortRecord> columns{
        {"node", "the sender", [](Of port) { return port.node; }},
        {"port", "port of the sender", [](Of port) { return port.port + 1; }},
        {"peer", "the node at the other end", [](Of port) { return port.peer; }},
        {"rate_bps", "rate of the link, bit/s", [](Of port) { return port.counters.rateBps; }},
        {"tx_bytes",
         "bytes sent, with all headers, preamble and gap, PFC frames, and replays and ordered sets "
         "of link-level retry. On NVLinks, bytes that NVLS-Tree reduces or multicasts count more, "
         "in the proportion in which they are slower than the link",
         [](Of port) { return port.counters.txBytes; }},
        {"busy_ns",
         "time in which the port was sending, until the last flow or rank was done. Divided by "
         "``simulated_ns`` of `run.json`_, it is the utilisation",
         [](Of port) { return port.counters.busyNs; }},
        {"pause_ns",
         "time in which the port was paused, until no frame was under way any more, as "
         "``paused_ns`` of `run.json`_",
         [](Of port) { return static_cast<double>(port.counters.port.pausedPs) / 1000; }},
        {"drops",
         "frames lost on the way to the peer (errors, links that are down)",
         [](Of port) { return port.counters.port.lostFrames; }},
        {"ecn_marks",
         "frames that a switch marked CE as they left by this port; 0 with ``--network flow``",
         [](Of port) { return port.counters.marks; }},
        {"trims",
         "packets whose payload a switch cut off before it queued them for this port",
         [](Of port) { return port.counters.trims; }},
        {"replays",
         "frames that the link sent again (link-level retry)",
         [](Of port) { return port.counters.port.replayedFrames; }},
        {"messages",
         "messages (flows, or their parts) that took the link",
         [](Of port) { return port.use.Of(port.node, port.port).messages; }},
        {"used_by",
         "purposes of messages, with the share of their bytes: operation and kind of group, such "
         "as ``AllReduce DP 92%; AllToAll EP 8%``; ``messages`` between two ranks; ``background "
         "flows``; ``flows`` of ``qbb-flows``",
         [](Of port) { return port.use.DescribePurposes(port.node, port.port, port.purposes); }},
        {"largest_flows",
         "up to three pairs of hosts that sent the most, with their share, such as ``0>8 45%; 1>9 "
         "20%``",
         [](Of port) { return port.use.DescribePairs(port.node, port.port, FLOWS_LISTED); }},
    };
    return columns;
}

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
                const uint64_t lost = counters[port].port.lostFrames + values[port].port.lostFrames;
                counters[port] = isHere ? values[port] : counters[port];
                counters[port].port.lostFrames = lost;
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
        const ClusterTopology& topology = fabric.GetTopology();
        return LinkCounters{topology.links[topology.Ports(node)[port].link].rateBps,
                            counters.GetWireBytes(),
                            static_cast<double>(counters.busyPs) / 1000.0,
                            at ? at->GetMarks(port) : 0,
                            at ? at->GetTrims(port) : 0,
                            counters};
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
    file.Write(PortColumns().GetHeader() + "\n");
    for (uint32_t node = 0; node < topology.nodeCount; ++node)
    {
        const auto ports = topology.Ports(node);
        for (uint16_t port = 0; port < ports.size(); ++port)
        {
            const PortRecord record{node,
                                    port,
                                    ports[port].peer,
                                    counters(node, port),
                                    use,
                                    purposes};
            file.Write(PortColumns().RowOf(record) + "\n");
        }
    }
    file.Finish();
}

std::string
DescribeLinkColumns()
{
    return PortColumns().ToCsv();
}

} // namespace ns3
