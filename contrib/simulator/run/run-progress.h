/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include "simulator/back-ends/simulation-clock.h"

#include <chrono>
#include <cstdint>
#include <functional>

namespace AstraSim
{

/// Content of a progress line.
struct ProgressSample
{
    uint64_t collectivesDone{0};
    uint64_t collectivesTotal{0}; ///< 0: unknown
    uint64_t flows{0};            ///< messages delivered
    uint64_t packetHops{0};       ///< 0 where the network has no packets
    uint64_t events{0};
};

/**
 * @ingroup simulator
 * @brief One line on standard error, rewritten about five times a second of wall time.
 *
 * Driven by simulator events at intervals that follow the speed of the simulation; they stop when
 * nothing else is scheduled, so that a stuck run still ends.
 */
class RunProgress
{
  public:
    /// @param clock of the simulation; outlives the object @param sample answers how far it is
    RunProgress(SimulationClock& clock, std::function<ProgressSample()> sample);

    /// Begin.
    void Start();

    /// Show no more; ends the line.
    void Stop();

  private:
    void Tick();
    void Show(double wallSeconds);

    SimulationClock& m_clock;
    std::function<ProgressSample()> m_sample;
    std::chrono::steady_clock::time_point m_begin;
    std::chrono::steady_clock::time_point m_lastShown;
    int64_t m_intervalPs{1'000'000};
    bool m_running{false};
    bool m_shown{false};
};

} // namespace AstraSim

#endif /* RUN_PROGRESS_H */
