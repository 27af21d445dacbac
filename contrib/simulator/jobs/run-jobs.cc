/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-jobs.h"

#include "astra-frontend/model/network/collective-engine-choice.h"
#include "astra-frontend/model/system/logical-topology.h"
#include "astra-frontend/model/system/run-observer.h"
#include "astra-frontend/model/system/system-config.h"
#include "astra-frontend/model/workload/workload-file.h"
#include "micro-groups.h"
#include "programs/frame/program-flags.h"
#include "rdma-qbb/model/attribute/collective-offload.h"
#include "simulator/inputs/idle-options.h"

#include "ns3/attribute-default.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/output-file.h"
#include "ns3/qbb-mail.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <numeric>

namespace AstraSim
{

using ns3::InputError;

namespace
{

/// @return the system file's configuration, with the flags applied
SystemConfig
SystemOf(const RunOptions& options)
{
    SystemConfig config;
    if (!options.system.empty())
    {
        config = ReadSystemConfig(options.system);
    }
    config.queuesPerDimension = options.queuesPerDimension;
    config.commScale = options.commScale;
    config.injectionScale = options.injectionScale;
    config.gpuSpread = options.gpuSpread;
    config.rendezvous = options.rendezvous;
    return config;
}

/// @return the values of COLLECTIVE_ENGINE without classes, for the message about @p engine
std::string
ExpectedInPlaceOf(const std::string& engine)
{
    std::string names = "NCCL";
    for (const std::string& name : CollectiveEngine::Kind::GetNames())
    {
        names += " or " + name;
    }
    return names + CollectiveEngine::Kind::HintFor(engine);
}

} // namespace

/// Tells the run when the last rank has finished.
class RunJobs::FinishWatcher : public RunObserver
{
  public:
    FinishWatcher(RunJobs& jobs, uint64_t ranks, std::function<void()> finished)
        : m_jobs(jobs),
          m_ranksLeft(ranks),
          m_finished(std::move(finished))
    {
    }

    bool NeedsEach() const override
    {
        return false;
    }

    void RankFinished(int, TimePs now) override
    {
        m_jobs.m_finishedPs = std::max(m_jobs.m_finishedPs, now);
        if (--m_ranksLeft == 0)
        {
            // By mail: the end of the run touches all nodes.
            ns3::QbbMail::Post(m_finished);
        }
    }

