/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "phy-results.h"

#include "astra-frontend/model/flow/flow-level-network.h"
#include "astra-frontend/model/system/run-observers.h"
#include "simulator/records/collective-summary.h"
#include "simulator/records/collectives-writer.h"
#include "simulator/records/end-to-end-writer.h"

#include "ns3/csv-cell.h"
#include "ns3/fabric-frame-sizes.h"
#include "ns3/fct-writer.h"
#include "ns3/output-file.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace AstraSim
{

namespace
{

constexpr uint16_t FIRST_SOURCE_PORT = 10000;
constexpr uint16_t DESTINATION_PORT = 100;

void
WriteFlows(const std::vector<PhyFlow>& flows,
           const ns3::ClusterTopology& topology,
           const std::string& path)
{
    const auto frames = ns3::FabricFrameSizes::OfDefaults();
    FlowLevelConfig config;
    config.networkFrames = frames.network;
    config.nvlinkFrames = frames.nvlink;
    EventLoop loop;
    FlowLevelFabric ideal(loop, topology, config);
    ns3::FctWriter file(topology, path);
    for (const PhyFlow& flow : flows)
    {
        file.Write({.src = flow.src,
                    .dst = flow.dst,
                    .sport = static_cast<uint16_t>(FIRST_SOURCE_PORT + flow.channel),
                    .dport = DESTINATION_PORT,
                    .bytes = flow.bytes,
                    .startPs = std::max<TimePs>(flow.start, 0),
                    .fctPs = std::max<TimePs>(flow.end - flow.start, 0),
                    .idealPs = ideal.GetIdealFctPs(flow.src, flow.dst, flow.bytes)});
    }
    file.Finish();
}

} // namespace

std::string
WriteIteration(const RankRecords& records,
               const Workload& workload,
               const ns3::ClusterTopology& topology,
               uint32_t ranks,
               bool finished,
               const std::string& output)
{
    std::vector<std::string> layers;
    for (uint32_t i = 0; i < workload.GetLayerCount(); ++i)
    {
        layers.emplace_back(workload.GetLayerName(i));
    }
    EndToEndWriter endToEnd(output + "/EndToEnd.csv",
                            std::filesystem::path(workload.GetFileName()).stem().string(),
                            layers,
                            ranks);
    CollectivesWriter collectives(output + "/collectives.csv");
    CollectiveSummary summary;
    RunObservers observers;
    observers.Add(endToEnd);
    observers.Add(collectives);
    observers.Add(summary);
    records.Replay(observers);
    collectives.Finish();
    if (finished)
    {
        endToEnd.Finish();
    }
    WriteFlows(records.GetFlows(), topology, output + "/fct.txt");
    return summary.Table();
}

void
IterationTable::Add(const RankRecords& records)
{
    for (const RankRecords::Collective& collective : records.GetCollectives())
    {
        m_durations[collective.key].push_back(collective.end - collective.start);
    }
}

void
IterationTable::Write(const RankRecords& chosen,
                      const Workload& workload,
                      const std::string& path) const
{
    ns3::OutputFile file(path);
    file.Write("id,layer,pass,phase,group,ranks,op,bytes,algorithm,protocol,iterations,min_us,"
               "median_us,max_us,median_busbw\n");
    for (const RankRecords::Collective& collective : chosen.GetCollectives())
    {
        const std::vector<TimePs>& durations = m_durations.at(collective.key);
        const auto [least, most] = std::minmax_element(durations.begin(), durations.end());
        const TimePs median = MedianOf(durations);
        const auto ranks = static_cast<uint32_t>(collective.group.ranks.size());
        const double busbw = median > 0 ? static_cast<double>(collective.bytes) *
                                              BusBandwidthFactor(collective.op, ranks) * 1000 /
                                              static_cast<double>(median)
                                        : 0;
        file.Write(
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.6f}\n",
                        collective.id,
                        ns3::CsvCell(std::string(workload.GetLayerName(collective.position.layer))),
                        collective.position.pass,
                        ToString(collective.position.phase),
                        ns3::CsvCell(collective.group.name),
                        ranks,
                        ToString(collective.op),
                        collective.bytes,
                        collective.choice.algorithm,
                        collective.choice.protocol,
                        durations.size(),
                        static_cast<double>(*least) / 1e6,
                        static_cast<double>(median) / 1e6,
                        static_cast<double>(*most) / 1e6,
                        busbw));
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
