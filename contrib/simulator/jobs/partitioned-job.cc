/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "partitioned-job.h"

#include "ns3/qbb-processes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace AstraSim
{

PartitionedJob::PartitionedJob(const JobDescription& description, const Sharing& sharing)
    : m_ranks(description.ranks)
{
    if (!sharing.partitionOf)
    {
        Add(description, sharing, 0);
        return;
    }
    std::map<uint32_t, std::vector<uint32_t>> ranksOf; // of the job, by partition
    for (uint32_t rank = 0; rank < m_ranks.size(); ++rank)
    {
        if (sharing.isHere(m_ranks[rank]))
        {
            ranksOf[sharing.partitionOf(m_ranks[rank])].push_back(rank);
        }
    }
    m_records = std::make_unique<MergedRecords>(*description.observer);
    for (const auto& [partition, ranks] : ranksOf)
    {
        AddPart(description, sharing, partition, ranks);
    }
    if (m_parts.empty())
    {
        m_parts.push_back(sharing.makePart(0)); // names the layers
        m_parts.front().workload->Bind(m_ranks);
    }
    m_records->SetWorkload(GetWorkload());
}

void
PartitionedJob::AddPart(JobDescription description,
                        const Sharing& sharing,
                        uint32_t partition,
                        const std::vector<uint32_t>& ranks)
{
    std::vector<int> networkRanks;
    for (const uint32_t rank : ranks)
    {
        networkRanks.push_back(m_ranks[rank]);
    }
    description.observer = &m_records->AddPart(networkRanks);
    description.sample = [ranks] { return ranks; };
    description.isPart = true;
    Add(std::move(description), sharing, partition);
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
    const bool isOneLeft =
        std::ranges::any_of(m_jobs, [](const auto& job) { return !job->Finished(); });
    return !ns3::IsInAnyProcess(isOneLeft);
}

JobProgress
PartitionedJob::Progress() const
{
    JobProgress progress;
    if (!m_jobs.empty())
    {
        progress = m_jobs.front()->Progress();
    }
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
        lines = ns3::LinesOfAllProcesses(std::move(lines));
        const auto joined = CountAllJoined();
        add(m_records->DescribeMissingRanks([&joined](uint64_t key) { return joined.at(key); }));
        add(m_records->DescribeMessages());
    }
    return lines;
}

std::size_t
PartitionedJob::CountJoined(uint64_t key) const
{
    std::size_t joined = 0;
    for (const auto& job : m_jobs)
    {
        joined += job->GetLedger().CountJoined(key);
    }
    return joined;
}

std::unordered_map<uint64_t, std::size_t>
PartitionedJob::CountAllJoined() const
{
    struct Count
    {
        uint64_t key;
        uint64_t joined;
    };

    std::vector<Count> own;
    for (const uint64_t key : m_records->GetRunning())
    {
        own.push_back({key, CountJoined(key)});
    }
    std::unordered_map<uint64_t, std::size_t> all;
    for (const std::vector<Count>& each : ns3::ValuesOfAllProcesses(own))
    {
        for (const Count& count : each)
        {
            all[count.key] += count.joined;
        }
    }
    return all;
}

} // namespace AstraSim
