/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "simulation-run.h"

#include "backend-factory.h"
#include "fast-forward-backend.h"
#include "guarded-main.h"
#include "run-console.h"
#include "run-inputs.h"
#include "run-jobs.h"
#include "run-progress.h"
#include "run-record.h"
#include "run-supervisor.h"

#include "ns3/attribute-default.h"
#include "ns3/input-error.h"
#include "ns3/input-file.h"
#include "ns3/machine-model.h"
#include "ns3/mock-nccl-group.h"
#include "ns3/output-directory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <unistd.h>

namespace AstraSim
{

using ns3::InputError;

namespace
{

constexpr std::size_t MAX_WARNINGS = 10;
constexpr std::size_t MAX_WAIT_LINES = 40;
constexpr std::size_t MAX_VERDICT_LINES = 6;

/// A whole run, from options to results; one object per run.
class SimulationRun
{
  public:
    explicit SimulationRun(const RunOptions& options)
        : m_options(options),
          m_console(options.quiet, options.logLevel),
          m_supervisor(options.limits)
    {
    }

    int Run();

  private:
    std::string DefaultOutput() const;
    std::vector<std::string> ConfiguredResults() const;
    std::vector<std::string> ResultNames() const;
    void RecordInputs();
    void RecordWorkload(const std::string& path);
    void Build();
    void Refuse(const std::string& reason);
    void Begin();
    void Fail(const std::string& reason);
    void Simulate();
    int Report();
    void RecordResults();
    void RecordFastForward();
    StopCause WhyUnfinished() const;
    int ReportUnfinished();
    int ReportFailures();
    void SayVerdict() const;

