/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "file-monitor.h"
#include "rdma-qbb/fabric/fabric-identity.h"

#include "ns3/callback.h"
#include "ns3/output-file.h"
#include "ns3/ptr.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

namespace
{

char
KindLetter(QbbFrameKind kind)
{
    switch (kind)
    {
    case QbbFrameKind::Data:
        return 'U';
    case QbbFrameKind::Ack:
        return 'A';
    case QbbFrameKind::Nack:
        return 'N';
    case QbbFrameKind::Cnp:
        return 'C';
    case QbbFrameKind::Pfc:
        return 'P';
    case QbbFrameKind::Control:
        return 'T';
    default:
        return 'O';
    }
}

/**
 * @ingroup rdma-qbb
 * @brief Writes the packet-event trace of chosen nodes, as the HPCC simulator's trace reader prints
 * it.
 *
 * @code
 * 2000055540 n:338 4:3 100608 Enqu ecn:0 0b00d101 0b012301 10000 100 U 161000 0 3 1082(1000)
 * @endcode
 * At 2000055540 ns at node 338, port 4 (from 1), queue 3, which holds 100608 bytes besides, a frame
 * without a CE mark was queued, from 11.0.209.1:10000 to 11.1.35.1:100. Kinds: U data, A ACK, N
 * NACK, C CNP, P PFC, O other. Then sequence number (PFC: quanta), the telemetry's sending time in
 * nanoseconds or 0, priority, bytes on the wire (payload). Events: Recv, Enqu, Dequ (begins to be
 * sent), Drop.
 */
class PacketEventMonitor : public FileMonitor
{
  public:
    /**
     * @param fabric must outlive the object
     * @param path file to write
     * @param nodes ids of the nodes to trace
     */
    PacketEventMonitor(RdmaFabric& fabric, const std::string& path, std::vector<uint32_t> nodes)
        : m_fabric(fabric),
          m_nodes(std::move(nodes)),
          m_file(path)
    {
        Attach(true);
    }

    ~PacketEventMonitor() override
    {
        Attach(false);
    }

    void Finish() override
    {
        m_file.Finish();
    }

  private:
    /// Connect to the trace sources, or disconnect from them.
    void Attach(bool connect)
    {
        const auto attach =
            [connect](ObjectBase& object, const char* source, const auto& callback) {
                connect ? object.TraceConnectWithoutContext(source, callback)
                        : object.TraceDisconnectWithoutContext(source, callback);
            };
        for (uint32_t node : m_nodes)
        {
            const auto ports = static_cast<uint16_t>(m_fabric.GetTopology().Ports(node).size());
            for (uint16_t port = 0; port < ports; ++port)
            {
                for (const auto& [source, event] : {std::pair{"FrameRx", "Recv"},
                                                    {"FrameEnqueue", "Enqu"},
                                                    {"FrameTx", "Dequ"},
                                                    {"FrameLost", "Drop"}})
                {
                    attach(m_fabric.GetDevice(node, port),
                           source,
                           MakeCallback(&PacketEventMonitor::OnPortEvent, this).Bind(node, event));
                }
            }
            if (SwitchNode* switchNode = m_fabric.GetSwitch(node))
            {
                attach(*switchNode,
                       "Drop",
                       MakeCallback(&PacketEventMonitor::OnDrop, this).Bind(node));
            }
        }
    }

    void OnPortEvent(uint32_t node,
                     const char* event,
                     Ptr<const QbbNetDevice> device,
                     const QbbFrame& frame)
    {
        Write(node, device->GetPort(), device->GetQueueBytes(frame.priority), event, frame);
    }

    void OnDrop(uint32_t node, Ptr<const SwitchNode>, const QbbFrame& frame)
    {
        const QbbNetDevice& port = m_fabric.GetDevice(node, frame.inPort);
        Write(node, frame.inPort, port.GetQueueBytes(frame.priority), "Drop", frame);
    }

    void Write(uint32_t node,
               uint16_t port,
               uint64_t queueBytes,
               const char* event,
               const QbbFrame& frame)
    {
        const ClusterTopology& topology = m_fabric.GetTopology();
        const bool isPfc = frame.kind == QbbFrameKind::Pfc;
        const bool hasTelemetry =
            (frame.kind == QbbFrameKind::Data || frame.kind == QbbFrameKind::Ack) &&
            frame.telemetry;
        const bool fromHost = !isPfc && frame.src < topology.hostCount;
        const bool toHost = !isPfc && frame.dst < topology.hostCount;
        TextLine line(m_file.Room());
        line.Decimal(NearestNs(Simulator::Now().GetPicoSeconds()))
            .Text(" n:")
            .Decimal(node)
            .Space()
            .Decimal(port + 1U)
            .Text(':')
            .Decimal(frame.priority)
            .Space()
            .Decimal(queueBytes)
            .Space()
            .Text(event)
            .Text(" ecn:")
            .Decimal(frame.ecn == EcnCodepoint::Ce)
            .Space()
            .Hex8(fromHost ? HostAddress(topology, frame.src) : 0)
            .Space()
            .Hex8(toHost ? HostAddress(topology, frame.dst) : 0)
            .Space()
            .Decimal(isPfc ? 0U : frame.sport)
            .Space()
            .Decimal(isPfc ? 0U : frame.dport)
            .Space()
            .Text(KindLetter(frame.kind))
            .Space()
            .Decimal(isPfc ? uint64_t{frame.quanta} : frame.seq)
            .Space()
            .Decimal(hasTelemetry ? NearestNs(frame.telemetry->sentPs) : 0)
            .Space()
            .Decimal(frame.priority)
            .Space()
            .Decimal(frame.wireBytes)
            .Text('(')
            .Decimal(frame.kind == QbbFrameKind::Data ? frame.payloadBytes : 0U)
            .Text(")\n");
        m_file.Take(line);
    }

    RdmaFabric& m_fabric;
    std::vector<uint32_t> m_nodes;
    OutputFile m_file;
};

const FileMonitor::Kind PACKETS(
    "TRACE_OUTPUT_FILE",
    &FabricConf::traceOutputFile,
    [](const FileMonitor::Site& site) -> std::unique_ptr<FileMonitor> {
        if (!site.conf.enableTrace || site.traceNodes.empty())
        {
            return nullptr;
        }
        static_cast<void>(
            *site.conf.traceFile); // the caller has read the nodes from it, if it is given
        return std::make_unique<PacketEventMonitor>(site.fabric, site.path(), site.traceNodes);
    });

} // namespace

} // namespace ns3
