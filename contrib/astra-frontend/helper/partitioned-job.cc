/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "partitioned-job.h"

#include <algorithm>
#include <map>
#include <utility>

namespace AstraSim
{

PartitionedJob::PartitionedJob(const JobDescription& description, const Sharing& sharing)
{
    if (!sharing.partitionOf)
    {
        Add(description, sharing, 0);
        return;
    }
    std::map<uint32_t, std::vector<uint32_t>> ranksOf; // of the job, by partition
    for (uint32_t rank = 0; rank < description.ranks.size(); ++rank)
    {
        ranksOf[sharing.partitionOf(description.ranks[rank])].push_back(rank);
    }
    m_records = std::make_unique<MergedRecords>(*description.observer);
    for (const auto& [partition, ranks] : ranksOf)
    {
        std::vector<int> networkRanks;
        for (const uint32_t rank : ranks)
        {
            networkRanks.push_back(description.ranks[rank]);
        }
        JobDescription part = description;
        part.observer = &m_records->AddPart(networkRanks);
        part.sample = [ranks] { return ranks; };
        part.isPart = true;
        Add(std::move(part), sharing, partition);
    }
    m_records->SetWorkload(GetWorkload());
}

void
PartitionedJob::Add(JobDescription description, const Sharing& sharing, uint32_t partition)
{
    const Part& part = m_parts.emplace_back(sharing.makePart(partition));
    description.workload = part.workload.get();
    description.nccl = part.nccl;
    description.network = [network = sharing.network, observer = description.observer](
                              int rank) -> RankNetwork& { return network(rank, *observer); };
    m_jobs.push_back(std::make_unique<Job>(std::move(description)));
}

void
PartitionedJob::Start()
{
    for (const auto& job : m_jobs)
    {
        job->Start();
    }
}

bool
PartitionedJob::Finished() const
{
    return std::all_of(m_jobs.begin(), m_jobs.end(), [](const auto& job) {
        return job->Finished();
    });
}

JobProgress
PartitionedJob::Progress() const
{
    JobProgress progress = m_jobs.front()->Progress();
    if (m_records)
    {
        progress.collectivesDone = m_records->GetCollectivesEnded();
    }
    return progress;
}

std::vector<std::string>
PartitionedJob::DescribeWaits() const
{
    std::vector<std::string> lines;
    const auto add = [&lines](std::vector<std::string> more) {
        std::move(more.begin(), more.end(), std::back_inserter(lines));
    };
    for (const auto& job : m_jobs)
    {
        add(job->DescribeWaits());
    }
    if (m_records)
    {
        add(m_records->DescribeMissingRanks([this](uint64_t key) {
            std::size_t joined = 0;
            for (const auto& job : m_jobs)
            {
                joined += job->GetLedger().CountJoined(key);
            }
            return joined;
        }));
        add(m_records->DescribeMessages());
    }
    return lines;
}

} // namespace AstraSim
