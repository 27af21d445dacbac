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

constexpr double PERCENT = 100;

/// @return the threads' busy and waiting times; nothing if the network is not divided
std::optional<ns3::QbbThreadUse>
ThreadUse()
{
    const ns3::QbbSimulatorImpl* simulator = ns3::QbbSimulatorImpl::Get();
    const ns3::QbbPartitions* partitions = simulator ? simulator->GetPartitions() : nullptr;
    return partitions ? std::optional(partitions->GetThreadUse()) : std::nullopt;
}

/// @return how well the processes of a run were used, as this one sees it
std::string
DescribeProcesses(const ns3::QbbThreadUse& use)
{
    const double waited = use.wallSeconds > 0 ? use.exchangeSeconds / use.wallSeconds : 0;
    return fmt::format("{} processes: {:.0f}% of the first one's time went to waiting for the "
                       "others in {} windows\n",
                       use.processes,
                       PERCENT * waited,
                       use.windows);
}

} // namespace

std::string
DescribeThreads()
{
    const auto use = ThreadUse();
    if (use && use->processes > 1)
    {
        return DescribeProcesses(*use);
    }
    if (!use || use->threads == 1 || use->windows == 0)
    {
        return "";
    }
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
        if (use->windows == 0 || use->threads * use->processes == 1)
        {
            return; // windows were in copies of the process, or only one thread ran
        }
        if (use->processes > 1)
        {
            record.Set("processes", use->processes);
        }
        record.Set("thread_efficiency", use->GetEfficiency());
        record.Set("windows", use->windows);
        record.Set("windows_of_one_thread", use->serialWindows);
    }
}

} // namespace AstraSim
