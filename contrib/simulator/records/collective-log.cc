/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collective-log.h"

#include <fmt/format.h>
#include <iostream>

namespace AstraSim
{

void
CollectiveLog::Print(const CollectiveRecord& record, TimePs time, std::string_view what)
{
    std::cerr << fmt::format("{:.3f} us: collective {} {}: {} of {} bytes, group {} of {} ranks, "
                             "layer {}, {}\n",
                             static_cast<double>(time) / 1e6,
                             record.id,
                             what,
                             ToString(record.op),
                             record.bytes,
                             record.group->name,
                             record.group->ranks.size(),
                             record.layer,
                             ToString(record.position.phase));
}

void
CollectiveLog::CollectiveStarted(const CollectiveRecord& record)
{
    Print(record, record.start, "starts");
}

void
CollectiveLog::CollectiveEnded(const CollectiveRecord& record)
{
    Print(record, record.end, "ends");
}

} // namespace AstraSim
