/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef FABRIC_MONITOR_H
#define FABRIC_MONITOR_H

#include "ns3/object.h"

#include <string>

namespace ns3
{

class RdmaFabric;

/**
 * @ingroup rdma-qbb
 * @brief Observes a fabric and writes a file of its own: a plug-in.
 *
 * A configuration chooses it by its TypeId (`MONITOR ns3::MyMonitor`); its attributes are flags, as
 * those of any class are. It connects to trace sources of the fabric's hosts (RdmaHw), ports
 * (QbbNetDevice) and switches (SwitchNode). The network then runs on one thread.
 */
class FabricMonitor : public Object
{
  public:
    static TypeId GetTypeId();

    /**
     * Begin to observe.
     * @param fabric built, before the first event; outlives the object
     * @param directory existing directory for its files
     * @throw InputError if a file cannot be written
     */
    virtual void Start(RdmaFabric& fabric, const std::string& directory) = 0;

    /// Schedule no more events: the workloads are done, and the event list shall drain.
    virtual void StopSampling()
    {
    }

    /// Complete its files. @throw InputError if that is impossible
    virtual void Finish() = 0;
};

} // namespace ns3

#endif /* FABRIC_MONITOR_H */
