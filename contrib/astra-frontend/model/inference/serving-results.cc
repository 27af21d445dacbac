/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "serving-results.h"

#include "astra-frontend/model/inference/cache/cache-results.h"

#include "ns3/columns.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <type_traits>

namespace AstraSim
{

namespace
{

double
Microseconds(TimePs time)
{
    return static_cast<double>(time) / 1e6;
}

/// @return the time in microseconds, or nothing where it is not known
std::optional<double>
Known(TimePs time)
{
    return time < 0 ? std::nullopt : std::optional(Microseconds(time));
}

/// @return when it could begin to decode
TimePs
DecodingFrom(const Sequence& sequence)
{
    return std::max(sequence.cacheMoved, sequence.promptEnded);
}

std::optional<uint32_t>
InstanceOf(const ServingPlace& place)
{
    return place.IsSet() ? std::optional(place.instance) : std::nullopt;
}

/// A request that has ended.
struct Served
{
    const Sequence& sequence;
    const RequestClass& its;
};

/// A time of a request, which is a column of requests.csv and a row of inference.csv.
struct TimeOf
{
    const char* name;
    const char* meaning;
    TimePs (*get)(const Sequence& each);
    bool isUsers; ///< seen by users; else the time of a phase
    bool isAlwaysKnown{true};
};

constexpr std::array TIMES = {
    TimeOf{"queue_us",
           "until its first step began",
           [](const Sequence& each) { return each.scheduled - each.arrival; },
           false},
    TimeOf{"prefill_us",
           "from there until its prompt was computed",
           [](const Sequence& each) { return each.promptEnded - each.scheduled; },
           false},
    TimeOf{"transfer_us",
           "from there until all of its cache had reached the decoding instance",
           [](const Sequence& each) { return DecodingFrom(each) - each.promptEnded; },
           false},
    TimeOf{"decode_us",
           "from there to its last token",
           [](const Sequence& each) { return each.finished - DecodingFrom(each); },
           false},
    TimeOf{"ttft_us",
           "from its arrival to its first token. Where instances prefill and others decode, the "
           "first token comes from the decoding instance's first step, after the transfer, or, "
           "with ``first_token prefill``, from the prefilling instance before it",
           [](const Sequence& each) { return each.firstToken - each.arrival; },
           true},
    TimeOf{"tpot_us",
           "mean time of each token after the first, empty if there is none",
           PerToken,
           true,
           false},
    TimeOf{"e2e_us",
           "from its arrival to its last token",
           [](const Sequence& each) { return each.finished - each.arrival; },
           true},
};

const ns3::Columns<Served>&
RequestColumns()
{
    using Of = const Served&;
    static const ns3::Columns<Served> columns = [] {
        ns3::Columns<Served> rows{
            {"request", "number of the request", [](Of each) { return each.sequence.id; }},
            {"arrival_us",
             "time of arrival",
             [](Of each) { return Microseconds(each.sequence.arrival); },
             6},
            {"prompt_tokens",
             "the length of the prompt",
             [](Of each) { return each.sequence.prompt; }},
            {"output_tokens",
             "the length of the answer",
             [](Of each) { return each.sequence.output; }},
            {"prefill_instance",
             "the instance that computed its prompt",
             [](Of each) { return InstanceOf(each.sequence.prefill); }},
            {"decode_instance",
             "the instance that made its output; empty with ``first_token prefill`` where one "
             "token was asked for",
             [](Of each) { return InstanceOf(each.sequence.decode); }},
            {"preemptions", "number of times that it was preempted", [](Of each) {
                 return each.sequence.preemptions;
             }}};
        for (const TimeOf& time : TIMES)
        {
            const auto known = [time](Of each) { return Microseconds(time.get(each.sequence)); };
            const auto maybe = [time](Of each) { return Known(time.get(each.sequence)); };
            rows.Add(time.isAlwaysKnown ? ns3::Column<Served>(time.name, time.meaning, known, 6)
                                        : ns3::Column<Served>(time.name, time.meaning, maybe, 6));
        }
        rows.Add({"bytes", "bytes of its cache that were moved", [](Of each) {
                      return each.sequence.cacheBytes;
                  }});
        rows.Add({"transfer_start_us",
                  "first message of the cache sent",
                  [](Of each) { return Known(each.sequence.transferStart); },
                  6});
        rows.Add({"transfer_end_us",
                  "last message of the cache received",
                  [](Of each) { return Known(each.sequence.transferEnd); },
                  6});
        rows.Add({"within_limits",
                  "1 if its times were within the limits of the workload, or it has none",
                  [](Of each) { return IsWithin(each.sequence, each.its.limits) ? 1 : 0; }});
        rows.Add({"cached_tokens",
                  "tokens of its prompt that its instance already had in a cache",
                  [](Of each) { return each.sequence.cached; }});
        rows.Add({"host_tokens", "of these, tokens that came from its host's memory", [](Of each) {
                      return each.sequence.tierTokens[0];
                  }});
        rows.Add({"nvme_tokens", "tokens that came from NVMe drives", [](Of each) {
                      return each.sequence.tierTokens[1];
                  }});
        rows.Add({"remote_tokens", "tokens that came from the remote cache", [](Of each) {
                      return each.sequence.tierTokens[2];
                  }});
        rows.Add({"priority", "its priority in the trace", [](Of each) {
                      return each.sequence.request->priority;
                  }});
        rows.Add({"restarts",
                  "times that it went to another instance, since its own failed",
                  [](Of each) { return each.sequence.restarts; }});
        rows.Add({"class", "its class; empty: the workload has none", [](Of each) {
                      return each.its.name;
                  }});
        return rows;
    }();
    return columns;
}

/// An instance, and the time that it served.
struct Serving
{
    const ServingInstance& instance;
    TimePs begin;
    TimePs end;

