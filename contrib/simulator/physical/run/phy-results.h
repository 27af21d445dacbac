/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PHY_RESULTS_H
#define PHY_RESULTS_H

#include "astra-frontend/model/system/run-observers.h"
#include "astra-frontend/model/system/workload.h"
#include "simulator/records/collective-summary.h"
#include "simulator/records/collectives-writer.h"
#include "simulator/records/end-to-end-writer.h"

#include "ns3/cluster-topology.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The collectives, messages and flows of one iteration, all ranks together.
 */
class IterationRecords : public RunObserver
{
  public:
    /// Names a collective or a message alike in every iteration.
    using Key = std::array<uint64_t, 4>;

    /// A collective that all its ranks have ended, or a message that has arrived.
    struct Collective
    {
        Key key;
        CollectiveRecord record; ///< without group and choice
        CommGroup group;
        CollectiveChoice choice;
    };

    void CollectiveEnded(const CollectiveRecord& record) override;
    void FlowEnded(const FlowRecord& record) override;
    void RankFinished(int rank, TimePs now) override;

    const std::vector<Collective>& GetCollectives() const
    {
        return m_collectives;
    }

    /// @return in the order of their ends
    const std::vector<FlowRecord>& GetFlows() const
    {
        return m_flows;
    }

    /// @return when the last rank had nothing more to do
    TimePs GetFinishTime() const
    {
        return m_finished;
    }

  private:
    Key KeyOf(const CollectiveRecord& record);

    std::vector<Collective> m_collectives;
    std::map<Key, uint64_t> m_messages; ///< how many of the same ranks and phase there have been
    std::vector<FlowRecord> m_flows;
    TimePs m_finished{0};
};

/**
 * @ingroup simulator
 * @brief Writes EndToEnd.csv, collectives.csv and fct.txt as a simulation does.
 */
class IterationFiles
{
  public:
    /// @param directory where the files are written
    IterationFiles(const Workload& workload, uint32_t ranks, const std::string& directory);

    /// @return the observer of the iteration
    RunObserver& GetObserver()
    {
        return m_observers;
    }

    /// Writes the rest of an iteration that failed: files that nobody takes for whole (".part").
    void Abandon(const IterationRecords& records, const ns3::ClusterTopology& topology);

    /**
     * @param finished whether the workload came to its end; otherwise there is no EndToEnd.csv
     * @return the table of collectives that a user looks at first
     */
    std::string Finish(const IterationRecords& records,
                       const ns3::ClusterTopology& topology,
                       bool finished);

  private:
    std::string m_directory;
    EndToEndWriter m_endToEnd;
    CollectivesWriter m_collectives;
    CollectiveSummary m_summary;
    RunObservers m_observers;
};

/**
 * @ingroup simulator
 * @brief The durations of each collective over all iterations; becomes iterations.csv.
 */
class IterationTable
{
  public:
    /// Add an iteration.
    void Add(const IterationRecords& records);

    /// @param chosen iteration with the collectives that name the rows @param path file to write
    void Write(const IterationRecords& chosen,
               const Workload& workload,
               const std::string& path) const;

  private:
    std::map<IterationRecords::Key, std::vector<TimePs>> m_durations;
};

/// @return the value in the middle; of an even number of values the lower one
TimePs MedianOf(std::vector<TimePs> values);

} // namespace AstraSim

#endif /* PHY_RESULTS_H */
