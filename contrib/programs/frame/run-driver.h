/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_DRIVER_H
#define RUN_DRIVER_H

#include "guarded-main.h"
#include "process-link.h"
#include "run-progress.h"
#include "run-record.h"
#include "run-results.h"
#include "run-supervisor.h"

#include "ns3/output-directory.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace AstraSim
{

/**
 * @ingroup programs
 * @brief The course of every program that simulates, from its inputs to its results. The directory
 * of the results has run.json with the status "refused" (an input is wrong, and no earlier run has
 * left results there), "running", "failed" (an input breaks off far in, the disk is full, or memory
 * has run out), or the status that the program reports: "finished", "stuck", "stopped",
 * "interrupted".
 *
 * A program overrides the steps, which Run() takes in the order in which they are declared.
 */
class RunDriver
{
  public:
    explicit RunDriver(const RunLimits& limits);
    virtual ~RunDriver();

    RunDriver(const RunDriver&) = delete;
    RunDriver& operator=(const RunDriver&) = delete;

    /// @return exit status @throw ns3::InputError for a mistake in an input
    int Run();

  protected:
    /// The directory of the results; @see ns3::OutputDirectory
    struct Output
    {
        std::string directory;
        std::string prefix;
        /// Names of results that inputs give and, after Build(), of all results.
        std::vector<std::string> results;
    };

    /// @return whether there is something to simulate
    virtual bool ReadInputs() = 0;
    /// No directory, and so no record, if the program writes no files, or if memory has run out
    /// before the directory's name is known.
    virtual Output GetOutput() const = 0;
    /// Notes the inputs in the record, and makes all that simulates and writes.
    virtual void Build() = 0;
    /// Schedules the first events. From here on Interrupt() may come.
    virtual void Start() = 0;
    /// Simulates until the workload ends, gets stuck, or is stopped.
    virtual void Simulate() = 0;
    /// Writes and prints the results, and ends the record. @return exit status
    virtual int Report() = 0;

    /// Has Simulate() return soon. Called by another thread.
    virtual void Interrupt() = 0;

    /// @return how far Simulate() is. Called by another thread while it goes on
    virtual ProgressSample SampleProgress() = 0;

    /// @return when progress is shown, by the first of several processes
    virtual ProgressMode GetProgressMode() const = 0;

    /// Gives up all that simulates and writes: the run is refused, or memory has run out.
    virtual void Release()
    {
    }

    /// Take a step that may fail in some processes of the run. @throw the first failure, in all
    void Take(const std::function<void()>& step);
    /// The end of Take(). @param failure of this process; null if the step succeeded
    virtual void Agree(const std::exception_ptr& failure);

    /// @return whether there is a directory of results, with a record
    bool HasRecord() const
    {
        return m_record.has_value();
    }

    /// Write the record for the last time. @param status "finished", ... @param reason if it is not
    void EndRecord(const std::string& status, const std::string& reason = "");

    /// EndRecord() for checks that failed, and name them. @return exit status
    int ReportFailures(const std::vector<std::string>& failures);

    /**
     * EndRecord() for a workload that did not finish, and print the waits of its ranks.
     * @param nowPs simulated time @param waits lists of lines @param most lines of each list
     * @return exit status
     */
    int ReportUnfinished(const StopCause& cause,
                         int64_t nowPs,
                         const std::vector<std::vector<std::string>>& waits,
                         std::size_t most);

    /// @return the cause that stopped a run, be it in another process
    StopCause GetStopCause() const;

    /// @return why a workload did not finish @param end of the simulation
    /// @param isFlag whether --max-sim-time, not the configuration, set the time limit
    StopCause DescribeEnd(SimulationEnd end, bool isFlag) const;

    RunRecord& GetRecord();
    const ns3::OutputDirectory& GetDirectory() const;
    const RunSupervisor& GetSupervisor() const;

    /// @return how long Simulate() took
    double GetWallSeconds() const;

  private:
    void OpenDirectory();
    /// ReadInputs() and Build(), with their errors in the record. @return ReadInputs()'s result
    bool Prepare();
    void Abandon(const std::string& status, const std::string& reason);
    void AbandonWithoutMemory();
    void Begin();
    void RecordFailure(const std::string& reason);
    /// RecordFailure(), also in the record of the first process if that is the one that is lost.
    void RecordLoss(const LostProcess& lost);
    std::string GiveUpReserve();
    /// Record that memory has run out in a place that cannot throw. @return the recorded reason
    std::string RecordOutOfMemory();
    /// Write the record, unless it would be in the place of an earlier run's with its results.
    void RecordWithoutResults(const std::string& status, const std::string& reason);
    void Execute();

    RunSupervisor m_supervisor;
    double m_progressSeconds; ///< --progress-interval
    std::string m_temporary; ///< directory for the results of a process other than the first, to be
                             ///< removed
    std::string m_theirs;    ///< run.json of that other one
    std::optional<ns3::OutputDirectory> m_directory;
    std::optional<RunRecord> m_record;
    bool m_isBuilt{false};
    double m_wallSeconds{0};
    std::unique_ptr<char[]> m_reserve; ///< memory that is left to say that memory has run out
    LastResort m_lastResort{[this] { return RecordOutOfMemory(); }};
};

/// Print the first @p most of the lines to stderr, indented, and how many more there are.
void PrintIndented(const std::vector<std::string>& lines, std::size_t most);

} // namespace AstraSim

#endif /* RUN_DRIVER_H */
