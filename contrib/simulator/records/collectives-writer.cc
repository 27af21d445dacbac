/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives-writer.h"

#include "ns3/csv-cell.h"

#include <algorithm>
#include <fmt/format.h>

namespace AstraSim
{

CollectivesWriter::CollectivesWriter(const std::string& path)
    : m_file(path)
{
    m_file.Write(
        "id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,channels,start_ns,end_ns,"
        "algbw,busbw,flows,last_start_ns,busbw_last_start\n");
    m_file.Flush();
}

CollectivesWriter::~CollectivesWriter()
{
    WriteHeld();
}

void
CollectivesWriter::CollectiveEnded(const CollectiveRecord& record)
{
    const double nanoseconds = static_cast<double>(record.end - record.start) / 1000;
    const double together = static_cast<double>(record.end - record.lastStart) / 1000;
    const auto bandwidth = [&record](double duration) {
        return duration > 0 ? static_cast<double>(record.bytes) / duration : 0;
    };
    const double algbw = bandwidth(nanoseconds);
    const auto ranks = static_cast<uint32_t>(record.group->ranks.size());
    const double factor = BusBandwidthFactor(record.op, ranks);
    fmt::memory_buffer row;
    fmt::format_to(
        std::back_inserter(row),
        "{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.6f},{:.6f},{},{:.3f},{:.6f}\n",
        record.id,
        ns3::CsvCell(record.layer),
        record.position.pass,
        ToString(record.position.phase),
        ns3::CsvCell(record.group->name),
        ranks,
        ToString(record.op),
        record.bytes,
        record.choice->algorithm,
        record.choice->protocol,
        record.choice->channels,
        static_cast<double>(record.start) / 1000,
        static_cast<double>(record.end) / 1000,
        algbw,
        algbw * factor,
        record.choice->flows,
        static_cast<double>(record.lastStart) / 1000,
        bandwidth(together) * factor);
    if (record.end != m_end)
    {
        WriteHeld();
        m_end = record.end;
    }
    m_held.emplace_back(record.id, fmt::to_string(row));
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

} // namespace AstraSim
