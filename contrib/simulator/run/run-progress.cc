/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-progress.h"

#include "programs/frame/run-record.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace AstraSim
{

namespace
{

constexpr double TICK_SECONDS = 0.05; ///< wall time aimed at between two looks
constexpr double SHOW_SECONDS = 0.2;
constexpr int64_t MAX_INTERVAL_PS = 1'000'000'000'000;

} // namespace

RunProgress::RunProgress(SimulationClock& clock, std::function<ProgressSample()> sample)
    : m_clock(clock),
      m_sample(std::move(sample))
{
}

void
RunProgress::Start()
{
    m_begin = std::chrono::steady_clock::now();
    m_lastShown = m_begin;
    m_running = true;
    m_clock.Schedule(m_intervalPs, [this] { Tick(); });
}

void
RunProgress::Tick()
{
    if (!m_running || m_clock.IsIdle())
    {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    const double sinceShown = std::chrono::duration<double>(now - m_lastShown).count();
    if (sinceShown >= SHOW_SECONDS)
    {
        m_lastShown = now;
        Show(std::chrono::duration<double>(now - m_begin).count());
    }
    // Twice as often or half as often, as the simulation's speed asks for.
    if (sinceShown > 2 * TICK_SECONDS && m_intervalPs > 1'000'000)
    {
        m_intervalPs /= 2;
    }
    else if (sinceShown < TICK_SECONDS)
    {
        m_intervalPs = std::min(2 * m_intervalPs, MAX_INTERVAL_PS);
    }
    m_clock.Schedule(m_intervalPs, [this] { Tick(); });
}

void
RunProgress::Show(double wallSeconds)
{
    const ProgressSample sample = m_sample();
    const bool packets = sample.packetHops > 0;
    std::string line = fmt::format(
        "\r{:.3f} ms simulated, {}{} collectives, {} flows, {:.2f} M {}/s, {} MB",
        static_cast<double>(m_clock.Now()) / 1e9,
        sample.collectivesDone,
        sample.collectivesTotal ? fmt::format(" of {}", sample.collectivesTotal) : "",
        sample.flows,
        static_cast<double>(packets ? sample.packetHops : sample.events) / wallSeconds / 1e6,
        packets ? "packet-hops" : "events",
        PeakMemoryBytes() >> 20);
    if (sample.collectivesTotal && sample.collectivesDone)
    {
        const double left = static_cast<double>(sample.collectivesTotal - sample.collectivesDone) /
                            static_cast<double>(sample.collectivesDone) * wallSeconds;
        line += fmt::format(", about {:.0f} s left", left);
    }
    fmt::print(stderr, "{:<110}", line);
    std::fflush(stderr);
    m_shown = true;
}

void
RunProgress::Stop()
{
    m_running = false;
    if (m_shown)
    {
        fmt::print(stderr, "\n");
        m_shown = false;
    }
}

} // namespace AstraSim
