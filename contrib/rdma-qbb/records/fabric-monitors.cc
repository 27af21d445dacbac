/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-monitors.h"

#include "fabric-monitor.h"
#include "file-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"
#include "rdma-qbb/fabric/pfc-watchdog.h"

#include "ns3/object-factory.h"
#include "ns3/output-file.h"
#include "ns3/rdma-fabric.h"

#include <filesystem>
#include <system_error>

namespace ns3
{

namespace
{

/**
 * Write the pauses of PFC: a line for each queue that was ever paused, with the pausing port.
 *
 * Columns: node, port (from 1), priority, paused_by (a node), pauses, paused_ns (in all),
 * longest_ns (without a break), storms (pauses that lasted PFC_WATCHDOG).
 *
 * @throw InputError if the file cannot be written
 */
void
WritePauses(const RdmaFabric& fabric, const std::string& path)
{
    OutputFile file(path);
    file.Print("node,port,priority,paused_by,pauses,paused_ns,longest_ns,storms\n");
    for (const PfcPauseRecord& record : fabric.GetPfcWatchdog().GetRecords())
    {
        file.Print("%u,%u,%u,%u,%lu,%.3f,%.3f,%lu\n",
                   record.node,
                   record.port + 1U,
                   record.priority,
                   fabric.GetTopology().Ports(record.node)[record.port].peer,
                   record.pauses,
                   static_cast<double>(record.totalPs) / 1000.0,
                   static_cast<double>(record.longestPs) / 1000.0,
                   record.storms);
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
      m_pausesPath(outputDirectory + "/pauses.csv")
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
    for (const Ptr<FabricMonitor>& monitor : m_plugIns)
    {
        monitor->Finish();
    }
}

} // namespace ns3
