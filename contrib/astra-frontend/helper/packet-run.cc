/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "packet-run.h"

#include "collective-summary.h"
#include "run-progress.h"
#include "run-record.h"

#include "ns3/astra-sim-network.h"
#include "ns3/cluster-topology.h"
#include "ns3/collectives-writer.h"
#include "ns3/end-to-end-writer.h"
#include "ns3/fabric-conf.h"
#include "ns3/fabric-monitors.h"
#include "ns3/flow-file.h"
#include "ns3/flow-runner.h"
#include "ns3/input-error.h"
#include "ns3/input-path.h"
#include "ns3/job.h"
#include "ns3/links-writer.h"
#include "ns3/local-memory-writer.h"
#include "ns3/logical-topology.h"
#include "ns3/machine-model.h"
#include "ns3/mock-nccl-group.h"
#include "ns3/ns3-flags.h"
#include "ns3/qbb-pcap-helper.h"
#include "ns3/rdma-fabric.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/run-observers.h"
#include "ns3/simulator.h"
#include "ns3/system-config.h"
#include "ns3/timeline-writer.h"
#include "ns3/workload-file.h"
#include "ns3/workload-result-writer.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <numeric>
#include <set>
#include <unistd.h>

namespace AstraSim
{

using ns3::ClusterTopology;
using ns3::FabricConf;
using ns3::InputError;
using ns3::Simulator;

namespace
{

constexpr std::size_t MAX_WAIT_LINES = 40;

/// One workload with what watches it.
struct RunningJob
{
    std::unique_ptr<Workload> workload;
    std::unique_ptr<WorkloadResultWriter> results;
    std::unique_ptr<LocalMemoryWriter> memory;
    RunObservers observers;
    std::unique_ptr<EndToEndWriter> endToEnd;
    std::unique_ptr<Job> job;
};

/// A whole run, from options to results; one object per run.
class PacketRun
{
  public:
    explicit PacketRun(const RunOptions& options)
        : m_options(options)
    {
    }

    int Run();

  private:
    void ReadInputs();
    void MakeOutputDirectory();
    void RecordWorkload(const std::string& path);
    void Build();
    void FindBackground();
    std::vector<int> RanksOf(const JobPlacement& option, const Workload& workload) const;
    void AddJob(const JobPlacement& option, std::size_t number);
    void Simulate();
    int Report();
    void RecordResults();
    bool AllFinished() const;
    void Warn(std::vector<std::string>& warnings) const;
    void Say(const std::string& text) const;

    const RunOptions& m_options;
    FabricConf m_conf;
    ClusterTopology m_topology;
    std::string m_output;
    std::string m_backgroundFile; ///< flows beside the workloads; empty for none
    std::unique_ptr<RunRecord> m_record;
    ns3::Ptr<ns3::RdmaFabric> m_fabric;
    std::unique_ptr<AstraSimFabric> m_network;
    std::unique_ptr<MockNcclGroup> m_nccl;
    std::unique_ptr<ns3::FabricMonitors> m_monitors;
    std::unique_ptr<CollectivesWriter> m_collectives;
    std::unique_ptr<TimelineWriter> m_timeline;
    std::unique_ptr<ns3::FlowRunner> m_background;
    CollectiveSummary m_summary;
    std::vector<std::unique_ptr<RunningJob>> m_jobs;
    int64_t m_finishedPs{0};
    bool m_outOfTime{false};
    double m_wallSeconds{0};
};

/// Tells the run when a rank has finished.
class FinishWatcher : public RunObserver
{
  public:
    explicit FinishWatcher(std::function<void(TimePs)> finished)
        : m_finished(std::move(finished))
    {
    }

    void RankFinished(int, TimePs now) override
    {
        m_finished(now);
    }

