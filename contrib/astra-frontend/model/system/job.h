/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef JOB_H
#define JOB_H

#include "collective-ledger.h"
#include "collective-planner.h"
#include "logical-topology.h"
#include "rendezvous-network.h"
#include "run-observer.h"
#include "sys.h"
#include "system-config.h"
#include "workload.h"

#include "ns3/collective-implementation.h"
#include "ns3/rank-network.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace AstraSim
{

/// Description of a job.
struct JobDescription
{
    Workload* workload; ///< borrowed
    /// The network's rank of each rank of the job; their number is that of the workload.
    std::vector<int> ranks;
    SystemConfig config;
    /// Ranks per dimension of the logical topology; empty: one dimension.
    std::vector<uint32_t> logicalDimensions;
    CollectiveImplementation* nccl; ///< borrowed; null if only natives are used
    /// The network of a rank (of the network); the objects outlive the job.
    std::function<RankNetwork&(int rank)> network;
    RunObserver* observer; ///< borrowed
    /// Asked once the workload is placed: ranks of the job that stand for all and are the only ones
    /// simulated; none, or no function, for every rank.
    std::function<std::vector<uint32_t>()> sample{};
    /// Others simulate the other ranks: the observer hears of both ends of every message, and knows
    /// the ranks that a collective still lacks.
    bool isPart{false};
    bool isOnlyJob{false};              ///< nothing else uses the network
    CollectiveCheck* check{nullptr};    ///< checks all collectives; borrowed; may be null
    CollectiveEngine::Lookup engines{}; ///< of the network; empty if it has none
};

/// Progress of a job.
struct JobProgress
{
    uint64_t collectivesDone{0};  ///< and messages
    uint64_t collectivesTotal{0}; ///< 0 where the workload does not know
    uint32_t passesDone{0};       ///< by the slowest rank
    uint32_t passesTotal{0};
    uint32_t ranksFinished{0};
    uint32_t ranks{0};
};

/**
 * @ingroup astra-frontend
 * @brief A workload on a set of ranks of the network.
 *
 * @code
 * Job job({&workload, {0, 1, 2, 3}, config, {}, &nccl, networkOf, &observer});
 * job.Start();
 * Simulator::Run();
 * if (!job.Finished())
 * {
 *     for (const auto& line : job.DescribeWaits()) ...
 * }
 * @endcode
 */
class Job
{
  public:
    /// @throw ns3::InputError if the workload does not fit the ranks or the dimensions
    explicit Job(JobDescription description);
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// Begin at the current simulated time.
    void Start();

    /// @return whether every rank has done all its work
    bool Finished() const;

    JobProgress Progress() const;

    /**
     * @return a line for each wait: ranks (with their step, streams and messages), then collectives
     * that only some ranks have begun, then messages that no rank has received
     */
    std::vector<std::string> DescribeWaits() const;

    /// @return its collectives and messages
    const CollectiveLedger& GetLedger() const
    {
        return m_ledger;
    }

    /// @return the system layer of a rank of the job that is simulated
    Sys& GetSys(uint32_t jobRank);

    /// @return how many of its ranks are simulated
    uint32_t CountSimulated() const
    {
        return static_cast<uint32_t>(m_simulated.size());
    }

    /// @return the ranks of the network it runs on
    const std::vector<int>& GetRanks() const
    {
        return m_description.ranks;
    }

  private:
    /// Counts finished ranks, and passes all records on.
    class Counter;

    void ChooseSimulated();
    NativeMemoryBus& BusOf(int rank);

    JobDescription m_description;
    LogicalTopology m_topology;
    CollectivePlanner m_planner;
    std::unique_ptr<Counter> m_counter;
    CollectiveLedger m_ledger;
    JobContext m_context;
    std::vector<std::unique_ptr<RendezvousNetwork>> m_rendezvous; ///< empty without rendezvous
    std::vector<uint32_t> m_simulated;                            ///< ranks of the job, ascending
    /// By rank of the job; null where a rank is not simulated.
    std::vector<std::unique_ptr<Sys>> m_systems;
    std::vector<std::unique_ptr<RankWorkload>> m_workloads;
    std::vector<int> m_jobRankOf; ///< of each rank of the network, up to the largest; -1 for none
};

} // namespace AstraSim

#endif /* JOB_H */
