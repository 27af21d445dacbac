/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/model/collective/lost-switches.h"
#include "program-runs.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-driver.h"
#include "programs/frame/run-results.h"
#include "programs/frame/thread-report.h"
#include "simulator/back-ends/backend-factory.h"
#include "simulator/inputs/run-inputs.h"
#include "simulator/jobs/run-jobs.h"
#include "simulator/run/run-report.h"
#include "simulator/run/workload-threads.h"

#include "ns3/fabric-monitors.h"
#include "ns3/link-changes.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

namespace
{

constexpr std::size_t MAX_WARNINGS = 10;
constexpr std::size_t MAX_WAITS_OF_RANKS = 40;
constexpr std::size_t MAX_VERDICT_LINES = 6;

/// A whole run, from options to results; one object per run.
class SimulationRun : public RunDriver
{
  public:
    explicit SimulationRun(const RunOptions& options)
        : RunDriver(options.limits),
          m_options(options),
          m_console(options.quiet, options.logLevel)
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

    SimulationBackend& Backend() const
    {
        return m_network->GetBackend();
    }

    /// Make all that simulates and writes. @param mayReuse whether traffic may be reused
    void MakeSimulation(const BackgroundFlows& background, bool mayReuse);
    /// Reuse does not pay: begin without it.
    void BeginAnew();
    void RecordResults();
    int ReportUnfinished();
    /// A group has lost its NVSwitch: the run ends as NCCL would. @param group its name
    int ReportLostSwitches(const std::string& group);
    /// @return a line for each outage
    std::vector<std::string> DescribeOutages(const std::vector<ns3::LinkOutage>& outages) const;
    /// @return when NCCL ends with an error as NICs give up, for people; empty if it does not
    std::string DescribeNcclsEnd(const std::vector<ns3::LinkOutage>& outages);
    /// @return the same where operations by NVLS were under way, and everybody has a path
    std::string DescribeNvlsEnd(const std::vector<ns3::LinkOutage>& outages);

    bool KnowsPackets() const
    {
        return m_options.network == NetworkModel::Packet;
    }

    void SayVerdict() const;