  private:
    std::function<void(TimePs)> m_finished;
};

void
PacketRun::Warn(std::vector<std::string>& warnings) const
{
    for (const std::string& warning : warnings)
    {
        std::cerr << "warning: " << warning << "\n";
    }
    warnings.clear();
}

void
PacketRun::Say(const std::string& text) const
{
    if (!m_options.quiet)
    {
        std::cout << text << std::flush;
    }
}

void
PacketRun::ReadInputs()
{
    if (!m_options.conf.empty())
    {
        m_conf = FabricConf::Read(m_options.conf);
    }
    for (const std::string& key : m_options.confKeys)
    {
        m_conf.Set(key, "command line");
    }
    m_conf.Check();
    if (m_options.seed)
    {
        m_conf.seed = *m_options.seed;
    }
    if (!m_options.topology.empty())
    {
        m_conf.topologyFile = m_options.topology;
    }
    else if (!m_conf.topologyFile.empty())
    {
        const std::string found = ns3::FindInput(m_conf.topologyFile, m_conf.source);
        if (!found.empty() && found != m_conf.topologyFile)
        {
            Say("TOPOLOGY_FILE " + m_conf.topologyFile + ": using " + found + "\n");
            m_conf.topologyFile = found;
        }
    }
    if (m_conf.topologyFile.empty())
    {
        throw InputError("command line",
                         0,
                         "no topology",
                         "-n FILE, or TOPOLOGY_FILE in the -c file");
    }
    m_topology = ClusterTopology::Read(m_conf.topologyFile, m_conf.gpusPerServer);
    if (m_options.netBandwidthBps)
    {
        for (uint32_t i = 0; i < m_topology.links.size(); ++i)
        {
            auto& link = m_topology.links[i];
            const bool atHost = m_topology.Is(link.a, ClusterTopology::NodeKind::Host) ||
                                m_topology.Is(link.b, ClusterTopology::NodeKind::Host);
            if (atHost && !m_topology.IsNvLink(i))
            {
                link.rateBps = *m_options.netBandwidthBps;
            }
        }
    }
    std::vector<std::string> warnings = m_options.warnings;
    Warn(warnings);
    Warn(m_conf.warnings);
    Warn(m_topology.warnings);
    if (m_options.threads > 1)
    {
        std::cerr << "warning: -t " << m_options.threads << ": runs use one core for now\n";
    }
}

void
PacketRun::MakeOutputDirectory()
{
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    m_output = m_options.output.empty()
                   ? "results/" + stem(m_options.jobs.front().workload) + "_" +
                         std::filesystem::path(m_conf.topologyFile).filename().string()
                   : m_options.output;
    std::error_code error;
    std::filesystem::create_directories(m_output, error);
    if (error || ::access(m_output.c_str(), W_OK) != 0)
    {
        throw InputError(m_output, 0, "cannot be written", "an output directory that can be made");
    }
    // What an earlier run left must not pass for this one's.
    for (const auto& entry : std::filesystem::directory_iterator(m_output))
    {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("EndToEnd.") && name.ends_with(".csv"))
        {
            std::filesystem::remove(entry.path(), error);
        }
    }
    m_record = std::make_unique<RunRecord>(m_output + "/run.json");
    for (const JobPlacement& job : m_options.jobs)
    {
        RecordWorkload(job.workload);
    }
    m_record->AddInput("topology", m_conf.topologyFile);
    m_record->Set("topology", m_conf.topologyFile);
    if (!m_options.conf.empty())
    {
        m_record->AddInput("configuration", m_options.conf);
    }
    if (!m_options.system.empty())
    {
        m_record->AddInput("system", m_options.system);
    }
    m_record->Set("seed", m_conf.seed);
    m_record->SetOption("passes", m_options.passes);
    m_record->SetOption("cc_mode",
                        m_conf.ccTypeId.empty() ? std::to_string(m_conf.ccMode) : m_conf.ccTypeId);
    m_record->SetOption("payload_bytes", m_conf.payloadBytes);
    m_record->SetOption("qps_per_connection", m_conf.qpsPerConnection);
    m_record->SetOption("nvls", m_options.nccl.nvlsEnable);
    for (const auto& [key, value] : ns3::FabricConfValues(m_conf))
    {
        m_record->SetOption(key, value);
    }
    m_record->SetOption("nccl_environment", m_options.environment);
    m_record->SetOption("comm_scale", m_options.commScale);
    m_record->SetOption("injection_scale", m_options.injectionScale);
    m_record->SetOption("set", m_options.confKeys);
    m_record->SetOption("ns3", m_options.ns3Flags);
}

void
PacketRun::RecordWorkload(const std::string& path)
{
    if (std::filesystem::exists(path))
    {
        m_record->AddInput("workload", path);
    }
    for (uint32_t rank = 0;; ++rank)
    {
        const std::string trace = path + "." + std::to_string(rank) + ".et";
        if (!std::filesystem::exists(trace))
        {
            return;
        }
        m_record->AddInput("workload", trace);
    }
}

void
PacketRun::FindBackground()
{
    m_backgroundFile = m_options.backgroundFlows;
    if (m_backgroundFile.empty() && !m_conf.flowFile.empty())
    {
        m_backgroundFile = ns3::FindInput(m_conf.flowFile, m_conf.source);
    }
    if (!m_backgroundFile.empty())
    {
        const auto summary = ns3::CheckFlowFile(m_backgroundFile, m_topology);
        m_fabric->SetLosslessMask(m_fabric->GetLosslessMask() | summary.priorityMask);
        m_record->AddInput("background flows", m_backgroundFile);
    }
}

std::vector<int>
PacketRun::RanksOf(const JobPlacement& option, const Workload& workload) const
{
    const uint32_t hosts = m_topology.hostCount;
    std::vector<int> ranks(option.ranks.begin(), option.ranks.end());
    if (ranks.empty())
    {
        ranks.resize(workload.GetRankCount() > 0 ? workload.GetRankCount() : hosts);
        std::iota(ranks.begin(), ranks.end(), 0);
    }
    const int last = *std::max_element(ranks.begin(), ranks.end());
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
            if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
            {
                throw InputError("command line",
                                 0,
                                 "rank " + std::to_string(rank) + " runs " +
                                     other->workload->GetFileName() + " and " + option.workload,
                                 "workloads on ranks of their own: -w a.txt@0-63 -w b.txt@64-127");
            }
        }
    }
    return ranks;
}

