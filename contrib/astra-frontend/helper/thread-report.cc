/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "thread-report.h"

#include "ns3/qbb-partitions.h"
#include "ns3/qbb-simulator-impl.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>

namespace AstraSim
{

namespace
{

/// @return what became of the threads' time; nothing without -t
std::optional<ns3::QbbThreadUse>
ThreadUse()
{
    const ns3::QbbSimulatorImpl* simulator = ns3::QbbSimulatorImpl::Get();
    const ns3::QbbPartitions* partitions = simulator ? simulator->GetPartitions() : nullptr;
    return partitions ? std::optional(partitions->GetThreadUse()) : std::nullopt;
}

} // namespace

std::string
DescribeThreads()
{
    const auto use = ThreadUse();
    if (!use || use->threads == 1)
    {
        return "";
    }
    constexpr double PERCENT = 100;
    const double alone = use->GetAlonePart();
    std::string text =
        fmt::format("{} threads, efficiency {:.0f}%: {:.0f}% of their time went to waiting for "
                    "each other in {} windows, {:.0f}% to waiting for one of them to start "
                    "flows and write results\n",
                    use->threads,
                    PERCENT * use->GetEfficiency(),
                    PERCENT * std::max(0.0, 1 - use->GetEfficiency() - alone),
                    use->windows,
                    PERCENT * alone);
    if (2 * use->serialWindows > use->windows)
    {
        text += fmt::format(
            "one thread ran {:.0f}% of the windows, as it was faster: too little happens in "
            "them, or other programs use the cores\n",
            PERCENT * static_cast<double>(use->serialWindows) / static_cast<double>(use->windows));
    }
    return text;
}

void
RecordThreads(RunRecord& record)
{
    if (const auto use = ThreadUse())
    {
        record.Set("threads", use->threads);
        record.Set("thread_efficiency", use->GetEfficiency());
        record.Set("windows", use->windows);
        record.Set("windows_of_one_thread", use->serialWindows);
    }
}

} // namespace AstraSim
