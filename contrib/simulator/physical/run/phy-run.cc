/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-run.h"

#include "astra-frontend/model/system/job.h"
#include "astra-frontend/model/system/wait-parts.h"
#include "phy-inputs.h"
#include "phy-results.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/run-console.h"
#include "programs/frame/run-driver.h"
#include "programs/frame/run-record.h"
#include "programs/frame/run-results.h"
#include "simulator/inputs/idle-options.h"
#include "simulator/jobs/micro-groups.h"
#include "simulator/physical/fabric-endpoint.h"
#include "simulator/physical/phy-network.h"
#include "simulator/physical/physical-loop.h"
#include "simulator/physical/rank-agreement.h"
#include "simulator/physical/rank-clock.h"
#include "simulator/physical/rank-communicator.h"
#include "simulator/physical/rank-failure.h"
#include "simulator/physical/rank-recorder.h"
#include "simulator/physical/rank-watch.h"
#include "simulator/records/merged-records.h"

#include "ns3/input-error.h"
#include "ns3/legible.h"
#include "ns3/qbb-notes.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <unistd.h>

namespace AstraSim
{

using ns3::InputError;

namespace
{

constexpr int64_t START_DELAY_NS = 5'000'000;          ///< from the agreement on a start to it
constexpr std::chrono::milliseconds WRITING_TIME{700}; ///< that rank 0 has when others end
constexpr double NS_TO_PS = 1000;

/// One rank's part of a run; one object per process. The ranks agree on each step, and one that
/// fails tells the others, or they find it dead. Rank 0 has the directory of the results.
class PhyRun : public RunDriver
{
  public:
    explicit PhyRun(const PhyOptions& options)
        : RunDriver(options.run.limits),
          m_options(options),
          m_console(options.run.quiet || !IsFirst(), options.run.logLevel),
          m_loop(options.compute),
          m_inputs(options),
          m_clock(m_ranks)
    {
    }

    bool IsFirst() const
    {
        return m_ranks.GetRank() == 0;
    }

  private:
    bool ReadInputs() override;
    Output GetOutput() const override;
    void Build() override;
    void Start() override;
    void Simulate() override;
    int Report() override;

    void Agree(const std::exception_ptr& failure) override
    {
        AstraSim::Agree(m_ranks, failure);
    }

    void Interrupt() override
    {
        m_loop.Interrupt();
    }

    ProgressSample SampleProgress() override
    {
        const uint64_t all = m_options.warmup + m_options.iterations;
        return {ProgressSample::REAL_TIME, m_done, all, "iterations"};
    }

    ProgressMode GetProgressMode() const override
    {
        return IsFirst() && !m_options.run.quiet ? ProgressMode::Auto : ProgressMode::Never;
    }

    /// Results of one iteration on this rank.
    struct Iteration
    {
        RankRecorder recorder;
        std::vector<FlowRecord> flows;
        int64_t startNs{0}; ///< clock of rank 0
    };

    void OpenFabric();
    void Connect();
    /// Connects, and hears from every other rank.
    void Greet();
    void IterateAll();
    void Iterate(uint32_t number, Iteration& iteration);
    void Progress();
    void CheckInterrupt();
    void BeginTogether(Iteration& iteration);
    /// Pass the records of all ranks to an observer on rank 0. @param alone only this rank's, in
    /// place of all
    void Tell(const Iteration& iteration, bool withFlows, bool alone, RunObserver& observer) const;
    void ReportIterations();
    void RecordResults(const IterationRecords& chosen, const std::vector<std::string>& clocks);
    int Fail(RankFailure failure);
    void RecordFailure(const RankFailure& failure, const std::string& text);

