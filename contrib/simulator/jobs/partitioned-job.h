/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PARTITIONED_JOB_H
#define PARTITIONED_JOB_H

#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/workload.h"
#include "simulator/records/merged-records.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup simulator
 * @brief A workload with ranks in several partitions: a Job for the ranks of each partition, and
 * these jobs share nothing. Without partitions it is one Job.
 */
class PartitionedJob
{
  public:
    /// Objects that a part of a job may not share with another.
    struct Part
    {
        std::unique_ptr<Workload> workload;
        CollectiveImplementation* nccl; ///< borrowed
    };

    /// Assignment of a job's ranks to partitions, and the means for it.
    struct Sharing
    {
        /// Makes the objects of one part.
        std::function<Part(uint32_t partition)> makePart;
        /// The partition of a rank of the network; empty: the run has none.
        std::function<uint32_t(int rank)> partitionOf;
        /// Whether this process runs a rank of the network; others' parts are made elsewhere.
        std::function<bool(int rank)> isHere;
        /// The network of a rank; it reports to the observer of the rank's part.
        std::function<RankNetwork&(int rank, RunObserver& observer)> network;
    };

    /// @param description of the job, without the objects that @p sharing makes
    PartitionedJob(const JobDescription& description, const Sharing& sharing);

    /// Begin at the current simulated time.
    void Start();

    /// @return whether every rank has done all its work
    bool Finished() const;

    /// @return how many collectives and messages have been done, and are to be done
    JobProgress Progress() const;

    /// @return a line for each wait, as Job::DescribeWaits()
    std::vector<std::string> DescribeWaits() const;

    /// @return the ranks of the network it runs on
    const std::vector<int>& GetRanks() const
    {
        return m_ranks;
    }

    /// @return the workload of the first part; those of the others are alike
    const Workload& GetWorkload() const
    {
        return *m_parts.front().workload;
    }

  private:
    void AddPart(JobDescription description,
                 const Sharing& sharing,
                 uint32_t partition,
                 const std::vector<uint32_t>& ranks);
    void Add(JobDescription description, const Sharing& sharing, uint32_t partition);
    /// @return ranks of this process that have begun a collective
    std::size_t CountJoined(uint64_t key) const;
    /// @return the same of all processes, for each collective that some have not begun
    std::unordered_map<uint64_t, std::size_t> CountAllJoined() const;

    std::vector<int> m_ranks;  ///< of the network
    std::vector<Part> m_parts; ///< in this process; one part without a job if it runs no rank
    std::unique_ptr<MergedRecords> m_records; ///< null in a run without partitions
    std::vector<std::unique_ptr<Job>> m_jobs; ///< of the parts
};

} // namespace AstraSim

#endif /* PARTITIONED_JOB_H */
