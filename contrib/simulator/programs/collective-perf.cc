/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/workload/collective-test-workload.h"
#include "collective-perf-points.h"
#include "collective-perf-table.h"
#include "collectives/model/gpu/machine-model.h"
#include "program-runs.h"
#include "programs/frame/program-flags.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-driver.h"
#include "simulator/back-ends/backend-factory.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/run/run-report.h"

#include "ns3/config.h"
#include "ns3/fabric-monitors.h"
#include "ns3/uinteger.h"

#include <atomic>
#include <bit>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <unistd.h>

namespace AstraSim
{

namespace
{

constexpr std::size_t MAX_WAITS_OF_SIZE = 20;
constexpr const char* MTU = "ns3::RdmaHw::Mtu";
constexpr uint32_t USUAL_PAYLOAD = 4096;

/// A run of collective-perf, from options to the last line; one object per run.
class CollectivePerf : public RunDriver
{
  public:
    explicit CollectivePerf(const CollectivePerfOptions& options)
        : RunDriver(options.run.limits),
          m_options(options),
          m_console(options.run.quiet, options.run.logLevel)
    {
    }

  private:
    /// Ends the simulation's own activities when the last rank is done.
    class FinishWatcher : public RunObserver
    {
      public:
        FinishWatcher(SimulationBackend& backend, uint32_t ranks)
            : m_backend(backend),
              m_left(ranks)
        {
        }

        void RankFinished(int, TimePs) override
        {
            if (--m_left == 0)
            {
                m_backend.FinishWorkloads();
            }
        }

      private:
        SimulationBackend& m_backend;
        uint32_t m_left;
    };

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

    uint32_t CountRanks() const;
    void CheckRanks() const;
    /// Make all that simulates. @param mayReuse whether traffic may be reused
    void MakeSimulation(bool mayReuse);
    void StartSimulation();
    /// Reuse does not pay: begin without it.
    void BeginAnew();
    void RecordResults();
    void PrintDevices() const;
    void PointDone(const CollectiveTestResult& result);
    void PrintRow(std::size_t row);
    /// Print the rows with results.
    void PrintRows();
    int ReportUnfinished();
    void PrintChoices() const;