    const RunOptions& m_options;
    RunConsole m_console;
    RunInputs m_inputs;
    RunSupervisor m_supervisor;
    std::optional<ns3::OutputDirectory> m_directory;
    std::unique_ptr<RunRecord> m_record;
    std::unique_ptr<MockNcclGroup> m_nccl;
    std::unique_ptr<SimulationBackend> m_backend;
    FastForwardBackend* m_forward{nullptr}; ///< the backend, with --fast-forward
    std::unique_ptr<RunCheck> m_check;      ///< null if nothing is checked
    std::unique_ptr<RunJobs> m_jobs;
    SimulationEnd m_end{SimulationEnd::Drained};
    double m_wallSeconds{0};
};

std::string
SimulationRun::DefaultOutput() const
{
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    std::string name;
    for (const JobPlacement& job : m_options.jobs)
    {
        name += (name.empty() ? "" : "+") + stem(job.workload);
    }
    name += "_" + std::filesystem::path(m_inputs.conf.topologyFile).filename().string();
    if (!m_options.conf.empty())
    {
        name += "_" + stem(m_options.conf);
    }
    if (m_options.network != NetworkModel::Packet)
    {
        name += std::string("_") + ToString(m_options.network);
    }
    return "results/" + name;
}

std::vector<std::string>
SimulationRun::ConfiguredResults() const
{
    const ns3::FabricConf& conf = m_inputs.conf;
    return {conf.fctOutputFile,
            conf.pfcOutputFile,
            conf.qlenMonFile,
            conf.bwMonFile,
            conf.rateMonFile,
            conf.cnpMonFile,
            conf.traceOutputFile};
}

void
SimulationRun::RecordInputs()
{
    for (const JobPlacement& job : m_options.jobs)
    {
        RecordWorkload(job.workload);
    }
    const ns3::FabricConf& conf = m_inputs.conf;
    m_record->AddInput("topology", conf.topologyFile);
    m_record->Set("topology", conf.topologyFile);
    const std::string confFile = m_inputs.dimensions.empty() ? m_options.conf : "";
    const std::pair<const char*, const std::string&> files[] = {
        {"configuration", confFile},
        {"system", m_options.system},
        {"logical topology", m_options.logicalTopology},
        {"communicators", m_options.communicators},
        {"remote memory", m_options.remoteMemory},
        {"GPU table", m_options.nccl.gpuTable},
    };
    for (const auto& [role, file] : files)
    {
        if (!file.empty())
        {
            m_record->AddInput(role, file);
        }
    }
    m_record->Set("network", ToString(m_options.network));
    m_record->Set("arguments", m_options.arguments);
    m_record->Set("seed", ns3::RngSeedManager::GetSeed());
    m_record->SetOption("passes", m_options.passes);
    m_record->SetOption("network_kind", m_options.nccl.networkKind->name);
    m_record->SetOption("nvls", m_options.nccl.nvlsEnable);
    m_record->SetOption("nvls_tree", m_options.nccl.nvlsTreeEnable);
    for (const auto& [key, value] : ns3::FabricConfValues(conf))
    {
        m_record->SetOption(key, value);
    }
    m_record->SetOption("nccl_environment", m_options.environment);
    m_record->SetOption("tp", m_options.sizes.tp);
    m_record->SetOption("ep", m_options.sizes.ep);
    m_record->SetOption("pp", m_options.sizes.pp);
    m_record->SetOption("queues_per_dimension", m_options.queuesPerDimension);
    m_record->SetOption("rendezvous", m_options.rendezvous);
    m_record->SetOption("comm_scale", m_options.commScale);
    m_record->SetOption("injection_scale", m_options.injectionScale);
    m_record->SetOption("set", m_options.confKeys);
    m_record->SetOption("ns3", m_options.ns3Flags);
}

void
SimulationRun::RecordWorkload(const std::string& path)
{
    if (ns3::InputExists(path))
    {
        m_record->AddInput("workload", path);
    }
    for (uint32_t rank = 0;; ++rank)
    {
        const std::string trace = path + "." + std::to_string(rank) + ".et";
        if (!ns3::InputExists(trace))
        {
            return;
        }
        m_record->AddInput("workload", trace);
    }
}

void
SimulationRun::Build()
{
    const BackgroundFlows background = BackgroundFlows::Find(m_options, m_inputs);
    if (!background.file.empty())
    {
        m_record->AddInput("background flows", background.file);
    }
    std::vector<std::string> warnings;
    m_backend = MakeBackend(m_options, m_inputs, background, m_directory->Path(), warnings);
    MachineModel machine =
        MachineModel::FromTopology(m_inputs.topology, m_options.nccl.networkKind->efficiency);
    machine.packetBytes =
        static_cast<uint32_t>(ns3::AttributeDefault<ns3::UintegerValue>("ns3::RdmaHw::Mtu"));
    m_nccl = std::make_unique<MockNcclGroup>(machine, m_options.nccl);
    CollectiveImplementation* collectives = m_nccl.get();
    if (m_options.fastForward != FastForwardMode::Off)
    {
        auto forward = std::make_unique<FastForwardBackend>(m_options,
                                                            m_inputs,
                                                            std::move(m_backend),
                                                            *m_nccl,
                                                            warnings);
        m_forward = forward.get();
        m_backend = std::move(forward);
        collectives = &m_forward->GetCollectives();
    }
    m_jobs = std::make_unique<RunJobs>(m_options,
                                       m_inputs.topology,
                                       m_directory->Path(),
                                       *collectives,
                                       m_console);
    if (m_options.check)
    {
        m_check = std::make_unique<RunCheck>([this] { m_backend->Interrupt(); });
        m_backend->StartChecks([this](const std::string& what) { m_check->Fail(what); });
        m_jobs->SetCheck(*m_check);
    }
    std::vector<uint32_t> dimensions;
    for (const NetworkDimension& dimension : m_inputs.dimensions)
    {
        dimensions.push_back(dimension.npus);
    }
    m_jobs->SetLogicalDimensions(std::move(dimensions));
    m_jobs->SetPlanes(m_inputs.conf);
    m_jobs->AddTo(*m_backend);
    m_console.Warn(warnings);
}

void
SimulationRun::Simulate()
{
    const bool show = m_options.progress == ProgressMode::Always ||
                      (m_options.progress == ProgressMode::Auto && ::isatty(STDERR_FILENO));
    RunProgress progress(*m_backend, [this] {
        const JobProgress jobs = m_jobs->Progress();
        const BackendTotals totals = m_backend->GetTotals();
        return ProgressSample{jobs.collectivesDone,
                              jobs.collectivesTotal,
                              totals.flows,
                              totals.packetHops,
                              totals.events};
    });
    if (m_forward)
    {
        m_forward->Start();
    }
    m_supervisor.Watch([this] { m_backend->Interrupt(); });
    m_jobs->Start([&] {
        progress.Stop();
        m_backend->FinishWorkloads();
    });
    if (show)
    {
        progress.Start();
    }
    const auto begin = std::chrono::steady_clock::now();
    m_end = m_backend->Run();
    m_supervisor.EndWatch();
    m_wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    progress.Stop();
}

void
SimulationRun::RecordResults()
{
    const BackendTotals totals = m_backend->GetTotals();
    const TimePs simulated = m_jobs->AllFinished() ? m_jobs->GetFinishTime() : m_backend->Now();
    m_record->Set("simulated_ns", static_cast<double>(simulated) / 1000.0);
    m_record->Set("simulation_wall_s", m_wallSeconds);
    m_record->Set("events", totals.events);
    m_record->Set("packets", totals.packets);
    m_record->Set("packet_hops", totals.packetHops);
    m_record->Set("drops", totals.drops);
    m_record->Set("pauses", totals.pauses);
    m_record->Set("paused_ns", totals.pausedPs.ToPs() / 1000.0);
    m_record->Set("longest_pause_ns", static_cast<double>(totals.longestPausePs) / 1000.0);
    m_record->Set("pfc_storms", totals.pfcStorms);
    m_record->Set("timeouts", totals.timeouts);
    m_record->Set("retransmitted_bytes", totals.retransmittedBytes);
    m_record->Set("nacks", totals.nacks);
    m_record->Set("cnps", totals.cnps);
    m_record->Set("out_of_order_packets", totals.outOfOrderPackets);
    m_record->Set("reorder_bytes", totals.reorderBytes);
    m_record->Set("collectives", m_jobs->GetSummary().GetCount());
    m_record->Set("flows", totals.flows);
    if (m_forward)
    {
        RecordFastForward();
    }
    if (totals.backgroundFlows)
    {
        m_record->Set("background_flows", *totals.backgroundFlows);
    }
}

void
SimulationRun::RecordFastForward()
{
    const FastForwardReport report = m_forward->GetReport();
    const bool hasPackets = report.carried.packetHops > 0;
    nlohmann::ordered_json record = {
        {"unit", hasPackets ? "packet_hops" : "flows"},
        {"simulated", report.simulatedWork},
        {"of_which_again", report.repeatedWork},
        {"reused", report.reusedWork},
        {"skipped", 0},
        {"parts", report.parts},
        {"patterns_simulated", report.simulations},
        {"patterns_reused", report.reuses},
        {"tails_cut", report.cutTails},
        {"late_ends", report.late},
        {"stored_patterns", report.storedPatterns},
        {"stored_bytes", report.storedBytes},
        {"forgotten_patterns", report.forgottenPatterns},
    };
    if (m_options.fastForward == FastForwardMode::Verify)
    {
        record["verified_ends"] = report.verified;
        record["largest_error"] = report.largestError;
        record["mean_error"] = report.meanError;
    }
    m_record->Set("fast_forward", record);
}

StopCause
SimulationRun::WhyUnfinished() const
{
    if (m_end == SimulationEnd::Interrupted)
    {
        StopCause cause = *m_supervisor.GetCause();
        cause.text += " before the workload finished";
        return cause;
    }
    if (m_end == SimulationEnd::OutOfTime)
    {
        const bool isFlag = m_options.limits.simulated == m_inputs.conf.stopTimePs;
        return {"stopped",
                std::string(isFlag ? "--max-sim-time" : "SIMULATOR_STOP_TIME") +
                    " came before the workload finished",
                1};
    }
    return {"stuck",
            m_end == SimulationEnd::Deadlock
                ? "the workload cannot finish: the network is deadlocked"
                : "the workload cannot finish: nothing is left to simulate",
            1};
}

int
SimulationRun::ReportUnfinished()
{
    const StopCause cause = WhyUnfinished();
    m_record->Set("reason", cause.text);
    m_record->Write(cause.status);
    const std::string split = m_inputs.DescribeSplitRails();
    if (cause.status == "stuck" && m_end != SimulationEnd::Deadlock && !split.empty())
    {
        std::cerr << split << "\n";
        return 1;
    }
    std::cerr << cause.text << ", waiting at " << m_backend->Now() / 1000 << " ns:\n";
    for (const std::string& line : m_backend->DescribeObstacles(MAX_WAIT_LINES))
    {
        std::cerr << "  " << line << "\n";
    }
    std::vector<std::string> lines = m_jobs->DescribeWaits();
    const auto network = m_backend->DescribeWaits(MAX_WAIT_LINES);
    lines.insert(lines.end(), network.begin(), network.end());
    for (std::size_t i = 0; i < std::min(lines.size(), MAX_WAIT_LINES); ++i)
    {
        std::cerr << "  " << lines[i] << "\n";
    }
    if (lines.size() > MAX_WAIT_LINES)
    {
        std::cerr << "  and " << lines.size() - MAX_WAIT_LINES << " more\n";
    }
    return cause.exitStatus;
}

int
SimulationRun::ReportFailures()
{
    const std::vector<std::string>& failures = m_check->GetFailures();
    m_record->Set("reason", "check failed: " + failures.front());
    m_record->Write("failed");
    for (const std::string& failure : failures)
    {
        std::cerr << "check failed: " << failure << "\n";
    }
    return 1;
}

void
SimulationRun::SayVerdict() const
{
    const std::vector<std::string> lines =
        m_jobs->GetVerdict().Lines(m_inputs.topology, m_backend->GetLinkLoads());
    for (std::size_t i = 0; i < std::min(lines.size(), MAX_VERDICT_LINES); ++i)
    {
        m_console.Say(lines[i] + "\n");
    }
}

int
SimulationRun::Report()
{
    m_backend->Finish();
    m_jobs->Finish();
    RecordResults();
    m_record->Set("outputs", m_directory->ListResults(ResultNames()));
    if (m_check)
    {
        m_check->Finish(m_jobs->AllFinished());
        m_record->Set("checked_collectives", m_check->GetCollectivesChecked());
        if (!m_check->GetFailures().empty())
        {
            return ReportFailures();
        }
    }
    if (!m_jobs->AllFinished())
    {
        return ReportUnfinished();
    }
    m_record->Write("finished");
    for (const std::string& line : m_backend->DescribeObstacles(MAX_WARNINGS))
    {
        std::cerr << "warning: " << line << "\n";
    }
    m_console.Say(m_jobs->GetSummary().Table());
    m_console.Say(m_jobs->DescribeResults());
    SayVerdict();
    m_console.Say(fmt::format("finished at {:.3f} us; {}\nresults in {}\n",
                              static_cast<double>(m_jobs->GetFinishTime()) / 1e6,
                              m_backend->DescribeTraffic(m_wallSeconds),
                              m_directory->Path()));
    return 0;
}

std::vector<std::string>
SimulationRun::ResultNames() const
{
    std::vector<std::string> names = ConfiguredResults();
    const std::vector<std::string> own = m_jobs->GetOwnResults();
    names.insert(names.end(), own.begin(), own.end());
    return names;
}

void
SimulationRun::Refuse(const std::string& reason)
{
    // Nothing but files that wait for their first line, under names that nobody takes for results.
    m_jobs.reset();
    m_backend.reset();
    m_directory->RemoveParts(ConfiguredResults());
    if (!m_directory->HasRecord() ||
        RunRecord::StatusOf(m_directory->Path("run.json")) == "refused")
    {
        m_record->Set("reason", reason);
        m_record->Write("refused");
    }
}

void
SimulationRun::Begin()
{
    std::vector<std::string> names = ResultNames();
    const std::vector<std::string> earlier = RunRecord::OutputsOf(m_directory->Path("run.json"));
    names.insert(names.end(), earlier.begin(), earlier.end());
    m_directory->RemoveEarlierResults(names);
    m_record->Write("running");
}

void
SimulationRun::Fail(const std::string& reason)
{
    m_record->Set("reason", reason);
    m_record->Write("failed");
}

int
SimulationRun::Run()
{
    m_inputs = RunInputs::Read(m_options, m_console);
    m_directory.emplace(m_options.output.empty() ? DefaultOutput() : m_options.output);
    m_directory->RemoveParts(ConfiguredResults());
    m_record = std::make_unique<RunRecord>(m_directory->Path("run.json"));
    try
    {
        RecordInputs();
        Build();
    }
    catch (const InputError& error)
    {
        Refuse(error.what());
        throw;
    }
    Begin();
    try
    {
        Simulate();
        return Report();
    }
    catch (const InputError& error)
    {
        m_supervisor.EndWatch();
        Fail(error.what()); // a trace may break far in
        throw;
    }
    catch (const std::bad_alloc&)
    {
        m_supervisor.EndWatch();
        const std::string reason = DescribeOutOfMemory();
        m_jobs.reset();
        m_check.reset();
        m_backend.reset(); // makes room for the record
        Fail(reason);
        throw;
    }
}

} // namespace

int
RunSimulation(const RunOptions& options)
{
    SimulationRun run(options);
    return run.Run();
}

} // namespace AstraSim
