/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-results.h"

#include "astra-frontend/model/flow/flow-level-network.h"

#include "ns3/columns.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/fct-writer.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <filesystem>

namespace AstraSim
{

namespace
{

constexpr uint16_t FIRST_SOURCE_PORT = 10000;
constexpr uint16_t DESTINATION_PORT = 100;

/// @param isWhole whether the file gets its name
void
WriteFlows(const std::vector<FlowRecord>& flows,
           const ns3::ClusterTopology& topology,
           const std::string& path,
           bool isWhole)
{
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    FlowLevelConfig config;
    config.networkFrames = frames.network;
    config.nvlinkFrames = frames.nvlink;
    EventLoop loop;
    FlowLevelFabric ideal(loop, topology, config);
    ns3::FctWriter file(topology, path);
    for (const FlowRecord& flow : flows)
    {
        file.Write({.src = static_cast<uint32_t>(flow.src),
                    .dst = static_cast<uint32_t>(flow.dst),
                    .sport = static_cast<uint16_t>(FIRST_SOURCE_PORT + flow.channel),
                    .dport = DESTINATION_PORT,
                    .bytes = flow.bytes,
                    .startPs = std::max<TimePs>(flow.start, 0),
                    .fctPs = std::max<TimePs>(flow.end - flow.start, 0),
                    .idealPs = ideal.GetIdealFctPs(static_cast<uint32_t>(flow.src),
                                                   static_cast<uint32_t>(flow.dst),
                                                   flow.bytes)});
    }
    if (isWhole)
    {
        file.Finish();
    }
}

std::vector<std::string>
LayersOf(const Workload& workload)
{
    std::vector<std::string> layers;
    for (uint32_t i = 0; i < workload.GetLayerCount(); ++i)
    {
        layers.emplace_back(workload.GetLayerName(i));
    }
    return layers;
}

/// @return the collectives in the order of their starts
std::vector<const IterationRecords::Collective*>
ById(const std::vector<IterationRecords::Collective>& collectives)
{
    std::vector<const IterationRecords::Collective*> sorted;
    for (const auto& collective : collectives)
    {
        sorted.push_back(&collective);
    }
    std::ranges::sort(sorted, {}, [](const auto* collective) { return collective->record.id; });
    return sorted;
}

/// A collective's durations in all iterations.
struct Durations
{
    const CollectiveRecord& record;
    const std::vector<TimePs>& all;

    double BusBandwidth() const
    {
        const TimePs median = MedianOf(all);
        const double factor =
            BusBandwidthFactor(record.op, static_cast<uint32_t>(record.group->ranks.size()));
        return median > 0
                   ? static_cast<double>(record.bytes) * factor * 1000 / static_cast<double>(median)
                   : 0;
    }
};

const ns3::Columns<Durations>&
DurationColumns()
{
    using Of = const Durations&;
    const auto microseconds = [](TimePs time) { return static_cast<double>(time) / 1e6; };
    static const ns3::Columns<Durations> columns{
        {"iterations",
         "number of iterations in which it was measured",
         [](Of each) { return each.all.size(); }},
        {"min_us",
         "from the first rank's start to the last rank's end, in the fastest iteration",
         [=](Of each) { return microseconds(std::ranges::min(each.all)); }},
        {"median_us",
         "of an even number of iterations the lower of the middle two",
         [=](Of each) { return microseconds(MedianOf(each.all)); }},
        {"max_us",
         "in the slowest",
         [=](Of each) { return microseconds(std::ranges::max(each.all)); }},
        {"median_busbw",
         "GB/s (10^9) at the median",
         [](Of each) { return each.BusBandwidth(); },
         6},
    };
    return columns;
}

} // namespace

void
IterationRecords::CollectiveEnded(const CollectiveRecord& record)
{
    m_collectives.push_back({KeyOf(record), record, *record.group, *record.choice});
    m_collectives.back().record.group = nullptr;
    m_collectives.back().record.choice = nullptr;
}

void
IterationRecords::FlowEnded(const FlowRecord& record)
{
    m_flows.push_back(record);
}

void
IterationRecords::RankFinished(int, TimePs now)
{
    m_finished = std::max(m_finished, now);
}

IterationRecords::Key
IterationRecords::KeyOf(const CollectiveRecord& record)
{
    if (!record.isMessage)
    {
        return {0, record.key};
    }
    const WorkloadPosition& at = record.position;
    const auto pair = [](auto high, auto low) {
        return static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
    };
    const Key key{pair(record.group->ranks.front(), record.group->ranks.back()),
                  pair(at.layer, at.pass),
                  static_cast<uint64_t>(at.phase)};
    const uint64_t number = ++m_messages[key];
    return {key[0], key[1], key[2], number};
}

IterationFiles::IterationFiles(const Workload& workload,
                               uint32_t ranks,
                               const std::string& directory)
    : m_directory(directory),
      m_endToEnd(directory + "/EndToEnd.csv",
                 std::filesystem::path(workload.GetFileName()).stem().string(),
                 LayersOf(workload),
                 ranks),
      m_collectives(directory + "/collectives.csv")
{
    m_observers.Add(m_endToEnd);
    m_observers.Add(m_collectives);
    m_observers.Add(m_summary);
}

std::string
IterationFiles::Finish(const IterationRecords& records,
                       const ns3::ClusterTopology& topology,
                       bool finished)
{
    m_collectives.Finish();
    if (finished)
    {
        m_endToEnd.Finish();
    }
    WriteFlows(records.GetFlows(), topology, m_directory + "/fct.txt", true);
    return m_summary.Table();
}

void
IterationFiles::Abandon(const IterationRecords& records, const ns3::ClusterTopology& topology)
{
    WriteFlows(records.GetFlows(), topology, m_directory + "/fct.txt", false);
}

void
IterationTable::Add(const IterationRecords& records)
{
    for (const auto& [key, record, group, choice] : records.GetCollectives())
    {
        m_durations[key].push_back(record.end - record.start);
    }
}

void
IterationTable::Write(const IterationRecords& chosen,
                      const Workload& workload,
                      const std::string& path) const
{
    ns3::OutputFile file(path);
    file.Write(CollectiveNames().GetHeader() + "," + DurationColumns().GetHeader() + "\n");
    for (const auto* collective : ById(chosen.GetCollectives()))
    {
        CollectiveRecord record = collective->record;
        record.layer = workload.GetLayerName(record.position.layer);
        record.group = &collective->group;
        record.choice = &collective->choice;
        const Durations durations{record, m_durations.at(collective->key)};
        file.Write(CollectiveNames().RowOf(record) + "," + DurationColumns().RowOf(durations) +
                   "\n");
    }
    file.Finish();
}

TimePs
MedianOf(std::vector<TimePs> values)
{
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

} // namespace AstraSim
