/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives-writer.h"

#include "ns3/csv-cell.h"

#include <algorithm>

namespace AstraSim
{

namespace
{

double
Nanoseconds(TimePs time)
{
    return static_cast<double>(time) / 1000;
}

uint32_t
CountRanks(const CollectiveRecord& record)
{
    return static_cast<uint32_t>(record.group->ranks.size());
}

/// @return GB/s of the collective's bytes from @p start to its end
double
BandwidthFrom(TimePs start, const CollectiveRecord& record)
{
    const double duration = Nanoseconds(record.end - start);
    return duration > 0 ? static_cast<double>(record.bytes) / duration : 0;
}

double
BusBandwidthFrom(TimePs start, const CollectiveRecord& record)
{
    return BandwidthFrom(start, record) * BusBandwidthFactor(record.op, CountRanks(record));
}

} // namespace

const ns3::Columns<CollectiveRecord>&
CollectiveNames()
{
    using Of = const CollectiveRecord&;
    static const ns3::Columns<CollectiveRecord> columns{
        {"id",
         "number of the collective, in the order of first starts",
         [](Of each) { return each.id; }},
        {"layer",
         "the layer that the collective belongs to",
         [](Of each) { return ns3::CsvCell(each.layer); }},
        {"pass",
         "the pass through the workload, from 0",
         [](Of each) { return each.position.pass; }},
        {"phase",
         "``fwd``, ``ig`` (input gradient) or ``wg`` (weight gradient)",
         [](Of each) { return ToString(each.position.phase); }},
        {"group",
         "the group, such as ``DP3``",
         [](Of each) { return ns3::CsvCell(each.group->name); }},
        {"ranks", "size of the group", CountRanks},
        {"op", "operation", [](Of each) { return ToString(each.op); }},
        {"bytes",
         "size of the operation, as nccl-tests counts it",
         [](Of each) { return each.bytes; }},
        {"algorithm",
         "NCCL's (Ring, Tree, NVLS, NVLSTree, PAT, CollNetDirect, CollNetChain; Direct or PXN for "
         "sends between pairs), ASTRA-sim's (ring, halvingDoubling, ...), or P2P",
         [](Of each) { return each.choice->algorithm; }},
        {"protocol",
         "NCCL's protocol (LL, LL128, Simple)",
         [](Of each) { return each.choice->protocol; }},
    };
    return columns;
}

namespace
{

const ns3::Columns<CollectiveRecord>&
CollectiveColumns()
{
    using Of = const CollectiveRecord&;
    static const ns3::Columns<CollectiveRecord> columns = CollectiveNames().With({
        {"channels", "NCCL's number of channels", [](Of each) { return each.choice->channels; }},
        {"start_ns",
         "first start over the ranks of the group, in nanoseconds",
         [](Of each) { return Nanoseconds(each.start); }},
        {"end_ns",
         "last end over the ranks of the group",
         [](Of each) { return Nanoseconds(each.end); }},
        {"algbw",
         "GB/s from the first start to the last end, so a rank that starts late makes it smaller",
         [](Of each) { return BandwidthFrom(each.start, each); },
         6},
        {"busbw",
         "the same as `Bus bandwidth`_, in GB/s",
         [](Of each) { return BusBandwidthFrom(each.start, each); },
         6},
        {"flows", "network flows of the collective", [](Of each) { return each.choice->flows; }},
        {"last_start_ns",
         "when the last rank started, in nanoseconds",
         [](Of each) { return Nanoseconds(each.lastStart); }},
        {"busbw_last_start",
         "bus bandwidth from ``last_start_ns`` to the last end: what the network reached, even if "
         "some rank started late",
         [](Of each) { return BusBandwidthFrom(each.lastStart, each); },
         6},
    });
    return columns;
}

} // namespace

CollectivesWriter::CollectivesWriter(const std::string& path)
    : m_file(path)
{
    m_file.Write(CollectiveColumns().GetHeader() + "\n");
    m_file.Flush();
}

CollectivesWriter::~CollectivesWriter()
{
    WriteHeld();
}

void
CollectivesWriter::CollectiveEnded(const CollectiveRecord& record)
{
    if (m_rows >= m_limit)
    {
        ++m_leftOut;
        return;
    }
    ++m_rows;
    if (record.end != m_end)
    {
        WriteHeld();
        m_end = record.end;
    }
    m_held.emplace_back(record.id, CollectiveColumns().RowOf(record) + "\n");
}

void
CollectivesWriter::WriteHeld()
{
    std::ranges::stable_sort(m_held, {}, &std::pair<uint64_t, std::string>::first);
    for (const auto& [id, row] : m_held)
    {
        m_file.Write(row);
    }
    m_held.clear();
}

void
CollectivesWriter::Finish()
{
    WriteHeld();
    m_file.Finish();
}

std::string
DescribeCollectiveColumns()
{
    return CollectiveColumns().ToCsv();
}

} // namespace AstraSim