    const CollectivePerfOptions& m_options;
    RunConsole m_console;
    RunInputs m_inputs;
    MachineModel m_machine;
    uint32_t m_ranks{0};
    CommGroup m_group; ///< of all ranks
    std::unique_ptr<CollectivePerfTable> m_table;
    std::optional<RunNetwork> m_network;
    std::unique_ptr<FinishWatcher> m_watcher;
    std::unique_ptr<CollectiveTestWorkload> m_workload;
    std::unique_ptr<Job> m_job;
    SimulationEnd m_end{SimulationEnd::Drained};
    std::atomic<uint64_t> m_done{0}; ///< results
    ProgressSample m_sample;         ///< the last one
    std::vector<CollectivePerfRow> m_rows;
    std::unique_ptr<CollectivePerfPoints> m_points;
    std::vector<CollectiveTestResult> m_results; ///< by point
    std::size_t m_printed{0};                    ///< rows
    std::mutex m_exchange;                       ///< of the network, while it may be interrupted
    bool m_isInterrupted{false};
};

uint32_t
CollectivePerf::CountRanks() const
{
    const uint64_t perProcess = uint64_t{m_options.threads} * m_options.gpusPerThread;
    const uint32_t gpus = m_inputs.topology.hostCount;
    if (m_options.processes == 0)
    {
        if (gpus % perProcess != 0)
        {
            RefuseFlag(fmt::format("-t {} -g {}: {} GPUs do not divide into processes of that size",
                                   m_options.threads,
                                   m_options.gpusPerThread,
                                   gpus),
                       "a divisor of the topology's GPUs, or --processes");
        }
        return gpus;
    }
    const uint64_t ranks = m_options.processes * perProcess;
    if (ranks > gpus)
    {
        RefuseFlag(fmt::format("{} ranks on {} GPUs", ranks, gpus), "a larger --network-topo");
    }
    return static_cast<uint32_t>(ranks);
}

void
CollectivePerf::PrintDevices() const
{
    std::string text = "# Using devices\n";
    const uint32_t perProcess = m_options.threads * m_options.gpusPerThread;
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        const uint32_t server = m_machine.ServerOf(static_cast<int>(rank));
        text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on {:>10} device {:2} [{:#04x}] {}\n",
                            rank,
                            rank / perProcess,
                            "server" + std::to_string(server),
                            rank % m_machine.gpusPerServer,
                            rank % m_machine.gpusPerServer,
                            m_machine.gpuType);
    }
    m_console.Say(text + "#\n");
}

void
CollectivePerf::PointDone(const CollectiveTestResult& result)
{
    m_results.push_back(result);
    m_done = m_results.size();
    if (!m_network->GetForward()) // else the run may begin anew, with other times
    {
        PrintRows();
    }
}

void
CollectivePerf::PrintRows()
{
    for (; m_printed < m_rows.size() && m_points->Of(m_printed) < m_results.size(); ++m_printed)
    {
        PrintRow(m_printed);
    }
}

void
CollectivePerf::PrintRow(std::size_t row)
{
    const std::size_t point = m_points->Of(row);
    m_console.Say(m_table->Row(m_rows[row], m_points->GetMicroseconds(point, m_results[point])));
}

int
CollectivePerf::ReportUnfinished()
{
    const StopCause cause =
        DescribeEnd(m_end, m_options.run.limits.simulated == m_inputs.conf.stopTimePs);
    if (const std::string split = m_inputs.DescribeSplitRails();
        m_end == SimulationEnd::Drained && !split.empty())
    {
        EndRecord(cause.status, cause.text);
        std::cerr << split << "\n";
        return 1;
    }
    SimulationBackend& backend = m_network->GetBackend();
    const NetworkDescription network = backend.Describe(GetWallSeconds(), MAX_WAITS_OF_SIZE);
    std::vector<std::string> lines = m_job->DescribeWaits();
    lines.insert(lines.end(), network.waits.begin(), network.waits.end());
    return RunDriver::ReportUnfinished(cause,
                                       backend.Now(),
                                       {network.obstacles, lines},
                                       MAX_WAITS_OF_SIZE);
}

void
CollectivePerf::Build()
{
    if (HasRecord())
    {
        RecordInputs(GetRecord(), m_options.run, m_inputs);
        GetRecord().Set("test", m_options.test->program);
    }
    MakeSimulation(true);
}

void
CollectivePerf::MakeSimulation(bool mayReuse)
{
    std::vector<std::string> warnings;
    m_network.emplace(m_options.run,
                      m_inputs,
                      BackgroundFlows::Find(m_options.run, m_inputs),
                      m_options.run.output,
                      std::nullopt,
                      mayReuse,
                      warnings);
    m_machine = m_network->GetNccl().GetMachine();
    m_group.kind = GroupKind::Tp; // as in CollectiveTestWorkload
    m_group.ranks.resize(m_ranks);
    std::iota(m_group.ranks.begin(), m_group.ranks.end(), 0);
    m_table = std::make_unique<CollectivePerfTable>(m_options, m_ranks);
    m_rows = m_table->Rows();
    m_points =
        std::make_unique<CollectivePerfPoints>(m_options, m_rows, m_network->GetNccl(), m_group);
    CollectiveTestIterations iterations;
    iterations.timed = m_options.iterations;
    iterations.warmUp = m_options.warmUps > 0;
    iterations.barrier = m_options.blocking == 1 || m_options.blocking == 3;
    iterations.simulatesAll = m_options.simulatesAll;
    m_workload = std::make_unique<CollectiveTestWorkload>(
        m_options.test->program,
        m_points->GetAll(),
        iterations,
        [this](std::size_t, const CollectiveTestResult& result) { PointDone(result); });
    m_console.Warn(warnings);
    m_inputs.WarnOfIdle(m_options.run, m_console);
    JobDescription description;
    description.nccl = &m_network->GetCollectives();
    m_watcher = std::make_unique<FinishWatcher>(m_network->GetBackend(), m_ranks);
    description.workload = m_workload.get();
    description.ranks = m_group.ranks;
    description.network = [this](int rank) -> RankNetwork& {
        return m_network->GetBackend().GetNetwork(rank);
    };
    description.observer = m_watcher.get();
    m_job = std::make_unique<Job>(std::move(description));
}

void
CollectivePerf::Start()
{
    m_console.Say(m_table->Header());
    m_console.Say(fmt::format("# Network {}: {} {}\n"
                              "# Packets between servers: {} bytes of payload\n#\n",
                              ToString(m_options.run.network),
                              *m_inputs.conf.topologyFile,
                              m_options.run.conf,
                              m_machine.packetBytes));
    PrintDevices();
    m_console.Say(m_table->ColumnNames());
    StartSimulation();
}

void
CollectivePerf::StartSimulation()
{
    if (FastForwardBackend* forward = m_network->GetForward())
    {
        forward->AllowBeginningAnew();
        double bytes = 0;
        for (const CollectiveTestPoint& point : m_points->GetAll())
        {
            for (const CollectiveRequest& step : point.steps)
            {
                bytes += static_cast<double>(step.bytes) * m_options.iterations;
            }
        }
        forward->Start(0, bytes);
    }
    m_job->Start();
}

void
CollectivePerf::Simulate()
{
    m_end = m_network->GetBackend().Run();
    if (const auto* forward = m_network->GetForward(); forward && forward->MustBeginAnew())
    {
        BeginAnew();
        m_end = m_network->GetBackend().Run();
    }
    PrintRows();
}

void
CollectivePerf::BeginAnew()
{
    FastForwardBackend& forward = *m_network->GetForward();
    if (HasRecord())
    {
        RecordGivingUp(GetRecord(), forward, m_options.run);
    }
    std::vector<std::string> warnings = forward.TakeWarnings();
    m_console.Warn(warnings);
    const std::lock_guard lock(m_exchange);
    Release();
    m_results.clear();
    m_done = 0;
    MakeSimulation(false);
    StartSimulation();
    if (m_isInterrupted)
    {
        m_network->GetBackend().Interrupt();
    }
}

void
CollectivePerf::Interrupt()
{
    const std::lock_guard lock(m_exchange);
    m_isInterrupted = true;
    m_network->GetBackend().Interrupt();
}

ProgressSample
CollectivePerf::SampleProgress()
{
    const std::unique_lock lock(m_exchange, std::try_to_lock);
    if (lock) // else the run begins anew just now
    {
        m_sample = {m_network->GetBackend().GetReached(),
                    m_done,
                    m_points->GetAll().size(),
                    "rows"};
    }
    return m_sample;
}

ProgressMode
CollectivePerf::GetProgressMode() const
{
    // On a terminal the table itself shows how far it is.
    const bool isSilent = m_options.run.quiet || ::isatty(STDERR_FILENO);
    return isSilent ? ProgressMode::Never : ProgressMode::Auto;
}

void
CollectivePerf::Release()
{
    m_job.reset();
    m_network.reset();
}

void
CollectivePerf::PrintChoices() const
{
    std::string text =
        "# What NCCL's debug output would name, and the timed iterations simulated:\n";
    const std::vector<CollectiveTestPoint>& points = m_points->GetAll();
    for (std::size_t point = 0; point < points.size(); ++point)
    {
        if (points[point].steps.empty() || m_ranks < 2)
        {
            continue;
        }
        const CollectiveChoice choice =
            m_network->GetNccl().Choose(m_workload->GetGroup(), points[point].steps.front()).choice;
        text += fmt::format("#   {} ({} of {})\n",
                            m_table->Choice(m_rows[m_points->GetFirstRow(point)], choice),
                            m_results[point].simulated,
                            m_options.iterations);
    }
    m_console.Say(text + "#\n");
}

bool
CollectivePerf::ReadInputs()
{
    if (m_options.run.conf.empty())
    {
        // As on the networks of today, not as in HPCC's configuration files.
        ns3::Config::SetDefault(MTU, ns3::UintegerValue(USUAL_PAYLOAD));
    }
    m_inputs = RunInputs::Read(m_options.run, m_console);
    m_ranks = CountRanks();
    CheckRanks();
    return true;
}

RunDriver::Output
CollectivePerf::GetOutput() const
{
    return {m_options.run.output, "", ns3::FabricMonitors::FileNames(m_inputs.conf)};
}

void
CollectivePerf::CheckRanks() const
{
    if (m_options.root >= static_cast<int>(m_ranks) && m_options.test->rooted)
    {
        RefuseFlag(fmt::format("-r {} with {} ranks", m_options.root, m_ranks), "a lower rank");
    }
    if (m_options.test->op == CollectiveOp::None && m_options.aggregated > 1)
    {
        RefuseFlag(fmt::format("hypercube_perf -m {}", m_options.aggregated),
                   "1: a step sends what the one before has brought");
    }
    if (m_options.test->op == CollectiveOp::None && !std::has_single_bit(m_ranks))
    {
        RefuseFlag(fmt::format("hypercube_perf on {} ranks", m_ranks), "a power of two");
    }
}

void
CollectivePerf::RecordResults()
{
    SimulationBackend& backend = m_network->GetBackend();
    RunResults{backend.Now(),
               GetWallSeconds(),
               backend.GetTotals(),
               m_job->Progress().collectivesDone}
        .WriteTo(GetRecord());
    GetRecord().Set("warnings", m_console.GetWarnings());
    if (FastForwardBackend* forward = m_network->GetForward())
    {
        RecordReuse(GetRecord(), *forward, m_options.run);
    }
}

int
CollectivePerf::Report()
{
    m_network->GetBackend().Finish();
    std::vector<std::string> trouble =
        m_network->GetBackend().Describe(GetWallSeconds(), 0).trouble;
    m_console.Warn(trouble);
    if (FastForwardBackend* forward = m_network->GetForward())
    {
        std::vector<std::string> warnings = forward->TakeWarnings();
        m_console.Warn(warnings);
    }
    if (HasRecord())
    {
        RecordResults();
    }
    if (!m_job->Finished())
    {
        return ReportUnfinished();
    }
    EndRecord("finished");
    for (uint32_t cycle = 1; cycle < m_options.cycles; ++cycle)
    {
        for (std::size_t row = 0; row < m_rows.size(); ++row)
        {
            PrintRow(row);
        }
    }
    m_console.Say(m_table->Footer());
    PrintChoices();
    if (const FastForwardBackend* forward = m_network->GetForward())
    {
        m_console.Say(forward->SayApproximations("# "));
    }
    m_console.Say(fmt::format("# Collective test concluded: {}\n", m_options.test->program));
    return 0;
}

} // namespace

int
RunCollectivePerf(const CollectivePerfOptions& options)
{
    CollectivePerf run(options);
    return run.Run();
}

} // namespace AstraSim
