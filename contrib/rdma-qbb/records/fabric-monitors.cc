/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-monitors.h"

#include "fabric-monitor.h"
#include "file-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"
#include "reordering-records.h"

#include "ns3/columns.h"
#include "ns3/object-factory.h"
#include "ns3/output-file.h"
#include "ns3/rdma-fabric.h"

#include <filesystem>
#include <system_error>

namespace ns3
{

namespace
{

/// A queue that PFC has paused, for its row.
struct PausedQueue
{
    const PfcPauseRecord& record;
    uint32_t pausedBy;
};

const Columns<PausedQueue>&
PauseColumns()
{
    using Of = const PausedQueue&;
    static const Columns<PausedQueue> columns{
        {"node", "the node that had to wait", [](Of queue) { return queue.record.node; }},
        {"port", "its port, from 1", [](Of queue) { return queue.record.port + 1U; }},
        {"priority",
         "the queue of that port",
         [](Of queue) { return uint32_t{queue.record.priority}; }},
        {"paused_by",
         "the node at the other end, which paused it",
         [](Of queue) { return queue.pausedBy; }},
        {"pauses", "number of pauses", [](Of queue) { return queue.record.pauses; }},
        {"paused_ns",
         "total time paused",
         [](Of queue) { return static_cast<double>(queue.record.totalPs) / 1000.0; }},
        {"longest_ns",
         "the longest time without a break",
         [](Of queue) { return static_cast<double>(queue.record.longestPs) / 1000.0; }},
        {"storms",
         "pauses that lasted ``PFC_WATCHDOG``",
         [](Of queue) { return queue.record.storms; }},
    };
    return columns;
}

/// Write the pauses of PFC: a row for each queue that was ever paused.
/// @throw InputError if the file cannot be written
void
WritePauses(const RdmaFabric& fabric, const std::string& path)
{
    OutputFile file(path);
    file.Write(PauseColumns().GetHeader() + "\n");
    for (const PfcPauseRecord& record : fabric.GetPfcWatchdog().GetRecords())
    {
        const auto& ports = fabric.GetTopology().Ports(record.node);
        file.Write(PauseColumns().RowOf({record, ports[record.port].peer}) + "\n");
    }
    file.Finish();
}

} // namespace

FabricMonitors::FabricMonitors(RdmaFabric& fabric,
                               const FabricConf& conf,
                               const std::string& outputDirectory,
                               std::vector<std::string>& warnings,
                               const std::vector<uint32_t>& traceNodes)
    : m_fabric(fabric),
      m_pausesPath(outputDirectory + "/pauses.csv"),
      m_reorderingPath(outputDirectory + "/reordering.csv"),
      m_reordering(std::make_unique<ReorderingRecords>(fabric))
{
    std::error_code error; // an unusable directory is reported when the first file is placed in it
    std::filesystem::create_directories(outputDirectory, error);
    std::vector<std::string> moved;
    for (const FileMonitor::Kind* kind : FileMonitor::Kind::GetAll())
    {
        const auto path = [&] {
            return ResolveOutputPath(kind->GetName(), conf.*(kind->file), outputDirectory, moved);
        };
        if (auto monitor = kind->make({fabric, conf, traceNodes, path}))
        {
            m_files.push_back(std::move(monitor));
        }
    }
    for (const std::string& type : *conf.monitors)
    {
        m_plugIns.push_back(ObjectFactory(type).Create<FabricMonitor>());
        m_plugIns.back()->Start(fabric, outputDirectory);
    }
    WarnOfMoved(moved, outputDirectory, warnings);
}

FabricMonitors::~FabricMonitors() = default;

std::vector<std::string>
FabricMonitors::FileNames(const FabricConf& conf)
{
    std::vector<std::string> names;
    for (const FileMonitor::Kind* kind : FileMonitor::Kind::GetAll())
    {
        names.push_back((conf.*(kind->file)).Look());
    }
    return names;
}

void
FabricMonitors::StopSampling()
{
    for (const auto& monitor : m_files)
    {
        monitor->StopSampling();
    }
    for (const Ptr<FabricMonitor>& monitor : m_plugIns)
    {
        monitor->StopSampling();
    }
}

void
FabricMonitors::Finish()
{
    StopSampling();
    for (const auto& monitor : m_files)
    {
        monitor->Finish();
    }
    WritePauses(m_fabric, m_pausesPath);
    m_reordering->Write(m_reorderingPath);
    for (const Ptr<FabricMonitor>& monitor : m_plugIns)
    {
        monitor->Finish();
    }
}

std::string
DescribePauseColumns()
{
    return PauseColumns().ToCsv();
}

} // namespace ns3