void
PacketRun::AddJob(const JobPlacement& option, std::size_t number)
{
    auto running = std::make_unique<RunningJob>();
    WorkloadOptions options{m_options.sizes, m_options.passes, m_options.communicators, {}};
    if (!m_options.remoteMemory.empty())
    {
        options.memory = ReadRemoteMemoryConfig(m_options.remoteMemory);
    }
    running->workload = OpenWorkload(option.workload, options);
    Workload& workload = *running->workload;
    const std::vector<int> ranks = RanksOf(option, workload);
    if (ranks.size() < m_topology.hostCount && option.ranks.empty())
    {
        Say(fmt::format("{} is made for {} GPUs: ranks 0 to {} of {} run it\n",
                        option.workload,
                        ranks.size(),
                        ranks.size() - 1,
                        m_topology.hostCount));
    }
    JobDescription description;
    description.workload = &workload;
    description.ranks = ranks;
    if (!m_options.system.empty())
    {
        description.config = ReadSystemConfig(m_options.system);
    }
    description.config.queuesPerDimension = m_options.queuesPerDimension;
    description.config.commScale = m_options.commScale;
    description.config.injectionScale = m_options.injectionScale;
    description.config.rendezvous = m_options.rendezvous;
    if (!m_options.logicalTopology.empty())
    {
        description.logicalDimensions = ReadLogicalDimensions(m_options.logicalTopology);
    }
    description.nccl = m_nccl.get();
    description.network = [this](int rank) -> AstraNetworkAPI& {
        return m_network->GetNetwork(rank);
    };
    description.observer = &running->observers;
    running->job = std::make_unique<Job>(description);

    std::vector<std::string> layers;
    for (uint32_t i = 0; i < workload.GetLayerCount(); ++i)
    {
        layers.emplace_back(workload.GetLayerName(i));
    }
    const std::string suffix = m_options.jobs.size() == 1 ? "" : fmt::format(".{}", number);
    running->results =
        std::make_unique<WorkloadResultWriter>(m_output + "/requests" + suffix + ".csv");
    running->observers.Add(*running->results);
    if (description.config.trackLocalMemory)
    {
        const auto trace =
            std::filesystem::path(description.config.localMemoryTraceFile).filename();
        running->memory =
            std::make_unique<LocalMemoryWriter>(m_output + "/" + trace.string() + suffix + ".csv");
        running->observers.Add(*running->memory);
    }
    if (m_timeline)
    {
        running->observers.Add(*m_timeline);
    }
    running->endToEnd =
        std::make_unique<EndToEndWriter>(m_output + "/EndToEnd" + suffix + ".csv",
                                         std::filesystem::path(option.workload).stem().string(),
                                         layers,
                                         static_cast<uint32_t>(ranks.size()));
    running->observers.Add(*running->endToEnd);
    running->observers.Add(*m_collectives);
    running->observers.Add(m_summary);
    m_jobs.push_back(std::move(running));
}