    const PhyOptions& m_options;
    RankCommunicator m_ranks;
    RunConsole m_console;
    PhysicalLoop m_loop;
    PhyInputs m_inputs;
    RankClock m_clock;
    std::unique_ptr<PhyNetwork> m_network; ///< its memory outlives the endpoint that writes to it
    std::unique_ptr<FabricEndpoint> m_endpoint;
    std::unique_ptr<RankWatch> m_watch;
    std::vector<std::unique_ptr<Iteration>> m_iterations;
    std::vector<TimePs> m_totals; ///< of m_iterations, on the slowest rank
    std::unique_ptr<Iteration> m_running;
    std::atomic<uint64_t> m_done{0};      ///< iterations, with those that do not count
    std::optional<RankFailure> m_failure; ///< the end of the iterations, if they did not finish
    std::vector<std::string> m_processes; ///< of all ranks, JSON
};

bool
PhyRun::ReadInputs()
{
    m_inputs.Read(static_cast<uint32_t>(m_ranks.GetSize()), m_console);
    return true;
}

RunDriver::Output
PhyRun::GetOutput() const
{
    return IsFirst() ? Output{m_inputs.GetOutput(), "", {"iterations.csv"}} : Output{};
}

void
PhyRun::Build()
{
    m_inputs.Compare(m_ranks);
    Take([this] { OpenFabric(); });
    CompareFacts(m_ranks, {{"the provider", m_endpoint->GetProvider()}});
    Greet();
}

void
PhyRun::Start()
{
    m_clock.Compare();
    std::vector<std::string> idle = DescribeIdleSizes(m_inputs.GetWorkload(), m_options.run.sizes);
    m_console.Warn(idle);
    m_console.Say(DescribeMicroGroups(m_inputs.GetWorkload()));
}

void
PhyRun::OpenFabric()
{
    if (HasRecord())
    {
        m_inputs.Record(GetRecord());
    }
    const bool onOneHost = m_ranks.GetLocalSize() == m_ranks.GetSize();
    m_endpoint =
        FabricEndpoint::Open(FabricChoice::Make(m_options.provider,
                                                m_options.devices,
                                                static_cast<uint32_t>(m_ranks.GetLocalRank()),
                                                onOneHost));
}

void
PhyRun::Connect()
{
    const auto addresses = m_ranks.GatherAll(m_endpoint->GetAddress());
    m_endpoint->Connect(addresses);
    m_network = std::make_unique<PhyNetwork>(m_ranks.GetRank(),
                                             m_ranks.GetSize(),
                                             m_loop,
                                             *m_endpoint,
                                             m_options.verify);
    m_processes = m_ranks.GatherAll(nlohmann::json{
        {"rank", m_ranks.GetRank()},
        {"host", HostName()},
        {"pid", getpid()},
        {"fabric",
         m_endpoint->Describe()}}.dump());
    std::vector<RankProcess> processes;
    for (const std::string& text : m_processes)
    {
        const auto json = nlohmann::json::parse(text);
        processes.push_back({json["host"], json["pid"]});
    }
    m_watch = std::make_unique<RankWatch>(*m_network, processes, m_options.timeoutSeconds);
}

void
PhyRun::Progress()
{
    m_network->Progress();
    m_watch->Look();
    CheckInterrupt();
}

void
PhyRun::CheckInterrupt()
{
    if (!m_loop.IsInterrupted())
    {
        return;
    }
    // mpirun ends the others when a process dies: its death is the cause, not the signal.
    if (const auto dead = m_watch->FindDead())
    {
        throw RankFailure(*dead, RankWatch::DEATH);
    }
    const StopCause cause = GetStopCause();
    throw RankFailure(RankFailure::THIS_RANK, cause.text, cause.status, cause.exitStatus);
}

void
PhyRun::BeginTogether(Iteration& iteration)
{
    const auto wait = [this] { Progress(); };
    m_ranks.Barrier(wait);
    iteration.startNs = m_ranks.Broadcast(PhysicalLoop::MonotonicNs() + START_DELAY_NS, wait);
    m_loop.SetStart(m_clock.FromFirst(iteration.startNs));
    while (m_loop.Now() < 0)
    {
        Progress();
    }
}

void
PhyRun::Iterate(uint32_t number, Iteration& iteration)
{
    const auto workload = m_inputs.OpenWorkload();
    JobDescription description;
    description.workload = workload.get();
    description.ranks.resize(static_cast<std::size_t>(m_ranks.GetSize()));
    std::iota(description.ranks.begin(), description.ranks.end(), 0);
    description.nccl = &m_inputs.GetCollectives();
    description.network = [this](int) -> RankNetwork& { return *m_network; };
    description.observer = &iteration.recorder;
    description.sample = [this]() -> std::vector<uint32_t> {
        return {static_cast<uint32_t>(m_ranks.GetRank())};
    };
    Job job(std::move(description));
    m_network->BeginIteration(number);
    BeginTogether(iteration);
    job.Start();
    m_loop.RunUntil(
        [this] {
            const bool any = m_network->Progress();
            m_watch->Look();
            CheckInterrupt();
            return any;
        },
        [this, &job] { return job.Finished() && m_network->GetOpen() == 0; });
    CheckInterrupt();
    iteration.flows = m_network->GetFlows();
    m_ranks.Barrier([this] { Progress(); });
}

void
PhyRun::Tell(const Iteration& iteration, bool withFlows, bool alone, RunObserver& observer) const
{
    std::vector<int> ranks(alone ? static_cast<std::size_t>(m_ranks.GetSize()) : 1);
    std::iota(ranks.begin(), ranks.end(), alone ? 0 : m_ranks.GetRank());
    MergedRecords merged(observer);
    merged.SetWorkload(m_inputs.GetWorkload());
    const ns3::QbbBytes own = iteration.recorder.Write(
        m_ranks.GetRank(),
        merged.AddPart(ranks),
        withFlows ? iteration.flows : std::vector<FlowRecord>(),
        [&](TimePs time) { return m_clock.WithoutDrift(iteration.startNs, time); });
    ns3::QbbNotes notes;
    const auto all = alone ? std::vector<ns3::QbbBytes>{own} : m_ranks.GatherAtFirst(own);
    for (const ns3::QbbBytes& bytes : all)
    {
        ns3::QbbByteReader reader(bytes);
        notes.TakeFrom(reader);
    }
    notes.Tell([](uint64_t) {});
}

void
PhyRun::ReportIterations()
{
    for (const auto& iteration : m_iterations)
    {
        m_totals.push_back(m_ranks.Max(iteration->recorder.GetFinishTime()));
    }
    const auto median = static_cast<std::size_t>(std::ranges::find(m_totals, MedianOf(m_totals)) -
                                                 m_totals.begin());
    const auto clocks = m_ranks.GatherAll(nlohmann::json{
        {"clock_offset_ns", m_clock.GetOffsetNs()},
        {"clock_error_ns", m_clock.GetErrorNs()},
        {"clock_drift_ppb", m_clock.GetDrift() * 1e9},
        {"registered_bytes", m_network->GetRegisteredBytes()},
        {"checked_results", m_inputs.GetChecked()},
        {"messages", m_network->GetMessagesReceived()},
        {"bytes",
         m_network->GetBytesReceived()}}.dump());
    IterationTable table;
    IterationRecords chosen;
    std::optional<IterationFiles> files;
    for (std::size_t i = 0; i < m_iterations.size(); ++i)
    {
        IterationRecords records;
        WaitParts observers;
        observers.Add(i == median ? chosen : records);
        if (IsFirst() && i == median)
        {
            files.emplace(m_inputs.GetWorkload(),
                          static_cast<uint32_t>(m_ranks.GetSize()),
                          GetDirectory().Path());
            observers.Add(files->GetObserver());
        }
        Tell(*m_iterations[i], i == median, false, observers);
        observers.Finish();
        table.Add(i == median ? chosen : records);
    }
    if (!IsFirst())
    {
        return;
    }
    m_console.Say(files->Finish(chosen, m_inputs.GetTopology(), true));
    table.Write(chosen, m_inputs.GetWorkload(), GetDirectory().Path("iterations.csv"));
    RecordResults(chosen, clocks);
    GetRecord().Set("warnings", m_console.GetWarnings());
    EndRecord("finished");
    m_console.Say(fmt::format("finished at {:.3f} us; {} flows over {}\nresults in {}\n",
                              static_cast<double>(chosen.GetFinishTime()) / 1e6,
                              chosen.GetFlows().size(),
                              m_endpoint->Describe(),
                              GetDirectory().Path()));
}

void
PhyRun::RecordResults(const IterationRecords& chosen, const std::vector<std::string>& clocks)
{
    std::vector<double> nanoseconds;
    for (const TimePs total : m_totals)
    {
        nanoseconds.push_back(static_cast<double>(total) / NS_TO_PS);
    }
    auto processes = nlohmann::ordered_json::array();
    for (std::size_t rank = 0; rank < m_processes.size(); ++rank)
    {
        processes.push_back(nlohmann::ordered_json::parse(m_processes[rank]));
        processes.back().update(nlohmann::ordered_json::parse(clocks[rank]));
    }
    GetRecord().Set("provider", m_endpoint->GetProvider());
    GetRecord().Set("inject_bytes", m_endpoint->GetInjectBytes());
    GetRecord().Set(
        "iterations_ns",
        nlohmann::ordered_json{{"min", std::ranges::min(nanoseconds)},
                               {"median", static_cast<double>(MedianOf(m_totals)) / NS_TO_PS},
                               {"max", std::ranges::max(nanoseconds)},
                               {"all", nanoseconds}});
    NetworkTotals carried;
    carried.flows = chosen.GetFlows().size();
    carried.events = m_loop.GetEventCount();
    RunResults{chosen.GetFinishTime(), std::nullopt, carried, chosen.GetCollectives().size(), false}
        .WriteTo(GetRecord());
    GetRecord().Set("processes", processes);
}

void
PhyRun::RecordFailure(const RankFailure& failure, const std::string& text)
{
    if (!HasRecord())
    {
        if (failure.GetRank() == 0 && failure.what() == std::string(RankWatch::DEATH))
        {
            RunRecord::MarkFailed(m_inputs.GetOutput() + "/run.json", text);
        }
        return;
    }
    try
    {
        const Iteration* last = m_running               ? m_running.get()
                                : !m_iterations.empty() ? m_iterations.back().get()
                                                        : nullptr;
        if (last)
        {
            IterationFiles files(m_inputs.GetWorkload(),
                                 static_cast<uint32_t>(m_ranks.GetSize()),
                                 GetDirectory().Path());
            IterationRecords records;
            WaitParts observers;
            observers.Add(records);
            observers.Add(files.GetObserver());
            Tell(*last, true, true, observers);
            observers.Finish();
            // As in a simulation: a run that somebody ended leaves results so far, a failed one
            // leaves none.
            if (failure.GetStatus() == "failed")
            {
                files.Abandon(records, m_inputs.GetTopology());
            }
            else
            {
                files.Finish(records, m_inputs.GetTopology(), false);
            }
            GetRecord().Set("collectives", records.GetCollectives().size());
        }
        GetRecord().Set("results_of", "rank 0 until then");
        GetRecord().Set("iterations_finished", m_iterations.size());
        EndRecord(failure.GetStatus(), text);
    }
    catch (const InputError& error)
    {
        std::cerr << ns3::Legible(error.what()) << "\n";
    }
}

int
PhyRun::Fail(RankFailure failure)
{
    m_network->Abandon();
    // This rank was stopped for a while, and the others have already ended the run for that.
    const bool wasAway = m_watch->WasAway() && failure.what() != std::string("SIGINT");
    if (wasAway)
    {
        failure = failure.Told();
    }
    if (!failure.WasTold() && failure.GetRank() == RankFailure::THIS_RANK)
    {
        // A connection breaks when the process at its other end dies.
        if (const auto dead = m_watch->FindDead())
        {
            failure = RankFailure(*dead, RankWatch::DEATH);
        }
    }
    const int rank =
        failure.GetRank() == RankFailure::THIS_RANK ? m_ranks.GetRank() : failure.GetRank();
    const std::string text =
        ns3::Legible(fmt::format("{}: {}", m_watch->Name(rank), failure.what()));
    const auto speak = [&text] { std::cerr << text + "\n" << std::flush; };
    const bool isDeath = failure.what() == std::string(RankWatch::DEATH);
    if (isDeath && !wasAway && m_watch->SpeaksFor(rank))
    {
        speak(); // at once: mpirun soon kills all
    }
    if (!failure.WasTold() && m_watch->TellAll(failure) && !isDeath)
    {
        speak();
    }
    if (m_running)
    {
        m_running->flows = m_network->GetFlows();
    }
    RecordFailure(failure, text);
    if (!IsFirst())
    {
        std::this_thread::sleep_for(WRITING_TIME); // mpirun ends the others when one has ended
    }
    return failure.GetExitStatus();
}

void
PhyRun::Greet()
{
    Connect();
    const std::string silent = m_watch->Greet();
    // A rank that has all answers still makes progress, as others wait for its own.
    m_ranks.Barrier([this] { m_network->Progress(); });
    if (!silent.empty())
    {
        throw RankFailure(silent + " over " + m_endpoint->Describe());
    }
    if (m_ranks.GetSize() <= RankWatch::ALL_PAIRS)
    {
        m_endpoint->ForgetNames();
    }
}

void
PhyRun::IterateAll()
{
    for (uint32_t i = 0; i < m_options.warmup + m_options.iterations; ++i)
    {
        m_running = std::make_unique<Iteration>();
        Iterate(i, *m_running);
        if (i >= m_options.warmup)
        {
            m_iterations.push_back(std::move(m_running));
        }
        m_running.reset();
        ++m_done;
        if (i == 0 && HasRecord())
        {
            GetRecord().Set("first_iteration", "done");
            GetRecord().Write("running");
        }
    }
}

void
PhyRun::Simulate()
{
    try
    {
        IterateAll();
    }
    catch (const RankFailure& failure)
    {
        m_failure = failure;
    }
    catch (const InputError& error)
    {
        m_failure = RankFailure(RankFailure::THIS_RANK, error.what(), "failed", 2);
    }
    catch (const std::bad_alloc&)
    {
        m_failure = RankFailure(DescribeOutOfMemory());
    }
}

int
PhyRun::Report()
{
    if (m_failure)
    {
        return Fail(*m_failure);
    }
    m_watch->End();
    m_clock.CompareAgain();
    Take([this] { ReportIterations(); });
    return 0;
}

} // namespace

int
RunPhysical(const PhyOptions& options)
{
    PhyRun run(options);
    try
    {
        return run.Run();
    }
    catch (const Refusal& refusal)
    {
        if (run.IsFirst())
        {
            std::cerr << ns3::Legible(refusal.what()) << "\n";
        }
        return refusal.GetExitStatus();
    }
}

} // namespace AstraSim
