/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RUN_PROGRESS_H
#define RUN_PROGRESS_H

#include "run-record.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace AstraSim
{

/// When progress is shown.
enum class ProgressMode : uint8_t
{
    Auto, ///< as Always if standard error is a terminal; else a line each minute
    Always,
    Never,
};

/// How far a simulation is.
struct ProgressSample
{
    static constexpr int64_t REAL_TIME = -1;

    int64_t simulatedPs{0}; ///< REAL_TIME: nothing is simulated
    uint64_t done{0};       ///< collectives or flows that have ended
    uint64_t total{0};      ///< of how many; 0: unknown
    const char* unit{""};   ///< what they are, in the plural; empty: nothing is counted
};

/**
 * @ingroup programs
 * @brief Tells how far a run is while it goes on: in run.json each minute, and on standard error,
 * on a terminal as a line that is rewritten, elsewhere as a line each minute.
 *
 * Another thread than that of the simulation calls it, which so has the same events with and
 * without.
 */
class RunProgress
{
  public:
    using Clock = std::chrono::steady_clock;

    /// @param sample may be called by any thread @param record null for none; outlives the object
    /// @param intervalS seconds between two reports in the record, and between lines off a terminal
    RunProgress(ProgressMode mode,
                std::function<ProgressSample()> sample,
                RunRecord* record,
                double intervalS = 60);

    /// Say and record what is due at @p now. To be called a few times a second.
    void Look(Clock::time_point now);

    /// Show no more: ends the line.
    void End();

    /// @return the sample in words @param seconds that the run has taken
    static std::string Describe(const ProgressSample& sample, double seconds);

  private:
    std::function<ProgressSample()> m_sample;
    RunRecord* m_record;
    std::chrono::duration<double> m_interval;
    bool m_rewrites; ///< the line, instead of one each minute
    bool m_shows;
    bool m_hasLine{false};
    Clock::time_point m_begin;
    Clock::time_point m_recorded;
};

} // namespace AstraSim

#endif /* RUN_PROGRESS_H */