void
PacketRun::Build()
{
    ns3::RngSeedManager::SetSeed(m_conf.seed);
    m_fabric = ns3::CreateObject<ns3::RdmaFabric>();
    FindBackground();
    m_fabric->Build(m_topology, m_conf);
    if (!m_backgroundFile.empty())
    {
        m_background = std::make_unique<ns3::FlowRunner>(*m_fabric, m_backgroundFile);
    }
    m_network = std::make_unique<AstraSimFabric>(*m_fabric);
    m_nccl =
        std::make_unique<MockNcclGroup>(MachineModel::FromTopology(m_topology), m_options.nccl);
    m_collectives = std::make_unique<CollectivesWriter>(m_output + "/collectives.csv");
    if (m_options.timelineRanks > 0)
    {
        m_timeline = std::make_unique<TimelineWriter>(m_output + "/timeline.json",
                                                      m_options.timelineRanks,
                                                      m_options.timelineLimit);
    }
    for (std::size_t i = 0; i < m_options.jobs.size(); ++i)
    {
        AddJob(m_options.jobs[i], i);
    }
    std::vector<uint32_t> traceNodes;
    const std::string traceFile =
        m_conf.traceFile.empty() ? "" : ns3::FindInput(m_conf.traceFile, m_conf.source);
    if (m_conf.enableTrace && !traceFile.empty())
    {
        traceNodes = ns3::ReadTraceNodes(traceFile, m_topology.nodeCount);
    }
    m_monitors = std::make_unique<ns3::FabricMonitors>(*m_fabric,
                                                       m_conf,
                                                       m_output,
                                                       m_conf.warnings,
                                                       traceNodes);
    for (const std::string& port : m_options.pcap)
    {
        ns3::QbbPcapHelper::Capture(*m_fabric, port, m_output);
    }
    Warn(m_conf.warnings);
}

bool
PacketRun::AllFinished() const
{
    return std::all_of(m_jobs.begin(), m_jobs.end(), [](const auto& running) {
        return running->job->Finished();
    });
}

void
PacketRun::Simulate()
{
    const bool show = m_options.progress == ProgressMode::Always ||
                      (m_options.progress == ProgressMode::Auto && ::isatty(STDERR_FILENO));
    RunProgress progress([this] {
        ProgressSample sample;
        for (const auto& running : m_jobs)
        {
            const JobProgress job = running->job->Progress();
            sample.collectivesDone += job.collectivesDone;
            sample.collectivesTotal += job.collectivesTotal;
        }
        sample.flows = m_network->GetDelivered();
        sample.packetHops = m_fabric->GetTotals().packetHops;
        return sample;
    });
    ns3::EventId stop;
    if (m_conf.stopTimePs != ns3::TIME_PS_MAX)
    {
        stop = Simulator::Schedule(ns3::PicoSeconds(m_conf.stopTimePs), [this] {
            m_outOfTime = true;
            Simulator::Stop();
        });
    }
    uint64_t ranksLeft = 0;
    for (const auto& running : m_jobs)
    {
        ranksLeft += running->job->GetRanks().size();
    }
    FinishWatcher watcher([&](TimePs now) {
        m_finishedPs = std::max<int64_t>(m_finishedPs, now);
        if (--ranksLeft == 0)
        {
            // Nothing of interest follows: let the event list drain, unless flows go on beside.
            progress.Stop();
            if (m_background && m_background->Finished() < m_background->Announced())
            {
                Simulator::Stop();
            }
            m_monitors->StopSampling();
            if (!stop.IsExpired())
            {
                Simulator::Remove(stop);
            }
        }
    });
    for (const auto& running : m_jobs)
    {
        running->observers.Add(watcher);
        running->job->Start();
    }
    if (m_background)
    {
        m_background->Start([this] { m_background->CloseConnections(); });
    }
    if (show)
    {
        progress.Start();
    }
    const auto begin = std::chrono::steady_clock::now();
    Simulator::Run();
    m_wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress.Stop();
}

