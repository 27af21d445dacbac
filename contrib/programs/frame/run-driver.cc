/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-driver.h"

#include "ns3/input-error.h"
#include "ns3/legible.h"
#include "ns3/qbb-processes.h"

#include <algorithm>
#include <boost/scope_exit.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>

namespace AstraSim
{

namespace
{

std::string
MakeTemporaryDirectory()
{
    std::string path = (std::filesystem::temp_directory_path() / "simai-XXXXXX").string();
    if (!::mkdtemp(path.data()))
    {
        throw ns3::InputError(path, 0, "cannot be made", "room for temporary files (TMPDIR)");
    }
    return path;
}

/// Memory needed to write a record. malloc maps so large a piece by itself, and gives it back.
constexpr std::size_t RESERVE_BYTES = 1 << 20;

} // namespace

RunDriver::RunDriver(const RunLimits& limits)
    : m_supervisor(limits),
      m_progressSeconds(limits.progressSeconds),
      m_reserve(std::make_unique_for_overwrite<char[]>(RESERVE_BYTES))
{
}

RunDriver::~RunDriver()
{
    if (!m_temporary.empty())
    {
        std::error_code error;
        std::filesystem::remove_all(m_temporary, error);
    }
}

RunRecord&
RunDriver::GetRecord()
{
    return *m_record;
}

const ns3::OutputDirectory&
RunDriver::GetDirectory() const
{
    return *m_directory;
}

const RunSupervisor&
RunDriver::GetSupervisor() const
{
    return m_supervisor;
}

double
RunDriver::GetWallSeconds() const
{
    return m_wallSeconds;
}

void
RunDriver::OpenDirectory()
{
    Output output = GetOutput();
    if (!output.directory.empty())
    {
        if (const ns3::QbbProcesses* processes = ns3::QbbProcesses::Get();
            processes && processes->GetRank() > 0)
        {
            m_theirs = std::filesystem::path(output.directory) / (output.prefix + "run.json");
            // The results of this process stay empty: they go to a directory of its own, removed at
            // the end.
            output = {MakeTemporaryDirectory(), "", std::move(output.results)};
            m_temporary = output.directory;
        }
        m_directory.emplace(output.directory, output.prefix);
        m_directory->RemoveParts(output.results);
        m_record.emplace(m_directory->Path("run.json"));
    }
}

void
RunDriver::Abandon(const std::string& status, const std::string& reason)
{
    // Only files without a first line exist, under names that do not look like results (".part").
    Release();
    m_directory->RemoveParts(GetOutput().results);
    RecordWithoutResults(status, reason);
}

void
RunDriver::RecordWithoutResults(const std::string& status, const std::string& reason)
{
    const std::string path = m_directory->Path("run.json");
    if (!m_directory->HasRecord() || RunRecord::StatusOf(path) == "refused" ||
        m_directory->ListResults(RunRecord::OutputsOf(path)).empty())
    {
        m_record->Set("reason", ns3::Legible(reason));
        m_record->Write(status);
    }
}

std::string
RunDriver::GiveUpReserve()
{
    m_reserve.reset();
    return DescribeOutOfMemory();
}

void
RunDriver::AbandonWithoutMemory()
{
    const std::string reason = GiveUpReserve();
    try
    {
        if (!m_record)
        {
            OpenDirectory();
        }
        if (m_record)
        {
            Abandon("failed", reason);
        }
    }
    catch (const ns3::InputError& error)
    {
        std::cerr << "warning: " << ns3::Legible(error.what()) << "\n";
    }
}

std::string
RunDriver::RecordOutOfMemory()
{
    const std::string reason = GiveUpReserve();
    if (m_isBuilt)
    {
        RecordFailure(reason);
    }
    else if (m_record)
    {
        RecordWithoutResults("failed", reason);
    }
    return reason;
}

void
RunDriver::RecordFailure(const std::string& reason)
{
    if (!m_record)
    {
        return;
    }
    m_record->Set("reason", ns3::Legible(reason));
    try
    {
        m_record->Write("failed");
    }
    catch (const ns3::InputError& error)
    {
        std::cerr << "warning: " << ns3::Legible(error.what())
                  << "\n"; // a second failure: the first is printed at the end
    }
}

void
RunDriver::RecordLoss(const LostProcess& lost)
{
    RecordFailure(lost.what());
    if (!m_theirs.empty() && lost.GetProcess() == 0)
    {
        RunRecord::MarkFailed(m_theirs, lost.what());
    }
}

void
RunDriver::Begin()
{
    m_supervisor.Hold();
    if (!m_directory)
    {
        return;
    }
    std::vector<std::string> names = GetOutput().results;
    const std::vector<std::string> earlier = RunRecord::OutputsOf(m_directory->Path("run.json"));
    names.insert(names.end(), earlier.begin(), earlier.end());
    m_directory->RemoveEarlierResults(names);
    m_record->Write("running");
}

void
RunDriver::EndRecord(const std::string& status, const std::string& reason)
{
    if (!m_record)
    {
        return;
    }
    if (!reason.empty())
    {
        m_record->Set("reason", reason);
    }
    m_record->Set("outputs", m_directory->ListResults(GetOutput().results));
    m_record->Write(status);
}

int
RunDriver::ReportFailures(const std::vector<std::string>& failures)
{
    EndRecord("failed", "check failed: " + failures.front());
    for (const std::string& failure : failures)
    {
        std::cerr << "check failed: " << ns3::Legible(failure) << "\n";
    }
    return 1;
}

int
RunDriver::ReportUnfinished(const StopCause& cause,
                            int64_t nowPs,
                            const std::vector<std::vector<std::string>>& waits,
                            std::size_t most)
{
    EndRecord(cause.status, cause.text);
    std::cerr << cause.text << ", waiting at " << nowPs / 1000 << " ns:\n";
    for (const std::vector<std::string>& lines : waits)
    {
        PrintIndented(lines, most);
    }
    return cause.exitStatus;
}

StopCause
RunDriver::GetStopCause() const
{
    return m_supervisor.GetCause().value_or(
        StopCause{"stopped", "another process of the run was stopped", 1});
}

StopCause
RunDriver::DescribeEnd(SimulationEnd end, bool isFlag) const
{
    switch (end)
    {
    case SimulationEnd::Interrupted: {
        StopCause cause = GetStopCause();
        cause.text += " before the workload finished";
        return cause;
    }
    case SimulationEnd::OutOfTime:
        return {"stopped",
                std::string(isFlag ? "--max-sim-time" : "SIMULATOR_STOP_TIME") +
                    " came before the workload finished",
                1};
    case SimulationEnd::Deadlock:
        return {"stuck", "the workload cannot finish: the network is deadlocked", 1};
    default:
        return {"stuck", "the workload cannot finish: nothing is left to simulate", 1};
    }
}

void
RunDriver::Execute()
{
    const ns3::QbbProcesses* processes = ns3::QbbProcesses::Get();
    RunProgress progress(
        processes && processes->GetRank() > 0 ? ProgressMode::Never : GetProgressMode(),
        [this] { return SampleProgress(); },
        m_record ? &*m_record : nullptr,
        m_progressSeconds);
    m_supervisor.Watch([this] { Interrupt(); },
                       [&progress] { progress.Look(RunProgress::Clock::now()); });
    BOOST_SCOPE_EXIT_ALL(this, &progress)
    {
        m_supervisor.EndWatch();
        progress.End();
    };
    Start();
    const auto begin = std::chrono::steady_clock::now();
    Simulate();
    m_wallSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void
RunDriver::Agree(const std::exception_ptr& failure)
{
    ns3::ThrowInAllProcesses(failure);
}

void
RunDriver::Take(const std::function<void()>& step)
{
    std::exception_ptr failure;
    try
    {
        step();
    }
    catch (...)
    {
        failure = std::current_exception();
    }
    Agree(failure);
}

bool
RunDriver::Prepare()
{
    try
    {
        bool hasWork = false;
        Take([&] { hasWork = ReadInputs(); });
        if (hasWork)
        {
            Take([this] { OpenDirectory(); });
            Take([this] { Build(); });
        }
        return hasWork;
    }
    catch (const ns3::InputError& error)
    {
        if (m_record)
        {
            Abandon("refused", error.what());
        }
        throw;
    }
    catch (const LostProcess& lost)
    {
        if (m_record)
        {
            Abandon("failed", lost.what());
        }
        throw;
    }
    catch (const std::bad_alloc&)
    {
        AbandonWithoutMemory();
        throw;
    }
}

int
RunDriver::Run()
{
    if (!Prepare())
    {
        return 0;
    }
    m_isBuilt = true;
    Begin();
    try
    {
        Execute();
        return Report();
    }
    catch (const ns3::InputError& error)
    {
        RecordFailure(error.what()); // a trace may break far in, a disk may fill
        throw;
    }
    catch (const LostProcess& lost)
    {
        RecordLoss(lost);
        throw;
    }
    catch (const std::bad_alloc&)
    {
        Release(); // makes room for the record
        RecordOutOfMemory();
        throw;
    }
}

void
PrintIndented(const std::vector<std::string>& lines, std::size_t most)
{
    for (std::size_t i = 0; i < std::min(lines.size(), most); ++i)
    {
        std::cerr << "  " << ns3::Legible(lines[i]) << "\n";
    }
    if (lines.size() > most)
    {
        std::cerr << "  and " << lines.size() - most << " more\n";
    }
}

} // namespace AstraSim
