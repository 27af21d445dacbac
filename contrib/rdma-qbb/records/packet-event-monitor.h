/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PACKET_EVENT_MONITOR_H
#define PACKET_EVENT_MONITOR_H

#include "ns3/output-file.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

class QbbNetDevice;
class RdmaFabric;
class SwitchNode;
struct QbbFrame;

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
class PacketEventMonitor
{
  public:
    /**
     * @param fabric must outlive the object
     * @param path file to write
     * @param nodes ids of the nodes to trace
     */
    PacketEventMonitor(RdmaFabric& fabric, const std::string& path, std::vector<uint32_t> nodes);
    ~PacketEventMonitor();

    /// Complete the file. @throw InputError if it cannot be written
    void Finish()
    {
        m_file.Finish();
    }

  private:
    /// Connect to the trace sources, or disconnect from them.
    void Attach(bool connect);
    void OnPortEvent(uint32_t node,
                     const char* event,
                     Ptr<const QbbNetDevice> device,
                     const QbbFrame& frame);
    void OnDrop(uint32_t node, Ptr<const SwitchNode> device, const QbbFrame& frame);
    void Write(uint32_t node,
               uint16_t port,
               uint64_t queueBytes,
               const char* event,
               const QbbFrame& frame);

    RdmaFabric& m_fabric;
    std::vector<uint32_t> m_nodes;
    OutputFile m_file;
};

} // namespace ns3

#endif /* PACKET_EVENT_MONITOR_H */