  private:
    RunJobs& m_jobs;
    uint64_t m_ranksLeft;
    std::function<void()> m_finished;
};

RunJobs::RunJobs(const RunOptions& options,
                 const ns3::ClusterTopology& topology,
                 std::string output,
                 CollectiveImplementation& nccl,
                 const RunConsole& console)
    : m_options(options),
      m_topology(topology),
      m_output(std::move(output)),
      m_nccl(nccl),
      m_console(console),
      m_system(SystemOf(options)),
      m_collectives(std::make_unique<CollectivesWriter>(m_output + "/collectives.csv")),
      m_customTraces(m_system, [this](const std::string& warning) {
          m_warnings.push_back(warning);
          std::vector<std::string> told{warning};
          m_console.Warn(told);
      })
{
    m_timelineRanks = options.timelineRanks > 0 || !m_system.traceEnabled
                          ? options.timelineRanks
                          : static_cast<int>(topology.hostCount);
    if (m_timelineRanks > 0)
    {
        m_timeline = std::make_unique<TimelineWriter>(m_output + "/timeline.json",
                                                      m_timelineRanks,
                                                      options.timelineLimit);
    }
    m_console.Warn(m_system.warnings);
    std::vector<std::string> idle = DescribeIdleFlags(m_system, options);
    m_console.Warn(idle);
}

RunJobs::~RunJobs() = default;

std::vector<int>
RunJobs::RanksOf(const JobPlacement& option, const Workload& workload) const
{
    const uint32_t hosts = m_topology.hostCount;
    std::vector<int> ranks(option.ranks.begin(), option.ranks.end());
    if (ranks.empty())
    {
        ranks.resize(workload.GetRankCount() > 0 ? workload.GetRankCount() : hosts);
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    const int last = *std::ranges::max_element(ranks);
    if (last >= static_cast<int>(hosts))
    {
        throw InputError(option.workload,
                         0,
                         "needs ranks up to " + std::to_string(last) + " and " + m_topology.source +
                             " has GPUs 0 to " + std::to_string(hosts - 1),
                         "a topology with enough GPUs");
    }
    for (const auto& other : m_jobs)
    {
        for (const int rank : other->job->GetRanks())
        {
            if (std::ranges::find(ranks, rank) != ranks.end())
            {
                RefuseFlag("rank " + std::to_string(rank) + " runs " +
                               other->job->GetWorkload().GetFileName() + " and " + option.workload,
                           "workloads on ranks of their own: -w a.txt@0-63 -w b.txt@64-127");
            }
        }
    }
    return ranks;
}

void
RunJobs::SetPlanes(const ns3::FabricConf& conf)
{
    if (conf.planes->empty())
    {
        return;
    }
    if (m_options.IsFastForwarded())
    {
        throw InputError(conf.source,
                         conf.planes->front().line,
                         "PLANE and --fast-forward exclude each other",
                         "one of them");
    }
    m_planes = std::make_unique<TrafficPlanes>(
        conf,
        m_topology,
        ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaFabric::QpsPerConnection"));
}

void
RunJobs::SetEngines(const ns3::FabricConf& conf, SimulationBackend& backend)
{
    const auto text = ns3::AttributeDefault<ns3::StringValue>("ns3::CollectiveOffload::Engine");
    const auto choice = ns3::CollectiveOffload::Parse(text);
    if (choice && choice->engine.empty())
    {
        return;
    }
    const auto* kind = choice ? CollectiveEngine::Kind::Find(choice->engine) : nullptr;
    if (!kind)
    {
        conf.FailAt({"COLLECTIVE_ENGINE"},
                    "COLLECTIVE_ENGINE cannot be '" + text + "'",
                    choice ? ExpectedInPlaceOf(choice->engine) : ns3::CollectiveOffload::EXPECTED);
    }
    const auto& engines = backend.GetCapabilities().engines;
    if (!engines)
    {
        conf.FailAt({"COLLECTIVE_ENGINE"},
                    "COLLECTIVE_ENGINE is " + text + ", whose engines this network does not have",
                    "the packet-level network, without --fast-forward");
    }
    m_choice =
        std::make_unique<CollectiveEngineChoice>(m_nccl, engines->of(*kind), choice->classes);
}

RankNetwork&
RunJobs::NetworkOf(int rank, SimulationBackend& backend, RunObserver& observer)
{
    RankNetwork* network = &backend.GetNetwork(rank);
    if (m_planes)
    {
        network = m_planed.emplace_back(std::make_unique<PlaneNetwork>(*network, *m_planes)).get();
    }
    if (rank >= m_timelineRanks)
    {
        return *network;
    }
    return *m_observed.emplace_back(std::make_unique<ObservedNetwork>(*network, observer));
}

std::unique_ptr<Workload>
RunJobs::Open(const JobPlacement& option) const
{
    WorkloadOptions options{m_options.sizes, m_options.passes, m_options.communicators, {}};
    options.sizes.gpusPerServer = m_topology.gpusPerServer;
    if (!m_options.remoteMemory.empty())
    {
        options.memory = ReadRemoteMemoryConfig(m_options.remoteMemory);
    }
    return OpenWorkload(option.workload, options);
}

PartitionedJob::Sharing
RunJobs::SharingOf(const JobPlacement& option,
                   std::unique_ptr<Workload>& workload,
                   SimulationBackend& backend)
{
    PartitionedJob::Sharing sharing;
    sharing.network = [this, &backend](int rank, RunObserver& observer) -> RankNetwork& {
        return NetworkOf(rank, backend, observer);
    };
    sharing.makePart = [this, &option, &workload](uint32_t partition) {
        CollectiveImplementation* nccl = m_choice ? m_choice.get() : &m_nccl;
        return PartitionedJob::Part{workload ? std::move(workload) : Open(option),
                                    m_ncclOf ? &m_ncclOf(partition) : nccl};
    };
    if (m_ncclOf)
    {
        sharing.partitionOf = backend.GetCapabilities().divided->partitionOf;
        sharing.isHere = backend.GetCapabilities().divided->isHere;
    }
    return sharing;
}

void
RunJobs::Add(const JobPlacement& option, std::size_t number, SimulationBackend& backend)
{
    auto running = std::make_unique<RunningJob>();
    JobDescription description;
    std::unique_ptr<Workload> workload = Open(option);
    description.ranks = RanksOf(option, *workload);
    const std::size_t ranks = description.ranks.size();
    if (ranks < m_topology.hostCount && option.ranks.empty())
    {
        m_console.Say(fmt::format("{} is made for {} GPUs: ranks 0 to {} of {} run it\n",
                                  option.workload,
                                  ranks,
                                  ranks - 1,
                                  m_topology.hostCount));
    }
    description.config = m_system;
    if (m_options.gpuSpread != 0)
    {
        description.config.seed =
            static_cast<uint32_t>(ns3::AttributeDefault<ns3::UintegerValue>("RngSeed"));
    }
    if (m_logicalRanks == ranks)
    {
        description.logicalDimensions = m_logicalDimensions;
    }
    if (!m_options.logicalTopology.empty())
    {
        description.logicalDimensions = ReadLogicalDimensions(m_options.logicalTopology);
    }
    m_system.RequireDimensions(std::max<std::size_t>(1, description.logicalDimensions.size()));
    const auto& engines = backend.GetCapabilities().engines;
    description.engines = engines ? engines->of : nullptr;
    description.observer = &running->observers;
    description.isOnlyJob = m_options.jobs.size() == 1;
    description.check = m_check ? &m_check->GetCollectives() : nullptr;
    running->job =
        std::make_unique<PartitionedJob>(description, SharingOf(option, workload, backend));
    std::vector<std::string> idle = DescribeIdleSizes(running->job->GetWorkload(), m_options.sizes);
    m_console.Warn(idle);
    std::vector<std::string> unused =
        DescribeIdleFlags(running->job->GetWorkload(), m_system, m_options);
    m_console.Warn(unused);
    std::vector<std::string> leftOut = running->job->GetWorkload().GetWarnings();
    m_console.Warn(leftOut);
    m_console.Say(DescribeMicroGroups(running->job->GetWorkload()));
    m_collectives->SetLimit(m_options.collectivesLimit.value_or(
        std::min(m_collectives->GetLimit(), running->job->GetWorkload().GetRowLimit())));
    Observe(*running, option, number, ranks);
    m_jobs.push_back(std::move(running));
}

void
RunJobs::Observe(RunningJob& running,
                 const JobPlacement& option,
                 std::size_t number,
                 std::size_t ranks)
{
    std::vector<std::string> layers;
    const Workload& workload = running.job->GetWorkload();
    for (uint32_t i = 0; i < workload.GetLayerCount(); ++i)
    {
        layers.emplace_back(workload.GetLayerName(i));
    }
    const std::string suffix = m_options.jobs.size() == 1 ? "" : fmt::format(".{}", number);
    const JobRecord::Site site{
        m_options.reportsRanks,
        m_options.simaiFiles,
        m_system,
        m_console,
        m_output,
        suffix,
        running.job->GetRanks().front(),
        static_cast<uint32_t>(std::max<std::size_t>(1, m_logicalDimensions.size()))};
    for (const JobRecord::Kind* kind : JobRecord::Kind::GetAll())
    {
        if (auto record = kind->make(site))
        {
            running.observers.Add(*running.records.emplace_back(std::move(record)));
        }
    }
    if (m_timeline)
    {
        running.observers.Add(*m_timeline);
    }
    running.endToEnd =
        std::make_unique<EndToEndWriter>(m_output + "/EndToEnd" + suffix + ".csv",
                                         std::filesystem::path(option.workload).stem().string(),
                                         layers,
                                         static_cast<uint32_t>(ranks));
    running.observers.Add(*running.endToEnd);
    if (m_check)
    {
        running.observers.Add(m_check->ObserveJob());
    }
    running.observers.Add(*m_collectives);
    running.observers.Add(m_summary);
    running.observers.Add(m_verdict);
    running.observers.Add(m_customTraces);
}

void
RunJobs::AddTo(SimulationBackend& backend)
{
    for (std::size_t i = 0; i < m_options.jobs.size(); ++i)
    {
        Add(m_options.jobs[i], i, backend);
    }
}

void
RunJobs::Start(std::function<void()> finished)
{
    uint64_t ranks = 0;
    for (const auto& running : m_jobs)
    {
        ranks += running->job->GetRanks().size();
    }
    m_watcher = std::make_unique<FinishWatcher>(*this, ranks, std::move(finished));
    for (const auto& running : m_jobs)
    {
        running->observers.Add(*m_watcher);
        running->job->Start();
    }
}

bool
RunJobs::AllFinished() const
{
    return std::ranges::all_of(m_jobs,
                               [](const auto& running) { return running->job->Finished(); });
}

JobProgress
RunJobs::Progress() const
{
    JobProgress sum;
    for (const auto& running : m_jobs)
    {
        const JobProgress job = running->job->Progress();
        sum.collectivesDone += job.collectivesDone;
        sum.collectivesTotal += job.collectivesTotal;
    }
    return sum;
}

void
RunJobs::Finish()
{
    for (const auto& running : m_jobs)
    {
        running->observers.Finish();
    }
    m_collectives->Finish();
    if (m_timeline)
    {
        m_timeline->Finish();
    }
    const bool finished = AllFinished();
    for (const auto& running : m_jobs)
    {
        for (const auto& record : running->records)
        {
            record->Finish(finished);
        }
        if (!finished)
        {
            continue;
        }
        running->endToEnd->Finish();
        if (m_options.simaiFiles)
        {
            const std::filesystem::path file = running->endToEnd->GetPath();
            ns3::WriteWholeFile(file.parent_path() / ("ncclFlowModel_" + file.filename().string()),
                                ns3::ReadInputFile(file));
        }
    }
}

std::string
RunJobs::DescribeResults() const
{
    std::string text;
    for (const auto& running : m_jobs)
    {
        text += running->job->GetWorkload().GetSummary();
    }
    return text;
}

std::string
RunJobs::DescribeLeftOutRows() const
{
    const uint64_t rows = m_collectives->CountRows();
    return CountLeftOutRows() == 0
               ? ""
               : fmt::format("collectives.csv has the first {} of {} collectives and messages; "
                             "--collectives-limit writes more\n",
                             rows,
                             rows + CountLeftOutRows());
}

uint64_t
RunJobs::CountLeftOutRequests() const
{
    uint64_t count = 0;
    for (const auto& running : m_jobs)
    {
        count += running->job->GetWorkload().CountLeftOut();
    }
    return count;
}

std::vector<std::string>
RunJobs::GetOwnResults() const
{
    std::vector<std::string> names;
    for (const auto& running : m_jobs)
    {
        for (const auto& record : running->records)
        {
            if (std::string file = record->GetNamedFile(); !file.empty())
            {
                names.push_back(std::move(file));
            }
        }
    }
    return names;
}

std::vector<std::string>
RunJobs::DescribeWaits() const
{
    std::vector<std::string> lines;
    for (const auto& running : m_jobs)
    {
        const auto waits = running->job->DescribeWaits();
        lines.insert(lines.end(), waits.begin(), waits.end());
    }
    return lines;
}

} // namespace AstraSim
