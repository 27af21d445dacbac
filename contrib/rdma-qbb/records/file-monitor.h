/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FILE_MONITOR_H
#define FILE_MONITOR_H

#include "ns3/fabric-conf.h"
#include "ns3/named-kind.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaFabric;

/// A monitor with a file that a key of the configuration names. Each is a file of its own, and a
/// static Kind makes it known.
class FileMonitor
{
  public:
    /// The run that a monitor is for.
    struct Site
    {
        RdmaFabric& fabric; ///< built; outlives the monitor
        const FabricConf& conf;
        const std::vector<uint32_t>& traceNodes; ///< of the packet-event trace
        std::function<std::string()> path;       ///< of the monitor's file
    };

    /// A monitor by the key that names its file.
    struct Kind : public NamedKind<Kind>
    {
        /// @return the monitor, null if the configuration does without it
        using Make = std::unique_ptr<FileMonitor> (*)(const Site& site);

        Kind(std::string key, const Parameter<std::string> FabricConf::*theFile, Make theMake)
            : NamedKind(std::move(key)),
              file(theFile),
              make(theMake)
        {
        }

        const Parameter<std::string> FabricConf::*file;
        Make make;
    };

    virtual ~FileMonitor() = default;

    /// Take no more samples.
    virtual void StopSampling()
    {
    }

    /// Complete the file. @throw InputError if it cannot be written
    virtual void Finish() = 0;
};

} // namespace ns3

#endif /* FILE_MONITOR_H */
