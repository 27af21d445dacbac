/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-trouble.h"

#include "fabric-parts.h"
#include "fabric-totals.h"

#include "ns3/link-changes.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace ns3
{

namespace
{

/// @return of each plug-in, the constant that does not fit the longest path that this process used
std::vector<std::string>
LongestMisfits(const FabricParts& fabric)
{
    std::array<RdmaMisfit, 2> longest;
    for (const RdmaDriver* driver : fabric.drivers)
    {
        const auto misfits = driver->GetHw().GetMisfits();
        for (std::size_t i = 0; i < longest.size(); ++i)
        {
            if (misfits[i].baseRttPs > longest[i].baseRttPs)
            {
                longest[i] = misfits[i];
            }
        }
    }
    std::vector<std::string> lines;
    for (RdmaMisfit& misfit : longest)
    {
        if (!misfit.text.empty())
        {
            lines.push_back(std::move(misfit.text));
        }
    }
    return lines;
}

} // namespace

std::vector<std::string>
DescribeTrouble(const FabricParts& fabric, const FabricTotals& totals, int64_t endPs)
{
    std::vector<std::string> lines;
    if (totals.losslessDrops > 0)
    {
        lines.push_back(
            fmt::format("{} frames of lossless priorities were dropped: a switch had no "
                        "room for them (BUFFER_SIZE, PAUSE_TIME, PFC_WATCHDOG_ACTION)",
                        totals.losslessDrops));
    }
    if (totals.timeouts > 0 && totals.drops == 0)
    {
        lines.push_back(fmt::format("{} retransmission timeouts although the network lost nothing: "
                                    "answers took longer than RTO, and {} bytes were sent again",
                                    totals.timeouts,
                                    totals.retransmittedBytes));
    }
    std::vector<std::string> misfits = LinesOfAllProcesses(LongestMisfits(fabric));
    std::ranges::sort(misfits);
    misfits.erase(std::unique(misfits.begin(), misfits.end()), misfits.end());
    std::ranges::move(misfits, std::back_inserter(lines));
    std::ranges::move(DescribeIdleChanges(*fabric.conf, endPs), std::back_inserter(lines));
    return lines;
}

} // namespace ns3