    double Share(TimePs time) const
    {
        return end > begin ? static_cast<double>(time) / static_cast<double>(end - begin) : 0;
    }

    /// @return sum over its replicas
    template <typename Get>
    auto Sum(Get get) const
    {
        std::invoke_result_t<Get, const BatchScheduler&> sum{};
        for (const BatchScheduler& scheduler : instance.GetSchedulers())
        {
            sum += get(scheduler);
        }
        return sum;
    }
};

const ns3::Columns<Serving>&
InstanceColumns()
{
    using Of = const Serving&;
    using Replica = const BatchScheduler&;
    static const ns3::Columns<Serving> columns{
        {"instance", "its number", [](Of each) { return each.instance.GetNumber(); }},
        {"role",
         "``colocated``, ``prefill`` or ``decode``",
         [](Of each) { return ToString(each.instance.GetPool().role); }},
        {"tp", "ranks that share a layer", [](Of each) { return each.instance.GetPool().tp; }},
        {"pp", "stages of its pipeline", [](Of each) { return each.instance.GetPool().pp; }},
        {"dp",
         "replicas of the attention layers",
         [](Of each) { return each.instance.GetPool().dp; }},
        {"ep",
         "ranks of a group that exchanges tokens",
         [](Of each) { return each.instance.GetPool().ep; }},
        {"held_us",
         "time in which it had its GPUs: the run, or with ``autoscale`` from starts to stops",
         [](Of each) { return Microseconds(each.instance.GetTotals().held); },
         6},
        {"starts",
         "number of times that ``autoscale`` started it",
         [](Of each) { return each.instance.GetTotals().starts; }},
        {"steps", "number of its steps", [](Of each) { return each.instance.GetTotals().steps; }},
        {"busy_us",
         "time in which at least one step was under way",
         [](Of each) { return Microseconds(each.instance.GetTotals().busy); },
         6},
        {"utilization",
         "the share of the run that ``busy_us`` is",
         [](Of each) { return each.Share(each.instance.GetTotals().busy); },
         6},
        {"prompt_tokens",
         "tokens of prompts that it computed (again, after a preemption)",
         [](Of each) { return each.instance.GetTotals().promptTokens; }},
        {"output_tokens",
         "tokens that it made",
         [](Of each) { return each.instance.GetTotals().outputTokens; }},
        {"mean_sequences",
         "mean number of sequences in a step",
         [](Of each) {
             const InstanceTotals& totals = each.instance.GetTotals();
             return static_cast<double>(totals.sequences) /
                    static_cast<double>(std::max<uint64_t>(totals.steps, 1));
         },
         6},
        {"preemptions",
         "number of preemptions of its sequences",
         [](Of each) {
             return each.Sum([](Replica replica) { return replica.GetPreemptions(); });
         }},
        {"blocks",
         "blocks in the caches of its replicas; empty: no limit",
         [](Of each) {
             const InstancePool& pool = each.instance.GetPool();
             return pool.blocks == UINT32_MAX ? std::nullopt : std::optional(pool.blocks * pool.dp);
         }},
        {"peak_blocks",
         "most of these blocks in use",
         [](Of each) {
             return each.Sum(
                 [](Replica replica) -> uint64_t { return replica.GetBlocks().GetPeak(); });
         }},
        {"mean_blocks",
         "blocks in use on average over time",
         [](Of each) {
             return each.Sum(
                 [&each](Replica replica) { return replica.GetBlocks().GetMean(each.end); });
         },
         6},
    };
    return columns;
}

} // namespace

ServingResults::ServingResults(const ServingConfig& config)
    : m_config(config),
      m_times(TIMES.size()),
      m_classes(config)
{
}

void
ServingResults::RequestEnded(const Sequence& sequence, RunObserver& observer)
{
    if (m_requests++ == 0)
    {
        observer.WorkloadResult("requests", RequestColumns().GetHeader());
    }
    const RequestClass& its = m_config.classes[sequence.request->requestClass];
    observer.WorkloadResult("requests", RequestColumns().RowOf({sequence, its}));
    m_classes.Of(sequence).Add(sequence, its.limits);
    for (std::size_t i = 0; i < TIMES.size(); ++i)
    {
        if (const auto time = Known(TIMES[i].get(sequence)))
        {
            m_times[i].push_back(*time);
        }
    }
    m_underWay += static_cast<double>(sequence.finished - sequence.arrival) / 1e12;
    m_cachedTokens += sequence.cached;
    m_promptTokens += sequence.prompt;
    m_outputTokens += sequence.output;
}

void
ServingResults::WriteTimes(bool ofUsers, RunObserver& observer)
{
    for (std::size_t i = 0; i < TIMES.size(); ++i)
    {
        if (m_times[i].empty() || TIMES[i].isUsers != ofUsers)
        {
            continue;
        }
        const auto all = Distribution::Of(m_times[i]);
        observer.WorkloadResult("inference",
                                fmt::format("{},{:.6f},{:.6f},{:.6f},{:.6f},{:.6f}",
                                            TIMES[i].name,
                                            all.mean,
                                            all.p50,
                                            all.p90,
                                            all.p99,
                                            all.max));
        m_summary += fmt::format("{:>12} {:>14.3f} {:>14.3f} {:>14.3f} {:>14.3f}\n",
                                 TIMES[i].name,
                                 all.mean,
                                 all.p50,
                                 all.p90,
                                 all.p99);
    }
}

void
ServingResults::WriteRates(TimePs now, RunObserver& observer)
{
    const double seconds = static_cast<double>(now - m_config.requests.front().arrival) / 1e12;
    const auto single = [&](const char* name, double value) {
        observer.WorkloadResult("inference", fmt::format("{},{:.6f},,,,", name, value));
    };
    const auto perSecond = [seconds](uint64_t count) {
        return seconds > 0 ? static_cast<double>(count) / seconds : 0;
    };
    const double cachedShare = static_cast<double>(m_cachedTokens) /
                               static_cast<double>(std::max<uint64_t>(m_promptTokens, 1));
    const uint64_t refused = m_classes.Sum(&ClassTotals::refused);
    const uint64_t dropped = m_classes.Sum(&ClassTotals::dropped);
    const uint64_t withinLimits = m_classes.Sum(&ClassTotals::withinLimits);
    const double concurrency = seconds > 0 ? m_underWay / seconds : 0;
    single("requests_per_second", perSecond(m_requests));
    single("output_tokens_per_second", perSecond(m_outputTokens));
    single("prompt_tokens_per_second", perSecond(m_promptTokens));
    single("total_tokens_per_second", perSecond(m_promptTokens + m_outputTokens));
    m_summary += fmt::format("{} requests, {:.3f} per second, {:.1f} output tokens per second, "
                             "{:.1f} with prompts, {:.1f} requests at a time",
                             m_requests,
                             perSecond(m_requests),
                             perSecond(m_outputTokens),
                             perSecond(m_promptTokens + m_outputTokens),
                             concurrency);
    if (m_config.HasLimits())
    {
        const double share =
            static_cast<double>(withinLimits) / static_cast<double>(m_requests + refused + dropped);
        single("within_limits", share);
        single("goodput_per_second", perSecond(withinLimits));
        m_summary += fmt::format("; {:.1f}% within the limits: goodput {:.3f} requests per second",
                                 100 * share,
                                 perSecond(withinLimits));
    }
    m_summary += refused > 0 ? fmt::format("; {} refused", refused) : "";
    m_summary += dropped > 0 ? fmt::format("; {} dropped\n", dropped) : "\n";
    m_summary += m_classes.Write(seconds, observer);
    if (m_cachedTokens > 0)
    {
        m_summary += fmt::format("{:.1f}% of the prompts' tokens were in a cache already\n",
                                 100 * cachedShare);
    }
    WriteCosts(observer);
    single("gpu_hours", m_gpuHours);
    single("requests", static_cast<double>(m_requests));
    single("duration_us", seconds * 1e6);
    single("concurrency", concurrency);
    single("cached_prompt_share", cachedShare);
    single("refused", static_cast<double>(refused));
    single("dropped", static_cast<double>(dropped));
}

void
ServingResults::WriteCosts(RunObserver& observer)
{
    constexpr double MILLION = 1e6;
    const auto write = [&](const char* name, double perHour, const char* unit) {
        if (perHour == 0 || m_outputTokens == 0)
        {
            return;
        }
        const double each = perHour * m_gpuHours * MILLION / static_cast<double>(m_outputTokens);
        observer.WorkloadResult("inference", fmt::format("{},{:.6f},,,,", name, each));
        m_summary += fmt::format("{:.3f} {} per million output tokens\n", each, unit);
    };
    write("cost_per_million_output_tokens", m_config.gpuHour, "of the price's currency");
    write("kwh_per_million_output_tokens", m_config.gpuWatts / 1e3, "kWh");
}

void
ServingResults::Finish(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                       const RemoteCache* remote,
                       TimePs now,
                       RunObserver& observer)
{
    constexpr double PS_PER_HOUR = 3600e12;
    for (const auto& instance : instances)
    {
        m_gpuHours +=
            instance->CountRanks() * static_cast<double>(instance->GetTotals().held) / PS_PER_HOUR;
    }
    observer.WorkloadResult("inference", "metric,mean,p50,p90,p99,max");
    m_summary =
        fmt::format("{:>12} {:>14} {:>14} {:>14} {:>14}\n", "", "mean", "p50", "p90", "p99");
    WriteTimes(true, observer);
    WriteRates(now, observer);
    WriteTimes(false, observer);
    WriteInstances(instances, now, observer);
    if (m_config.HasTiers())
    {
        WriteCaches(instances, remote, observer);
    }
}

void
ServingResults::WriteCaches(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                            const RemoteCache* remote,
                            RunObserver& observer)
{
    CacheTable table(observer);
    CacheHits hits;
    for (const auto& instance : instances)
    {
        const auto& schedulers = instance->GetSchedulers();
        for (uint32_t replica = 0; replica < schedulers.size(); ++replica)
        {
            if (const TieredCache* cache = schedulers[replica].GetTiers())
            {
                table.Add(instance->GetNumber(), replica, instance->GetPool(), *cache);
                hits.Add(*cache);
            }
        }
    }
    if (remote)
    {
        table.Add(*remote);
    }
    m_summary += hits.Describe(m_config);
}

void
ServingResults::WriteInstances(const std::vector<std::unique_ptr<ServingInstance>>& instances,
                               TimePs now,
                               RunObserver& observer) const
{
    observer.WorkloadResult("instances", InstanceColumns().GetHeader());
    for (const auto& instance : instances)
    {
        const Serving row{*instance, m_config.requests.front().arrival, now};
        observer.WorkloadResult("instances", InstanceColumns().RowOf(row));
    }
}

std::string
DescribeRequestColumns()
{
    return RequestColumns().ToCsv();
}

std::string
DescribeInstanceColumns()
{
    return InstanceColumns().ToCsv();
}

} // namespace AstraSim