    const RunOptions& m_options;
    RunConsole m_console;
    RunInputs m_inputs;
    std::optional<RunNetwork> m_network;
    std::unique_ptr<RunCheck> m_check; ///< null if nothing is checked
    std::unique_ptr<RunJobs> m_jobs;
    std::atomic<uint64_t> m_collectivesTotal{0}; ///< 0: unknown
    ProgressSample m_sample;                     ///< the last one
    SimulationEnd m_end{SimulationEnd::Drained};
    std::optional<std::string> m_lost; ///< group that has lost its NVSwitch
    std::mutex m_exchange;             ///< of the backend, while another thread may interrupt it
    bool m_isInterrupted{false};       ///< by another thread
};

bool
SimulationRun::ReadInputs()
{
    m_inputs = RunInputs::Read(m_options, m_console);
    return true;
}

RunDriver::Output
SimulationRun::GetOutput() const
{
    std::vector<std::string> results = ns3::FabricMonitors::FileNames(m_inputs.conf);
    if (m_jobs)
    {
        const std::vector<std::string> own = m_jobs->GetOwnResults();
        results.insert(results.end(), own.begin(), own.end());
    }
    if (!m_options.output.empty())
    {
        return {m_options.output, "", std::move(results)};
    }
    const auto stem = [](const std::string& path) {
        return std::filesystem::path(path).stem().string();
    };
    // A run that ends while it reads its inputs knows only the topology of the flag.
    const std::string& read = *m_inputs.conf.topologyFile;
    const std::string& topology = read.empty() ? m_options.topology : read;
    if (topology.empty())
    {
        return {};
    }
    std::string name;
    for (const JobPlacement& job : m_options.jobs)
    {
        name += (name.empty() ? "" : "+") + stem(job.workload);
    }
    name += "_" + std::filesystem::path(topology).filename().string();
    if (!m_options.conf.empty())
    {
        name += "_" + stem(m_options.conf);
    }
    if (m_options.network != NetworkModel::Packet)
    {
        name += std::string("_") + ToString(m_options.network);
    }
    return {"results/" + name, "", std::move(results)};
}

void
SimulationRun::Build()
{
    RecordInputs(GetRecord(), m_options, m_inputs);
    const BackgroundFlows background = BackgroundFlows::Find(m_options, m_inputs);
    if (!background.file.empty())
    {
        GetRecord().AddInput("background flows", background.file);
    }
    MakeSimulation(background, true);
}

void
SimulationRun::MakeSimulation(const BackgroundFlows& background, bool mayReuse)
{
    std::vector<std::string> warnings;
    const auto threads = ChooseThreads(m_options, m_inputs, m_console, mayReuse);
    m_network.emplace(m_options,
                      m_inputs,
                      background,
                      GetDirectory().Path(),
                      threads,
                      mayReuse,
                      warnings);
    m_jobs = std::make_unique<RunJobs>(m_options,
                                       m_inputs.topology,
                                       GetDirectory().Path(),
                                       m_network->GetCollectives(),
                                       m_console);
    if (m_options.check)
    {
        m_check = std::make_unique<RunCheck>([this] { Backend().Interrupt(); });
        if (const auto& startChecks = Backend().GetCapabilities().startChecks)
        {
            startChecks([this](const std::string& what) { m_check->Fail(what); });
        }
        m_jobs->SetCheck(*m_check);
    }
    std::vector<uint32_t> dimensions;
    for (const NetworkDimension& dimension : m_inputs.dimensions)
    {
        dimensions.push_back(dimension.npus);
    }
    m_jobs->SetLogicalDimensions(std::move(dimensions));
    if (threads && !m_network->GetForward())
    {
        m_jobs->SetPartitions(
            [this](uint32_t partition) -> MockNcclGroup& { return m_network->NcclOf(partition); });
    }
    m_jobs->SetPlanes(m_inputs.conf);
    m_jobs->SetEngines(m_inputs.conf, Backend());
    m_jobs->AddTo(Backend());
    m_console.Warn(warnings);
    m_inputs.WarnOfIdle(m_options, m_console);
}

void
SimulationRun::Start()
{
    m_collectivesTotal = m_jobs->Progress().collectivesTotal;
    if (FastForwardBackend* forward = m_network->GetForward())
    {
        forward->AllowBeginningAnew();
        forward->Start(m_collectivesTotal);
    }
    m_jobs->Start([this] { Backend().FinishWorkloads(); });
}

void
SimulationRun::Simulate()
{
    try
    {
        m_end = Backend().Run();
    }
    catch (const LostSwitches& lost)
    {
        const auto outages = Backend().Describe(0, 0).outages;
        if (std::ranges::none_of(outages, &ns3::LinkOutage::isNvLink))
        {
            throw; // there has never been one
        }
        m_lost = lost.GetGroup();
        return;
    }
    if (const auto* forward = m_network->GetForward(); forward && forward->MustBeginAnew())
    {
        BeginAnew();
        m_end = Backend().Run();
    }
}

void
SimulationRun::BeginAnew()
{
    m_console.Say("reuse does not pay: the run begins anew, with --fast-forward=off\n");
    FastForwardBackend& forward = *m_network->GetForward();
    RecordGivingUp(GetRecord(), forward, m_options);
    std::vector<std::string> warnings = forward.TakeWarnings();
    m_console.Warn(warnings);
    const std::lock_guard lock(m_exchange);
    Release();
    MakeSimulation(BackgroundFlows(), false); // with any, nothing is reused
    Start();
    if (m_isInterrupted)
    {
        Backend().Interrupt();
    }
}

ProgressSample
SimulationRun::SampleProgress()
{
    const std::unique_lock lock(m_exchange, std::try_to_lock);
    if (lock) // else the run begins anew just now
    {
        m_sample = {Backend().GetReached(),
                    m_jobs->GetSummary().GetCount(),
                    m_collectivesTotal,
                    "collectives"};
    }
    return m_sample;
}

ProgressMode
SimulationRun::GetProgressMode() const
{
    const bool isAutoAndQuiet = m_options.progress == ProgressMode::Auto && m_options.quiet;
    return isAutoAndQuiet ? ProgressMode::Never : m_options.progress;
}

void
SimulationRun::Interrupt()
{
    const std::lock_guard lock(m_exchange);
    m_isInterrupted = true;
    Backend().Interrupt();
}

void
SimulationRun::Release()
{
    m_jobs.reset();
    m_check.reset();
    m_network.reset();
}

void
SimulationRun::RecordResults()
{
    const TimePs simulated = m_jobs->AllFinished() ? m_jobs->GetFinishTime() : Backend().Now();
    RunResults{simulated, GetWallSeconds(), Backend().GetTotals(), m_jobs->GetSummary().GetCount()}
        .WriteTo(GetRecord());
    if (const uint64_t leftOut = m_jobs->CountLeftOutRequests(); leftOut > 0)
    {
        GetRecord().Set("requests_left_out", leftOut);
    }
    if (const uint64_t leftOut = m_jobs->CountLeftOutRows(); leftOut > 0)
    {
        GetRecord().Set("collectives_left_out", leftOut);
    }
    if (FastForwardBackend* forward = m_network->GetForward())
    {
        RecordReuse(GetRecord(), *forward, m_options);
        std::vector<std::string> warnings = forward->TakeWarnings();
        m_console.Warn(warnings);
    }
}

std::vector<std::string>
SimulationRun::DescribeOutages(const std::vector<ns3::LinkOutage>& outages) const
{
    std::vector<std::string> lines;
    for (const ns3::LinkOutage& outage : outages)
    {
        lines.push_back(ns3::DescribeOutage(outage, KnowsPackets()));
    }
    return lines;
}

std::string
SimulationRun::DescribeNcclsEnd(const std::vector<ns3::LinkOutage>& outages)
{
    const NcclOptions& nccl = m_options.nccl;
    const TimePs patience = nccl.GetPatience();
    const auto outlasts = [patience](const ns3::LinkOutage& outage) {
        return outage.toPs - outage.fromPs > patience;
    };
    auto fatal = std::ranges::find_if(outages, [&](const auto& outage) {
        return outlasts(outage) && !outage.cutOff.empty();
    });
    if (fatal == outages.end())
    {
        fatal = std::ranges::find_if(outages, outlasts);
    }
    if (fatal == outages.end() || nccl.networkKind.name != NetworkKind().name)
    {
        return "";
    }
    const TimePs end = fatal->fromPs + patience;
    GetRecord().Set("nccl_error_ns", static_cast<double>(end) / 1e3);
    return fmt::format("NCCL ends with an error at {:.2f} s: its NICs give up {:.2f} s after link "
                       "{} has failed (NCCL_IB_TIMEOUT {}, NCCL_IB_RETRY_CNT {})",
                       static_cast<double>(end) / 1e12,
                       static_cast<double>(patience) / 1e12,
                       fatal->ends,
                       nccl.GetIbTimeout(),
                       nccl.ibRetryCount);
}

std::string
SimulationRun::DescribeNvlsEnd(const std::vector<ns3::LinkOutage>& outages)
{
    const auto fatal = std::ranges::find_if(outages, &ns3::LinkOutage::isNvLink);
    if (fatal == outages.end())
    {
        return "";
    }
    GetRecord().Set("nccl_error_ns", static_cast<double>(fatal->fromPs) / 1e3);
    return fmt::format(
        "NCCL ends with an error at {:.3f} us: operations by NVLS end when a link of theirs fails",
        static_cast<double>(fatal->fromPs) / 1e6);
}

int
SimulationRun::ReportLostSwitches(const std::string& group)
{
    const TimePs now = Backend().Now();
    const auto outages = Backend().Describe(0, 0).outages;
    RecordOutages(GetRecord(), outages, KnowsPackets());
    GetRecord().Set("simulated_ns", static_cast<double>(now) / 1e3);
    GetRecord().Set("nccl_error_ns", static_cast<double>(now) / 1e3);
    const std::string reason =
        fmt::format("the workload cannot finish: group {} lost its NVSwitch at {:.3f} us, and NCCL "
                    "ends with an error there",
                    group,
                    static_cast<double>(now) / 1e6);
    EndRecord("stuck", reason);
    std::cerr << reason << ":\n";
    PrintIndented(DescribeOutages(outages), MAX_WARNINGS);
    return 1;
}

int
SimulationRun::ReportUnfinished()
{
    const StopCause cause =
        DescribeEnd(m_end, m_options.limits.simulated == m_inputs.conf.stopTimePs);
    const std::string split = m_inputs.DescribeSplitRails();
    if (m_end == SimulationEnd::Drained && !split.empty())
    {
        EndRecord(cause.status, cause.text);
        std::cerr << split << "\n";
        return 1;
    }
    const NetworkDescription network = Backend().Describe(GetWallSeconds(), MAX_WAITS_OF_RANKS);
    std::vector<std::string> causes = DescribeOutages(network.outages);
    if (m_end == SimulationEnd::Drained)
    {
        const std::string end = network.obstacles.empty() ? DescribeNvlsEnd(network.outages)
                                                          : DescribeNcclsEnd(network.outages);
        causes.insert(causes.end(), end.empty() ? 0 : 1, end);
    }
    causes.insert(causes.end(), network.obstacles.begin(), network.obstacles.end());
    std::vector<std::string> lines = m_jobs->DescribeWaits();
    lines.insert(lines.end(), network.waits.begin(), network.waits.end());
    RunDriver::ReportUnfinished(cause, Backend().Now(), {causes, lines}, MAX_WAITS_OF_RANKS);
    if (m_network->ReusesByItself())
    {
        std::cerr << "--fast-forward=off tells which messages are waited for\n";
    }
    return cause.exitStatus;
}

void
SimulationRun::SayVerdict() const
{
    const bool nvlsOff = !m_options.nccl.nvlsEnable && m_network->GetNccl().GetMachine().HasNvls();
    const std::vector<std::string> lines =
        m_jobs->GetVerdict().Lines(m_inputs.topology,
                                   Backend().GetLinkLoads(),
                                   {m_options.nccl.sendLatency.value_or(0), nvlsOff});
    for (std::size_t i = 0; i < std::min(lines.size(), MAX_VERDICT_LINES); ++i)
    {
        m_console.Say(lines[i] + "\n");
    }
    if (const uint64_t cnps = Backend().GetTotals().cnps; cnps > 0 && !lines.empty())
    {
        m_console.Say(fmt::format("{} congestion notifications slowed senders; run the same with "
                                  "--network flow to see what that costs\n",
                                  cnps));
    }
}

int
SimulationRun::Report()
{
    if (m_lost)
    {
        return ReportLostSwitches(*m_lost);
    }
    Backend().Finish();
    m_jobs->Finish();
    RecordResults();
    const NetworkDescription network = Backend().Describe(GetWallSeconds(), MAX_WARNINGS);
    std::vector<std::string> trouble = network.trouble;
    if (m_jobs->AllFinished())
    {
        trouble.insert(trouble.end(), network.obstacles.begin(), network.obstacles.end());
    }
    m_console.Warn(trouble);
    GetRecord().Set("warnings", m_console.GetWarnings());
    RecordOutages(GetRecord(), network.outages, KnowsPackets());
    if (m_check)
    {
        m_check->Finish(m_jobs->AllFinished());
        const auto& engines = Backend().GetCapabilities().engines;
        GetRecord().Set("checked_collectives",
                        m_check->GetCollectivesChecked() + (engines ? engines->countChecked() : 0));
        if (!m_check->GetFailures().empty())
        {
            return ReportFailures(m_check->GetFailures());
        }
    }
    if (!m_jobs->AllFinished())
    {
        return ReportUnfinished();
    }
    EndRecord("finished");
    m_console.Say(m_jobs->GetSummary().Table());
    m_console.Say(m_jobs->DescribeResults());
    SayVerdict();
    if (const FastForwardBackend* forward = m_network->GetForward())
    {
        m_console.Say(forward->SayApproximations(""));
    }
    for (const std::string& line : DescribeOutages(network.outages))
    {
        m_console.Say(line + "\n");
    }
    m_console.Say(m_jobs->DescribeLeftOutRows());
    m_console.Say(DescribeThreads());
    m_console.Say(fmt::format("finished at {:.3f} us; {}\nresults in {}\n",
                              static_cast<double>(m_jobs->GetFinishTime()) / 1e6,
                              network.traffic,
                              GetDirectory().Path()));
    return 0;
}

} // namespace

int
RunSimulation(const RunOptions& options)
{
    SimulationRun run(options);
    return run.Run();
}

} // namespace AstraSim
