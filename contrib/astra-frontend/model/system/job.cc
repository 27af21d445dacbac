/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "job.h"

#include "run-observers.h"

#include "ns3/clock-range.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <numeric>

namespace AstraSim
{

namespace
{

std::vector<uint32_t>
DimensionsOf(const JobDescription& description)
{
    const auto count = static_cast<uint32_t>(description.ranks.size());
    if (description.logicalDimensions.empty())
    {
        return {count};
    }
    uint64_t product = 1;
    for (const uint32_t size : description.logicalDimensions)
    {
        product *= size;
    }
    if (product != count)
    {
        throw ns3::InputError(description.workload->GetFileName(),
                              0,
                              "the logical dimensions hold " + std::to_string(product) + " ranks",
                              std::to_string(count) + ", the number of ranks of the job");
    }
    return description.logicalDimensions;
}

JobDescription
Check(JobDescription description)
{
    const uint32_t needed = description.workload->GetRankCount();
    if (description.ranks.empty() || (needed != 0 && needed != description.ranks.size()))
    {
        throw ns3::InputError(description.workload->GetFileName(),
                              0,
                              "the workload is made for " + std::to_string(needed) +
                                  " ranks and has " + std::to_string(description.ranks.size()),
                              "a topology or a set of ranks of that size");
    }
    auto& config = description.config;
    config.memoryBus.endpointDelay =
        ns3::RoundToPs(static_cast<double>(config.memoryBus.endpointDelay) * config.injectionScale);
    description.workload->Bind(description.ranks);
    return description;
}

} // namespace

class Job::Counter : public RunObservers
{
  public:
    explicit Counter(const JobDescription& description)
    {
        Add(*description.observer);
    }

    void PassFinished(int rank, uint32_t pass, TimePs now) override
    {
        m_passes.resize(std::max<std::size_t>(m_passes.size(), pass + 1));
        ++m_passes[pass];
        RunObservers::PassFinished(rank, pass, now);
    }

    void RankFinished(int rank, TimePs now) override
    {
        ++m_ranks;
        RunObservers::RankFinished(rank, now);
    }

    uint32_t PassesDone(std::size_t ranks) const
    {
        const auto pass =
            std::ranges::find_if(m_passes, [ranks](uint32_t done) { return done < ranks; });
        return static_cast<uint32_t>(pass - m_passes.begin());
    }

    uint32_t RanksFinished() const
    {
        return m_ranks;
    }

  private:
    std::vector<uint32_t> m_passes; ///< ranks that have finished each pass
    uint32_t m_ranks{0};
};

Job::Job(JobDescription description)
    : m_description(Check(std::move(description))),
      m_topology(DimensionsOf(m_description), m_description.ranks),
      m_planner(
          m_description.config,
          m_topology,
          m_description.nccl,
          m_description.engines,
          [this](int rank) -> NativeMemoryBus& { return BusOf(rank); },
          m_description.check),
      m_counter(std::make_unique<Counter>(m_description)),
      m_ledger(m_planner, m_topology, *m_description.workload, *m_counter),
      m_context{&m_description.config,
                &m_topology,
                m_description.workload,
                &m_planner,
                &m_ledger,
                m_counter.get(),
                &m_description.ranks,
                m_description.isOnlyJob && !m_description.isPart && !m_description.sample}
{
    const auto& ranks = m_description.ranks;
    m_jobRankOf.assign(static_cast<std::size_t>(*std::ranges::max_element(ranks)) + 1, -1);
    ChooseSimulated();
    m_systems.resize(ranks.size());
    m_workloads.resize(ranks.size());
    for (uint32_t rank = 0; rank < ranks.size(); ++rank)
    {
        m_jobRankOf[static_cast<std::size_t>(ranks[rank])] = static_cast<int>(rank);
    }
    for (const uint32_t rank : m_simulated)
    {
        RankNetwork* network = &m_description.network(ranks[rank]);
        if (m_description.config.rendezvous)
        {
            network =
                m_rendezvous.emplace_back(std::make_unique<RendezvousNetwork>(*network)).get();
        }
        m_systems[rank] = std::make_unique<Sys>(m_context, rank, *network);
        m_workloads[rank] = m_description.workload->CreateRank(rank, *m_systems[rank]);
    }
}

Job::~Job() = default;

void
Job::ChooseSimulated()
{
    if (m_description.sample)
    {
        m_simulated = m_description.sample();
    }
    if (m_simulated.empty())
    {
        m_simulated.resize(m_description.ranks.size());
        std::iota(m_simulated.begin(), m_simulated.end(), 0);
        return;
    }
    std::vector<int> networkRanks;
    for (const uint32_t rank : m_simulated)
    {
        networkRanks.push_back(m_description.ranks[rank]);
    }
    m_ledger.SetSample(RankSample(networkRanks), m_description.isPart);
}

void
Job::Start()
{
    for (const uint32_t rank : m_simulated)
    {
        if (!m_description.isPart)
        {
            m_workloads[rank]->Start();
            continue;
        }
        // An event at each rank's own node, so that the order does not depend on the ranks of this
        // part.
        m_systems[rank]->get_network().Schedule(
            0,
            [](void* workload) { static_cast<RankWorkload*>(workload)->Start(); },
            m_workloads[rank].get());
    }
}

bool
Job::Finished() const
{
    return m_counter->RanksFinished() == m_simulated.size();
}

JobProgress
Job::Progress() const
{
    const auto& workload = *m_description.workload;
    return {m_ledger.GetCollectivesEnded(),
            workload.GetCollectiveCount(),
            m_counter->PassesDone(m_simulated.size()),
            workload.GetPassCount(),
            m_counter->RanksFinished(),
            static_cast<uint32_t>(m_simulated.size())};
}

std::vector<std::string>
Job::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (const uint32_t rank : m_simulated)
    {
        if (m_workloads[rank]->Finished())
        {
            continue;
        }
        const std::string prefix = "rank " + std::to_string(m_description.ranks[rank]) + ": ";
        for (const auto& line : m_workloads[rank]->DescribeWaits())
        {
            lines.push_back(prefix + line);
        }
        for (const auto& line : m_systems[rank]->DescribeWaits())
        {
            lines.push_back(prefix + line);
        }
    }
    if (m_description.isPart)
    {
        return lines; // the observer knows the rest
    }
    for (auto& line : m_ledger.DescribeMissingRanks())
    {
        lines.push_back(std::move(line));
    }
    for (auto& line : m_ledger.DescribeMessages())
    {
        lines.push_back(std::move(line));
    }
    return lines;
}

Sys&
Job::GetSys(uint32_t jobRank)
{
    return *m_systems[jobRank];
}

NativeMemoryBus&
Job::BusOf(int rank)
{
    return m_systems[static_cast<std::size_t>(m_jobRankOf[static_cast<std::size_t>(rank)])]
        ->get_memory_bus();
}

} // namespace AstraSim
