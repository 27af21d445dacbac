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
    Row& row = RowOf(record.op, *record.group, record.bytes, *record.choice, 1);
    const TimePs duration = record.end - record.start;
    row.slowest = std::max(row.slowest, duration);
    row.totalPs += static_cast<double>(duration);
    row.togetherPs += static_cast<double>(record.end - record.lastStart);
}

void
CollectiveSummary::WorkedInStep(const InStepRecord& record)
{
    if (record.collectives == 0)
    {
        return;
    }
    Row& row = RowOf(record.op, *record.group, record.bytes, *record.choice, record.collectives);
    const TimePs duration = record.duration + record.choice->hidden;
    const double total = static_cast<double>(duration) * static_cast<double>(record.collectives);
    row.slowest = std::max(row.slowest, duration);
    row.totalPs += total;
    row.togetherPs += total;
}

CollectiveSummary::Row&
CollectiveSummary::RowOf(CollectiveOp op,
                         const CommGroup& group,
                         uint64_t bytes,
                         const CollectiveChoice& choice,
                         uint64_t more)
{
    m_count.store(GetCount() + more, std::memory_order_relaxed);
    Row& row = m_rows[{op,
                       group.kind,
                       static_cast<uint32_t>(group.ranks.size()),
                       bytes,
                       choice.algorithm + " " + choice.protocol}];
    row.count += more;
    return row;
}

bool
CollectiveSummary::StartsLate() const
{
    constexpr double NOTICEABLE = 1.01;
    return std::ranges::any_of(m_rows, [](const auto& each) {
        const Row& row = each.second;
        return row.togetherPs > 0 && row.totalPs > NOTICEABLE * row.togetherPs;
    });
}

std::string
CollectiveSummary::Table() const
{
    if (m_rows.empty())
    {
        return "";
    }
    const bool late = StartsLate();
    std::string text = fmt::format("{:<14}{:<7}{:>6}{:>14}  {:<14}{:>7}{:>14}{:>12}{:>12}{}\n",
                                   "collective",
                                   "group",
                                   "ranks",
                                   "bytes",
                                   "algorithm",
                                   "count",
                                   "mean us",
                                   "algbw GB/s",
                                   "busbw GB/s",
                                   late ? "  from last start GB/s" : "");
    for (const auto& [key, row] : m_rows)
    {
        const auto& [op, group, ranks, bytes, algorithm] = key;
        const double seconds = row.totalPs / static_cast<double>(row.count) / 1e12;
        const double algbw = seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
        const double busbw = algbw * BusBandwidthFactor(op, ranks);
        const double fromLast = row.togetherPs > 0 ? busbw * row.totalPs / row.togetherPs : 0;
        text += fmt::format("{:<14}{:<7}{:>6}{:>14}  {:<14}{:>7}{:>14.3f}{:>12.2f}{:>12.2f}{}\n",
                            ToString(op),
                            ToString(group),
                            ranks,
                            bytes,
                            algorithm,
                            row.count,
                            seconds * 1e6,
                            algbw,
                            busbw,
                            late ? fmt::format("{:>22.2f}", fromLast) : "");
    }
    return text;
}

} // namespace AstraSim
