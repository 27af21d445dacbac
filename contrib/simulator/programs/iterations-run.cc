/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "astra-frontend/model/system/json-file.h"
#include "program-runs.h"
#include "programs/frame/ending-signals.h"
#include "programs/frame/guarded-main.h"
#include "programs/frame/run-record.h"
#include "simulator/options/run-replay.h"

#include "ns3/columns.h"
#include "ns3/input-error.h"
#include "ns3/output-directory.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace AstraSim
{

namespace
{

constexpr const char* RUN_NUMBER = "--RngRun=";

/// An iteration, for its row.
struct PassRecord
{
    uint32_t pass;
    std::string status;
    double startNs;
    double durationNs;
};

const ns3::Columns<PassRecord>&
PassColumns()
{
    using Of = const PassRecord&;
    static const ns3::Columns<PassRecord> columns{
        {"pass", "the iteration, from 0", [](Of record) { return record.pass; }},
        {"status",
         "``finished``, or why it ended early, as in its `run.json`_",
         [](Of record) { return record.status; }},
        {"start_ns", "the end of the iteration before", [](Of record) { return record.startNs; }},
        {"end_ns",
         "its start and its duration",
         [](Of record) { return record.startNs + record.durationNs; }},
        {"duration_ns", "simulated time", [](Of record) { return record.durationNs; }},
    };
    return columns;
}

/// Tells of the signals that end a run and of the end of processes, which are blocked as long as it
/// lives.
class Signals
{
  public:
    Signals()
    {
        sigset_t set = EndingSignals();
        sigaddset(&set, SIGCHLD);
        pthread_sigmask(SIG_BLOCK, &set, &m_before);
        m_descriptor = signalfd(-1, &set, SFD_CLOEXEC);
    }

    ~Signals()
    {
        close(m_descriptor);
        if (!m_hasEnding) // otherwise a second signal of the same request may follow
                          // (RunSupervisor)
        {
            pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
        }
    }

    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    /// @return the next signal
    int Wait()
    {
        signalfd_siginfo information{};
        while (read(m_descriptor, &information, sizeof information) != sizeof information)
        {
        }
        const auto signal = static_cast<int>(information.ssi_signo);
        m_hasEnding = m_hasEnding || signal != SIGCHLD;
        return signal;
    }

    /// Have signals act again as before, in a new process.
    void Restore() const
    {
        close(m_descriptor);
        pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }

  private:
    sigset_t m_before{};
    int m_descriptor;
    bool m_hasEnding{false};
};

/// Result of one iteration, as its run.json says.
struct Iteration
{
    std::string status;
    double durationNs{0};
};

/// One run of several iterations; one object per run.
class IterationsRun
{
  public:
    explicit IterationsRun(const RunOptions& options)
        : m_options(options),
          m_begin(std::chrono::steady_clock::now()),
          m_directory(options.output)
    {
    }

    int Run();

  private:
    std::string PathOf(uint32_t pass) const;
    Iteration Look(uint32_t pass) const;
    RunOptions OptionsOf(uint32_t pass) const;
    int Simulate(uint32_t pass);
    void RemoveEarlier();
    void CheckInputs(uint32_t pass) const;
    void WriteRecord() const;
    void WriteTable() const;
    std::optional<std::string> LimitReached() const;

    const RunOptions& m_options;
    std::chrono::steady_clock::time_point m_begin;
    ns3::OutputDirectory m_directory;
    double m_simulatedNs{0}; ///< by the iterations so far
    Signals m_signals;
    int m_signal{0}; ///< that ends the run; 0 if none came
};

std::string
IterationsRun::PathOf(uint32_t pass) const
{
    return fmt::format("{}/pass-{}", m_options.output, pass);
}

Iteration
IterationsRun::Look(uint32_t pass) const
{
    const std::string path = PathOf(pass) + "/run.json";
    if (!std::filesystem::exists(path))
    {
        return {"", 0};
    }
    const nlohmann::json record = ReadJsonObject(path, "run.json of an iteration");
    try
    {
        return {record.value("status", ""), record.value("simulated_ns", 0.0)};
    }
    catch (const nlohmann::json::type_error&)
    {
        throw ns3::InputError(path,
                              0,
                              "does not say how the iteration went",
                              "run.json of an iteration");
    }
}

/// @return the options of the iteration as a run of its own, which --replay can repeat
RunOptions
IterationsRun::OptionsOf(uint32_t pass) const
{
    RunOptions options = m_options;
    options.output = PathOf(pass);
    options.passes = 1;
    options.recorded["passes"] = 1;
    options.separatePasses = false;
    uint64_t first = 1; // ns-3's own
    for (const std::string& flag : m_options.ns3Flags)
    {
        if (flag.starts_with(RUN_NUMBER))
        {
            first = std::strtoull(flag.c_str() + std::string(RUN_NUMBER).size(), nullptr, 10);
        }
    }
    const std::string number = RUN_NUMBER + std::to_string(first + pass);
    std::erase_if(options.ns3Flags, [](const auto& flag) { return flag.starts_with(RUN_NUMBER); });
    options.ns3Flags.push_back(number);
    options.arguments = WithoutPasses(m_options.arguments);
    std::erase_if(options.arguments, [](const auto& flag) { return flag.starts_with(RUN_NUMBER); });
    options.arguments.push_back(number);
    if (options.limits.seconds)
    {
        const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - m_begin;
        *options.limits.seconds = std::max(1e-3, *options.limits.seconds - gone.count());
    }
    if (options.limits.simulated)
    {
        *options.limits.simulated -= static_cast<TimePs>(m_simulatedNs * 1000);
    }
    return options;
}

std::optional<std::string>
IterationsRun::LimitReached() const
{
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - m_begin;
    if (m_options.limits.seconds && gone.count() >= *m_options.limits.seconds)
    {
        return "--max-time";
    }
    if (m_options.limits.simulated &&
        m_simulatedNs * 1000 >= static_cast<double>(*m_options.limits.simulated))
    {
        return "--max-sim-time";
    }
    return std::nullopt;
}

int
IterationsRun::Simulate(uint32_t pass)
{
    std::cout.flush();
    std::fflush(nullptr);
    const RunOptions options = OptionsOf(pass);
    const pid_t child = fork();
    if (child < 0)
    {
        throw std::system_error(errno, std::generic_category(), "no process for an iteration");
    }
    if (child == 0)
    {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        m_signals.Restore();
        const int status = GuardedMain([&options] { return RunSimulation(options); });
        std::fflush(nullptr);
        std::_Exit(status);
    }
    int ended = 0;
    while (waitpid(child, &ended, WNOHANG) != child)
    {
        const int signal = m_signals.Wait();
        if (signal != SIGCHLD)
        {
            m_signal = signal;
            kill(child, signal);
        }
    }
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);
}

void
IterationsRun::CheckInputs(uint32_t pass) const
{
    RunReplay::Read(PathOf(pass) + "/run.json"); // refuses inputs that have changed
}

void
IterationsRun::WriteRecord() const
{
    const nlohmann::ordered_json record = {
        {"version", ProgramVersion()},
        {"passes", m_options.passes},
        {"arguments", m_options.arguments},
        {"inputs", nlohmann::ordered_json::array()}, // those of the iterations
        {"options", {{"nccl_environment", m_options.environment}}},
    };
    ns3::WriteWholeFile(IterationsRecord(m_options.output), record.dump(2) + "\n");
}

void
IterationsRun::WriteTable() const
{
    std::string text = PassColumns().GetHeader() + "\n";
    double startNs = 0;
    for (uint32_t pass = 0; pass < m_options.passes; ++pass)
    {
        const Iteration iteration = Look(pass);
        if (iteration.status.empty())
        {
            break;
        }
        text += PassColumns().RowOf({pass, iteration.status, startNs, iteration.durationNs}) + "\n";
        startNs += iteration.durationNs;
    }
    ns3::WriteWholeFile(m_options.output + "/passes.csv", text);
}

void
IterationsRun::RemoveEarlier()
{
    const auto remove = [](const ns3::OutputDirectory& directory) {
        directory.RemoveEarlierResults(RunRecord::OutputsOf(directory.Path("run.json")));
        std::filesystem::remove(directory.Path("run.json"));
    };
    remove(m_directory);
    for (uint32_t pass = 0; std::filesystem::exists(PathOf(pass)); ++pass)
    {
        remove(ns3::OutputDirectory(PathOf(pass)));
    }
}

int
IterationsRun::Run()
{
    if (!m_options.resumes)
    {
        RemoveEarlier();
    }
    WriteRecord();
    for (uint32_t pass = 0; pass < m_options.passes; ++pass)
    {
        int status = 0;
        if (Look(pass).status == "finished")
        {
            CheckInputs(pass);
        }
        else if (const auto limit = LimitReached())
        {
            std::cerr << *limit << " came before iteration " << pass << " of " << m_options.passes
                      << "; --resume " << m_options.output << " goes on\n";
            status = 1;
        }
        else
        {
            status = Simulate(pass);
            if (status != 0 && status != 2)
            {
                std::cerr << "iteration " << pass << " of " << m_options.passes
                          << " is not finished; --resume " << m_options.output
                          << " goes on with it\n";
            }
        }
        WriteTable();
        if (status != 0)
        {
            return status;
        }
        m_simulatedNs += Look(pass).durationNs;
        if (m_signal && pass + 1 < m_options.passes)
        {
            return 128 + m_signal; // it came when the iteration was over
        }
    }
    return 0;
}

} // namespace

int
RunIterations(const RunOptions& options)
{
    return IterationsRun(options).Run();
}

std::string
DescribePassColumns()
{
    return PassColumns().ToCsv();
}

} // namespace AstraSim
