/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_SUPERVISOR_H
#define RUN_SUPERVISOR_H

#include "run-limits.h"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace AstraSim
{

/// Reason for which a run ended before its work was done.
struct StopCause
{
    std::string status; ///< of run.json: "interrupted" or "stopped"
    std::string text;   ///< for people, such as "--max-time 60 s is over"
    int exitStatus;     ///< of the program
};

/**
 * @ingroup programs
 * @brief Ends a run in an orderly way on SIGINT, SIGTERM or SIGHUP, or when it has used up its time
 * or memory.
 *
 * A thread waits for the signals, which are blocked in the others from construction on. Before
 * Hold() a signal ends the program at once: nothing is lost yet. From then on the first one asks
 * the simulation to stop, as soon as Watch() says how, so that results and the record are written;
 * one that comes a second later or more ends the program at once.
 *
 * @code
 * RunSupervisor supervisor(limits);
 * supervisor.Hold();
 * record.Write("running");
 * supervisor.Watch([&backend] { backend.Interrupt(); });
 * backend.Run();
 * supervisor.EndWatch();
 * if (const auto cause = supervisor.GetCause()) { ... }
 * @endcode
 */
class RunSupervisor
{
  public:
    explicit RunSupervisor(const RunLimits& limits);
    ~RunSupervisor();

    RunSupervisor(const RunSupervisor&) = delete;
    RunSupervisor& operator=(const RunSupervisor&) = delete;

    /// Call it before the record says "running". From now on a signal ends the run in an orderly
    /// way, so that the record does not stay so.
    void Hold();

    /// @param stop called at most once: from another thread, or at once after a signal that was
    /// held @param look called a few times a second from another thread, until EndWatch()
    void Watch(std::function<void()> stop, std::function<void()> look = {});

    /// The simulation is over and its results are being written: only a later signal cuts that
    /// off.
    void EndWatch();

    /// @return the cause that stopped the run, if one did
    std::optional<StopCause> GetCause() const;

  private:
    enum class Phase : uint8_t
    {
        Preparing,
        Starting, ///< a signal waits for Watch()
        Simulating,
        Writing,
    };

    void Run();
    void OnSignal(int signal);
    void CheckLimits();
    void Look();
    void Stop(StopCause cause);

    RunLimits m_limits;
    std::chrono::steady_clock::time_point m_begin;
    sigset_t m_before{}; ///< signals blocked before
    int m_signals{-1};   ///< descriptor that tells of signals
    int m_end{-1};       ///< descriptor that ends the thread
    mutable std::mutex m_mutex;
    Phase m_phase{Phase::Preparing};
    std::optional<std::chrono::steady_clock::time_point> m_firstSignal;
    std::function<void()> m_stop;
    std::function<void()> m_look;
    std::optional<StopCause> m_cause;
    std::thread m_thread;
};

} // namespace AstraSim

#endif /* RUN_SUPERVISOR_H */
