/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-results.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace AstraSim
{

namespace
{

enum Column : std::size_t
{
    QUEUE,
    PREFILL,
    TRANSFER,
    DECODE,
    FIRST_TOKEN,
    PER_TOKEN,
    END_TO_END,
};

double
Microseconds(TimePs time)
{
    return static_cast<double>(time) / 1e6;
}

/// @return the time, or nothing where it is not known
std::string
Cell(TimePs time)
{
    return time < 0 ? "" : fmt::format("{:.6f}", Microseconds(time));
}

/// @return mean time of a token after the first; -1 where there is none
TimePs
PerToken(const Sequence& sequence)
{
    return sequence.output < 2 ? -1
                               : (sequence.finished - sequence.firstToken) /
                                     static_cast<TimePs>(sequence.output - 1);
}

std::string
InstanceCell(const ServingPlace& place)
{
    return place.IsSet() ? std::to_string(place.instance) : "";
}

} // namespace

Distribution
Distribution::Of(std::vector<double> values)
{
    if (values.empty())
    {
        return {};
    }
    std::sort(values.begin(), values.end());
    const auto at = [&values](std::size_t percent) {
        return values[(values.size() * percent + 99) / 100 - 1];
    };
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return {sum / static_cast<double>(values.size()), at(50), at(90), at(99), values.back()};
}

ServingResults::ServingResults(const ServingConfig& config)
    : m_config(config),
      m_times({{"queue_us", {}},
               {"prefill_us", {}},
               {"transfer_us", {}},
               {"decode_us", {}},
               {"ttft_us", {}},
               {"tpot_us", {}},
               {"e2e_us", {}}})
{
}

bool
ServingResults::IsWithinLimits(const Sequence& sequence) const
{
    const auto keeps = [](TimePs time, const std::optional<TimePs>& limit) {
        return !limit || time <= *limit;
    };
    return keeps(sequence.firstToken - sequence.arrival, m_config.limits.firstToken) &&
           keeps(PerToken(sequence), m_config.limits.perToken) &&
           keeps(sequence.finished - sequence.arrival, m_config.limits.endToEnd);
}

void
ServingResults::RequestEnded(const Sequence& sequence, RunObserver& observer)
{
    if (m_requests++ == 0)
    {
        observer.WorkloadResult(
            "requests",
            "request,arrival_us,prompt_tokens,output_tokens,prefill_instance,decode_instance,"
            "preemptions,queue_us,prefill_us,transfer_us,decode_us,ttft_us,tpot_us,e2e_us,bytes,"
            "transfer_start_us,transfer_end_us,within_limits,cached_tokens");
    }
    const TimePs decodes = std::max(sequence.cacheMoved, sequence.promptEnded);
    const bool isWithin = IsWithinLimits(sequence);
    const std::array<TimePs, 7> times = {sequence.scheduled - sequence.arrival,
                                         sequence.promptEnded - sequence.scheduled,
                                         decodes - sequence.promptEnded,
                                         sequence.finished - decodes,
                                         sequence.firstToken - sequence.arrival,
                                         PerToken(sequence),
                                         sequence.finished - sequence.arrival};
    std::string cells;
    for (std::size_t i = 0; i < times.size(); ++i)
    {
        cells += "," + Cell(times[i]);
        if (times[i] >= 0)
        {
            m_times[i].values.push_back(Microseconds(times[i]));
        }
    }
    observer.WorkloadResult("requests",
                            fmt::format("{},{:.6f},{},{},{},{},{}{},{},{},{},{},{}",
                                        sequence.id,
                                        Microseconds(sequence.arrival),
                                        sequence.prompt,
                                        sequence.output,
                                        InstanceCell(sequence.prefill),
                                        InstanceCell(sequence.decode),
                                        sequence.preemptions,
                                        cells,
                                        sequence.cacheBytes,
                                        Cell(sequence.transferStart),
                                        Cell(sequence.transferEnd),
                                        isWithin ? 1 : 0,
                                        sequence.cached));
    m_withinLimits += isWithin;
    m_cachedTokens += sequence.cached;
    m_promptTokens += sequence.prompt;
    m_outputTokens += sequence.output;
}

void
ServingResults::Finish(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                       TimePs now,
                       RunObserver& observer)
{
    observer.WorkloadResult("inference", "metric,mean,p50,p90,p99,max");
    m_summary =
        fmt::format("{:>12} {:>14} {:>14} {:>14} {:>14}\n", "", "mean", "p50", "p90", "p99");
    for (const Times& times : m_times)
    {
        if (times.values.empty())
        {
            continue;
        }
        const auto all = Distribution::Of(times.values);
        observer.WorkloadResult("inference",
                                fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f}",
                                            times.name,
                                            all.mean,
                                            all.p50,
                                            all.p90,
                                            all.p99,
                                            all.max));
        m_summary += fmt::format("{:>12} {:>14.3f} {:>14.3f} {:>14.3f} {:>14.3f}\n",
                                 times.name,
                                 all.mean,
                                 all.p50,
                                 all.p90,
                                 all.p99);
    }
    const double seconds = static_cast<double>(now - m_config.requests.front().arrival) / 1e12;
    const auto single = [&](const char* name, double value) {
        observer.WorkloadResult("inference", fmt::format("{},{:.6f},,,,", name, value));
    };
    const auto perSecond = [seconds](uint64_t count) {
        return seconds > 0 ? static_cast<double>(count) / seconds : 0;
    };
    const double cachedShare =
        static_cast<double>(m_cachedTokens) / static_cast<double>(m_promptTokens);
    single("requests", static_cast<double>(m_requests));
    single("duration_us", seconds * 1e6);
    single("requests_per_second", perSecond(m_requests));
    single("prompt_tokens_per_second", perSecond(m_promptTokens));
    single("output_tokens_per_second", perSecond(m_outputTokens));
    single("cached_prompt_share", cachedShare);
    single("refused", static_cast<double>(m_config.refused));
    m_summary += fmt::format("{} requests, {:.3f} per second, {:.1f} output tokens per second",
                             m_requests,
                             perSecond(m_requests),
                             perSecond(m_outputTokens));
    if (m_config.limits.Any())
    {
        const double share = static_cast<double>(m_withinLimits) /
                             static_cast<double>(m_requests + m_config.refused);
        single("within_limits", share);
        single("goodput_per_second", perSecond(m_withinLimits));
        m_summary += fmt::format("; {:.1f}% within the limits: goodput {:.3f} requests per second",
                                 100 * share,
                                 perSecond(m_withinLimits));
    }
    m_summary += m_config.refused > 0 ? fmt::format("; {} refused\n", m_config.refused) : "\n";
    if (m_cachedTokens > 0)
    {
        m_summary += fmt::format("{:.1f}% of the prompts' tokens were in a cache already\n",
                                 100 * cachedShare);
    }
    WriteInstances(instances, now, observer);
}

