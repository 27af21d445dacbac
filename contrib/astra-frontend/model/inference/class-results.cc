/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "class-results.h"

#include "ns3/columns.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>

namespace AstraSim
{

namespace
{

bool
Keeps(TimePs time, const std::optional<TimePs>& limit)
{
    return !limit || time <= *limit;
}

/// A class at the end of a run.
struct ClassRow
{
    const RequestClass& its;
    const ClassTotals& totals;
    double seconds; ///< of the run
    Distribution firstToken{Distribution::Of(totals.firstToken)};
    Distribution perToken{Distribution::Of(totals.perToken)};
    Distribution endToEnd{Distribution::Of(totals.endToEnd)};

    double Share() const
    {
        const auto arrived = static_cast<double>(std::max<uint64_t>(totals.CountArrived(), 1));
        return static_cast<double>(totals.withinLimits) / arrived;
    }

    double Goodput() const
    {
        return seconds > 0 ? static_cast<double>(totals.withinLimits) / seconds : 0;
    }
};

void
AddTimes(ns3::Columns<ClassRow>& columns,
         const std::string& name,
         const std::string& meaning,
         Distribution ClassRow::*times)
{
    struct Point
    {
        const char* name;
        const char* meaning;
        double Distribution::*value;
    };

    for (const Point& point : {Point{"mean", "mean", &Distribution::mean},
                               Point{"p50", "median", &Distribution::p50},
                               Point{"p90", "90th percentile", &Distribution::p90},
                               Point{"p99", "99th percentile", &Distribution::p99}})
    {
        columns.Add(
            {name + "_" + point.name + "_us",
             std::string(point.meaning) + " of " + meaning,
             [times, value = point.value](const ClassRow& each) { return each.*times.*value; },
             6});
    }
}

const ns3::Columns<ClassRow>&
ClassColumns()
{
    using Of = const ClassRow&;
    static const ns3::Columns<ClassRow> all = [] {
        ns3::Columns<ClassRow> columns{
            {"class", "its name", [](Of each) { return each.its.name; }},
            {"arrived",
             "its requests: those that finished, were refused and were dropped",
             [](Of each) { return each.totals.CountArrived(); }},
            {"finished",
             "requests with all of their output",
             [](Of each) { return each.totals.finished; }},
            {"refused",
             "requests that were refused when they arrived, or that fit in no instance",
             [](Of each) { return each.totals.refused; }},
            {"dropped",
             "requests that waited longer than ``max_wait_ms``",
             [](Of each) { return each.totals.dropped; }},
            {"within_limits",
             "share of those that arrived whose times were within the limits of the class",
             [](Of each) { return each.Share(); },
             6},
            {"goodput_per_second",
             "requests within the limits per second of the run",
             [](Of each) { return each.Goodput(); },
             6},
            {"output_tokens", "tokens of the answers", [](Of each) {
                 return each.totals.outputTokens;
             }}};
        AddTimes(columns, "ttft", "the times to the first token", &ClassRow::firstToken);
        AddTimes(columns, "tpot", "the times for each further token", &ClassRow::perToken);
        AddTimes(columns, "e2e", "the times from arrival to the last token", &ClassRow::endToEnd);
        return columns;
    }();
    return all;
}

} // namespace

Distribution
Distribution::Of(std::vector<double> values)
{
    if (values.empty())
    {
        return {};
    }
    std::ranges::sort(values);
    const auto at = [&values](std::size_t percent) {
        return values[(values.size() * percent + 99) / 100 - 1];
    };
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    return {sum / static_cast<double>(values.size()), at(50), at(90), at(99), values.back()};
}

TimePs
PerToken(const Sequence& sequence)
{
    return sequence.output < 2 ? -1
                               : (sequence.finished - sequence.firstToken) /
                                     static_cast<TimePs>(sequence.output - 1);
}

bool
IsWithin(const Sequence& sequence, const ServingLimits& limits)
{
    return Keeps(sequence.firstToken - sequence.arrival, limits.firstToken) &&
           Keeps(PerToken(sequence), limits.perToken) &&
           Keeps(sequence.finished - sequence.arrival, limits.endToEnd);
}

void
ClassTotals::Add(const Sequence& sequence, const ServingLimits& limits)
{
    const auto microseconds = [](TimePs time) { return static_cast<double>(time) / 1e6; };
    ++finished;
    withinLimits += IsWithin(sequence, limits);
    outputTokens += sequence.output;
    firstToken.push_back(microseconds(sequence.firstToken - sequence.arrival));
    endToEnd.push_back(microseconds(sequence.finished - sequence.arrival));
    if (const TimePs each = PerToken(sequence); each >= 0)
    {
        perToken.push_back(microseconds(each));
    }
}

ClassResults::ClassResults(const ServingConfig& config)
    : m_config(config)
{
    for (const RequestClass& each : config.classes)
    {
        m_totals.emplace_back().refused = each.tooLong;
    }
}

uint64_t
ClassResults::Sum(uint64_t ClassTotals::*count) const
{
    uint64_t sum = 0;
    for (const ClassTotals& each : m_totals)
    {
        sum += each.*count;
    }
    return sum;
}

std::string
ClassResults::Write(double seconds, RunObserver& observer) const
{
    std::string summary;
    if (!m_config.HasClasses())
    {
        return summary;
    }
    observer.WorkloadResult("classes", ClassColumns().GetHeader());
    for (std::size_t i = 0; i < m_totals.size(); ++i)
    {
        const ClassRow row{m_config.classes[i], m_totals[i], seconds};
        observer.WorkloadResult("classes", ClassColumns().RowOf(row));
        summary += fmt::format(
            "class {}: {} arrived, {} refused, {} dropped, {:.1f}% within the limits: goodput "
            "{:.3f} requests per second\n",
            row.its.name,
            row.totals.CountArrived(),
            row.totals.refused,
            row.totals.dropped,
            100 * row.Share(),
            row.Goodput());
    }
    return summary;
}

std::string
DescribeClassColumns()
{
    return ClassColumns().ToCsv();
}

} // namespace AstraSim