void
PacketRun::RecordResults()
{
    const ns3::FabricTotals totals = m_fabric->GetTotals();
    m_record->Set(
        "simulated_ns",
        static_cast<double>(AllFinished() ? m_finishedPs : Simulator::Now().GetPicoSeconds()) /
            1000.0);
    m_record->Set("simulation_wall_s", m_wallSeconds);
    m_record->Set("events", Simulator::GetEventCount());
    m_record->Set("packets", totals.txFrames);
    m_record->Set("packet_hops", totals.packetHops);
    m_record->Set("drops", totals.bufferDrops + totals.routeDrops + totals.wireLosses);
    m_record->Set("pauses", totals.pauses);
    m_record->Set("paused_ns", static_cast<double>(totals.pausedPs) / 1000.0);
    m_record->Set("timeouts", totals.timeouts);
    m_record->Set("retransmitted_bytes", totals.retransmitted);
    m_record->Set("collectives", m_summary.GetCount());
    m_record->Set("flows", m_network->GetDelivered());
    if (m_background)
    {
        m_record->Set("background_flows", m_background->Finished());
    }
}

int
PacketRun::Report()
{
    m_monitors->Finish();
    m_collectives->Finish();
    if (m_timeline)
    {
        m_timeline->Finish();
    }
    ns3::WriteLinks(*m_fabric, m_output + "/links.csv");
    RecordResults();
    if (!AllFinished())
    {
        m_record->Write(m_outOfTime ? "stopped" : "stuck");
        std::cerr << (m_outOfTime ? "SIMULATOR_STOP_TIME came before the workload finished"
                                  : "the workload cannot finish: nothing is left to simulate")
                  << ", waiting at " << Simulator::Now().GetPicoSeconds() / 1000 << " ns:\n";
        std::vector<std::string> lines;
        for (const auto& running : m_jobs)
        {
            const auto waits = running->job->DescribeWaits();
            lines.insert(lines.end(), waits.begin(), waits.end());
        }
        const auto network = m_network->DescribeWaits(MAX_WAIT_LINES);
        lines.insert(lines.end(), network.begin(), network.end());
        for (std::size_t i = 0; i < std::min(lines.size(), MAX_WAIT_LINES); ++i)
        {
            std::cerr << "  " << lines[i] << "\n";
        }
        if (lines.size() > MAX_WAIT_LINES)
        {
            std::cerr << "  and " << lines.size() - MAX_WAIT_LINES << " more\n";
        }
        return 1;
    }
    for (const auto& running : m_jobs)
    {
        running->endToEnd->Finish();
    }
    m_record->Write("finished");
    const ns3::FabricTotals totals = m_fabric->GetTotals();
    Say(m_summary.Table());
    Say(fmt::format(
        "finished at {:.3f} us; {} flows, {} packet-hops in {:.2f} s ({:.2f} million/s), "
        "{} pauses, {} drops\nresults in {}\n",
        static_cast<double>(m_finishedPs) / 1e6,
        m_network->GetDelivered(),
        totals.packetHops,
        m_wallSeconds,
        static_cast<double>(totals.packetHops) / m_wallSeconds / 1e6,
        totals.pauses,
        totals.bufferDrops + totals.routeDrops + totals.wireLosses,
        m_output));
    return 0;
}

int
PacketRun::Run()
{
    ReadInputs();
    MakeOutputDirectory();
    try
    {
        ns3::ApplyNs3Flags(m_options.ns3Flags);
        Build();
    }
    catch (const InputError&)
    {
        m_record->Write("refused");
        throw;
    }
    Simulate();
    const int status = Report();
    // Users of the fabric go before it does.
    m_jobs.clear();
    m_background.reset();
    m_monitors.reset();
    m_network.reset();
    Simulator::Destroy();
    m_fabric->Dispose();
    return status;
}

} // namespace

int
RunPackets(const RunOptions& options)
{
    PacketRun run(options);
    return run.Run();
}

} // namespace AstraSim
