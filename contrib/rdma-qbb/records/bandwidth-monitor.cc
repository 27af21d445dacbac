/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-qbb/fabric/fabric-identity.h"
#include "sampling-monitor.h"

#include "ns3/clock-range.h"

#include <algorithm>
#include <string>
#include <vector>

namespace ns3
{

namespace
{

/// Bits that have left the port, those of the frame being sent in part.
double
BitsSent(const QbbNetDevice& device, int64_t nowPs)
{
    const int64_t leftPs = std::max<int64_t>(device.GetBusyUntilPs() - nowPs, 0);
    const double leftBits =
        static_cast<double>(leftPs) * static_cast<double>(device.GetRateBps()) / PS_PER_SECOND;
    return static_cast<double>(device.GetTxBytes()) * 8 - leftBits;
}

/**
 * @ingroup rdma-qbb
 * @brief Writes bandwidth.txt: the bytes that each port has sent per sampling interval.
 *
 * `time, node_id, port_id, bandwidth`: nanoseconds at the interval's end, port from 1, Gb/s (10^9)
 * on the wire, preambles and gaps included. A frame being sent counts with the bits that have left.
 * Ports that sent nothing are not listed.
 */
class BandwidthMonitor : public SamplingMonitor
{
  public:
    /// @param fabric must outlive the object @param path file to write
    BandwidthMonitor(RdmaFabric& fabric, const std::string& path, const SamplingTimes& times)
        : SamplingMonitor(times, path, "time, node_id, port_id, bandwidth\n"),
          m_fabric(fabric)
    {
        const ClusterTopology& topology = m_fabric.GetTopology();
        for (uint32_t node = 0; node < topology.nodeCount; ++node)
        {
            m_lastBits.emplace_back(topology.Ports(node).size(), 0.0);
        }
    }

  protected:
    void Sample(int64_t nowPs, bool first) override
    {
        ForEachPort(m_fabric, [&](uint32_t node, uint16_t port, const QbbNetDevice& device) {
            const double bits = BitsSent(device, nowPs);
            const double sent = bits - m_lastBits[node][port];
            m_lastBits[node][port] = bits;
            if (!first && sent > 0)
            {
                char room[TextLine::ROOM];
                TextLine line(room);
                line.Decimal(NearestNs(nowPs))
                    .Comma()
                    .Decimal(node)
                    .Comma()
                    .Decimal(port + 1U)
                    .Comma()
                    .Fixed<6>(sent / static_cast<double>(IntervalPs()) * 1000)
                    .End();
                Write(device.GetNodeId(), line);
            }
        });
    }

  private:
    RdmaFabric& m_fabric;
    std::vector<std::vector<double>> m_lastBits; ///< by node and port: bits sent at the last sample
};

const FileMonitor::Kind BANDWIDTH("BW_MON_FILE",
                                  &FabricConf::bwMonFile,
                                  MakeSampled<BandwidthMonitor, &FabricConf::bwMonIntervalPs>);

} // namespace

} // namespace ns3
