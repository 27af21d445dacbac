/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "run-progress.h"

#include "ns3/input-error.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace AstraSim
{

namespace
{

/// @return a time in the largest unit that it has a few of
std::string
InWords(double seconds)
{
    constexpr double FEW = 2;
    constexpr double MINUTE = 60;
    return seconds < FEW * MINUTE            ? fmt::format("{:.0f} s", seconds)
           : seconds < FEW * MINUTE * MINUTE ? fmt::format("{:.0f} min", seconds / MINUTE)
                                             : fmt::format("{:.1f} h", seconds / MINUTE / MINUTE);
}

} // namespace

RunProgress::RunProgress(ProgressMode mode,
                         std::function<ProgressSample()> sample,
                         RunRecord* record,
                         double intervalS)
    : m_sample(std::move(sample)),
      m_record(record),
      m_interval(intervalS),
      m_rewrites(mode == ProgressMode::Always || ::isatty(STDERR_FILENO)),
      m_shows(mode != ProgressMode::Never),
      m_begin(Clock::now()),
      m_recorded(m_begin)
{
}

std::string
RunProgress::Describe(const ProgressSample& sample, double seconds)
{
    std::string text = InWords(seconds);
    const char* before = ": ";
    if (sample.simulatedPs != ProgressSample::REAL_TIME)
    {
        text += fmt::format(": {:.3f} ms simulated", static_cast<double>(sample.simulatedPs) / 1e9);
        before = ", ";
    }
    if (*sample.unit)
    {
        text += fmt::format("{}{}{} {}",
                            before,
                            sample.done,
                            sample.total ? fmt::format(" of {}", sample.total) : "",
                            sample.unit);
    }
    if (sample.total > sample.done && sample.done > 0)
    {
        const auto done = static_cast<double>(sample.done);
        const auto left = static_cast<double>(sample.total - sample.done);
        text += fmt::format(", about {} left", InWords(left / done * seconds));
    }
    return text + fmt::format(", {} MB", PeakMemoryBytes() >> 20);
}

void
RunProgress::Look(Clock::time_point now)
{
    const bool isDue = now - m_recorded >= m_interval;
    if (!isDue && !(m_shows && m_rewrites))
    {
        return;
    }
    const ProgressSample sample = m_sample();
    const std::chrono::duration<double> passed = now - m_begin;
    const std::string text = Describe(sample, passed.count());
    if (m_shows && m_rewrites)
    {
        fmt::print(stderr, "\r{:<100}", text);
        std::fflush(stderr);
        m_hasLine = true;
    }
    if (!isDue)
    {
        return;
    }
    m_recorded = now;
    if (m_shows && !m_rewrites)
    {
        fmt::print(stderr, "{}\n", text);
    }
    if (m_record)
    {
        nlohmann::ordered_json progress = {{"wall_s", passed.count()}};
        if (sample.simulatedPs != ProgressSample::REAL_TIME)
        {
            progress["simulated_ns"] = static_cast<double>(sample.simulatedPs) / 1e3;
        }
        progress["done"] = sample.done;
        progress["of"] = sample.total;
        progress["unit"] = sample.unit;
        m_record->WriteProgress(progress);
    }
}

void
RunProgress::End()
{
    if (m_hasLine)
    {
        fmt::print(stderr, "\n");
        m_hasLine = false;
    }
}

} // namespace AstraSim
