/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_MONITORS_H
#define FABRIC_MONITORS_H

#include "ns3/fabric-conf.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{

class FabricMonitor;
class FileMonitor;
class RdmaFabric;
class ReorderingRecords;

/**
 * @ingroup rdma-qbb
 * @brief The monitors that a configuration asks for, writing to an output directory.
 *
 * @code
 * FabricMonitors monitors(fabric, conf, "results", warnings);
 * Simulator::Run();
 * monitors.Finish();
 * @endcode
 */
class FabricMonitors
{
  public:
    /**
     * @param fabric the fabric to watch, built; must outlive the object
     * @param conf file names, times and intervals
     * @param outputDirectory made if it does not exist
     * @param warnings gets a line for each path that is replaced
     * @param traceNodes nodes of the packet-event trace, if ENABLE_TRACE is on
     * @throw InputError if something cannot be written
     */
    FabricMonitors(RdmaFabric& fabric,
                   const FabricConf& conf,
                   const std::string& outputDirectory,
                   std::vector<std::string>& warnings,
                   const std::vector<uint32_t>& traceNodes = {});
    ~FabricMonitors();

    /// @return the configuration's names of the files, with or without directories
    static std::vector<std::string> FileNames(const FabricConf& conf);

    /// Take no more samples, so that the event list can drain.
    void StopSampling();

    /// Stop sampling and write out all files.
    void Finish();

  private:
    const RdmaFabric& m_fabric;
    std::string m_pausesPath;
    std::string m_reorderingPath;
    std::unique_ptr<ReorderingRecords> m_reordering;
    std::vector<std::unique_ptr<FileMonitor>> m_files;
    std::vector<Ptr<FabricMonitor>> m_plugIns; ///< MONITOR
};

/// @return the columns of pauses.csv, as Columns::ToCsv() has them
std::string DescribePauseColumns();

} // namespace ns3

#endif /* FABRIC_MONITORS_H */
