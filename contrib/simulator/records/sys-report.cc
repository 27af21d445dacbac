/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-record.h"

#include <fmt/format.h>
#include <unordered_map>

namespace AstraSim
{

namespace
{

/// Prints ASTRA-sim's line when a rank has finished; a cycle is a nanosecond.
class SysReport : public JobRecord
{
  public:
    explicit SysReport(const RunConsole& console)
        : m_console(console)
    {
    }

    void ComputeEnded(const ComputeRecord& record) override
    {
        m_computed[record.rank] += record.end - record.start;
    }

    bool NeedsEach() const override
    {
        return false;
    }

    void WorkedInStep(const InStepRecord& record) override
    {
        for (const int rank : record.ranks)
        {
            m_computed[rank] += record.compute;
        }
    }

    void RankFinished(int rank, TimePs now) override
    {
        m_console.Say(fmt::format("sys[{}] finished, {} cycles, exposed communication {} cycles.\n",
                                  rank,
                                  now / 1000,
                                  (now - m_computed[rank]) / 1000));
    }

  private:
    const RunConsole& m_console;
    std::unordered_map<int, TimePs> m_computed; ///< by rank
};

const JobRecord::Kind RANKS("ranks", [](const JobRecord::Site& site) -> std::unique_ptr<JobRecord> {
    return site.reportsRanks ? std::make_unique<SysReport>(site.console) : nullptr;
});

} // namespace

} // namespace AstraSim
