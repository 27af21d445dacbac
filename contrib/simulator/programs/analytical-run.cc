/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/estimate/analytical-collectives.h"
#include "astra-frontend/model/estimate/busbw-table.h"
#include "astra-frontend/model/estimate/idle-machine.h"
#include "astra-frontend/model/formula/machine-paths.h"
#include "astra-frontend/model/network/machine-of-topology.h"
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/wait-parts.h"
#include "astra-frontend/model/workload/workload-file.h"
#include "collectives/model/group/mock-nccl-group.h"
#include "plotting-tool.h"
#include "program-runs.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-driver.h"
#include "programs/frame/run-results.h"
#include "simulator/back-ends/analytical-backend.h"
#include "simulator/inputs/idle-network.h"
#include "simulator/inputs/idle-options.h"
#include "simulator/jobs/micro-groups.h"
#include "simulator/jobs/rank-symmetry.h"
#include "simulator/records/breakdown-table.h"
#include "simulator/records/collectives-writer.h"
#include "simulator/records/end-to-end-writer.h"

#include "ns3/cluster-topology.h"
#include "ns3/input-error.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace AstraSim
{

namespace
{

using ns3::InputError;

/// Line rate of a NIC, GB/s.
const std::map<std::string, double> NIC_TYPES = {{"cx6", 25}, {"cx7", 50}, {"bf3", 50}};

constexpr std::size_t MAX_WAITS_OF_ESTIMATE = 40;

/// @return the ports of @p ranks ranks of a machine
MachinePaths::Machine
PortsOf(const MachineModel& machine, uint32_t ranks)
{
    MachinePaths::Machine ports;
    ports.ranks = ranks;
    ports.gpusPerServer = machine.gpusPerServer;
    ports.isJoined = machine.JoinsServers();
    ports.isMesh = machine.isMesh;
    ports.nvlinkGBps = machine.nvlinkGBps;
    ports.nicGBps = machine.nicGBps;
    ports.gpusPerNic = machine.gpusPerNic;
    ports.networkDelay = machine.networkDelay;
    return ports;
}

/// A whole run, from options to results; one object per run.
class AnalyticalRun : public RunDriver
{
  public:
    explicit AnalyticalRun(const AnalyticalOptions& options)
        : RunDriver(options.limits),
          m_options(options),
          m_console(options.quiet, options.environment.logLevel)
    {
    }

  private:
    bool ReadInputs() override;
    Output GetOutput() const override;
    void Build() override;
    void Start() override;
    void Simulate() override;
    int Report() override;
    void Interrupt() override;
    void Release() override;
    ProgressSample SampleProgress() override;
    ProgressMode GetProgressMode() const override;

    /// Counts collectives for another thread.
    class Counter : public RunObserver
    {
      public:
        void CollectiveEnded(const CollectiveRecord&) override
        {
            ++m_count;
        }

        uint64_t Get() const
        {
            return m_count;
        }

      private:
        std::atomic<uint64_t> m_count{0};
    };

    std::string PathOf(const std::string& name) const;
    void RecordInputs();
    std::string Describe() const;
    std::vector<uint32_t> FindSample(const LayerWorkload& layers) const;

    const AnalyticalOptions& m_options;
    RunConsole m_console;
    uint32_t m_gpus{0};
    std::optional<ns3::ClusterTopology> m_topology;
    bool m_takesLinks{false}; ///< collectives pass the topology's
    MachineModel m_machine;
    OverlapRatios m_overlap{};
    BusbwTable m_busbw;
    SimulationEnd m_end{SimulationEnd::Drained};
    std::unique_ptr<Workload> m_workload;
    std::unique_ptr<MockNcclGroup> m_nccl;
    std::unique_ptr<AnalyticalCollectives> m_collectives;
    std::unique_ptr<AnalyticalBackend> m_backend;
    WaitParts m_observers;
    std::unique_ptr<EndToEndWriter> m_endToEnd;
    std::unique_ptr<CollectivesWriter> m_collectivesFile;
    std::unique_ptr<Job> m_job;
    Counter m_counter;
    std::atomic<uint64_t> m_total{0}; ///< collectives
};

bool
AnalyticalRun::ReadInputs()
{
    std::vector<std::string> warnings = m_options.environment.warnings;
    m_console.Warn(warnings);
    m_machine = MakeMachine(m_options, &m_topology);
    const GpuTable gpus = GpuTable::Read(m_options.environment.nccl.gpuTable);
    warnings = gpus.DescribeIdle(m_machine.gpu.name);
    m_console.Warn(warnings);
    const uint32_t topologyGpus = m_topology ? m_topology->hostCount : 0;
    if (!m_options.busbw.empty())
    {
        m_busbw = BusbwTable::Read(m_options.busbw);
    }
    WorkloadOptions options{m_options.sizes, m_options.passes, {}, {}};
    options.waitsForGradients = true;
    options.sizes.gpusPerServer = m_machine.gpusPerServer;
    m_workload = OpenWorkload(m_options.workload, options);
    const auto* layers = dynamic_cast<const LayerWorkload*>(m_workload.get());
    const bool computes = !layers || !layers->GetTable().microLines;
    m_overlap = m_options.overlap;
    m_overlap[static_cast<std::size_t>(GroupKind::Pp)] =
        m_options.pipelineOverlap.value_or(computes ? 1 : 0);
    warnings = DescribeIdleSizes(*m_workload, m_options.sizes);
    m_console.Warn(warnings);
    const uint32_t needed = m_workload->GetRankCount();
    m_gpus = m_options.gpus.value_or(needed         ? needed
                                     : topologyGpus ? topologyGpus
                                                    : m_machine.gpusPerServer);
    if (needed && m_gpus != needed)
    {
        throw InputError(m_options.workload,
                         1,
                         "is made for " + std::to_string(needed) + " GPUs and -g says " +
                             std::to_string(m_gpus),
                         "the same number, or no -g");
    }
    if (topologyGpus && m_gpus > topologyGpus)
    {
        throw InputError(m_options.topology,
                         0,
                         "has " + std::to_string(topologyGpus) + " GPUs and " +
                             std::to_string(m_gpus) + " are needed",
                         "a topology with enough GPUs");
    }
    return true;
}

std::string
AnalyticalRun::PathOf(const std::string& name) const
{
    return GetDirectory().Path(name);
}

RunDriver::Output
AnalyticalRun::GetOutput() const
{
    namespace fs = std::filesystem;
    std::string name = fs::path(m_options.workload).stem().string();
    if (!m_options.topology.empty())
    {
        name += "_" + fs::path(m_options.topology).filename().string();
    }
    const std::string folder = !m_options.folder.empty()   ? m_options.folder
                               : !m_options.prefix.empty() ? "results"
                                                           : "results/" + name + "_analytical";
    // A prefix may name directories; an absolute one replaces the folder.
    const fs::path files = fs::path(folder) / (m_options.prefix + "x");
    std::string prefix = files.filename().string();
    prefix.pop_back();
    return {files.parent_path().string(), prefix, {}};
}

void
AnalyticalRun::RecordInputs()
{
    for (const std::string& file : WorkloadFiles(m_options.workload))
    {
        GetRecord().AddInput("workload", file);
    }
    if (!m_options.topology.empty())
    {
        GetRecord().AddInput("topology", m_options.topology);
    }
    for (const auto& [role, file] : {std::pair("bus bandwidths", m_options.busbw),
                                     std::pair("GPU table", m_options.environment.nccl.gpuTable)})
    {
        if (!file.empty())
        {
            GetRecord().AddInput(role, file);
        }
    }
    const auto ratio = [this](GroupKind kind) { return m_overlap[static_cast<std::size_t>(kind)]; };
    GetRecord().Set("network", "busbw");
    GetRecord().SetOption("passes", m_options.passes);
    GetRecord().SetOption("gpus", m_gpus);
    GetRecord().SetOption("gpus_per_server", m_machine.gpusPerServer);
    GetRecord().SetOption("gpu_type", m_machine.gpu.name);
    GetRecord().SetOption("nvlink_GBps", m_machine.nvlinkGBps);
    GetRecord().SetOption("nic_GBps_per_gpu", m_machine.nicGBps / m_machine.gpusPerNic);
    GetRecord().SetOption("tp_overlap_ratio", ratio(GroupKind::Tp));
    GetRecord().SetOption("dp_overlap_ratio", ratio(GroupKind::Dp));
    GetRecord().SetOption("ep_overlap_ratio", ratio(GroupKind::Ep));
    GetRecord().SetOption("pp_overlap_ratio", ratio(GroupKind::Pp));
    if (const TunerTable* tuner = m_options.environment.nccl.GetTuner())
    {
        GetRecord().SetOption("tuner", tuner->GetName());
    }
    GetRecord().SetOption("nvls", m_options.environment.nccl.nvlsEnable);
    GetRecord().SetOption("nccl_environment", m_options.environment.variables);
}

std::vector<uint32_t>
AnalyticalRun::FindSample(const LayerWorkload& layers) const
{
    if (!m_takesLinks)
    {
        return FindRepresentatives(layers, m_gpus, m_machine);
    }
    const TopologyShapes shapes(*m_topology);
    return FindRepresentatives(layers, m_gpus, m_machine, &shapes);
}

void
AnalyticalRun::Build()
{
    RecordInputs();
    const NetworkKind& kind = m_options.environment.nccl.networkKind;
    const IdleNetwork network = MakeIdleNetwork(kind, m_machine, m_topology);
    m_takesLinks = network.topology;
    NcclOptions nccl = m_options.environment.nccl;
    nccl.gpuType.clear(); // MakeMachine() has read both
    nccl.gpuTable.clear();
    m_nccl = std::make_unique<MockNcclGroup>(m_machine, nccl);
    m_collectives = std::make_unique<AnalyticalCollectives>(*m_nccl, m_busbw, m_overlap, network);
    const auto pipelineGBps = m_busbw.Find(GroupKind::Pp, CollectiveOp::SendRecv);
    MachinePaths::Machine paths = PortsOf(m_machine, m_gpus);
    if (pipelineGBps) // of each GPU, and all there is to it
    {
        paths = {.ranks = m_gpus,
                 .gpusPerServer = m_machine.gpusPerServer,
                 .nvlinkGBps = *pipelineGBps,
                 .nicGBps = *pipelineGBps};
    }
    paths.exposed = 1 - m_overlap[static_cast<std::size_t>(GroupKind::Pp)];
    m_backend = std::make_unique<AnalyticalBackend>(
        std::make_unique<MachinePaths>(paths),
        m_options.limits.simulated.value_or(EventLoop::NO_LIMIT));

    JobDescription description;
    description.workload = m_workload.get();
    description.ranks.resize(m_gpus);
    std::iota(description.ranks.begin(), description.ranks.end(), 0);
    description.nccl = m_collectives.get();
    description.network = [this](int rank) -> RankNetwork& { return m_backend->GetNetwork(rank); };
    description.observer = &m_observers;
    description.sample = [this]() -> std::vector<uint32_t> {
        const auto* layers = dynamic_cast<const LayerWorkload*>(m_workload.get());
        const auto sample = layers ? FindSample(*layers) : std::vector<uint32_t>();
        m_collectives->SetSample(RankSample(std::vector<int>(sample.begin(), sample.end())));
        return sample;
    };
    m_job = std::make_unique<Job>(std::move(description));

    std::vector<std::string> layers;
    for (uint32_t i = 0; i < m_workload->GetLayerCount(); ++i)
    {
        layers.emplace_back(m_workload->GetLayerName(i));
    }
    m_endToEnd =
        std::make_unique<EndToEndWriter>(PathOf("EndToEnd.csv"),
                                         std::filesystem::path(m_options.workload).stem().string(),
                                         layers,
                                         m_job->CountSimulated());
    m_collectivesFile = std::make_unique<CollectivesWriter>(PathOf("collectives.csv"));
    m_observers.Add(*m_endToEnd);
    m_observers.Add(*m_collectivesFile);
    m_observers.Add(m_counter);
}

void
AnalyticalRun::Start()
{
    m_total = m_job->Progress().collectivesTotal;
    m_job->Start();
}

void
AnalyticalRun::Simulate()
{
    m_end = m_backend->Run();
}

void
AnalyticalRun::Interrupt()
{
    m_backend->Interrupt();
}

ProgressSample
AnalyticalRun::SampleProgress()
{
    return {m_backend->GetReached(), m_counter.Get(), m_total, "collectives"};
}

ProgressMode
AnalyticalRun::GetProgressMode() const
{
    return m_options.quiet ? ProgressMode::Never : ProgressMode::Auto;
}

void
AnalyticalRun::Release()
{
    m_job.reset();
    m_backend.reset();
    m_collectivesFile.reset();
    m_endToEnd.reset();
}

std::string
AnalyticalRun::Describe() const
{
    const uint32_t servers = (m_gpus + m_machine.gpusPerServer - 1) / m_machine.gpusPerServer;
    std::string text = fmt::format("{} on {} {} in {} servers, {} GB/s NVLink and {} GB/s NIC each",
                                   m_options.workload,
                                   m_gpus,
                                   m_machine.gpu.name,
                                   servers,
                                   m_machine.nvlinkGBps,
                                   m_machine.nicGBps / m_machine.gpusPerNic);
    if (const auto* layers = dynamic_cast<const LayerWorkload*>(m_workload.get()))
    {
        const RankLayout& layout = layers->GetLayout();
        text += fmt::format("\nTP {}, DP {}, EP {}, PP {}; {} ranks computed for all",
                            layout.GetSize(GroupKind::Tp),
                            layout.GetSize(GroupKind::Dp),
                            layout.GetSize(GroupKind::Ep),
                            layout.GetSize(GroupKind::Pp),
                            m_job->CountSimulated());
    }
    return text + "\n" + DescribeMicroGroups(*m_workload);
}

int
AnalyticalRun::Report()
{
    m_collectivesFile->Finish();
    const NetworkTotals totals = m_backend->GetTotals();
    GetRecord().SetOption("ranks_simulated", m_job->CountSimulated());
    GetRecord().Set("warnings", m_console.GetWarnings());
    RunResults{m_backend->Now(), GetWallSeconds(), totals, m_job->Progress().collectivesDone, false}
        .WriteTo(GetRecord());
    if (!m_job->Finished())
    {
        return ReportUnfinished(DescribeEnd(m_end, true),
                                m_backend->Now(),
                                {m_job->DescribeWaits()},
                                MAX_WAITS_OF_ESTIMATE);
    }
    m_observers.Finish();
    m_endToEnd->Finish();
    const TimeBreakdown breakdown = m_endToEnd->GetBreakdown();
    EndRecord("finished");
    m_console.Say(Describe() + BreakdownTable(breakdown) +
                  fmt::format("{} events in {:.2f} s\nresults in {}\n",
                              totals.events,
                              GetWallSeconds(),
                              PathOf("EndToEnd.csv")));
    if (m_options.visual)
    {
        const std::string problem = DrawBreakdown(PathOf("EndToEnd.csv"), PathOf("breakdown.svg"));
        if (!problem.empty())
        {
            std::cerr << problem << "\n";
            return 1;
        }
        EndRecord("finished"); // again, as the outputs are one more
    }
    return 0;
}

/// @throw InputError if the last of several servers has fewer GPUs than the others
void
RefusePartialServers(const AnalyticalOptions& options)
{
    const uint32_t gpus = options.gpus.value_or(0);
    const uint32_t inServer = options.gpusPerServer.value_or(1);
    if (gpus > inServer && gpus % inServer != 0)
    {
        RefuseFlag(fmt::format("{} GPUs do not fill servers of {}", gpus, inServer),
                   "-g to be a multiple of -g_p_s, or at most that");
    }
}

} // namespace

MachineModel
MakeMachine(const AnalyticalOptions& options, std::optional<ns3::ClusterTopology>* topology)
{
    const GpuTable table = GpuTable::Read(options.environment.nccl.gpuTable);
    MachineModel machine;
    machine.gpu = *table.Find("H100");
    machine.nvlinkGBps = machine.gpu.nvlinkGBps;
    machine.nicGBps = NIC_TYPES.at("cx7");
    if (!options.topology.empty())
    {
        *topology = ns3::ClusterTopology::Read(options.topology);
        machine = MachineOfTopology(**topology);
    }
    RefusePartialServers(options);
    machine.gpusPerServer = options.gpusPerServer.value_or(machine.gpusPerServer);
    const std::string gpuType =
        options.gpuType.empty() ? options.environment.nccl.gpuType : options.gpuType;
    if (const GpuProfile* profile = table.Find(gpuType.empty() ? machine.gpuType : gpuType))
    {
        machine.gpu = *profile;
        machine.gpuType = profile->name;
        if (options.topology.empty())
        {
            machine.nvlinkGBps = profile->nvlinkGBps;
            machine.SetServersOf(*profile);
        }
    }
    else if (!gpuType.empty())
    {
        RefuseFlag("--gpu-type is '" + gpuType + "'", table.Expected(gpuType));
    }
    if (options.nvlinkGBps)
    {
        machine.nvlinkGBps = *options.nvlinkGBps;
        machine.gpu.nvlinkGBps = *options.nvlinkGBps;
    }
    std::optional<double> nic = options.nicGBps;
    if (!nic && options.environment.netBandwidthBps)
    {
        nic = static_cast<double>(*options.environment.netBandwidthBps) / 8e9;
    }
    if (!options.nicType.empty())
    {
        const auto known = NIC_TYPES.find(options.nicType);
        if (known == NIC_TYPES.end())
        {
            RefuseFlag("--nic-type is '" + options.nicType + "'", "cx6, cx7 or bf3");
        }
        nic = nic.value_or(known->second);
    }
    if (!nic && options.nicsPerServer)
    {
        if (!options.topology.empty())
        {
            RefuseFlag("--nic-per-server with -n " + options.topology,
                       "the bandwidth of one, too (-nic), as the topology has other NICs");
        }
        nic = machine.nicGBps;
    }
    if (nic)
    {
        const uint32_t gpus = machine.gpusPerServer;
        const uint32_t nics = options.nicsPerServer.value_or(
            std::max(1U, gpus * machine.nicsPerGpu / machine.gpusPerNic));
        machine.gpusPerNic = std::max(1U, gpus / nics);
        machine.nicsPerGpu = std::max(1U, nics / gpus);
        machine.nicGBps = *nic * nics / gpus * machine.gpusPerNic;
    }
    return machine;
}

int
RunAnalytical(const AnalyticalOptions& options)
{
    AnalyticalRun run(options);
    return run.Run();
}

} // namespace AstraSim
