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
#include "programs/frame/run-record.h"
#include "programs/frame/run-results.h"
#include "programs/frame/run-supervisor.h"
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
#include "ns3/output-directory.h"
#include "ns3/qbb-notes.h"

#include <algorithm>
#include <chrono>
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

/// One rank's part of a run; one object per process. It is no RunDriver, as all ranks agree on each
/// step here, and a rank that fails has to tell the others, or they find it dead.
class PhyRun
{
  public:
    explicit PhyRun(const PhyOptions& options)
        : m_options(options),
          m_console(options.run.quiet || m_ranks.GetRank() != 0, options.run.logLevel),
          m_supervisor(options.run.limits),
          m_loop(options.compute),
          m_inputs(options),
          m_clock(m_ranks)
    {
    }

    int Run();

  private:
    /// Results of one iteration on this rank.
    struct Iteration
    {
        RankRecorder recorder;
        std::vector<FlowRecord> flows;
        int64_t startNs{0}; ///< clock of rank 0
        TimePs total{0};    ///< of the slowest rank
    };

    /// Takes the steps before the first iteration, each of which all ranks agree on.
    std::optional<Refusal> Prepare();
    void OpenOutput();
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
    ns3::QbbBytes Notes(const Iteration& iteration, RunObserver& part, bool withFlows) const;
    std::size_t MedianIteration() const;
    void Report();
    void RecordResults(const IterationRecords& chosen, const std::vector<std::string>& clocks);
    int Fail(RankFailure failure);
    void RecordFailure(const RankFailure& failure, const std::string& text);
    int Refuse(const Refusal& refusal);

    const PhyOptions& m_options;
    RankCommunicator m_ranks;
    RunConsole m_console;
    RunSupervisor m_supervisor;
    PhysicalLoop m_loop;
    PhyInputs m_inputs;
    RankClock m_clock;
    std::optional<ns3::OutputDirectory> m_directory; ///< of rank 0
    std::unique_ptr<RunRecord> m_record;             ///< of rank 0
    std::unique_ptr<PhyNetwork> m_network; ///< its memory outlives the endpoint that writes to it
    std::unique_ptr<FabricEndpoint> m_endpoint;
    std::unique_ptr<RankWatch> m_watch;
    std::vector<std::unique_ptr<Iteration>> m_iterations;
    std::unique_ptr<Iteration> m_running;
    std::vector<std::string> m_processes; ///< of all ranks, JSON
};

void
PhyRun::OpenOutput()
{
    if (m_ranks.GetRank() != 0)
    {
        return;
    }
    m_directory.emplace(m_inputs.GetOutput());
    m_directory->RemoveParts({});
    m_directory->RemoveEarlierResults(RunRecord::OutputsOf(m_directory->Path("run.json")));
    m_record = std::make_unique<RunRecord>(m_directory->Path("run.json"));
    m_inputs.Record(*m_record);
    m_record->Write("preparing");
}

