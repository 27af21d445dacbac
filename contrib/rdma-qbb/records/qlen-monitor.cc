/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "qlen-monitor.h"

#include "rdma-qbb/fabric/fabric-identity.h"

namespace ns3
{

QlenMonitor::QlenMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
    : SamplingMonitor(times, path, "time, sw_id, port_id, q_id, q_len, port_len\n"),
      m_fabric(fabric)
{
}

void
QlenMonitor::Sample(int64_t nowPs, bool first)
{
    ForEachPort(m_fabric, [&](uint32_t node, uint16_t port, const QbbNetDevice& device) {
        if (!m_fabric.GetSwitch(node))
        {
            return;
        }
        const uint64_t portBytes = device.GetQueueBytes();
        for (uint8_t queue = 0; portBytes > 0 && queue < QbbNetDevice::PRIORITIES; ++queue)
        {
            const uint64_t bytes = device.GetQueueBytes(queue);
            if (bytes > 0)
            {
                char room[TextLine::ROOM];
                TextLine line(room);
                line.Decimal(NearestNs(nowPs))
                    .Comma()
                    .Decimal(node)
                    .Comma()
                    .Decimal(port + 1U)
                    .Comma()
                    .Decimal(queue)
                    .Comma()
                    .Decimal(bytes)
                    .Comma()
                    .Decimal(portBytes)
                    .End();
                Write(device.GetNodeId(), line);
            }
        }
    });
}

} // namespace ns3
