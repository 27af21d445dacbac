/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reordering-records.h"

#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/columns.h"
#include "ns3/output-file.h"
#include "ns3/qbb-processes.h"
#include "ns3/rdma-fabric.h"
#include "ns3/trace-source.h"

#include <algorithm>

namespace ns3
{

struct ReorderingRecords::Row
{
    const Record& record;
    const ClusterTopology& topology;

    static const Columns<Row>& GetColumns()
    {
        using Of = const Row&;
        static const Columns<Row> columns{
            {"src", "the sender", [](Of row) { return row.topology.NodeOfHost(row.record.src); }},
            {"dst", "the receiver", [](Of row) { return row.topology.NodeOfHost(row.record.dst); }},
            {"sport", "source port", [](Of row) { return row.record.sport; }},
            {"dport", "destination port", [](Of row) { return row.record.dport; }},
            {"qpn",
             "number of the queue pair at the sender",
             [](Of row) { return row.record.qpn; }},
            {"priority", "its priority", [](Of row) { return row.record.priority; }},
            {"out_of_order_packets",
             "packets that came before one sent earlier, which was overtaken or lost",
             [](Of row) { return row.record.packets; }},
            {"reorder_bytes",
             "farthest that one of them reached beyond the byte expected next",
             [](Of row) { return row.record.mostBytes; }},
        };
        return columns;
    }
};

ReorderingRecords::ReorderingRecords(RdmaFabric& fabric)
    : m_fabric(fabric),
      m_closed(fabric.GetTopology().hostCount)
{
    Connect(true);
}

ReorderingRecords::~ReorderingRecords()
{
    Connect(false);
}

void
ReorderingRecords::Connect(bool connects)
{
    const TraceSource<RdmaHw> source("RxQpClose");
    const auto sink = MakeCallback(&ReorderingRecords::OnClose, this);
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        connects ? source.Connect(host, sink) : source.Disconnect(host, sink);
    });
}

void
ReorderingRecords::Add(std::vector<Record>& records, const RdmaRxQueuePair& rx)
{
    if (rx.outOfOrderFrames > 0)
    {
        records.push_back({rx.peer.host,
                           rx.hw->GetHostIndex(),
                           rx.peer.sport,
                           rx.peer.dport,
                           rx.peer.qpn,
                           rx.peer.priority,
                           rx.outOfOrderFrames,
                           rx.reorderBytes});
    }
}

void
ReorderingRecords::OnClose(const RdmaRxQueuePair& rx)
{
    Add(m_closed[rx.hw->GetHostIndex()], rx);
}

void
ReorderingRecords::Write(const std::string& path) const
{
    std::vector<Record> mine;
    ForEachHost(m_fabric, [&](RdmaHw& host) {
        const auto& closed = m_closed[host.GetHostIndex()];
        mine.insert(mine.end(), closed.begin(), closed.end());
        host.GetReceiver().ForEachOpen([&](const RdmaRxQueuePair& rx) { Add(mine, rx); });
    });
    std::vector<Record> records;
    for (const std::vector<Record>& each : ValuesOfAllProcesses(mine))
    {
        records.insert(records.end(), each.begin(), each.end());
    }
    if (records.empty())
    {
        return;
    }
    std::ranges::sort(records);
    OutputFile file(path);
    file.Write(Row::GetColumns().GetHeader() + "\n");
    for (const Record& record : records)
    {
        file.Write(Row::GetColumns().RowOf({record, m_fabric.GetTopology()}) + "\n");
    }
    file.Finish();
}

std::string
ReorderingRecords::DescribeColumns()
{
    return Row::GetColumns().ToCsv();
}

} // namespace ns3
