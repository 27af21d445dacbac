/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-record.h"

#include <fmt/format.h>
#include <iostream>
#include <string_view>

namespace AstraSim
{

namespace
{

/// Prints a line to standard error when a collective starts and one when it ends (AS_LOG_LEVEL
/// DEBUG).
class CollectiveLog : public JobRecord
{
  public:
    void CollectiveStarted(const CollectiveRecord& record) override
    {
        Print(record, record.start, "starts");
    }

    void CollectiveEnded(const CollectiveRecord& record) override
    {
        Print(record, record.end, "ends");
    }

  private:
    static void Print(const CollectiveRecord& record, TimePs time, std::string_view what)
    {
        std::cerr << fmt::format(
            "{:.3f} us: collective {} {}: {} of {} bytes, group {} of {} ranks, layer {}, {}\n",
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
};

const JobRecord::Kind LOG("log", [](const JobRecord::Site& site) -> std::unique_ptr<JobRecord> {
    return site.console.GetLevel() == LogLevel::Debug ? std::make_unique<CollectiveLog>() : nullptr;
});

} // namespace

} // namespace AstraSim
