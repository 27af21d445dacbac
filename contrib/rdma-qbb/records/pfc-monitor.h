/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PFC_MONITOR_H
#define PFC_MONITOR_H

#include "ns3/output-file.h"
#include "ns3/ptr.h"
#include "ns3/qbb-call.h"

#include <cstdint>
#include <string>

namespace ns3
{

class QbbNetDevice;
class RdmaFabric;

/**
 * @ingroup rdma-qbb
 * @brief Writes pfc.txt: a line whenever a PFC frame pauses or resumes a priority of a port.
 *
 * `time_ns node node_type port type priority`; node_type 0 host, 1 switch, 2 NVSwitch; type 1
 * pause, 0 resume; the port is that which stops sending, from 1. The HPCC simulator's file, which
 * ends with the type, is the form without priorities.
 */
class PfcMonitor : public QbbAddressee
{
  public:
    /// @param fabric must outlive the object @param path file to write
    /// @param withPriorities whether lines end with the priority
    PfcMonitor(RdmaFabric& fabric, const std::string& path, bool withPriorities);
    ~PfcMonitor();

    /// Complete the file. @throw InputError if it cannot be written
    void Finish()
    {
        m_file.Finish();
    }

  private:
    /// A port has been paused, or may send again.
    struct Told
    {
        uint32_t node;
        uint16_t port;
        uint8_t priority;
        bool paused;

        void operator()(PfcMonitor& monitor) const;
    };

    void OnPfc(Ptr<const QbbNetDevice> device, uint8_t priority, bool paused);

    RdmaFabric& m_fabric;
    OutputFile m_file;
    bool m_withPriorities;
};

} // namespace ns3

#endif /* PFC_MONITOR_H */
