/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/fabric/fabric-identity.h"
#include "sampling-monitor.h"

#include <string>

namespace ns3
{

namespace
{

/**
 * @ingroup rdma-qbb
 * @brief Writes queue.txt: the queues of switches at sampling times.
 *
 * `time, sw_id, port_id, q_id, q_len, port_len`: nanoseconds, port from 1, bytes on the wire that
 * wait in the queue and in all queues of its port. Empty queues are not listed.
 */
class QlenMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    QlenMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
        : SamplingMonitor(times, path, "time, sw_id, port_id, q_id, q_len, port_len\n"),
          m_fabric(fabric)
    {
    }

  protected:
    void Sample(int64_t nowPs, bool first) override
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

  private:
    RdmaFabric& m_fabric;
};

const FileMonitor::Kind QUEUES(
    "QLEN_MON_FILE",
    &FabricConf::qlenMonFile,
    [](const FileMonitor::Site& site) -> std::unique_ptr<FileMonitor> {
        const FabricConf& conf = site.conf;
        const SamplingTimes times{conf.qlenMonStartPs->value_or(conf.monStartPs),
                                  conf.qlenMonEndPs->value_or(conf.monEndPs),
                                  conf.qlenMonIntervalPs};
        return std::make_unique<QlenMonitor>(site.fabric, site.path(), times);
    });

} // namespace

} // namespace ns3
