/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job-record.h"

#include "ns3/output-file.h"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr TimePs WINDOW = 10'000'000; // 10 us

/**
 * @ingroup simulator
 * @brief SimAI's file of how busy the logical dimensions were: for each 10 us, the share of the
 * time in which one rank had a stream in the dimension.
 */
class DimensionUtilization : public JobRecord
{
  public:
    /**
     * @param path file to write
     * @param rank of the network; its streams count
     * @param dimensions of the job
     * @param queues stream queues of each dimension
     */
    DimensionUtilization(std::string path, int rank, uint32_t dimensions, uint32_t queues)
        : m_path(std::move(path)),
          m_rank(rank),
          m_queues(queues),
          m_busy(dimensions)
    {
    }

    void StreamPhaseEnded(const StreamPhaseRecord& record) override
    {
        if (record.rank == m_rank)
        {
            // Collectives that go over the whole group at once have queues of their own.
            const auto dimension = static_cast<std::size_t>(record.queue) / m_queues;
            m_busy[dimension < m_busy.size() ? dimension : 0].push_back({record.start, record.end});
        }
    }

    void Finish(bool finished) override
    {
        if (!finished)
        {
            return;
        }
        std::vector<std::vector<TimePs>> windows(m_busy.size());
        std::size_t most = 0;
        for (std::size_t i = 0; i < m_busy.size(); ++i)
        {
            auto& intervals = m_busy[i];
            std::ranges::sort(intervals, {}, &Interval::start);
            TimePs covered = 0; // streams overlap; time counts once
            for (const Interval& interval : intervals)
            {
                for (TimePs at = std::max(interval.start, covered); at < interval.end;)
                {
                    const auto window = static_cast<std::size_t>(at / WINDOW);
                    const TimePs until =
                        std::min(interval.end, static_cast<TimePs>(window + 1) * WINDOW);
                    windows[i].resize(std::max(windows[i].size(), window + 1));
                    windows[i][window] += until - at;
                    at = until;
                }
                covered = std::max(covered, interval.end);
            }
            most = std::max(most, windows[i].size());
        }
        std::ostringstream file;
        file << "time (us)";
        for (std::size_t i = 0; i < windows.size(); ++i)
        {
            file << ",dim" << i + 1 << " util";
        }
        file << '\n';
        for (std::size_t window = 0; window < most; ++window)
        {
            file << (window + 1) * WINDOW / 1'000'000;
            for (const auto& dimension : windows)
            {
                const TimePs busy = window < dimension.size() ? dimension[window] : 0;
                file << fmt::format(",{:.2f}", 100.0 * static_cast<double>(busy) / WINDOW);
            }
            file << '\n';
        }
        ns3::WriteWholeFile(m_path, file.view());
    }

  private:
    struct Interval
    {
        TimePs start;
        TimePs end;
    };

    std::string m_path;
    int m_rank;
    uint32_t m_queues;
    std::vector<std::vector<Interval>> m_busy; ///< by dimension
};

const JobRecord::Kind DIMENSIONS("dimensions",
                                 [](const JobRecord::Site& site) -> std::unique_ptr<JobRecord> {
                                     if (!site.simaiFiles)
                                     {
                                         return nullptr;
                                     }
                                     return std::make_unique<DimensionUtilization>(
                                         site.output + "/ncclFlowModel__dimension_utilization_0" +
                                             site.suffix + ".csv",
                                         site.firstRank,
                                         site.dimensions,
                                         site.system.queuesPerDimension);
                                 });

} // namespace

} // namespace AstraSim