void
PhyRun::OpenFabric()
{
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
    const StopCause cause = *m_supervisor.GetCause();
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

ns3::QbbBytes
PhyRun::Notes(const Iteration& iteration, RunObserver& part, bool withFlows) const
{
    const auto align = [this, &iteration](TimePs time) {
        return m_clock.WithoutDrift(iteration.startNs, time);
    };
    return iteration.recorder.Write(m_ranks.GetRank(),
                                    part,
                                    withFlows ? iteration.flows : std::vector<FlowRecord>(),
                                    align);
}

void
PhyRun::Tell(const Iteration& iteration, bool withFlows, bool alone, RunObserver& observer) const
{
    std::vector<int> ranks(alone ? static_cast<std::size_t>(m_ranks.GetSize()) : 1);
    std::iota(ranks.begin(), ranks.end(), alone ? 0 : m_ranks.GetRank());
    MergedRecords merged(observer);
    merged.SetWorkload(m_inputs.GetWorkload());
    const ns3::QbbBytes own = Notes(iteration, merged.AddPart(ranks), withFlows);
    ns3::QbbNotes notes;
    const auto all = alone ? std::vector<ns3::QbbBytes>{own} : m_ranks.GatherAtFirst(own);
    for (const ns3::QbbBytes& bytes : all)
    {
        ns3::QbbByteReader reader(bytes);
        notes.TakeFrom(reader);
    }
    notes.Tell([](uint64_t) {});
}

std::size_t
PhyRun::MedianIteration() const
{
    std::vector<TimePs> totals;
    for (const auto& iteration : m_iterations)
    {
        totals.push_back(iteration->total);
    }
    const TimePs median = MedianOf(totals);
    return static_cast<std::size_t>(std::find(totals.begin(), totals.end(), median) -
                                    totals.begin());
}

void
PhyRun::Report()
{
    for (auto& iteration : m_iterations)
    {
        iteration->total = m_ranks.Max(iteration->recorder.GetFinishTime());
    }
    const std::size_t median = MedianIteration();
    const auto clocks = m_ranks.GatherAll(nlohmann::json{
        {"clock_offset_ns", m_clock.GetOffsetNs()},
        {"clock_error_ns", m_clock.GetErrorNs()},
        {"clock_drift_ppb", m_clock.GetDrift() * 1e9},
        {"registered_bytes", m_network->GetRegisteredBytes()},
        {"checked_results", m_inputs.GetChecked()},
        {"messages", m_network->GetMessagesReceived()},
        {"bytes",
         m_network->GetBytesReceived()}}.dump());
    const bool isFirst = m_ranks.GetRank() == 0;
    IterationTable table;
    IterationRecords chosen;
    std::optional<IterationFiles> files;
    for (std::size_t i = 0; i < m_iterations.size(); ++i)
    {
        IterationRecords records;
        WaitParts observers;
        observers.Add(i == median ? chosen : records);
        if (isFirst && i == median)
        {
            files.emplace(m_inputs.GetWorkload(),
                          static_cast<uint32_t>(m_ranks.GetSize()),
                          m_directory->Path());
            observers.Add(files->GetObserver());
        }
        Tell(*m_iterations[i], i == median, false, observers);
        observers.Finish();
        table.Add(i == median ? chosen : records);
    }
    if (!isFirst)
    {
        return;
    }
    m_console.Say(files->Finish(chosen, m_inputs.GetTopology(), true));
    table.Write(chosen, m_inputs.GetWorkload(), m_directory->Path("iterations.csv"));
    RecordResults(chosen, clocks);
    m_record->Set("outputs", m_directory->ListResults({"iterations.csv"}));
    m_record->Write("finished");
    m_console.Say(fmt::format("finished at {:.3f} us; {} flows over {}\nresults in {}\n",
                              static_cast<double>(chosen.GetFinishTime()) / 1e6,
                              chosen.GetFlows().size(),
                              m_endpoint->Describe(),
                              m_directory->Path()));
}

void
PhyRun::RecordResults(const IterationRecords& chosen, const std::vector<std::string>& clocks)
{
    std::vector<TimePs> totals;
    for (const auto& iteration : m_iterations)
    {
        totals.push_back(iteration->total);
    }
    std::vector<double> nanoseconds;
    for (const TimePs total : totals)
    {
        nanoseconds.push_back(static_cast<double>(total) / NS_TO_PS);
    }
    auto processes = nlohmann::ordered_json::array();
    for (std::size_t rank = 0; rank < m_processes.size(); ++rank)
    {
        processes.push_back(nlohmann::ordered_json::parse(m_processes[rank]));
        processes.back().update(nlohmann::ordered_json::parse(clocks[rank]));
    }
    m_record->Set("provider", m_endpoint->GetProvider());
    m_record->Set("inject_bytes", m_endpoint->GetInjectBytes());
    m_record->Set(
        "iterations_ns",
        nlohmann::ordered_json{{"min", *std::min_element(nanoseconds.begin(), nanoseconds.end())},
                               {"median", static_cast<double>(MedianOf(totals)) / NS_TO_PS},
                               {"max", *std::max_element(nanoseconds.begin(), nanoseconds.end())},
                               {"all", nanoseconds}});
    NetworkTotals carried;
    carried.flows = chosen.GetFlows().size();
    carried.events = m_loop.GetEventCount();
    RunResults{chosen.GetFinishTime(), std::nullopt, carried, chosen.GetCollectives().size(), false}
        .WriteTo(*m_record);
    m_record->Set("processes", processes);
}

void
PhyRun::RecordFailure(const RankFailure& failure, const std::string& text)
{
    if (!m_record)
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
                                 m_directory->Path());
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
            m_record->Set("collectives", records.GetCollectives().size());
        }
        m_record->Set("results_of", "rank 0 until then");
        m_record->Set("iterations_finished", m_iterations.size());
        m_record->Set("reason", text);
        m_record->Set("outputs", m_directory->ListResults({"iterations.csv"}));
        m_record->Write(failure.GetStatus());
    }
    catch (const InputError& error)
    {
        std::cerr << ns3::Legible(error.what()) << "\n";
    }
}

