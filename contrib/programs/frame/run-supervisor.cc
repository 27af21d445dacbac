/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-supervisor.h"

#include "ending-signals.h"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

namespace
{

constexpr int LIMITS_MS = 50; ///< between two looks at time and memory
constexpr int LOOK_MS = 200;  ///< at how far the run is
/// timeout(1) signals a program and then its group, and mpirun passes on a group's signals, so one
/// request arrives as several signals.
constexpr std::chrono::seconds ONE_WISH{1};

/// @return bytes of memory that this process has now
uint64_t
ResidentBytes()
{
    std::ifstream file("/proc/self/statm");
    uint64_t total = 0;
    uint64_t resident = 0;
    file >> total >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void
Tell(std::string_view text)
{
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

} // namespace

RunSupervisor::RunSupervisor(const RunLimits& limits)
    : m_limits(limits),
      m_begin(std::chrono::steady_clock::now())
{
    const sigset_t set = EndingSignals();
    pthread_sigmask(SIG_BLOCK, &set, &m_before);
    m_signals = signalfd(-1, &set, SFD_CLOEXEC);
    m_end = eventfd(0, EFD_CLOEXEC);
    m_thread = std::thread([this] { Run(); });
}

RunSupervisor::~RunSupervisor()
{
    eventfd_write(m_end, 1);
    m_thread.join();
    close(m_signals);
    close(m_end);
    if (!m_firstSignal) // blocked while a program ends on a signal: a second one of the same
                        // request must not kill it
    {
        pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }
}

void
RunSupervisor::Hold()
{
    const std::lock_guard lock(m_mutex);
    m_phase = Phase::Starting;
}

void
RunSupervisor::Watch(std::function<void()> stop, std::function<void()> look)
{
    const std::lock_guard lock(m_mutex);
    m_stop = std::move(stop);
    m_look = std::move(look);
    m_phase = Phase::Simulating;
    if (m_cause)
    {
        std::exchange(m_stop, {})();
    }
}

void
RunSupervisor::EndWatch()
{
    const std::lock_guard lock(m_mutex);
    m_phase = Phase::Writing;
    m_stop = {};
    m_look = {};
}

std::optional<StopCause>
RunSupervisor::GetCause() const
{
    const std::lock_guard lock(m_mutex);
    return m_cause;
}

void
RunSupervisor::Run()
{
    const bool hasLimits = m_limits.seconds || m_limits.memoryBytes;
    while (true)
    {
        pollfd descriptors[] = {{m_signals, POLLIN, 0}, {m_end, POLLIN, 0}};
        poll(descriptors, 2, hasLimits ? LIMITS_MS : LOOK_MS);
        if (descriptors[1].revents)
        {
            return;
        }
        signalfd_siginfo information{};
        if (descriptors[0].revents &&
            read(m_signals, &information, sizeof information) == sizeof information)
        {
            OnSignal(static_cast<int>(information.ssi_signo));
        }
        if (hasLimits)
        {
            CheckLimits();
        }
        Look();
    }
}

void
RunSupervisor::OnSignal(int signal)
{
    const std::string name = SignalName(signal);
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(m_mutex);
    if (m_firstSignal && now - *m_firstSignal < ONE_WISH)
    {
        return;
    }
    if (m_phase == Phase::Preparing || m_firstSignal)
    {
        Tell(name + ": ended at once\n");
        std::_Exit(128 + signal);
    }
    m_firstSignal = now;
    Stop({"interrupted", name, 128 + signal});
}

void
RunSupervisor::CheckLimits()
{
    const std::lock_guard lock(m_mutex);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - m_begin;
    if (m_phase != Phase::Simulating || m_cause)
    {
        return;
    }
    if (m_limits.seconds && wall.count() > *m_limits.seconds)
    {
        Stop({"stopped", fmt::format("--max-time of {} s is over", *m_limits.seconds), 1});
    }
    else if (m_limits.memoryBytes && ResidentBytes() > *m_limits.memoryBytes)
    {
        Stop({"stopped",
              fmt::format("--max-memory of {} MiB is used up", *m_limits.memoryBytes >> 20),
              1});
    }
}

void
RunSupervisor::Look()
{
    const std::lock_guard lock(m_mutex);
    if (m_look)
    {
        m_look();
    }
}

void
RunSupervisor::Stop(StopCause cause)
{
    if (!m_cause)
    {
        m_cause = std::move(cause);
    }
    if (m_stop)
    {
        std::exchange(m_stop, {})();
    }
}

} // namespace AstraSim