void
ServingResults::WriteInstances(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                               TimePs now,
                               RunObserver& observer) const
{
    observer.WorkloadResult("instances",
                            "instance,role,tp,pp,ep,steps,busy_us,utilization,prompt_tokens,"
                            "output_tokens,mean_sequences,preemptions,blocks,peak_blocks,"
                            "mean_blocks");
    const TimePs duration = now - m_config.requests.front().arrival;
    for (const auto& instance : instances)
    {
        const auto& pool = instance->GetPool();
        const auto& totals = instance->GetTotals();
        uint64_t preemptions = 0;
        uint64_t peak = 0;
        double mean = 0;
        for (const auto& scheduler : instance->GetSchedulers())
        {
            preemptions += scheduler.GetPreemptions();
            peak += scheduler.GetBlocks().GetPeak();
            mean += scheduler.GetBlocks().GetMean(now);
        }
        const auto ratio = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
        observer.WorkloadResult(
            "instances",
            fmt::format(
                "{},{},{},{},{},{},{:.6f},{:.6f},{},{},{:.6f},{},{},{},{:.6f}",
                instance->GetNumber(),
                ToString(pool.role),
                pool.tp,
                pool.pp,
                pool.ep,
                totals.steps,
                Microseconds(totals.busy),
                ratio(static_cast<double>(totals.busy), static_cast<double>(duration)),
                totals.promptTokens,
                totals.outputTokens,
                ratio(static_cast<double>(totals.sequences), static_cast<double>(totals.steps)),
                preemptions,
                pool.blocks == UINT32_MAX ? "" : std::to_string(pool.blocks * pool.ep),
                peak,
                mean));
    }
}

} // namespace AstraSim
