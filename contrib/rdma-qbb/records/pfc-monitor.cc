/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "file-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/output-file.h"
#include "ns3/ptr.h"
#include "ns3/qbb-call.h"
#include "ns3/qbb-mail.h"
#include "ns3/simulator.h"
#include "ns3/trace-source.h"

#include <cstdint>
#include <string>

namespace ns3
{

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Writes pfc.txt: a line whenever a PFC frame pauses or resumes a priority of a port.
 *
 * `time_ns node node_type port type priority`; node_type 0 host, 1 switch, 2 NVSwitch; type 1
 * pause, 0 resume; the port is that which stops sending, from 1. The HPCC simulator's file, which
 * ends with the type, is the form without priorities.
 */
class PfcMonitor : public QbbAddressee, public FileMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    /// @param withPriorities whether lines end with the priority
    PfcMonitor(RdmaFabric& fabric, const std::string& path, bool withPriorities)
        : m_fabric(fabric),
          m_file(path),
          m_withPriorities(withPriorities)
    {
        const TraceSource<QbbNetDevice> source("Pfc");
        const auto sink = MakeCallback(&PfcMonitor::OnPfc, this);
        ForEachPort(m_fabric, [&](uint32_t, uint16_t, QbbNetDevice& device) {
            source.Connect(device, sink);
        });
    }

    ~PfcMonitor() override
    {
        const TraceSource<QbbNetDevice> source("Pfc");
        const auto sink = MakeCallback(&PfcMonitor::OnPfc, this);
        ForEachPort(m_fabric, [&](uint32_t, uint16_t, QbbNetDevice& device) {
            source.Disconnect(device, sink);
        });
    }

    void Finish() override
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

        void operator()(PfcMonitor& monitor) const
        {
            TextLine line(monitor.m_file.Room());
            line.Decimal(NearestNs(Simulator::Now().GetPicoSeconds()))
                .Space()
                .Decimal(node)
                .Space()
                .Decimal(NodeKindNumber(monitor.m_fabric.GetTopology(), node))
                .Space()
                .Decimal(port + 1U)
                .Space()
                .Decimal(paused);
            if (monitor.m_withPriorities)
            {
                line.Space().Decimal(priority);
            }
            line.End();
            monitor.m_file.Take(line);
        }
    };

    void OnPfc(Ptr<const QbbNetDevice> device, uint8_t priority, bool paused)
    {
        const uint32_t node = m_fabric.NodeOf(*device);
        QbbMail::Note(device->GetNodeId(), *this, Told{node, device->GetPort(), priority, paused});
    }

    RdmaFabric& m_fabric;
    OutputFile m_file;
    bool m_withPriorities;
};

// PFC_OUTPUT_FILE is a key of the HPCC simulator: a file that is asked for has its format.
const FileMonitor::Kind PFC("PFC_OUTPUT_FILE",
                            &FabricConf::pfcOutputFile,
                            [](const FileMonitor::Site& site) -> std::unique_ptr<FileMonitor> {
                                return std::make_unique<PfcMonitor>(
                                    site.fabric,
                                    site.path(),
                                    !site.conf.IsGiven("PFC_OUTPUT_FILE"));
                            });

} // namespace

} // namespace ns3
