/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_JOBS_H
#define RUN_JOBS_H

#include "astra-frontend/model/network/plane-network.h"
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/observed-network.h"
#include "astra-frontend/model/system/wait-parts.h"
#include "astra-frontend/model/system/workload.h"
#include "partitioned-job.h"
#include "programs/frame/run-console.h"
#include "simulator/back-ends/simulation-backend.h"
#include "simulator/options/run-check.h"
#include "simulator/options/run-options.h"
#include "simulator/records/collective-summary.h"
#include "simulator/records/collectives-writer.h"
#include "simulator/records/custom-trace-check.h"
#include "simulator/records/end-to-end-writer.h"
#include "simulator/records/job-record.h"
#include "simulator/records/run-verdict.h"
#include "simulator/records/timeline-writer.h"

#include "ns3/cluster-topology.h"
#include "ns3/collective-implementation.h"

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief The workloads of a run: each on its ranks of one network, with the files it writes.
 *
 * @code
 * RunJobs jobs(options, topology, "results", nccl, console);
 * jobs.AddTo(backend);
 * jobs.Start([&backend] { backend.FinishWorkloads(); });
 * backend.Run();
 * jobs.Finish();
 * @endcode
 */
class RunJobs
{
  public:
    /**
     * @param options workloads, where they run and how
     * @param topology how many ranks there are
     * @param output directory of EndToEnd.csv, collectives.csv, ...
     * @param nccl carries collectives out that no system file leaves to another; outlives the
     * object
     * @param console is told which ranks run a workload that does not need all
     * All but @p output are borrowed.
     */
    RunJobs(const RunOptions& options,
            const ns3::ClusterTopology& topology,
            std::string output,
            CollectiveImplementation& nccl,
            const RunConsole& console);
    ~RunJobs();

    /**
     * Give classes of traffic the planes that a configuration says.
     * @throw ns3::InputError if there is no such class or plane
     */
    void SetPlanes(const ns3::FabricConf& conf);

    /**
     * Leave collectives to an engine where a configuration says so; before jobs are added.
     * @param backend the network that carries the messages
     * @throw ns3::InputError if there is no such engine, or the network has none
     */
    void SetEngines(const ns3::FabricConf& conf, SimulationBackend& backend);

    /// In a run with partitions: set the function that returns a partition's implementation of
    /// collectives.
    void SetPartitions(std::function<CollectiveImplementation&(uint32_t partition)> ncclOf)
    {
        m_ncclOf = std::move(ncclOf);
    }

    /// Have everything looked over; before AddTo(). @param check outlives the object
    void SetCheck(RunCheck& check)
    {
        m_check = &check;
    }

    /// Set the logical dimensions of jobs on all ranks; a file of the user's goes first.
    void SetLogicalDimensions(std::vector<uint32_t> dimensions)
    {
        m_logicalDimensions = std::move(dimensions);
        m_logicalRanks = std::accumulate(m_logicalDimensions.begin(),
                                         m_logicalDimensions.end(),
                                         std::size_t{1},
                                         std::multiplies<>());
    }

    /**
     * Read the workloads and place them.
     * @param backend outlives the object
     * @throw ns3::InputError if one is wrong or does not fit
     */
    void AddTo(SimulationBackend& backend);

    /// Begin all workloads. @param finished called when the last rank of the last one is done
    void Start(std::function<void()> finished);

    /// @return whether every rank has done all its work
    bool AllFinished() const;

    /// @return when the last rank finished
    TimePs GetFinishTime() const
    {
        return m_finishedPs;
    }

    /// @return collectives done and to do, over all workloads
    JobProgress Progress() const;

    /// Complete the files of finished and unfinished runs, and EndToEnd.csv if all jobs have
    /// finished.
    void Finish();

    /// @return the workloads' own results, as lines for people
    std::string DescribeResults() const;

    /// @return rows that collectives.csv lacks, for its limit
    uint64_t CountLeftOutRows() const
    {
        return m_collectives->CountLeftOut();
    }

    /// @return a line about these rows; empty if there are none
    std::string DescribeLeftOutRows() const;

    /// @return warnings that came as the jobs ran
    const std::vector<std::string>& GetWarnings() const
    {
        return m_warnings;
    }

    /// @return requests that the workloads' inputs have and that are left out
    uint64_t CountLeftOutRequests() const;

    /// @return names of results that inputs have chosen
    std::vector<std::string> GetOwnResults() const;

    /// @return a line for each wait of a rank
    std::vector<std::string> DescribeWaits() const;

    /// @return the summary of collectives, which a user reads first
    const CollectiveSummary& GetSummary() const
    {
        return m_summary;
    }

    /// @return the bottleneck of each kind of collective
    const RunVerdict& GetVerdict() const
    {
        return m_verdict;
    }

  private:
    /// One workload with its observers.
    struct RunningJob
    {
        std::vector<std::unique_ptr<JobRecord>> records;
        WaitParts observers;
        std::unique_ptr<EndToEndWriter> endToEnd;
        std::unique_ptr<PartitionedJob> job;
    };

    class FinishWatcher;

    void Add(const JobPlacement& option, std::size_t number, SimulationBackend& backend);
    std::vector<int> RanksOf(const JobPlacement& option, const Workload& workload) const;
    RankNetwork& NetworkOf(int rank, SimulationBackend& backend, RunObserver& observer);
    std::unique_ptr<Workload> Open(const JobPlacement& option) const;
    /// @param workload the parts of @p option that have been read already
    PartitionedJob::Sharing SharingOf(const JobPlacement& option,
                                      std::unique_ptr<Workload>& workload,
                                      SimulationBackend& backend);
    void Observe(RunningJob& running,
                 const JobPlacement& option,
                 std::size_t number,
                 std::size_t ranks);

    const RunOptions& m_options;
    const ns3::ClusterTopology& m_topology;
    std::string m_output;
    CollectiveImplementation& m_nccl;
    std::function<CollectiveImplementation&(uint32_t partition)> m_ncclOf; ///< empty: m_nccl
    const RunConsole& m_console;
    SystemConfig m_system;
    std::unique_ptr<CollectivesWriter> m_collectives;
    RunCheck* m_check{nullptr}; ///< null if nothing is checked
    std::unique_ptr<TimelineWriter> m_timeline;
    int m_timelineRanks{0};
    std::vector<std::unique_ptr<ObservedNetwork>> m_observed; ///< of ranks in the timeline
    std::unique_ptr<CollectiveImplementation> m_choice;       ///< null without COLLECTIVE_ENGINE
    std::unique_ptr<TrafficPlanes> m_planes;                  ///< null without PLANE
    std::vector<std::unique_ptr<PlaneNetwork>> m_planed;
    CollectiveSummary m_summary;
    RunVerdict m_verdict;
    std::vector<std::string> m_warnings;
    CustomTraceCheck m_customTraces;
    std::vector<uint32_t> m_logicalDimensions;
    std::size_t m_logicalRanks{0}; ///< product of the dimensions
    std::unique_ptr<FinishWatcher> m_watcher;
    std::vector<std::unique_ptr<RunningJob>> m_jobs;
    TimePs m_finishedPs{0};
};

} // namespace AstraSim

#endif /* RUN_JOBS_H */
