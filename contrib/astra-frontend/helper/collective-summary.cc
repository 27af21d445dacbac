/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-summary.h"

#include "ns3/collective-types.h"

#include <algorithm>
#include <fmt/format.h>

namespace AstraSim
{

void
CollectiveSummary::CollectiveEnded(const CollectiveRecord& record)
{
    ++m_count;
    Row& row = m_rows[{record.op,
                       record.group->kind,
                       static_cast<uint32_t>(record.group->ranks.size()),
                       record.bytes,
                       record.choice->algorithm + " " + record.choice->protocol}];
    const TimePs duration = record.end - record.start;
    ++row.count;
    row.slowest = std::max(row.slowest, duration);
    row.totalPs += static_cast<double>(duration);
}

std::string
CollectiveSummary::Table() const
{
    if (m_rows.empty())
    {
        return "";
    }
    std::string text = fmt::format("{:<14}{:<7}{:>6}{:>14}  {:<14}{:>7}{:>14}{:>12}{:>12}\n",
                                   "collective",
                                   "group",
                                   "ranks",
                                   "bytes",
                                   "algorithm",
                                   "count",
                                   "mean us",
                                   "algbw GB/s",
                                   "busbw GB/s");
    for (const auto& [key, row] : m_rows)
    {
        const auto& [op, group, ranks, bytes, algorithm] = key;
        const double seconds = row.totalPs / static_cast<double>(row.count) / 1e12;
        const double algbw = seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
        text += fmt::format("{:<14}{:<7}{:>6}{:>14}  {:<14}{:>7}{:>14.3f}{:>12.2f}{:>12.2f}\n",
                            ToString(op),
                            ToString(group),
                            ranks,
                            bytes,
                            algorithm,
                            row.count,
                            seconds * 1e6,
                            algbw,
                            algbw * BusBandwidthFactor(op, ranks));
    }
    return text;
}

} // namespace AstraSim