int
PhyRun::Fail(RankFailure failure)
{
    m_supervisor.EndWatch();
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
    if (m_ranks.GetRank() != 0)
    {
        std::this_thread::sleep_for(WRITING_TIME); // mpirun ends the others when one has ended
    }
    return failure.GetExitStatus();
}

int
PhyRun::Refuse(const Refusal& refusal)
{
    if (m_ranks.GetRank() == 0)
    {
        std::cerr << ns3::Legible(refusal.text) << "\n";
    }
    if (m_record)
    {
        m_record->Set("reason", ns3::Legible(refusal.text));
        m_record->Write("refused");
    }
    return refusal.exitStatus;
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

std::optional<Refusal>
PhyRun::Prepare()
{
    const auto read = [this] {
        RunConsole console = m_console;
        m_inputs.Read(static_cast<uint32_t>(m_ranks.GetSize()), console);
    };
    if (const auto refusal = Agree(m_ranks, read))
    {
        return refusal;
    }
    if (const auto refusal = m_inputs.Compare(m_ranks))
    {
        return refusal;
    }
    for (const auto& step : {std::function<void()>([this] { OpenOutput(); }),
                             std::function<void()>([this] { OpenFabric(); })})
    {
        if (const auto refusal = Agree(m_ranks, step))
        {
            return refusal;
        }
    }
    if (const auto refusal = FindMismatch(m_ranks, {{"the provider", m_endpoint->GetProvider()}}))
    {
        return refusal;
    }
    return Agree(m_ranks, [this] { Greet(); });
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
        if (i == 0 && m_record)
        {
            m_record->Set("first_iteration", "done");
            m_record->Write("running");
        }
    }
}

int
PhyRun::Run()
{
    if (const auto refusal = Prepare())
    {
        return Refuse(*refusal);
    }
    m_clock.Compare();
    std::vector<std::string> idle = DescribeIdleSizes(m_inputs.GetWorkload(), m_options.run.sizes);
    m_console.Warn(idle);
    m_console.Say(DescribeMicroGroups(m_inputs.GetWorkload()));
    m_supervisor.Watch([this] { m_loop.Interrupt(); });
    try
    {
        if (m_record)
        {
            m_record->Write("running"); // from Watch() on, a signal is recorded, too
        }
        IterateAll();
    }
    catch (const RankFailure& failure)
    {
        return Fail(failure);
    }
    catch (const InputError& error)
    {
        return Fail(RankFailure(RankFailure::THIS_RANK, error.what(), "failed", 2));
    }
    catch (const std::bad_alloc&)
    {
        return Fail(RankFailure(DescribeOutOfMemory()));
    }
    m_supervisor.EndWatch();
    m_watch->End();
    m_clock.CompareAgain();
    if (const auto refusal = Agree(m_ranks, [this] { Report(); }))
    {
        return Refuse(*refusal);
    }
    return 0;
}

} // namespace

int
RunPhysical(const PhyOptions& options)
{
    PhyRun run(options);
    return run.Run();
}

} // namespace AstraSim
